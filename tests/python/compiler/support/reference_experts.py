"""Decoders with experts by the textbook, in NumPy and float64, from Hugging Face's config.json and
tensors. It shares no code with the compiler; formulas follow transformers' modeling files.

`off` names switches to leave out, to show that each counts.
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
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    return _Model(dict(config), w, off).logits(ids)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


class _Model:
    def __init__(self, c: dict[str, Any], w: Mapping[str, Array], off: Collection[str]) -> None:
        self.c, self.w, self.off, self.kind = c, w, off, c["model_type"]

    def logits(self, ids: list[int]) -> Array:
        table = self.w["model.embed_tokens.weight"]
        x = table[ids] * self.scalar("embedding_multiplier")
        scale = self.scalar("residual_multiplier")
        for i in range(self.c["num_hidden_layers"]):
            name = f"model.layers.{i}"
            x = x + scale * self.attention(i, self.norm(f"{name}.input_layernorm", x))
            given = self.norm(f"{name}.post_attention_layernorm", x)
            x = x + scale * self.half(name, given)
        head = table if self.c["tie_word_embeddings"] else self.w["lm_head.weight"]
        return self.norm("model.norm", x) @ head.T / self.scalar("logits_scaling")

    def scalar(self, name: str) -> float:
        return 1.0 if name in self.off else self.c.get(name, 1.0)

    def norm(self, name: str, x: Array) -> Array:
        mean = (x * x).mean(-1, keepdims=True)
        return x / np.sqrt(mean + self.c["rms_norm_eps"]) * self.w[f"{name}.weight"]

    def linear(self, name: str, x: Array, switch: str = "bias") -> Array:
        bias = 0.0 if switch in self.off else self.w.get(f"{name}.bias", 0.0)
        return x @ self.w[f"{name}.weight"].T + bias

    # Attention

    def attention(self, i: int, x: Array) -> Array:
        c, name, n = self.c, f"model.layers.{i}.self_attn", len(x)
        heads, dim = c["num_attention_heads"], c["head_dim"]
        q, k, v = (self.linear(f"{name}.{part}_proj", x).reshape(n, -1, dim) for part in "qkv")
        if f"{name}.q_norm.weight" in self.w and "qk_norm" not in self.off:
            q, k = self.norm(f"{name}.q_norm", q), self.norm(f"{name}.k_norm", k)
        q, k = self.rotated(q), self.rotated(k)
        k, v = (np.repeat(t, heads // t.shape[1], axis=1) for t in (k, v))
        given = None if "attention_multiplier" in self.off else c.get("attention_multiplier")
        scores = np.einsum("nhd,mhd->hnm", q, k) * (given or 1 / math.sqrt(dim))
        row, column = np.indices((n, n))
        seen = column <= row
        if self.kind == "gpt_oss" and i % 2 == 0 and "window" not in self.off:
            seen &= column > row - c["sliding_window"]
        scores = np.where(seen, scores, -np.inf)
        if f"{name}.sinks" in self.w and "sinks" not in self.off:
            sinks = np.broadcast_to(self.w[f"{name}.sinks"][:, None, None], (heads, n, 1))
            shares = softmax(np.concatenate([scores, sinks], axis=-1))[..., :-1]
        else:
            shares = softmax(scores)
        return self.linear(f"{name}.o_proj", np.einsum("hnm,mhd->nhd", shares, v).reshape(n, -1))

    def rotated(self, x: Array) -> Array:
        """The first part of each head, (n, heads, dim)."""
        partial = 1.0 if "partial" in self.off else self.c.get("partial_rotary_factor", 1.0)
        size = int(x.shape[-1] * partial)
        frequencies, magnitude = self.frequencies(size)
        angles = np.arange(len(x))[:, None, None] * frequencies
        cos, sin = np.cos(angles) * magnitude, np.sin(angles) * magnitude
        low, high, rest = x[..., : size // 2], x[..., size // 2 : size], x[..., size:]
        return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], axis=-1)

    def frequencies(self, size: int) -> tuple[Array, float]:
        theta = self.c["rope_theta"]
        plain = theta ** (-np.arange(0, size, 2) / size)
        scaling = None if "rope_scaling" in self.off else self.c.get("rope_scaling")
        if scaling is None:
            return plain, 1.0
        factor, original = scaling["factor"], scaling["original_max_position_embeddings"]
        pairs = [
            size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
            for turns in (32.0, 1.0)
        ]
        if scaling.get("truncate", True) or "no_truncate" in self.off:
            pairs = [math.floor(pairs[0]), math.ceil(pairs[1])]
        low, high = max(pairs[0], 0), min(pairs[1], size - 1)
        keep = 1 - np.clip((np.arange(size // 2) - low) / max(high - low, 0.001), 0, 1)
        return plain / factor * (1 - keep) + plain * keep, 0.1 * math.log(factor) + 1

    # Experts

    def half(self, name: str, x: Array) -> Array:
        if f"{name}.mlp.gate_proj.weight" in self.w:
            return self.gated(f"{name}.mlp", x)
        made = np.zeros_like(x)
        if "experts" not in self.off:
            shares = self.shares(name, x)  # (rows, experts)
            for i in range(shares.shape[1]):
                made += shares[:, i : i + 1] * self.expert(name, i, x)
        return made if "shared" in self.off else made + self.shared(name, x)

    def gated(self, name: str, x: Array) -> Array:
        gate, up = (self.linear(f"{name}.{part}_proj", x) for part in ("gate", "up"))
        return self.linear(f"{name}.down_proj", gate * sigmoid(gate) * up)

    def shares(self, name: str, x: Array) -> Array:
        """The weight of each expert for each row; 0 for those that are not chosen."""
        routers = (
            "mlp.gate",
            "mlp.router",
            "block_sparse_moe.gate",
            "block_sparse_moe.router.layer",
        )
        router = next(r for r in routers if f"{name}.{r}.weight" in self.w)
        scores = self.linear(f"{name}.{router}", x, "router_bias")
        chosen = self.c["num_experts_per_tok"]
        if self.kind in ("gpt_oss", "granitemoe"):
            best = self.best(scores, chosen)
            return softmax(np.where(best, scores, -np.inf))
        ranks = scores
        if self.kind == "glm4_moe":
            scores = sigmoid(scores)
            ranks = self.limited(name, scores)
        else:
            scores = softmax(scores)
        shares = np.where(self.best(ranks, chosen), scores, 0.0)
        normalize = self.c.get("norm_topk_prob", self.kind == "mixtral")
        if (normalize and "normalize" not in self.off) or "unlike_normalized" in self.off:
            shares = shares / shares.sum(-1, keepdims=True)
        return shares * self.scalar(
            "routed_scaling_factor" if "factor" not in self.off else "factor"
        )

    def limited(self, name: str, scores: Array) -> Array:
        """What is compared: the scores and their correction, of the best groups only."""
        if "correction" not in self.off:
            scores = scores + self.w[f"{name}.mlp.gate.e_score_correction_bias"]
        if "groups" in self.off:
            return scores
        groups = scores.reshape(len(scores), self.c["n_group"], -1)
        values = np.sort(groups, axis=-1)[..., -2:].sum(-1)
        kept = self.best(values, self.c["topk_group"])
        return np.where(kept[..., None], groups, -np.inf).reshape(scores.shape)

    def best(self, values: Array, chosen: int) -> Array:
        """Which ones are the largest of each row."""
        chosen = values.shape[1] if "choice" in self.off else chosen
        order = np.argsort(-values, axis=-1, kind="stable")[:, :chosen]
        found = np.zeros(values.shape, bool)
        np.put_along_axis(found, order, True, axis=-1)
        return found

    def expert(self, name: str, i: int, x: Array) -> Array:
        w = self.w
        if self.kind == "gpt_oss":
            return self.clipped(f"{name}.mlp.experts", i, x)
        if self.kind == "granitemoe":
            moe = f"{name}.block_sparse_moe"
            gate, up = np.split(x @ w[f"{moe}.input_linear.weight"][i].T, 2, axis=1)
            return gate * sigmoid(gate) * up @ w[f"{moe}.output_linear.weight"][i].T
        if self.kind == "mixtral":
            gate, up, down = (
                w[f"{name}.block_sparse_moe.experts.{i}.{part}.weight"].T
                for part in ("w1", "w3", "w2")
            )
            return (x @ gate) * sigmoid(x @ gate) * (x @ up) @ down
        return self.gated(f"{name}.mlp.experts.{i}", x)

    def clipped(self, name: str, i: int, x: Array) -> Array:
        biases = "expert_bias" not in self.off
        made = x @ self.w[f"{name}.gate_up_proj"][i]
        made = made + biases * self.w[f"{name}.gate_up_proj_bias"][i]
        gate, up = made[:, 0::2], made[:, 1::2]
        if "clip" not in self.off:
            gate, up = np.minimum(gate, 7.0), np.clip(up, -7.0, 7.0)
        slope = 1.0 if "slope" in self.off else 1.702
        made = gate * sigmoid(slope * gate) * (up + ("plus_one" not in self.off))
        made = made @ self.w[f"{name}.down_proj"][i]
        return made + biases * self.w[f"{name}.down_proj_bias"][i]

    def shared(self, name: str, x: Array) -> Array:
        if self.kind == "qwen2_moe":
            share = sigmoid(self.linear(f"{name}.mlp.shared_expert_gate", x))
            share = 1.0 if "shared_gate" in self.off else share
            return share * self.gated(f"{name}.mlp.shared_expert", x)
        if self.kind == "glm4_moe":
            return self.gated(f"{name}.mlp.shared_experts", x)
        if self.kind == "granitemoe" and self.c["shared_intermediate_size"]:
            gate, up = np.split(self.linear(f"{name}.shared_mlp.input_linear", x), 2, axis=1)
            return self.linear(f"{name}.shared_mlp.output_linear", gate * sigmoid(gate) * up)
        return np.zeros_like(x)
