"""A tiny random model of each family: config.json, Hugging Face's tensors, and the library.

Every switch that a family has is on, and weights are large enough for each to count.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import quick_code
from vm_runner import Runner

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.source import TensorInfo
from mlc_llm.compiler.convert.weights import as_in_files, check_tensors, convert_weights

Array = np.ndarray[Any, Any]

_COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 128,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}
_GEMMA = {"hidden_act": "gelu_pytorch_tanh", "num_key_value_heads": 1}
_LAYER_NORM = {"rms_norm_eps": None, "hidden_act": "gelu_pytorch_tanh"}
# Of each family: what its config has besides, and the reference's switches that it turns on.
FAMILIES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "mistral": ({"sliding_window": 8, "tie_word_embeddings": False}, ("window",)),
    "qwen2": (
        {
            "head_dim": None,
            "use_sliding_window": True,
            "sliding_window": 8,
            "max_window_layers": 2,
            "tie_word_embeddings": False,
        },
        ("bias", "window"),
    ),
    "qwen3": (
        {
            "attention_bias": True,
            "rope_scaling": {
                "rope_type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
        ("bias", "qk_norm", "rope_scaling"),
    ),
    "gemma": (_GEMMA, ("plus_one", "gelu", "embedding_scale")),
    "gemma2": (
        {
            **_GEMMA,
            "query_pre_attn_scalar": 20,
            "attn_logit_softcapping": 4.0,
            "final_logit_softcapping": 5.0,
            "sliding_window": 8,
        },
        (
            "plus_one",
            "gelu",
            "embedding_scale",
            "post_norm",
            "scale",
            "attn_logit_softcapping",
            "final_logit_softcapping",
            "window",
        ),
    ),
    "gemma3_text": (
        {
            **_GEMMA,
            "query_pre_attn_scalar": 20,
            "sliding_window": 8,
            "sliding_window_pattern": 2,
            "rope_local_base_freq": 100.0,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        },
        ("plus_one", "post_norm", "scale", "window", "qk_norm", "local_rope", "rope_scaling"),
    ),
    "granite": (
        {
            "embedding_multiplier": 3.0,
            "attention_multiplier": 0.1,
            "residual_multiplier": 0.4,
            "logits_scaling": 2.0,
        },
        (
            "embedding_multiplier",
            "attention_multiplier",
            "residual_multiplier",
            "logits_scaling",
        ),
    ),
    "smollm3": ({}, ("no_rope",)),
    "lfm2": (
        {
            "rms_norm_eps": None,
            "norm_eps": 1e-5,
            "layer_types": ["conv", "conv", "full_attention", "conv"],
            "conv_L_cache": 3,
            "conv_bias": True,
            "block_ff_dim": 140,
            "block_multiple_of": 32,
            "intermediate_size": None,
        },
        ("bias", "qk_norm", "past", "before_gate", "behind_gate"),
    ),
    "starcoder2": (
        {**_LAYER_NORM, "norm_epsilon": 1e-5, "sliding_window": 8, "use_bias": True},
        ("bias", "layer_norm", "gelu", "window"),
    ),
    "phi": (
        {
            **_LAYER_NORM,
            "head_dim": None,
            "hidden_act": "gelu_new",
            "layer_norm_eps": 1e-5,
            "partial_rotary_factor": 0.5,
            "tie_word_embeddings": False,
        },
        ("bias", "layer_norm", "gelu", "parallel", "partial"),
    ),
    "gpt_neox": (
        {
            **_LAYER_NORM,
            "num_key_value_heads": None,
            "head_dim": None,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-5,
            "rope_theta": None,
            "rotary_emb_base": 1000,
            "rotary_pct": 0.25,
            "use_parallel_residual": True,
            "tie_word_embeddings": False,
        },
        ("bias", "layer_norm", "gelu", "parallel", "two_norms", "partial"),
    ),
    "cohere": (
        {"rms_norm_eps": None, "layer_norm_eps": 1e-5, "logit_scale": 0.25},
        ("layer_norm", "parallel", "pairs", "logit_scale"),
    ),
    "gpt2": (
        {
            **dict.fromkeys(_COMMON),
            "vocab_size": 128,
            "tie_word_embeddings": True,
            "n_embd": 64,
            "n_layer": 4,
            "n_head": 4,
            "n_positions": 64,
            "layer_norm_epsilon": 1e-5,
            "activation_function": "gelu_new",
        },
        ("bias", "layer_norm", "gelu", "positions"),
    ),
    "phi3": (
        {
            "head_dim": None,
            "sliding_window": 12,
            "partial_rotary_factor": 0.75,
            "original_max_position_embeddings": 8,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": [1.0] * 6,
                "long_factor": [1.0, 1.5, 2.0, 2.5, 3.0, 4.0],
            },
        },
        ("window", "partial", "rope_scaling"),
    ),
}


def config(model_type: str) -> dict[str, Any]:
    own = {**_COMMON, **FAMILIES[model_type][0], "model_type": model_type}
    return {name: value for name, value in own.items() if value is not None}


def size(c: dict[str, Any], name: str, other: str = "") -> int:
    """A field, or what GPT-2 calls it."""
    return int(c[name] if name in c else c[other])


def weights(c: dict[str, Any]) -> dict[str, Array]:
    """Hugging Face's tensors, always the same; bfloat16's values, in float32."""
    rng = np.random.RandomState(zlib.crc32(c["model_type"].encode()))
    plain_norms = not c["model_type"].startswith("gemma")  # Gemma's weights are without the 1
    return {
        name: _random(rng, shape, 1 if plain_norms and _is_norm(name) else 0)
        for name, shape in shapes(c).items()
    }


def _is_norm(name: str) -> bool:
    return name.endswith(".weight") and ("norm" in name or ".ln_" in name)


def _random(rng: np.random.RandomState, shape: tuple[int, ...], mean: int) -> Array:
    value = rng.standard_normal(shape).astype(np.float32) * np.float32(0.3) + np.float32(mean)
    return (value.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def shapes(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """By the names of Hugging Face, as its checkpoints have them."""
    if c["model_type"] in ("gpt_neox", "gpt2"):
        return _gpt_shapes(c)
    hidden, kind = c["hidden_size"], c["model_type"]
    wide = c.get("intermediate_size", 96)
    dim = c.get("head_dim") or hidden // c["num_attention_heads"]
    q, kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c["vocab_size"], hidden)}
    for i in range(c["num_hidden_layers"]):
        layer = dict(_layer_shapes(kind, hidden, wide, q, kv, dim))
        if kind in ("starcoder2", "phi"):
            layer = dict(_biased_shapes(kind, hidden, wide, q, kv))
        if kind == "cohere":
            del layer["post_attention_layernorm.weight"]
        if kind == "lfm2":
            layer = dict(_lfm2_shapes(c["layer_types"][i], hidden, wide, q, kv, dim))
        found |= {f"model.layers.{i}.{name}": shape for name, shape in layer.items()}
    norms = {"lfm2": "model.embedding_norm", "phi": "model.final_layernorm"}
    norm = norms.get(kind, "model.norm")
    found[f"{norm}.weight"] = (hidden,)
    if kind in ("starcoder2", "phi"):
        found[f"{norm}.bias"] = (hidden,)
    if not c["tie_word_embeddings"]:
        found["lm_head.weight"] = (c["vocab_size"], hidden)
        if kind == "phi":
            found["lm_head.bias"] = (c["vocab_size"],)
    return found


Shapes = Iterator[tuple[str, tuple[int, ...]]]


def _biased(name: str, outs: int, ins: int) -> Shapes:
    yield from ((f"{name}.weight", (outs, ins)), (f"{name}.bias", (outs,)))


def _biased_shapes(kind: str, hidden: int, wide: int, q: int, kv: int) -> Shapes:
    names = ("dense", "fc1", "fc2") if kind == "phi" else ("o_proj", "c_fc", "c_proj")
    for name, outs in (("q", q), ("k", kv), ("v", kv)):
        yield from _biased(f"self_attn.{name}_proj", outs, hidden)
    yield from _biased(f"self_attn.{names[0]}", hidden, q)
    yield from _biased(f"mlp.{names[1]}", wide, hidden)
    yield from _biased(f"mlp.{names[2]}", hidden, wide)
    norms = ["input_layernorm", *(["post_attention_layernorm"] if kind != "phi" else [])]
    yield from ((f"{n}.{part}", (hidden,)) for n in norms for part in ("weight", "bias"))


def _gpt_shapes(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of GPT-NeoX, and of GPT-2, whose linear layers are (in, out)."""
    is_gpt2, vocabulary = c["model_type"] == "gpt2", c["vocab_size"]
    hidden = size(c, "hidden_size", "n_embd")
    wide = c.get("intermediate_size", 4 * hidden)
    linear = {
        "attn.c_attn" if is_gpt2 else "attention.query_key_value": (3 * hidden, hidden),
        "attn.c_proj" if is_gpt2 else "attention.dense": (hidden, hidden),
        "mlp.c_fc" if is_gpt2 else "mlp.dense_h_to_4h": (wide, hidden),
        "mlp.c_proj" if is_gpt2 else "mlp.dense_4h_to_h": (hidden, wide),
    }
    norms = ("ln_1", "ln_2") if is_gpt2 else ("input_layernorm", "post_attention_layernorm")
    layer: dict[str, tuple[int, ...]] = {}
    for name, (outs, ins) in linear.items():
        layer |= {f"{name}.weight": (ins, outs) if is_gpt2 else (outs, ins)}
        layer |= {f"{name}.bias": (outs,)}
    layer |= {f"{n}.{part}": (hidden,) for n in norms for part in ("weight", "bias")}
    layers = "transformer.h" if is_gpt2 else "gpt_neox.layers"
    count = size(c, "num_hidden_layers", "n_layer")
    found = {f"{layers}.{i}.{n}": shape for i in range(count) for n, shape in layer.items()}
    norm = "transformer.ln_f" if is_gpt2 else "gpt_neox.final_layer_norm"
    found |= {f"{norm}.{part}": (hidden,) for part in ("weight", "bias")}
    if is_gpt2:
        tables = {"transformer.wte": vocabulary, "transformer.wpe": c["n_positions"]}
    else:
        tables = {"gpt_neox.embed_in": vocabulary, "embed_out": vocabulary}
    return found | {f"{name}.weight": (rows, hidden) for name, rows in tables.items()}


