"""A random Llama of two layers: its library, its weights in any scheme, and NumPy's word on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import quick_code
from kernel_tools import Array, stored_weight
from vm_runner import Runner

from mlc_llm.compiler import models, pipeline, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.spec.rope import inverse_frequencies

CONFIG = {
    "model_type": "llama",
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 99,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 5000.0,
    "tie_word_embeddings": True,
    "prefill_chunk_size": 128,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "untied, biases": {
        "tie_word_embeddings": False,
        "attention_bias": True,
        "mlp_bias": True,
    },
    "sliding window": {"sliding_window_size": 24, "attention_sink_size": 2},
    "llama3 rope": {
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    "yarn rope": {
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
}
# Whose plain libraries are optimized: floats, and codes in rows and in columns.
_OPTIMIZED = ("q0f32", "q3f16_0", "q4f32_1")


@dataclass(frozen=True)
class Tiny:
    config: Any
    module: Any
    stored: dict[str, Array]  # what the library takes
    exact: dict[str, Array]  # what that means, float64

    def runner(self) -> Runner:
        return Runner(self.module, self.stored, num_pages=48)

    def expected(self, ids: list[int]) -> Array:
        """float64 logits (len(ids), vocabulary) by the textbook, without a cache."""
        return _forward(self.config, self.exact, ids)


def chat_config(scheme_name: str, variant: str = "plain") -> dict[str, Any]:
    return {**CONFIG, **VARIANTS[variant], "quantization": scheme_name}


def tiny(
    scheme_name: str,
    variant: str = "plain",
    kv_cache_dtype: str | None = None,
    opt: str = "O2",
) -> Tiny:
    """Compiled once, in whatever way the arguments are written."""
    return _tiny(scheme_name, variant, kv_cache_dtype, opt)


@cache
def _tiny(scheme_name: str, variant: str, kv_cache_dtype: str | None, opt: str) -> Tiny:
    chat = chat_config(scheme_name, variant)
    spec = library_spec(chat, device="cpu", kv_cache_dtype=kv_cache_dtype, opt=opt)
    is_usual = variant == "plain" and kv_cache_dtype is None and opt == "O2"
    if is_usual and scheme_name in _OPTIMIZED:
        module = pipeline.build(build_module(spec, models.get("llama")), spec.device)
    else:
        module = quick_code.build(spec, models.get("llama"))
    return Tiny(spec.config, module, *random_weights(spec.config, quantization.get(scheme_name)))


def random_weights(config: Any, scheme: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """Always the same: as the scheme stores them, and in float64."""
    stored, exact = {}, {}
    rng = np.random.default_rng(7)
    for source in models.weight_map(config):
        value = rng.standard_normal(source.shape) * (source.shape[-1] ** -0.5)
        if source.name.endswith("norm.weight"):
            value = 1 + 0.1 * rng.standard_normal(source.shape)
        use = source.quantizable
        shaped = value.astype(np.float32)
        arrays, exact[source.name] = stored_weight(scheme, shaped, use)
        names = [param.name for param in source.stored_params(scheme)]
        stored.update(zip(names, arrays, strict=True))
    return stored, exact


def _forward(c: Any, w: dict[str, Array], ids: list[int]) -> Array:
    x = w["model.embed_tokens.weight"][ids]
    for i in range(c.num_hidden_layers):
        name = f"model.layers.{i}"
        h = _norm(x, w[f"{name}.input_layernorm.weight"], c.rms_norm_eps)
        x = x + _linear(w, f"{name}.self_attn.o_proj", _attention(c, w, name, h))
        h = _norm(x, w[f"{name}.post_attention_layernorm.weight"], c.rms_norm_eps)
        gate, up = np.split(_linear(w, f"{name}.mlp.gate_up_proj", h), 2, axis=1)
        x = x + _linear(w, f"{name}.mlp.down_proj", gate / (1 + np.exp(-gate)) * up)
    x = _norm(x, w["model.norm.weight"], c.rms_norm_eps)
    return x @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def _norm(x: Array, weight: Array, eps: float) -> Array:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * weight


def _linear(w: dict[str, Array], name: str, x: Array) -> Array:
    return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)


def _attention(c: Any, w: dict[str, Array], name: str, h: Array) -> Array:
    n, heads, kv, dim = len(h), c.num_attention_heads, c.num_key_value_heads, c.head_dim
    qkv = _linear(w, f"{name}.self_attn.qkv_proj", h).reshape(n, heads + 2 * kv, dim)
    frequencies = np.array(inverse_frequencies(dim, c.rope_theta, c.rope_scaling))
    angles = np.arange(n)[:, None, None] * frequencies
    q, k = (_rotate(t, angles) * c.rope_scaling.magnitude for t in
            (qkv[:, :heads], qkv[:, heads : heads + kv]))  # fmt: skip
    k, v = (np.repeat(t, heads // kv, axis=1) for t in (k, qkv[:, heads + kv :]))
    scores = np.einsum("nhd,mhd->hnm", q, k) / np.sqrt(dim)
    row, column = np.indices((n, n))
    allowed = column <= row
    if c.sliding_window_size > 0:
        allowed &= (column > row - c.sliding_window_size) | (column < c.attention_sink_size)
    scores = np.exp(np.where(allowed, scores, -np.inf))
    scores /= scores.sum(-1, keepdims=True)
    return np.einsum("hnm,mhd->nhd", scores, v).reshape(n, heads * dim)


def _rotate(x: Array, angles: Array) -> Array:
    low, high = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)
