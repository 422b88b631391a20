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


# What families call the tensors that Llama has.
_NAMES: dict[str, dict[str, str]] = {
    "lfm2": {
        "embedding_norm": "norm",
        "operator_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "self_attn.out_proj": "self_attn.o_proj",
        "q_layernorm": "q_norm",
        "k_layernorm": "k_norm",
        "feed_forward.w1": "mlp.gate_proj",
        "feed_forward.w3": "mlp.up_proj",
        "feed_forward.w2": "mlp.down_proj",
    },
    "starcoder2": {"mlp.c_fc": "mlp.up_proj", "mlp.c_proj": "mlp.down_proj"},
    "phi": {
        "model.final_layernorm": "model.norm",
        "self_attn.dense": "self_attn.o_proj",
        "mlp.fc1": "mlp.up_proj",
        "mlp.fc2": "mlp.down_proj",
    },
    "gpt_neox": {
        "gpt_neox.embed_in": "model.embed_tokens",
        "gpt_neox.final_layer_norm": "model.norm",
        "gpt_neox.layers": "model.layers",
        "embed_out": "lm_head",
        "attention.dense": "self_attn.o_proj",
        "attention.query_key_value": "self_attn.qkv_proj",
        "mlp.dense_h_to_4h": "mlp.up_proj",
        "mlp.dense_4h_to_h": "mlp.down_proj",
    },
    "gpt2": {
        "transformer.wte": "model.embed_tokens",
        "transformer.ln_f": "model.norm",
        "transformer.h": "model.layers",
        "ln_1": "input_layernorm",
        "ln_2": "post_attention_layernorm",
        "attn.c_attn": "self_attn.qkv_proj",
        "attn.c_proj": "self_attn.o_proj",
        "mlp.c_fc": "mlp.up_proj",
        "mlp.c_proj": "mlp.down_proj",
    },
}
# And its fields.
_FIELDS = {
    "rms_norm_eps": ("norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"),
    "hidden_size": ("n_embd",),
    "num_hidden_layers": ("n_layer",),
    "num_attention_heads": ("n_head",),
    "hidden_act": ("activation_function",),
    "rope_theta": ("rotary_emb_base",),
    "partial_rotary_factor": ("rotary_pct",),
}
_LAYER_NORMS = ("starcoder2", "phi", "gpt_neox", "cohere", "gpt2")


def _as_llama(kind: str, name: str) -> str:
    for theirs, ours in _NAMES.get(kind, {}).items():
        name = name.replace(theirs, ours)
    return name


def _with_usual_fields(c: dict[str, Any]) -> dict[str, Any]:
    found = dict(c)
    for ours, others in _FIELDS.items():
        given = [c[other] for other in others if other in c]
        found |= {ours: given[0]} if given else {}
    found.setdefault("num_key_value_heads", found["num_attention_heads"])
    return found


class _Model:
    def __init__(self, c: dict[str, Any], w: Mapping[str, Array], off: Collection[str]) -> None:
        w = {_as_llama(c["model_type"], name): value for name, value in w.items()}
        c = _with_usual_fields(c)
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
        if self.kind == "gpt2" and "positions" not in self.off:
            x = x + self.w["transformer.wpe.weight"][: len(x)]
        for i in range(c["num_hidden_layers"]):
            x = self.layer(i, x)
        head = table if c["tie_word_embeddings"] else self.w["lm_head.weight"].astype(np.float64)
        made = self.norm("model.norm", x) @ head.T / self.scalar("logits_scaling")
        made = made + (0.0 if "bias" in self.off else self.w.get("lm_head.bias", 0.0))
        made = made * self.scalar("logit_scale")
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
        if self.kind in ("phi", "cohere", "gpt_neox") and "parallel" not in self.off:
            two = self.kind == "gpt_neox" and "two_norms" not in self.off
            other = "post_attention_layernorm" if two else "input_layernorm"
            return x + attended + self.mlp(name, self.norm(f"{name}.{other}", x))
        scale = self.scalar("residual_multiplier")
        x = x + attended * scale
        last = f"{name}.post_attention_layernorm"
        last = last if f"{last}.weight" in self.w else f"{name}.input_layernorm"
        return x + self.mlp(name, self.norm(last, x)) * scale

    def behind(self, name: str, x: Array) -> Array:
        return x if "post_norm" in self.off else self.norm(name, x)

    def norm(self, name: str, x: Array) -> Array:
        weight = self.w[f"{name}.weight"].astype(np.float64)
        if self.kind in _LAYER_NORMS and "layer_norm" not in self.off:
            x = x - x.mean(-1, keepdims=True)
        if f"{name}.bias" in self.w and "bias" not in self.off:
            return self.rms(x) * weight + self.w[f"{name}.bias"]
        weight = weight + (self.is_gemma and "plus_one" not in self.off)
        return self.rms(x) * weight

    def rms(self, x: Array) -> Array:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.c["rms_norm_eps"])

    def linear(self, name: str, x: Array) -> Array:
        bias = 0.0 if "bias" in self.off else self.w.get(f"{name}.bias", 0.0)
        weight = self.w[f"{name}.weight"].astype(np.float64)
        return x @ (weight if self.kind == "gpt2" else weight.T) + bias

    def ungated(self, name: str, x: Array) -> Array:
        x = self.linear(f"{name}.mlp.up_proj", x)
        exact = self.c["hidden_act"] == "gelu"
        if "gelu" in self.off:
            x = x / (1 + np.exp(-x))
        elif exact:
            x = x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
        else:
            x = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return self.linear(f"{name}.mlp.down_proj", x)

    def mlp(self, name: str, x: Array) -> Array:
        if self.kind in ("starcoder2", "phi", "gpt_neox", "gpt2"):
            return self.ungated(name, x)
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
        if self.kind == "gpt_neox":  # head by head
            fused = self.linear(f"{name}.qkv_proj", x).reshape(n, heads, 3, dim)
            q, k, v = (fused[:, :, i] for i in range(3))
        elif self.kind in ("phi3", "gpt2"):
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
        if self.kind == "gpt2":
            return x
        frequencies, magnitude = self.frequencies(i, size)
        angles = np.arange(len(x))[:, None, None] * frequencies
        cos, sin = np.cos(angles) * magnitude, np.sin(angles) * magnitude
        if self.kind == "cohere" and "pairs" not in self.off:
            low, high = x[..., 0::2], x[..., 1::2]
            turned = [low * cos - high * sin, high * cos + low * sin]
            return np.stack(turned, axis=-1).reshape(x.shape)
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