def _layer_shapes(
    kind: str, hidden: int, wide: int, q: int, kv: int, dim: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
    if kind == "phi3":
        yield "self_attn.qkv_proj.weight", (q + 2 * kv, hidden)
        yield "mlp.gate_up_proj.weight", (2 * wide, hidden)
    else:
        for name, outs in (("q", q), ("k", kv), ("v", kv)):
            yield f"self_attn.{name}_proj.weight", (outs, hidden)
            if kind.startswith("qwen"):
                yield f"self_attn.{name}_proj.bias", (outs,)
        yield "mlp.gate_proj.weight", (wide, hidden)
        yield "mlp.up_proj.weight", (wide, hidden)
    yield "self_attn.o_proj.weight", (hidden, q)
    if kind == "qwen3":
        yield "self_attn.o_proj.bias", (hidden,)
    if kind in ("qwen3", "gemma3_text"):
        yield from (("self_attn.q_norm.weight", (dim,)), ("self_attn.k_norm.weight", (dim,)))
    yield "mlp.down_proj.weight", (hidden, wide)
    norms = ["input_layernorm", "post_attention_layernorm"]
    if kind in ("gemma2", "gemma3_text"):
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    yield from ((f"{name}.weight", (hidden,)) for name in norms)


def _lfm2_shapes(
    kind: str, hidden: int, wide: int, q: int, kv: int, dim: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
    if kind == "conv":
        for name, outs in (("in_proj", 3 * hidden), ("out_proj", hidden)):
            yield from ((f"conv.{name}.weight", (outs, hidden)), (f"conv.{name}.bias", (outs,)))
        yield from (("conv.conv.weight", (hidden, 1, 3)), ("conv.conv.bias", (hidden,)))
    else:
        for name, shape in (("q", (q, hidden)), ("k", (kv, hidden)), ("v", (kv, hidden))):
            yield f"self_attn.{name}_proj.weight", shape
        yield "self_attn.out_proj.weight", (hidden, q)
        yield from ((f"self_attn.{name}_layernorm.weight", (dim,)) for name in "qk")
    for name, shape in (("w1", (wide, hidden)), ("w3", (wide, hidden)), ("w2", (hidden, wide))):
        yield f"feed_forward.{name}.weight", shape
    yield from ((f"{name}_norm.weight", (hidden,)) for name in ("operator", "ffn"))


class Source:
    """Tensors in memory, as the converter sees a model's files."""

    format = "huggingface"

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def tensors(self) -> dict[str, TensorInfo]:
        return {name: TensorInfo(name, a.shape, "F32") for name, a in self.arrays.items()}

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        array = self.arrays[name]
        return (array[start:stop] if array.ndim else array).copy()

    def has_float8(self, name: str) -> bool:
        return False


class Collector:
    """Takes what the converter would write."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def add(self, param: Any, chunks: Any) -> None:
        self.arrays[param.name] = np.concatenate(list(chunks)).reshape(param.shape)

    def finish(self, **_: Any) -> None:
        pass


def converted(source: Any, c: dict[str, Any], scheme: str = "q0f32") -> dict[str, Array]:
    """A library's parameters, by the converter's own way."""
    return converted_by(source, models.get(c["model_type"]), models.config_from_hf(c), scheme)


def converted_by(source: Any, family: Any, typed: Any, scheme: str = "q0f32") -> dict[str, Array]:
    weights = family.weight_map(typed, source.format)
    sources = as_in_files(weights, source.tensors())
    chosen = quantization.get(scheme)
    check_tensors(sources, source.tensors(), chosen)
    collector = Collector()
    convert_weights(source, sources, chosen, collector, lambda _: None)
    return collector.arrays


@cache
def module(model_type: str, scheme: str = "q0f32") -> Any:
    chat = {**config(model_type), "quantization": scheme, "prefill_chunk_size": 64}
    spec = library_spec(chat, device="cpu")
    return quick_code.build(spec, models.get(model_type))


def runner(model_type: str, scheme: str = "q0f32") -> Runner:
    c = config(model_type)
    params = converted(Source(weights(c)), c, scheme)
    return Runner(module(model_type, scheme), params, num_pages=16)
