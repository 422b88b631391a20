"""Decoders by the textbook, in NumPy and float64, from Hugging Face's config.json and tensors.

It shares no code with the compiler: neither configurations nor weight maps nor rotations. Formulas
follow transformers' modeling files. `off` names switches to leave out, to show that each counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def logits(
    config: Mapping[str, Any],
    weights: Mapping[str, Array],
    ids: list[int],
    off: Collection[str] = (),
) -> Array:
    """float64 (len(ids), vocabulary), without a cache."""
    return _Model(dict(config), weights, off).logits(ids)


# What LFM2 calls the tensors that Llama has.
_LFM2 = {
    "embedding_norm": "norm",
    "operator_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "self_attn.out_proj": "self_attn.o_proj",
    "q_layernorm": "q_norm",
    "k_layernorm": "k_norm",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w3": "mlp.up_proj",
    "feed_forward.w2": "mlp.down_proj",
}


def _as_llama(name: str) -> str:
    for theirs, ours in _LFM2.items():
        name = name.replace(theirs, ours)
    return name


class _Model:
    def __init__(self, c: dict[str, Any], w: Mapping[str, Array], off: Collection[str]) -> None:
        if c["model_type"] == "lfm2":
            w = {_as_llama(name): value for name, value in w.items()}
            c = {**c, "rms_norm_eps": c["norm_eps"]}
        self.c, self.w, self.off = c, w, off
        self.kind = c["model_type"]
        self.is_gemma = self.kind.startswith("gemma")
        self.dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]

    def logits(self, ids: list[int]) -> Array:
        c, table = self.c, self.w["model.embed_tokens.weight"].astype(np.float64)
        x = table[ids]
        if self.is_gemma and "embedding_scale" not in self.off:
            x = x * math.sqrt(c["hidden_size"])
        x = x * self.scalar("embedding_multiplier")
        for i in range(c["num_hidden_layers"]):
            x = self.layer(i, x)
        head = table if c["tie_word_embeddings"] else self.w["lm_head.weight"].astype(np.float64)
        made = self.norm("model.norm", x) @ head.T / self.scalar("logits_scaling")
        return self.capped(made, "final_logit_softcapping")

    def scalar(self, name: str) -> float:
        return 1.0 if name in self.off else self.c.get(name, 1.0)

    def layer(self, i: int, x: Array) -> Array:
        name = f"model.layers.{i}"
        mix = self.short_conv if f"{name}.conv.conv.weight" in self.w else self.attention
        attended = mix(i, self.norm(f"{name}.input_layernorm", x))
        if self.kind in ("gemma2", "gemma3_text"):
            x = x + self.behind(f"{name}.post_attention_layernorm", attended)
            made = self.mlp(name, self.norm(f"{name}.pre_feedforward_layernorm", x))
            return x + self.behind(f"{name}.post_feedforward_layernorm", made)
        scale = self.scalar("residual_multiplier")
        x = x + attended * scale
        return x + self.mlp(name, self.norm(f"{name}.post_attention_layernorm", x)) * scale

    def behind(self, name: str, x: Array) -> Array:
        return x if "post_norm" in self.off else self.norm(name, x)

    def norm(self, name: str, x: Array) -> Array:
        weight = self.w[f"{name}.weight"].astype(np.float64)
        weight = weight + (self.is_gemma and "plus_one" not in self.off)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.c["rms_norm_eps"]) * weight

    def linear(self, name: str, x: Array) -> Array:
        bias = 0.0 if "bias" in self.off else self.w.get(f"{name}.bias", 0.0)
        return x @ self.w[f"{name}.weight"].astype(np.float64).T + bias

    def mlp(self, name: str, x: Array) -> Array:
        if self.kind == "phi3":
            gate, up = np.split(self.linear(f"{name}.mlp.gate_up_proj", x), 2, axis=1)
        else:
            gate, up = (self.linear(f"{name}.mlp.{part}_proj", x) for part in ("gate", "up"))
        if self.is_gemma and "gelu" not in self.off:
            gate = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return self.linear(f"{name}.mlp.down_proj", gate * up)

    def attention(self, i: int, x: Array) -> Array:
        c, name = self.c, f"model.layers.{i}.self_attn"
        heads, kv, dim, n = c["num_attention_heads"], c["num_key_value_heads"], self.dim, len(x)
        if self.kind == "phi3":
            fused = self.linear(f"{name}.qkv_proj", x)
            q, k, v = np.split(fused, [heads * dim, (heads + kv) * dim], axis=1)
        else:
            q, k, v = (self.linear(f"{name}.{part}_proj", x) for part in "qkv")
        q, k, v = (t.reshape(n, -1, dim) for t in (q, k, v))
        if f"{name}.q_norm.weight" in self.w and "qk_norm" not in self.off:
            q, k = self.norm(f"{name}.q_norm", q), self.norm(f"{name}.k_norm", k)
        q, k = self.rotated(i, q), self.rotated(i, k)
        k, v = (np.repeat(t, heads // kv, axis=1) for t in (k, v))
        scalar = dim if "scale" in self.off else c.get("query_pre_attn_scalar", dim)
        given = None if "attention_multiplier" in self.off else c.get("attention_multiplier")
        scores = np.einsum("nhd,mhd->hnm", q, k) * (given or 1 / math.sqrt(scalar))
        scores = self.capped(scores, "attn_logit_softcapping")
        scores = np.where(self.mask(i, n), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        attended = np.einsum("hnm,mhd->nhd", weights, v).reshape(n, heads * dim)
        return self.linear(f"{name}.o_proj", attended)

    def short_conv(self, i: int, x: Array) -> Array:
        name, n = f"model.layers.{i}.conv", len(x)
        before, behind, x = np.split(self.linear(f"{name}.in_proj", x), 3, axis=1)
        x = x if "before_gate" in self.off else before * x
        taps = self.w[f"{name}.conv.weight"].astype(np.float64)[:, 0].T  # (rows, channels)
        taps = (
            taps * (np.arange(len(taps)) == len(taps) - 1)[:, None] if "past" in self.off else taps
        )
        padded = np.concatenate([np.zeros((len(taps) - 1, x.shape[1])), x])
        made = sum(padded[j : j + n] * tap for j, tap in enumerate(taps))
        made = made + (0.0 if "bias" in self.off else self.w[f"{name}.conv.bias"])
        made = made if "behind_gate" in self.off else behind * made
        return self.linear(f"{name}.out_proj", made)

    def capped(self, x: Array, name: str) -> Array:
        cap = None if name in self.off else self.c.get(name)
        return x if cap is None else np.tanh(x / cap) * cap

    def is_sliding(self, i: int) -> bool:
        c = self.c
        if self.kind == "gemma2":
            return i % 2 == 0
        if self.kind == "gemma3_text":
            return (i + 1) % c["sliding_window_pattern"] != 0
        if self.kind in ("qwen2", "qwen3"):
            return bool(c.get("use_sliding_window")) and i >= c["max_window_layers"]
        return c.get("sliding_window") is not None

    def mask(self, i: int, n: int) -> Array:
        row, column = np.indices((n, n))
        allowed = column <= row
        if self.is_sliding(i) and "window" not in self.off:
            allowed &= column > row - self.c["sliding_window"]
        return allowed

    def rotated(self, i: int, x: Array) -> Array:
        """Of the first part of each head, (n, heads, dim)."""
        partial = 1.0 if "partial" in self.off else self.c.get("partial_rotary_factor", 1.0)
        size = int(self.dim * partial)
        if self.kind == "smollm3" and (i + 1) % 4 == 0 and "no_rope" not in self.off:
            return x
        frequencies, magnitude = self.frequencies(i, size)
        angles = np.arange(len(x))[:, None, None] * frequencies
        cos, sin = np.cos(angles) * magnitude, np.sin(angles) * magnitude
        low, high, rest = x[..., : size // 2], x[..., size // 2 : size], x[..., size:]
        turned = [low * cos - high * sin, high * cos + low * sin, rest]
        return np.concatenate(turned, axis=-1)

    def frequencies(self, i: int, size: int) -> tuple[Array, float]:
        c = self.c
        local = self.kind == "gemma3_text" and self.is_sliding(i) and "local_rope" not in self.off
        theta = c["rope_local_base_freq"] if local else c["rope_theta"]
        plain = theta ** (-np.arange(0, size, 2) / size)
        scaling = None if local or "rope_scaling" in self.off else c.get("rope_scaling")
        if scaling is None:
            return plain, 1.0
        kind = scaling.get("rope_type") or scaling["type"]
        if kind == "linear":
            return plain / scaling["factor"], 1.0
        if kind == "longrope":
            original = c["original_max_position_embeddings"]
            factor = c["max_position_embeddings"] / original
            is_long = factor > 1
            stretch = np.array(scaling["long_factor" if is_long else "short_factor"][: size // 2])
            stretch = np.resize(stretch, size // 2)
            return plain / stretch, math.sqrt(1 + math.log(factor) / math.log(original))
        assert kind == "yarn"
        factor, original = scaling["factor"], scaling["original_max_position_embeddings"]
        turns = original * plain / (2 * math.pi)  # of each pair in the original context
        pair = size * np.log(turns[0] / np.array([32.0, 1.0])) / (2 * math.log(theta))
        low, high = max(math.floor(pair[0]), 0), min(math.ceil(pair[1]), size - 1)
        keep = 1 - np.clip((np.arange(size // 2) - low) / max(high - low, 0.001), 0, 1)
        return plain / factor * (1 - keep) + plain * keep, 0.1 * math.log(factor) + 1
