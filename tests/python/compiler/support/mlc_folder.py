"""The tensors and the config of an `-MLC` folder as MLC-LLM's converter makes them, from those of a
Hugging Face folder.

    tensors = mlc_tensors(config, weights)       # floats, under MLC-LLM's names
    chat = mlc_config(config, "q4f16_1")         # its mlc-chat-config.json

(Facts: mlc-ai/mlc-llm, python/mlc_llm/model/*/*_loader.py and *_model.py, July 2026.) This
shares no code with the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
_QKV = {"self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")}
_GATE_UP = {"mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj")}


def _qkv(name: str) -> dict[str, tuple[str, ...]]:
    return {name: next(iter(_QKV.values()))}


@dataclass(frozen=True)
class Rules:
    """Of a layer's names: `joined` along the outputs, `renamed`; `changed`: by the last words of a
    name. `own`: what no table says."""

    joined: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {**_QKV, **_GATE_UP})
    renamed: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, Callable[[Array], Array]] = field(default_factory=dict)
    prefix: str = ""
    own: Callable[[Mapping[str, Any], Arrays], Arrays] | None = None


def _plus_one(value: Array) -> Array:
    return value + np.float32(1)


def _gemma(*names: str) -> dict[str, Callable[[Array], Array]]:
    usual = ("input_layernorm", "post_attention_layernorm", "model.norm")
    return {f"{name}.weight": _plus_one for name in (*usual, *names)}


_SANDWICH = ("pre_feedforward_layernorm", "post_feedforward_layernorm")
_TURNED = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")


def _wqkv(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """InternLM 2's rows, group by group, become those of q, then k, then v."""
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    each = heads // groups

    def sorted_rows(value: Array) -> Array:
        dim = value.shape[0] // (heads + 2 * groups)
        rows = value.reshape(groups, each + 2, dim, *value.shape[1:])
        parts = rows[:, :each], rows[:, each : each + 1], rows[:, each + 1 :]
        return np.concatenate([part.reshape(-1, *value.shape[1:]) for part in parts])

    return {k: sorted_rows(v) if ".wqkv." in k else v for k, v in arrays.items()}


