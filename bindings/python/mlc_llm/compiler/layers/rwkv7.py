"""RWKV 7: a layer's two halves, which see the row before.

    TimeMixSpec(heads=12, head_dim=64, decay=64, rate=64, values=32, gate=128, eps=64e-5)
    ChannelMixSpec(width=3072)

Both mix a row x with the row before: x + mix * (before - x), with a learned vector `mix` for each
linear layer that reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers.shift import Shift, before, head_norm, own_part, scan_on_cpu
from mlc_llm.compiler.layers.states import Recurrence, sigmoid
from mlc_llm.compiler.spec.part import FeedForward, Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

MIXES = ("receptance", "decay", "keys", "values", "rate", "gate")  # the linear layers, in order


@dataclass(frozen=True, kw_only=True)
class TimeMixSpec(Mixer):
    """Recurrent: a state [head_dim, head_dim] for each of `heads`, instead of attention.

    `decay`, `rate`, `values` and `gate` are the ranks of pairs of linear layers, in files
    `*_lora`. A layer with `values` = 0 is the first: its values v are `first` in all others. For
    each head and each row:

        decay = exp(-exp(-1/2) * sigmoid(up(tanh(down(x)))))
        rate = sigmoid(up(down(x)))
        value = v + (first - v) * sigmoid(up(down(x)))
        unit = k * key_scale, scaled to length 1
        key = k * (1 + (rate - 1) * key_rate)
        state = decay * state - outer(unit * rate, unit @ state) + outer(key, value)
        y = norm(receptance @ state) + sum(receptance * key * bonus) * value

    Then output(y * up(sigmoid(down(x)))). The norm is a layer norm of each head.
    """

    heads: int
    head_dim: int
    decay: int
    rate: int
    values: int
    gate: int
    eps: float
    shards: int = 1  # so many share the layer, and each makes a part of the narrow rows

    tensors = {
        "time_mixes": Tensor("attn.mixes"),
        "receptance": Tensor("attn.r_proj", gguf="time_mix_receptance"),
        "keys": Tensor("attn.k_proj", gguf="time_mix_key"),
        "values": Tensor("attn.v_proj", gguf="time_mix_value"),
        "output": Tensor("attn.o_proj", gguf="time_mix_output"),
        "decay_down": Tensor("attn.w_lora.lora.0", gguf="time_mix_w1"),
        "decay_up": Tensor("attn.w_lora.lora.2", gguf="time_mix_w2"),
        "rate_down": Tensor("attn.a_lora.lora.0", gguf="time_mix_a1"),
        "rate_up": Tensor("attn.a_lora.lora.2", gguf="time_mix_a2"),
        "value_down": Tensor("attn.v_lora.lora.0", gguf="time_mix_v1"),
        "value_up": Tensor("attn.v_lora.lora.2", gguf="time_mix_v2"),
        "gate_down": Tensor("attn.g_lora.lora.0", gguf="time_mix_g1"),
        "gate_up": Tensor("attn.g_lora.lora.2", gguf="time_mix_g2"),
        "key_scale": Tensor("attn.k_k", gguf="time_mix_k_k"),
        "key_rate": Tensor("attn.k_a", gguf="time_mix_k_a"),
        "bonus": Tensor("attn.r_k", gguf="time_mix_r_k"),
        "time_norm": Tensor("attn.g_norm", gguf="time_mix_ln"),
    }

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def pairs(self) -> dict[str, int]:
        """The ranks of the pairs of linear layers that the layer has."""
        ranks = {"decay": self.decay, "rate": self.rate, "value": self.values, "gate": self.gate}
        return {role: rank for role, rank in ranks.items() if rank}

    def sharded(self, count: int) -> TimeMixSpec:
        """Each shard makes all mixtures, for its heads."""
        return replace(self, heads=self.share_of(self.heads, count, "heads"), shards=count)

    def parameters(self, at: Place) -> Iterator[Parameter]:
        """Pairs stay floats in all quantizations."""
        wide, hidden = self.width, at.hidden
        yield at.parameter("time_mixes", "weight", (1,) * len(MIXES), (hidden,))
        for role in _ROWS:
            yield from at.linear(role, (wide,), hidden)
        for role, rank in self.pairs.items():
            yield from at.linear(
                f"{role}_down", (own_part(rank, self.shards, _STEP),), hidden, use="router"
            )
            yield from at.linear(f"{role}_up", (wide,), rank, use="router")
            if role != "gate":
                yield at.parameter(f"{role}_up", "bias", (wide,))
        yield from (at.vector(role, wide) for role in (*_VECTORS, "time_norm"))
        yield at.parameter("time_norm", "bias", (wide,))
        yield from at.linear("output", (hidden,), wide)

    def build(self, nn: Builder, at: Place) -> _TimeMix:
        return _TimeMix(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """After flash-linear-attention's and mlx-lm's `rwkv7`. `at.kept` has the values of the
        first layer."""

        def vector(role: str) -> Array:
            return at.weight(role).reshape(self.heads, self.head_dim)

        def pair(role: str, x: Array, between: Any = lambda x: x) -> Array:
            return at.linear(f"{role}_up", between(at.linear(f"{role}_down", x)), True)

        xr, xw, xk, xv, xa, xg = _mixed(at, "time_mixes", x)
        given = {"receptance": xr, "keys": xk, "values": xv}
        q, k, v = (at.linear(role, one) for role, one in given.items())
        gate = at.linear("gate_up", sigmoid(at.linear("gate_down", xg)))
        if self.values:
            v = v + (at.kept["first values"] - v) * sigmoid(pair("value", xv))
        else:
            at.kept.setdefault("first values", v)
        decay = np.exp(-np.exp(-0.5) * sigmoid(pair("decay", xw, np.tanh)))
        shape = (len(x), self.heads, self.head_dim)
        rate = sigmoid(pair("rate", xa))
        q, k, v, decay, rate = (t.reshape(shape) for t in (q, k, v, decay, rate))
        unit = k * vector("key_scale")
        unit = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
        k = k * (1 + (rate - 1) * vector("key_rate"))
        y = np.zeros(shape)
        state = np.zeros((self.heads, self.head_dim, self.head_dim))  # (heads, value, key)
        for n in range(len(x)):
            recalled = np.einsum("hvk,hk->hv", state, unit[n])
            state = state * decay[n][:, None, :] + np.einsum("hv,hk->hvk", v[n], k[n])
            state = state - np.einsum("hv,hk->hvk", recalled, unit[n] * rate[n])
            y[n] = np.einsum("hvk,hk->hv", state, q[n])
        y = head_norm(at, y, self.eps) + (q * k * vector("bonus")).sum(-1, keepdims=True) * v
        return at.linear("output", y.reshape(len(x), -1) * gate)


_VECTORS = ("key_scale", "key_rate", "bonus")
_ROWS = ("receptance", "keys", "values")
_STEP = 8  # a shard makes a multiple of so many elements of a narrow row
# What stands between the two layers of a pair; between the others nothing does.
_BETWEEN = {"decay": "tanh", "gate": "sigmoid"}


def _mixed(at: Reference, role: str, x: Array) -> list[Array]:
    return [x + (before(x) - x) * mix for mix in at.weight(role)]


class _TimeMix:
    """Six mixtures of each row and the row before, their linear layers, and the states."""

    def __init__(self, r: TimeMixSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import TimeMixShape

        self.nn, self.is_first = nn, not r.values
        mixes = [f"{at.name('time_mixes')}.weight"]
        self.shift = Shift(nn, at, mixes, at.hidden, len(MIXES))
        self.linear = {role: nn.linear(at.name(role), r.width, at.hidden) for role in _ROWS}
        self.behind = nn.linear(at.name("output"), at.hidden, r.width)
        self.pairs = {role: _Pair(nn, at, role, rank, r) for role, rank in r.pairs.items()}
        kinds = (f"{at.name('time_norm')}.{kind}" for kind in ("weight", "bias"))
        self.weights = [*(f"{at.name(role)}.weight" for role in _VECTORS), *kinds]
        shape = TimeMixShape(
            heads=r.heads,
            head_dim=r.head_dim,
            eps=r.eps,
            mixes_values=not self.is_first,
            dtypes=tuple(nn.stored(weight).dtype for weight in self.weights),
        )
        self.states = Recurrence(nn, at, shape)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        x = dict(zip(MIXES, self.shift(x, batch, memory), strict=True))
        rows = [self.linear[role](x[role]) for role in _ROWS]
        rows += [self.pairs[role](x[role]) for role in ("decay", "rate", "gate")]
        if self.is_first:
            memory.first_values = rows[2]
        else:
            rows += [memory.first_values, self.pairs["value"](x["values"])]
        results = partial(self.states.results, batch, memory)
        return self.behind(self._scanned(list(map(self.nn.plain, rows)), results), residual)

    def _scanned(self, rows: list[Any], results: Any) -> Any:
        from mlc_llm.compiler.kernels.cpu.rwkv import time_mix
        from mlc_llm.compiler.nn.gpu import rwkv as gpu_rwkv

        nn, shape = self.nn, self.states.shape
        make = nn.of(partial(scan_on_cpu, "time_mix", time_mix), gpu_rwkv.time_mix)
        return make(nn, shape, rows, self.weights, results)


class _Pair:
    """Two linear layers with a narrow row between them."""

    def __init__(self, nn: Builder, at: Place, role: str, rank: int, r: TimeMixSpec) -> None:
        own, word = own_part(rank, r.shards, _STEP), _BETWEEN.get(role)
        self.down = nn.linear(at.name(f"{role}_down"), own, at.hidden)
        self.between = nn.activated(own, word) if word else lambda x: x
        self.joined = nn.shards.beside if own < rank else lambda x: x
        self.up = nn.linear(at.name(f"{role}_up"), r.width, rank, bias=role != "gate")

    def __call__(self, x: Any) -> Any:
        return self.up(self.joined(self.between(self.down(x))))


@dataclass(frozen=True, kw_only=True)
class ChannelMixSpec(FeedForward):
    """The MLP: down(activation(up(x))), of a row mixed with the row before."""

    width: int
    activation: str = "relu2"

    tensors = {
        "channel_mixes": Tensor("ffn.mixes"),
        "up": Tensor("ffn.key", gguf="channel_mix_key"),
        "down": Tensor("ffn.value", gguf="channel_mix_value"),
    }

    def sharded(self, count: int) -> ChannelMixSpec:
        return replace(self, width=self.share_of(self.width, count, "elements of an MLP"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield at.vector("channel_mixes", 1, at.hidden)
        yield from at.linear("up", (self.width,), at.hidden)
        yield from at.linear("down", (at.hidden,), self.width)

    def build(self, nn: Builder, at: Place) -> _ChannelMix:
        return _ChannelMix(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        (mixed,) = _mixed(at, "channel_mixes", x)
        return at.linear("down", at.activated(self.activation, at.linear("up", mixed)))


class _ChannelMix:
    """The MLP of a row mixed with the row before."""

    def __init__(self, mlp: ChannelMixSpec, nn: Builder, at: Place) -> None:
        mixes = [f"{at.name('channel_mixes')}.weight"]
        self.shift = Shift(nn, at, mixes, at.hidden, 1)
        self.up = nn.linear(at.name("up"), mlp.width, at.hidden)
        self.activation = nn.activated(mlp.width, mlp.activation)
        self.down = nn.linear(at.name("down"), at.hidden, mlp.width)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        (mixed,) = self.shift(x, batch, memory)
        return self.down(self.activation(self.up(mixed)), residual)
