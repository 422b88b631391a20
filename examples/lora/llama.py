"""A Llama in NumPy whose last layers have LoRA adapters, with the gradients of these.

The weights stay as they are, and so does what the layers below make of a text: it is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# The linear layers of a block as our weights have them, and the tensors that are fused in them.
FUSED = {
    "self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attn.o_proj": ("self_attn.o_proj",),
    "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj"),
    "mlp.down_proj": ("mlp.down_proj",),
}


@dataclass(frozen=True)
class Shape:
    """Of a config.json."""

    layers: int
    hidden: int
    wide: int
    heads: int
    keys: int
    dim: int
    eps: float
    theta: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        hidden, heads = config["hidden_size"], config["num_attention_heads"]
        theta = config.get("rope_theta") or config.get("position_embedding_base", 10000.0)
        return cls(
            config["num_hidden_layers"], hidden, config["intermediate_size"], heads,
            config.get("num_key_value_heads", heads), config.get("head_dim") or hidden // heads,
            config["rms_norm_eps"], theta,
        )  # fmt: skip

    def widths(self, name: str) -> tuple[int, ...]:
        if name == "self_attn.qkv_proj":
            return self.heads * self.dim, self.keys * self.dim, self.keys * self.dim
        return (self.wide, self.wide) if name == "mlp.gate_up_proj" else (self.hidden,)


class Linear:
    """x W^T, and for each part of the outputs scale * (x A^T) B^T if `rank` is not 0."""

    def __init__(
        self, w: Array, widths: tuple[int, ...], rank: int, scale: float, rng: np.random.Generator
    ) -> None:
        self.w, self.scale = w, scale
        ends = np.cumsum(widths)
        self.parts = [slice(end - width, end) for width, end in zip(widths, ends, strict=True)]
        shape = (rank, w.shape[1])
        self.a = [rng.standard_normal(shape, np.float32) / w.shape[1] ** 0.5 for _ in widths]
        self.b = [np.zeros((width, rank), np.float32) for width in widths]
        self.grads: list[Array] = []  # of all a, then of all b

    @property
    def factors(self) -> list[Array]:
        return [*self.a, *self.b]

    def __call__(self, x: Array) -> Array:
        y = x @ self.w.T
        if self.a[0].size:
            self.x, self.low = x, [x @ a.T for a in self.a]
            for part, low, b in zip(self.parts, self.low, self.b, strict=True):
                y[..., part] += self.scale * (low @ b.T)
        return y

    def back(self, dy: Array) -> Array:
        dx, flat = dy @ self.w, self.x.reshape(-1, self.x.shape[-1])
        of_a, of_b = [], []
        for part, low, a, b in zip(self.parts, self.low, self.a, self.b, strict=True):
            mine = dy[..., part].reshape(len(flat), -1)
            back = self.scale * (mine @ b)
            of_a.append(back.T @ flat)
            of_b.append(self.scale * (mine.T @ low.reshape(len(flat), -1)))
            dx += (back @ a).reshape(dx.shape)
        self.grads = [*of_a, *of_b]
        return dx


class Norm:
    def __init__(self, weight: Array, eps: float) -> None:
        self.weight, self.eps = weight, eps

    def __call__(self, x: Array) -> Array:
        self.x = x
        self.inverse = 1 / np.sqrt(np.square(x).mean(-1, keepdims=True) + self.eps)
        return x * self.inverse * self.weight

    def back(self, dy: Array) -> Array:
        dn, n = dy * self.weight, self.x * self.inverse
        return self.inverse * (dn - n * (dn * n).mean(-1, keepdims=True))


class Layer:
    """x [texts, tokens, hidden]; behind a text's end are tokens that nothing reads."""

    def __init__(
        self, weights: Mapping[str, Array], number: int, shape: Shape, rank: int, scale: float
    ) -> None:
        place, rng = f"model.layers.{number}", np.random.default_rng(number)
        self.shape = shape
        self.linears = {
            name: Linear(weights[f"{place}.{name}.weight"], shape.widths(name), rank, scale, rng)
            for name in FUSED
        }
        self.before, self.between = (
            Norm(weights[f"{place}.{name}.weight"], shape.eps)
            for name in ("input_layernorm", "post_attention_layernorm")
        )

    def __call__(self, x: Array) -> Array:
        qkv, o, gate_up, down = self.linears.values()
        x = x + o(self._attend(qkv(self.before(x))))
        both = gate_up(self.between(x))
        self.gate, self.up = np.split(both, 2, axis=-1)
        self.swish = 0.5 * (1 + np.tanh(0.5 * self.gate))
        return x + down(self.gate * self.swish * self.up)

    def back(self, dy: Array) -> Array:
        qkv, o, gate_up, down = self.linears.values()
        inner = down.back(dy)
        of_up = inner * self.gate * self.swish
        of_gate = inner * self.up * self.swish * (1 + self.gate * (1 - self.swish))
        dy = dy + self.between.back(gate_up.back(np.concatenate([of_gate, of_up], -1)))
        return dy + self.before.back(qkv.back(self._attend_back(o.back(dy))))

    def _attend(self, qkv: Array) -> Array:
        s, tokens = self.shape, qkv.shape[1]
        cuts = np.cumsum([s.heads * s.dim, s.keys * s.dim])
        q, k, v = np.split(qkv, cuts, axis=-1)
        angles = np.arange(tokens)[:, None] / s.theta ** (np.arange(0, s.dim, 2) / s.dim)
        self.turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        # [texts, keys, heads of a key, tokens, dim]
        self.q = _turned(self._split(q, s.heads // s.keys), *self.turn)
        self.k, self.v = _turned(self._split(k, 1), *self.turn), self._split(v, 1)
        scores = self.q @ self.k.swapaxes(-1, -2) / s.dim**0.5
        scores += np.triu(np.full((tokens, tokens), -1e30, np.float32), 1)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        self.shares = scores / scores.sum(-1, keepdims=True)
        return self._joined(self.shares @ self.v)

    def _attend_back(self, dy: Array) -> Array:
        s = self.shape
        dy = self._split(dy, s.heads // s.keys)
        dv = (self.shares.swapaxes(-1, -2) @ dy).sum(2, keepdims=True)
        of_shares = dy @ self.v.swapaxes(-1, -2)
        of_scores = self.shares * (of_shares - (of_shares * self.shares).sum(-1, keepdims=True))
        of_scores /= s.dim**0.5
        dk = (of_scores.swapaxes(-1, -2) @ self.q).sum(2, keepdims=True)
        cos, sin = self.turn
        dq, dk = _turned(of_scores @ self.k, cos, -sin), _turned(dk, cos, -sin)
        return np.concatenate([self._joined(one) for one in (dq, dk, dv)], -1)

    def _split(self, x: Array, each: int) -> Array:
        texts, tokens, _ = x.shape
        return x.reshape(texts, tokens, self.shape.keys, each, -1).transpose(0, 2, 3, 1, 4)

    def _joined(self, x: Array) -> Array:
        texts, _, _, tokens, _ = x.shape
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2, 4)).reshape(texts, tokens, -1)


def _turned(x: Array, cos: Array, sin: Array) -> Array:
    """Rotary positions, the pairs in two halves."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


class Llama:
    """Layers from `first` on have adapters."""

    def __init__(
        self, weights: Mapping[str, Array], shape: Shape, first: int, rank: int, scale: float
    ) -> None:
        self.table = weights["model.embed_tokens.weight"]
        self.head = weights.get("lm_head.weight", self.table)
        self.lower = [Layer(weights, i, shape, 0, scale) for i in range(first)]
        self.layers = [Layer(weights, i, shape, rank, scale) for i in range(first, shape.layers)]
        self.norm = Norm(weights["model.norm.weight"], shape.eps)
        self.first = first

    def below(self, ids: Array) -> Array:
        """What the layers without adapters make of texts (texts, tokens)."""
        x = self.table[ids]
        for layer in self.lower:
            x = layer(x)
        return x

    def learn(self, x: Array, wanted: Array) -> float:
        """Sets all gradients. `wanted`: the token behind each; -1: none is learnt. Returns the
        mean loss of a token."""
        for layer in self.layers:
            x = layer(x)
        chosen = wanted >= 0
        states = self.norm(x)[chosen]
        logits = states @ self.head.T
        logits -= logits.max(1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(1, keepdims=True)
        at = np.arange(len(states)), wanted[chosen]
        loss = float(-np.log(logits[at] + 1e-9).mean())
        logits[at] -= 1
        of_states = np.zeros_like(x)
        of_states[chosen] = (logits / len(states)) @ self.head
        dy = self.norm.back(of_states)
        for layer in reversed(self.layers):
            dy = layer.back(dy)
        return loss

    def linears(self) -> dict[str, Linear]:
        return {
            f"model.layers.{self.first + i}.{name}": linear
            for i, layer in enumerate(self.layers)
            for name, linear in layer.linears.items()
        }