def _rescaled(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """RWKV's hidden states are halved every few layers; so are the weights that add to them."""
    found = {}
    for name, value in arrays.items():
        layer = re.fullmatch(r"rwkv\.blocks\.(\d+)\.(attention.output|feed_forward.value).*", name)
        halvings = int(layer[1]) // config["rescale_every"] if layer else 0
        found[name] = value / np.float32(2**halvings)
    return found


def _rwkv5(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """Decays are what is left of a state."""
    found = _rescaled(config, arrays)
    decays = {name: value for name, value in found.items() if name.endswith("time_decay")}
    return {**found, **{name: np.exp(-np.exp(value)) for name, value in decays.items()}}


def _query_key_value(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """GPT-NeoX's rows, head by head, become those of q, then k, then v."""
    heads = config["num_attention_heads"]

    def sorted_rows(value: Array) -> Array:
        rows = value.reshape(heads, 3, -1, *value.shape[1:]).swapaxes(0, 1)
        return np.ascontiguousarray(rows).reshape(value.shape)

    return {k: sorted_rows(v) if ".query_key_value." in k else v for k, v in arrays.items()}


def _latent(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """kv_b_proj stays, and its two parts of each head are there as well."""
    heads, plain = config["num_attention_heads"], config["qk_nope_head_dim"]
    found = _experts(config, arrays)
    for name, value in arrays.items():
        if name.endswith("kv_b_proj.weight"):
            rows = value.reshape(heads, -1, config["kv_lora_rank"])
            module = name.removesuffix("kv_b_proj.weight")
            found[f"{module}w_uk"] = np.ascontiguousarray(rows[:, :plain].transpose(0, 2, 1))
            found[f"{module}w_uv"] = np.ascontiguousarray(rows[:, plain:])
    return found


def _experts(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    """One stack for all experts of a layer; gate rows first."""
    return _stacked(arrays, ("moe_gate_up_proj", "moe_down_proj"), ("gate", "up", "down"), "_proj")


def _mixtral(config: Mapping[str, Any], arrays: Arrays) -> Arrays:
    return _stacked(arrays, ("e1_e3", "e2"), ("w1", "w3", "w2"))


def _stacked(
    arrays: Arrays, made: tuple[str, str], parts: tuple[str, str, str], tail: str = ""
) -> Arrays:
    found, (gate, up, down) = dict(arrays), (f"{part}{tail}.weight" for part in parts)
    for name in arrays:
        if not name.endswith(f".experts.0.{gate}"):
            continue
        mlp = name.removesuffix(f".experts.0.{gate}")
        count = sum(name.startswith(f"{mlp}.experts.") for name in arrays) // len(parts)
        one = [f"{mlp}.experts.{e}" for e in range(count)]
        stacks = [np.concatenate([arrays[f"{e}.{gate}"], arrays[f"{e}.{up}"]]) for e in one]
        found[f"{mlp}.{made[0]}.weight"] = np.stack(stacks)
        found[f"{mlp}.{made[1]}.weight"] = np.stack([arrays[f"{e}.{down}"] for e in one])
    return {name: value for name, value in found.items() if ".experts." not in name}


_SHARED = {
    "mlp.shared_experts.gate_up_proj": (
        "mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj"
    )
}  # fmt: skip
_DEEPSEEK = Rules(
    joined={**_GATE_UP, **_SHARED},
    renamed={"mlp.gate.e_score_correction_bias": "mlp.e_score_correction_bias"},
    own=_latent,
)
_SELF = "attention.self."
_BERT = Rules({f"{_SELF}qkv": (f"{_SELF}query", f"{_SELF}key", f"{_SELF}value")})
_LLAMA4 = Rules(
    joined={
        f"feed_forward.{part}gate_up_proj": (
            f"feed_forward.{part}gate_proj", f"feed_forward.{part}up_proj"
        )
        for part in ("", "shared_expert.")
    },
    renamed={"feed_forward.router.": "feed_forward.router.router."},
)  # fmt: skip
RULES: dict[str, Rules] = {
    "llama": Rules(),
    "mistral": Rules(),
    "ministral3": Rules(),
    "orion": Rules(),
    "stablelm": Rules(),
    "olmo": Rules(),
    "olmo2": Rules(),
    "nemotron": Rules(),
    "qwen2": Rules({**_qkv("self_attn.c_attn"), **_GATE_UP}),
    "qwen3": Rules({**_qkv("self_attn.c_attn"), **_GATE_UP}),
    "qwen2_moe": Rules(
        {
            **_qkv("self_attn.c_attn"),
            **_GATE_UP,
            "mlp.shared_expert.gate_up_proj": (
                "mlp.shared_expert.gate_proj",
                "mlp.shared_expert.up_proj",
            ),
        },
        own=_experts,
    ),
    "qwen3_moe": Rules({**_qkv("self_attn.c_attn"), **_GATE_UP}, own=_experts),
    "mixtral": Rules(_QKV, {"block_sparse_moe.": "moe."}, own=_mixtral),
    "bert": _BERT,
    "internlm": Rules({**_qkv("self_attn.wqkv_pack"), **_GATE_UP}),
    "minicpm": Rules({**_qkv("self_attn.wqkv_pack"), **_GATE_UP}),
    "starcoder2": Rules(_qkv("self_attn.wqkv_pack")),
    "baichuan": Rules(_GATE_UP),
    "gemma": Rules(changed=_gemma()),
    "gemma2": Rules(changed=_gemma(*_SANDWICH)),
    "gemma3": Rules(
        _GATE_UP, changed=_gemma(*_SANDWICH, "q_norm", "k_norm"), prefix="language_model."
    ),
    "cohere": Rules(_QKV, {"self_attn.o_proj": "self_attn.out_proj"}),
    "internlm2": Rules(
        {"feed_forward.gate_up_proj": ("feed_forward.w1", "feed_forward.w3")}, own=_wqkv
    ),
    "gpt_neox": Rules(own=_query_key_value),
    "gpt2": Rules(
        changed={f"{name}.weight": np.transpose for name in _TURNED}, prefix="transformer."
    ),
    "gpt_bigcode": Rules(),
    "gptj": Rules({"attn.c_attn": ("attn.q_proj", "attn.k_proj", "attn.v_proj")}),
    "phi": Rules(
        {"mixer.Wqkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")},
        {
            "self_attn.dense": "mixer.out_proj",
            "input_layernorm": "ln",
            "model.layers.": "transformer.h.",
            "model.embed_tokens": "transformer.embd",
            "model.final_layernorm": "lm_head.ln",
            "lm_head.weight": "lm_head.linear.weight",
            "lm_head.bias": "lm_head.linear.bias",
        },
    ),
    "phi3": Rules(
        renamed={
            "self_attn.qkv_proj": "mixer.qkv_proj",
            "self_attn.o_proj": "mixer.out_proj",
            "input_layernorm": "ln",
            "model.layers.": "transformer.h.",
            "model.embed_tokens": "transformer.embd",
            "model.norm": "transformer.norm",
        },
    ),
    "rwkv5": Rules({}, {"rwkv.": "model."}, own=_rwkv5),
    "rwkv6": Rules({}, {"rwkv.": "model."}, own=_rescaled),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "llama4": _LLAMA4,
    "qwen3_5": Rules(
        {**_qkv("self_attn.c_attn"), **_GATE_UP},
        {"conv1d.weight": "conv1d_weight"},
        _gemma("q_norm", "k_norm"),
    ),
}
# MLC-LLM's keys of configs that Hugging Face calls otherwise.
KEYS = {"gemma3_text": "gemma3", "llama4_text": "llama4", "qwen3_5_text": "qwen3_5"}


def key_of(config: Mapping[str, Any]) -> str:
    return KEYS.get(config["model_type"], config["model_type"])


def mlc_tensors(config: Mapping[str, Any], weights: Mapping[str, Array]) -> Arrays:
    """Float32, under MLC-LLM's names. Tied heads are not stored."""
    rules, found = RULES[key_of(config)], dict(weights)
    if rules.own is not None:
        found = rules.own(config, found)
    for joined, parts in rules.joined.items():
        for name in list(found):
            if not name.endswith((f".{parts[0]}.weight", f".{parts[0]}.bias")):
                continue
            before, kind = name.rsplit(parts[0], 1)
            values = [found.pop(f"{before}{part}{kind}") for part in parts]
            found[f"{before}{joined}{kind}"] = np.concatenate(values)
    return {_named(n, rules): _changed(n, v, rules) for n, v in found.items()}


def presharded(config: Mapping[str, Any], tensors: Arrays, count: int) -> Arrays:
    """The tensors with what MLC-LLM divides among `count` shards in parts of their own, which it
    makes when MLC_INTERNAL_PRESHARD_NUM is set (`preshard.py`; how is Llama's there)."""
    heads, kv_heads = (config[f"num_{kind}_heads"] for kind in ("attention", "key_value"))
    head = config.get("head_dim", config["hidden_size"] // heads)
    sizes = {
        "qkv_proj": (0, [heads * head, kv_heads * head, kv_heads * head]),
        "gate_up_proj": (0, [config["intermediate_size"]] * 2),
        "o_proj": (1, [heads * head]),
        "down_proj": (1, [config["intermediate_size"]]),
    }
    found = {}
    for name, value in tensors.items():
        divided = sizes.get(name.split(".")[-2]) if count > 1 else None
        if divided is None:
            found[name] = value
            continue
        axis, segments = divided
        pieces = np.split(value, np.cumsum(segments)[:-1], axis)
        parts = [np.split(piece, count, axis) for piece in pieces]
        for rank in range(count):
            own = np.concatenate([part[rank] for part in parts], axis)
            found[f"{name}_shard-{rank}"] = np.ascontiguousarray(own)
    return found


def _named(name: str, rules: Rules) -> str:
    for theirs, ours in rules.renamed.items():
        name = name.replace(theirs, ours)
    return rules.prefix + name.removeprefix(rules.prefix)


def _changed(name: str, value: Array, rules: Rules) -> Array:
    for end, change in rules.changed.items():
        if name.endswith(f".{end}") or name == end:
            return np.ascontiguousarray(change(value))
    return value


# The fields of MLC-LLM's config classes, where those leave out what Hugging Face's configs have.
_FIELDS = {
    "cohere": "hidden_size vocab_size num_hidden_layers num_attention_heads num_key_value_heads "
    "intermediate_size layer_norm_eps",
    "nemotron": "hidden_size vocab_size num_hidden_layers num_attention_heads num_key_value_heads "
    "intermediate_size max_position_embeddings rope_theta partial_rotary_factor rope_scaling "
    "norm_eps tie_word_embeddings mlp_bias",
    "gptj": "vocab_size n_embd n_layer n_head layer_norm_epsilon rotary_dim activation_function "
    "n_inner",
    "qwen3_5": "hidden_size intermediate_size num_attention_heads num_hidden_layers "
    "num_key_value_heads rms_norm_eps vocab_size head_dim hidden_act attention_bias "
    "tie_word_embeddings linear_key_head_dim linear_value_head_dim linear_num_key_heads "
    "linear_num_value_heads linear_conv_kernel_dim full_attention_interval",
}
_FIELDS |= dict.fromkeys(
    ("rwkv5", "rwkv6"),
    "hidden_size intermediate_size num_hidden_layers vocab_size model_version rescale_every "
    "head_size layer_norm_epsilon",
)
_LLAMA4_FIELDS = (
    "hidden_size intermediate_size num_attention_heads num_hidden_layers rms_norm_eps rope_theta "
    "use_qk_norm interleave_moe_layer_step num_experts_per_tok num_local_experts hidden_act "
    "tie_word_embeddings rope_scaling num_key_value_heads head_dim attn_scale floor_scale "
    "vocab_size attention_bias attn_temperature_tuning"
).split()
_GEMMA3_FIELDS = (
    "hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
    "head_dim rms_norm_eps hidden_activation rope_scaling query_pre_attn_scalar"
).split()


def mlc_config(config: Mapping[str, Any], quantization: str) -> dict[str, Any]:
    """The `mlc-chat-config.json` without the fields of tokenizers and templates."""
    key, context = key_of(config), config.get("max_position_embeddings", config.get("n_positions"))
    context = -1 if context is None else context  # a model without positions
    inner, window = _model_config(key, config), config.get("sliding_window")
    sizes = {"context_window_size": context, "prefill_chunk_size": 64}
    inner |= {**sizes, "tensor_parallel_shards": 1, "max_batch_size": 128}
    return {
        "version": "0.1.0",
        "model_type": key,
        "quantization": quantization,
        "model_config": inner,
        "vocab_size": config["vocab_size"],
        **sizes,
        "sliding_window_size": window if key == "gemma3" else -1,
        "attention_sink_size": -1,
    }


def _model_config(key: str, config: Mapping[str, Any]) -> dict[str, Any]:
    if key in _FIELDS:
        made = {name: config[name] for name in _FIELDS[key].split() if name in config}
        rope = config.get("rope_parameters") or {}
        names = [name for name in ("rope_theta", "partial_rotary_factor") if name in rope]
        made |= {name: rope[name] for name in names}
        theta = {"position_embedding_base": config["rope_theta"]} if key == "cohere" else {}
        return {**made, **theta}
    if key == "llama4":
        text = {name: config[name] for name in _LLAMA4_FIELDS if name in config}
        others = {name: v for name, v in config.items() if name not in text}
        layers, step = config["num_hidden_layers"], config["interleave_moe_layer_step"]
        text |= {
            "position_embedding_base": 10000,  # beside rope_theta, which counts
            "no_rope_layers": [int((i + 1) % 4 != 0) for i in range(layers)],
            "no_rope_layer_interval": 4,
            "moe_layers": list(range(step - 1, layers, step)),
            "kwargs": others,
        }
        return {"text_config": text, "vocab_size": config["vocab_size"]}
    if key == "gemma3":
        text = {name: config[name] for name in _GEMMA3_FIELDS if name in config}
        known = {*text, "vocab_size", "rope_theta"}
        text |= {
            "position_embedding_base": config["rope_theta"],
            "sliding_window_size": config["sliding_window"],
            "kwargs": {name: v for name, v in config.items() if name not in known},
        }
        return {
            "text_config": text,
            "vocab_size": config["vocab_size"],
            "sliding_window_size": config["sliding_window"],
            "is_text_model": True,
        }
    return dict(config)
