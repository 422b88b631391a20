"""An independent Llama forward pass in NumPy float64, straight from a GGUF file.

The judge of the product's numbers: it shares no code with mlc_llm and reads the file through the
`gguf` package alone.

    model = Reference.open(path_of_gguf)
    sequence = model.start()
    logits = sequence.append([1, 2, 3])          # (3, vocabulary), float64
    ids = model.greedy([1, 2, 3], count=64)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sizes:
    layers: int
    heads: int
    kv_heads: int
    dim: int
    theta: float
    eps: float
    window: int | None = None  # tokens that a row looks back, itself included
    sinks: int = 0  # first tokens that stay in its reach


@dataclass(frozen=True)
class Layer:
    q: Array
    k: Array
    v: Array
    output: Array
    gate: Array
    up: Array
    down: Array
    input_norm: Array
    mlp_norm: Array


class Reference:
    def __init__(self, sizes: Sizes, layers: list[Layer], table: Array, norm: Array, head: Array):
        self.sizes, self.layers, self.table, self.norm, self.head = sizes, layers, table, norm, head

    @classmethod
    def open(cls, path: Path) -> Reference:
        """Reads a Llama GGUF file whose tensors `gguf` can dequantize."""
        import gguf

        reader = gguf.GGUFReader(str(path))
        tensors = {t.name: t for t in reader.tensors}

        def weight(name: str) -> Array:
            tensor = tensors[name]
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            return np.asarray(values, np.float32).astype(np.float64)

        def field(name: str) -> Any:
            return reader.fields[f"llama.{name}"].contents()

        heads = field("attention.head_count")
        sizes = Sizes(
            layers=field("block_count"),
            heads=heads,
            kv_heads=field("attention.head_count_kv"),
            dim=field("embedding_length") // heads,
            theta=field("rope.freq_base"),
            eps=field("attention.layer_norm_rms_epsilon"),
        )
        layers = [_layer(weight, f"blk.{i}", sizes) for i in range(sizes.layers)]
        table = weight("token_embd.weight")
        head = weight("output.weight") if "output.weight" in tensors else table
        return cls(sizes, layers, table, weight("output_norm.weight"), head)

    def sliding(self, window: int, sinks: int) -> Reference:
        """The same model with a sliding window."""
        sizes = replace(self.sizes, window=window, sinks=sinks)
        return Reference(sizes, self.layers, self.table, self.norm, self.head)

    def start(self) -> Text:
        return Text(self)

    def greedy(self, prompt: Sequence[int], *, count: int, stop: frozenset[int] = frozenset()):
        """The `count` most likely next tokens, one after the other; ends after one of `stop`."""
        sequence = self.start()
        logits = sequence.append(prompt)[-1]
        ids: list[int] = []
        while len(ids) < count:
            ids.append(int(logits.argmax()))
            if ids[-1] in stop:
                break
            logits = sequence.append(ids[-1:])[-1]
        return ids


class Text:
    """A text that grows, with the keys and values of what it holds."""

    def __init__(self, model: Reference) -> None:
        self.model = model
        shape = (0, model.sizes.kv_heads, model.sizes.dim)
        self.cache = [(np.zeros(shape), np.zeros(shape)) for _ in model.layers]

    def append(self, ids: Sequence[int]) -> Array:
        """float64 logits (len(ids), vocabulary)."""
        return self.append_hidden(ids) @ self.model.head.T

    def append_hidden(self, ids: Sequence[int]) -> Array:
        """What the output head is given: float64 (len(ids), hidden)."""
        model, eps = self.model, self.model.sizes.eps
        x = model.table[list(ids)]  # (n, hidden)
        for i, layer in enumerate(model.layers):
            x = x + self._attend(i, layer, _rms_norm(x, layer.input_norm, eps))
            h = _rms_norm(x, layer.mlp_norm, eps)
            x = x + (_silu(h @ layer.gate.T) * (h @ layer.up.T)) @ layer.down.T
        return _rms_norm(x, model.norm, eps)

    def _attend(self, index: int, layer: Layer, x: Array) -> Array:
        s, n = self.model.sizes, len(x)
        past = len(self.cache[index][0])
        positions = np.arange(past, past + n)
        q = _rotate((x @ layer.q.T).reshape(n, s.heads, s.dim), positions, s.theta)
        k = _rotate((x @ layer.k.T).reshape(n, s.kv_heads, s.dim), positions, s.theta)
        v = (x @ layer.v.T).reshape(n, s.kv_heads, s.dim)
        old_k, old_v = self.cache[index]
        keys, values = np.concatenate([old_k, k]), np.concatenate([old_v, v])
        self.cache[index] = keys, values
        group = s.heads // s.kv_heads
        grouped = q.reshape(n, s.kv_heads, group, s.dim)
        scores = np.einsum("nhgd,mhd->hgnm", grouped, keys) / np.sqrt(s.dim)
        scores[:, :, ~_in_reach(s, positions[:, None], np.arange(len(keys)))] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = np.einsum("hgnm,mhd->nhgd", scores, values)
        return mixed.reshape(n, s.heads * s.dim) @ layer.output.T


def _layer(weight: Any, prefix: str, sizes: Sizes) -> Layer:
    return Layer(
        q=_half_split(weight(f"{prefix}.attn_q.weight"), sizes.heads),
        k=_half_split(weight(f"{prefix}.attn_k.weight"), sizes.kv_heads),
        v=weight(f"{prefix}.attn_v.weight"),
        output=weight(f"{prefix}.attn_output.weight"),
        gate=weight(f"{prefix}.ffn_gate.weight"),
        up=weight(f"{prefix}.ffn_up.weight"),
        down=weight(f"{prefix}.ffn_down.weight"),
        input_norm=weight(f"{prefix}.attn_norm.weight"),
        mlp_norm=weight(f"{prefix}.ffn_norm.weight"),
    )


def _half_split(rows: Array, heads: int) -> Array:
    """GGUF keeps the two halves of a rotated pair side by side; here they are half a head apart."""
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def _in_reach(s: Sizes, positions: Array, places: Array) -> Array:
    reach = places <= positions
    if s.window is None:
        return reach
    return reach & ((places > positions - s.window) | (places < s.sinks))


def _rms_norm(x: Array, weight: Array, eps: float) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def _silu(x: Array) -> Array:
    return x / (1.0 + np.exp(-x))


def _rotate(x: Array, positions: Array, theta: float) -> Array:
    half = x.shape[-1] // 2
    angles = positions[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]  # (n, 1, half)
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)
