"""A tiny random model of each family with experts, with every switch on: config.json, and Hugging
Face's tensors by the names that its checkpoints have."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shapes = Iterator[tuple[str, tuple[int, ...]]]

IDS = [int(i) for i in np.random.RandomState(3).randint(0, 128, 24)]  # a prompt

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
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
# Of each family: what its config has besides, and the reference's switches that it turns on.
FAMILIES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "mixtral": (
        {
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
            "tie_word_embeddings": False,
            "head_dim": 16,
        },
        ("experts", "normalize", "choice"),
    ),
    "qwen2_moe": (
        {
            "num_experts": 6,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 48,
            "shared_expert_intermediate_size": 80,
            "norm_topk_prob": False,
            "tie_word_embeddings": False,
            "head_dim": 16,
        },
        ("experts", "bias", "shared", "shared_gate", "choice", "unlike_normalized"),
    ),
    "qwen3_moe": (
        {
            "num_experts": 20,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 48,
            "norm_topk_prob": True,
            "decoder_sparse_step": 2,
            "mlp_only_layers": [3],
            "num_hidden_layers": 5,
            "attention_bias": False,
        },
        ("experts", "qk_norm", "normalize", "choice"),
    ),
    "gpt_oss": (
        {
            "num_local_experts": 8,
            "num_experts_per_tok": 3,
            "swiglu_limit": 7.0,
            "sliding_window": 8,
            "attention_bias": True,
            "rope_scaling": {**_YARN, "truncate": False, "factor": 8.0},
            "tie_word_embeddings": False,
        },
        (
            "experts",
            "bias",
            "expert_bias",
            "router_bias",
            "window",
            "sinks",
            "choice",
            "clip",
            "plus_one",
            "slope",
            "rope_scaling",
            "no_truncate",
        ),
    ),
    "glm4_moe": (
        {
            "n_routed_experts": 16,
            "num_experts_per_tok": 3,
            "n_shared_experts": 2,
            "moe_intermediate_size": 32,
            "first_k_dense_replace": 1,
            "n_group": 4,
            "topk_group": 2,
            "norm_topk_prob": True,
            "routed_scaling_factor": 1.5,
            "attention_bias": True,
            "use_qk_norm": True,
            "rope_scaling": None,
            "partial_rotary_factor": 0.5,
            "tie_word_embeddings": False,
        },
        (
            "experts",
            "bias",
            "qk_norm",
            "partial",
            "shared",
            "normalize",
            "choice",
            "correction",
            "groups",
            "factor",
        ),
    ),
    "granitemoe": (
        {
            "num_local_experts": 8,
            "num_experts_per_tok": 3,
            "shared_intermediate_size": 80,
            "head_dim": 16,
            "attention_bias": False,
            "embedding_multiplier": 3.0,
            "attention_multiplier": 0.1,
            "residual_multiplier": 0.4,
            "logits_scaling": 2.0,
        },
        (
            "experts",
            "shared",
            "choice",
            "embedding_multiplier",
            "attention_multiplier",
            "residual_multiplier",
            "logits_scaling",
        ),
    ),
}


# What another implementation (mlx-lm) does not read: configs are compared with these changes.
UNLIKE_MLX: dict[str, dict[str, Any]] = {
    "gpt_oss": {"rope_scaling": {**_YARN, "factor": 8.0}},  # it rounds the ends of yarn's ramp
    "granitemoe": {"shared_intermediate_size": 0},
}


def config(model_type: str, *, for_mlx: bool = False) -> dict[str, Any]:
    changes = UNLIKE_MLX.get(model_type, {}) if for_mlx else {}
    return {**_COMMON, **FAMILIES[model_type][0], **changes, "model_type": model_type}


def weights(c: dict[str, Any]) -> dict[str, Array]:
    """Always the same; values of bfloat16, in float32. Logits of routers are small, so that the
    choice of experts is not the same for all rows; correction values are as large as scores."""
    rng = np.random.RandomState(zlib.crc32(c["model_type"].encode()))
    return {name: _random(rng, name, shape) for name, shape in shapes(c).items()}


def _random(rng: np.random.RandomState, name: str, shape: tuple[int, ...]) -> Array:
    is_norm = name.endswith("norm.weight")
    value = rng.standard_normal(shape).astype(np.float32) * np.float32(0.3) + np.float32(is_norm)
    if "expert" in name or "linear.weight" in name:
        value = value * np.float32(1.5)
    return (value.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def shapes(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    hidden = c["hidden_size"]
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c["vocab_size"], hidden)}
    for i in range(c["num_hidden_layers"]):
        layer = dict([*_attention(c), *_mlp(c, i)])
        found |= {f"model.layers.{i}.{name}": shape for name, shape in layer.items()}
    found["model.norm.weight"] = (hidden,)
    if not c["tie_word_embeddings"]:
        found["lm_head.weight"] = (c["vocab_size"], hidden)
    return found


def _attention(c: dict[str, Any]) -> Shapes:
    kind, hidden, dim = c["model_type"], c["hidden_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim
    for name, outs in (("q", q), ("k", kv), ("v", kv)):
        yield f"self_attn.{name}_proj.weight", (outs, hidden)
        if kind == "qwen2_moe" or c.get("attention_bias"):
            yield f"self_attn.{name}_proj.bias", (outs,)
    yield "self_attn.o_proj.weight", (hidden, q)
    if kind == "gpt_oss":
        yield from (("self_attn.o_proj.bias", (hidden,)), ("self_attn.sinks", (4,)))
    if kind in ("qwen3_moe", "glm4_moe"):
        yield from ((f"self_attn.{name}_norm.weight", (dim,)) for name in "qk")
    for name in ("input_layernorm", "post_attention_layernorm"):
        yield f"{name}.weight", (hidden,)


def is_dense(c: dict[str, Any], layer: int) -> bool:
    if layer < c.get("first_k_dense_replace", 0) or layer in c.get("mlp_only_layers", []):
        return True
    return (layer + 1) % c.get("decoder_sparse_step", 1) != 0


def count(c: dict[str, Any]) -> int:
    names = ("num_experts", "num_local_experts", "n_routed_experts")
    return next(c[name] for name in names if name in c)


def _gated(name: str, hidden: int, wide: int) -> Shapes:
    for part in ("gate", "up"):
        yield f"{name}.{part}_proj.weight", (wide, hidden)
    yield f"{name}.down_proj.weight", (hidden, wide)


def _mlp(c: dict[str, Any], layer: int) -> Shapes:
    kind, hidden, wide = c["model_type"], c["hidden_size"], c["intermediate_size"]
    experts, narrow = count(c), c.get("moe_intermediate_size", wide)
    if is_dense(c, layer):
        yield from _gated("mlp", hidden, wide)
    elif kind == "mixtral":
        yield "block_sparse_moe.gate.weight", (experts, hidden)
        for i in range(experts):
            for part, shape in (("w1", (wide, hidden)), ("w3", (wide, hidden))):
                yield f"block_sparse_moe.experts.{i}.{part}.weight", shape
            yield f"block_sparse_moe.experts.{i}.w2.weight", (hidden, wide)
    elif kind == "gpt_oss":
        yield from (("mlp.router.weight", (experts, hidden)), ("mlp.router.bias", (experts,)))
        yield "mlp.experts.gate_up_proj", (experts, hidden, 2 * wide)
        yield "mlp.experts.gate_up_proj_bias", (experts, 2 * wide)
        yield "mlp.experts.down_proj", (experts, wide, hidden)
        yield "mlp.experts.down_proj_bias", (experts, hidden)
    elif kind == "granitemoe":
        yield "block_sparse_moe.router.layer.weight", (experts, hidden)
        yield "block_sparse_moe.input_linear.weight", (experts, 2 * wide, hidden)
        yield "block_sparse_moe.output_linear.weight", (experts, hidden, wide)
        if shared := c["shared_intermediate_size"]:
            yield "shared_mlp.input_linear.weight", (2 * shared, hidden)
            yield "shared_mlp.output_linear.weight", (hidden, shared)
    else:
        yield "mlp.gate.weight", (experts, hidden)
        for i in range(experts):
            yield from _gated(f"mlp.experts.{i}", hidden, narrow)
        if kind == "qwen2_moe":
            yield from _gated("mlp.shared_expert", hidden, c["shared_expert_intermediate_size"])
            yield "mlp.shared_expert_gate.weight", (1, hidden)
        if kind == "glm4_moe":
            yield "mlp.gate.e_score_correction_bias", (experts,)
            yield from _gated("mlp.shared_experts", hidden, c["n_shared_experts"] * narrow)
