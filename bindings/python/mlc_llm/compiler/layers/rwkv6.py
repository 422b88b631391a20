"""RWKV 5 and 6: a layer's two halves, which see the row before.

    DecayMixSpec(heads=32, head_dim=64, mixes=32, decay=64, eps=64e-5)    # RWKV 6
    DecayMixSpec(heads=32, head_dim=64, eps=64e-5)                        # RWKV 5
    GatedMixSpec(width=7168)

Each linear layer reads a row x mixed with the row before. In RWKV 6 the learned vector `mix` says
how much of the row before: x + mix * (before - x); in RWKV 5 how much of x:
before + mix * (x - before). The parameters have the shapes of files and of MLC-LLM's folders.
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
from mlc_llm.compiler.spec.weights import Parameter, Source, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

MIXED = ("decay", "keys", "values", "receptance", "gate")  # RWKV 6's order; RWKV 5 has no decay
_ROWS = ("receptance", "keys", "values", "gate")
_STEP = 16  # the outs of a narrow layer are a multiple of it


def _vector(name: str, gguf: str = "") -> Tensor:
    return Tensor(name, Source(name, is_whole=True), gguf)


@dataclass(frozen=True, kw_only=True)
class DecayMixSpec(Mixer):
    """Recurrent: a state [head_dim, head_dim] for each of `heads`, instead of attention.

    `mixes`: the rank of the layers that change each row's mixes, RWKV 6 alone:

        mix[j] + tanh((x + first_mix * (before - x)) @ down)[j] @ up[j]

    `decay`: the rank of the layers that change each row's decay, RWKV 6 alone. For each head and
    each row:

        y = receptance @ (state + outer(bonus * key, value))
        state = exp(-exp(decay + tanh(x @ decay_down) @ decay_up)) * state + outer(key, value)

    Then output(norm(y) * silu(gate)). The norm is a layer norm of each head.
    """

    heads: int
    head_dim: int
    eps: float
    mixes: int = 0
    decay: int = 0
    shards: int = 1  # so many share the layer, and each makes a part of the narrow rows

    tensors = {
        "first_mix": _vector("attention.time_maa_x"),
        **{f"{role}_mix": _vector(f"attention.time_maa_{letter}")
           for role, letter in zip(MIXED, "wkvrg", strict=True)},
        "mixes_down": _vector("attention.time_maa_w1"),
        "mixes_up": _vector("attention.time_maa_w2"),
        "decay": _vector("attention.time_decay"),
        "decay_down": _vector("attention.time_decay_w1"),
        "decay_up": _vector("attention.time_decay_w2"),
        "bonus": _vector("attention.time_faaaa", "time_mix_first"),
        "receptance": Tensor("attention.receptance", gguf="time_mix_receptance"),
        "keys": Tensor("attention.key", gguf="time_mix_key"),
        "values": Tensor("attention.value", gguf="time_mix_value"),
        "gate": Tensor("attention.gate", gguf="time_mix_gate"),
        "output": Tensor("attention.output", gguf="time_mix_output"),
        "time_norm": Tensor("attention.ln_x", gguf="time_mix_ln"),
    }  # fmt: skip

    def __post_init__(self) -> None:
        assert bool(self.mixes) == bool(self.decay), self

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def mixed(self) -> tuple[str, ...]:
        """What reads a mixture of its own."""
        return MIXED if self.mixes else MIXED[1:]

    def sharded(self, count: int) -> DecayMixSpec:
        """Each shard makes all mixtures, for its heads."""
        return replace(self, heads=self.share_of(self.heads, count, "heads"), shards=count)

    def parameters(self, at: Place) -> Iterator[Parameter]:
        wide, hidden = self.width, at.hidden
        if self.mixes:
            yield at.plain("first_mix", 1, 1, hidden)
        yield from (at.plain(f"{role}_mix", 1, 1, hidden) for role in self.mixed)
        if self.mixes:
            ranks = len(self.mixed) * self.mixes
            yield at.plain("mixes_down", hidden, own_part(ranks, self.shards, _STEP))
            yield at.plain("mixes_up", len(self.mixed), self.mixes, hidden)
            yield at.plain("decay", 1, 1, wide)
            yield at.plain("decay_down", hidden, own_part(self.decay, self.shards, _STEP))
            yield at.plain("decay_up", self.decay, wide)
        else:
            yield at.plain("decay", self.heads, self.head_dim)
        yield at.plain("bonus", self.heads, self.head_dim)
        for role in _ROWS:
            yield from at.linear(role, (wide,), hidden)
        yield from at.linear("output", (hidden,), wide)
        yield from (at.parameter("time_norm", kind, (wide,)) for kind in ("weight", "bias"))

    def build(self, nn: Builder, at: Place) -> _DecayMix:
        return _DecayMix(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """After the author's package `rwkv`."""
        vector, change = at.plain_weight, before(x) - x
        mixes = [f"{role}_mix" for role in self.mixed]
        given = _mixtures(at, mixes, x, of_before=bool(self.mixes))
        if self.mixes:
            low = np.tanh((x + change * vector("first_mix").reshape(-1)) @ vector("mixes_down"))
            parts = zip(np.split(low, len(mixes), axis=1), vector("mixes_up"), strict=True)
            given = [one + change * (low @ up) for one, (low, up) in zip(given, parts, strict=True)]
        named = dict(zip(self.mixed, given, strict=True))
        q, k, v, gate = (at.linear(role, named[role]) for role in _ROWS)
        decay = vector("decay").reshape(1, -1) + np.zeros((len(x), self.width))
        if self.decay:
            decay = decay + np.tanh(named["decay"] @ vector("decay_down")) @ vector("decay_up")
        shape = (len(x), self.heads, self.head_dim)
        q, k, v, kept = (t.reshape(shape) for t in (q, k, v, np.exp(-np.exp(decay))))
        y = np.zeros(shape)
        state = np.zeros((self.heads, self.head_dim, self.head_dim))  # (heads, key, value)
        for n in range(len(x)):
            taken = np.einsum("hk,hv->hkv", k[n], v[n])
            y[n] = np.einsum("hk,hkv->hv", q[n], state + vector("bonus")[:, :, None] * taken)
            state = kept[n][:, :, None] * state + taken
        y = head_norm(at, y, self.eps).reshape(len(x), -1) * gate * sigmoid(gate)
        return at.linear("output", y)


def _mixtures(at: Reference, roles: list[str], x: Array, *, of_before: bool) -> list[Array]:
    """In NumPy, each by a vector of its own."""
    start, end = (x, before(x)) if of_before else (before(x), x)
    mixes = [at.plain_weight(role).reshape(-1) for role in roles]
    return [start + (end - start) * mix for mix in mixes]


class _DecayMix:
    """The mixtures of each row and the row before, their linear layers, and the states."""

    def __init__(self, r: DecayMixSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import DecayMixShape

        self.nn, self.mixed = nn, r.mixed
        self.linear = {role: nn.linear(at.name(role), r.width, at.hidden) for role in _ROWS}
        self.behind = nn.linear(at.name("output"), at.hidden, r.width)
        mixes = [at.name(f"{role}_mix") for role in r.mixed]
        self.decay = _Decay(nn, at, r) if r.mixes else None
        if r.mixes:
            self.mixes: Any = _RowMixes(nn, at, r, mixes)
        else:
            options = {"apart": True, "of_before": False}
            self.mixes = Shift(nn, at, mixes, at.hidden, len(mixes), **options)
        norm = [f"{at.name('time_norm')}.{kind}" for kind in ("weight", "bias")]
        self.weights = [*([] if r.decay else [at.name("decay")]), at.name("bonus"), *norm]
        dtypes = tuple(nn.stored(weight).dtype for weight in self.weights)
        sizes = {"heads": r.heads, "head_dim": r.head_dim, "eps": r.eps}
        shape = DecayMixShape(by_row=bool(r.decay), dtypes=dtypes, **sizes)
        self.states = Recurrence(nn, at, shape)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        given = dict(zip(self.mixed, self.mixes(x, batch, memory), strict=True))
        rows = [self.linear[role](given[role]) for role in _ROWS]
        if self.decay is not None:
            rows.append(self.decay(given["decay"]))
        made = self._scanned(rows, partial(self.states.results, batch, memory))
        return self.behind(made, residual)

    def _scanned(self, rows: list[Any], results: Any) -> Any:
        from mlc_llm.compiler.kernels.cpu.rwkv6 import decay_mix
        from mlc_llm.compiler.nn.gpu import rwkv as gpu_rwkv

        nn, shape = self.nn, self.states.shape
        make = nn.of(partial(scan_on_cpu, "decay_mix", decay_mix), gpu_rwkv.decay_mix)
        return make(nn, shape, rows, self.weights, results)


class _RowMixes:
    """The mixtures of RWKV 6, whose mixes a row changes by itself."""

    def __init__(self, nn: Builder, at: Place, r: DecayMixSpec, mixes: list[str]) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import RowMixShape

        self.nn, self.mixes, count = nn, mixes, len(mixes)
        self.up, options = at.name("mixes_up"), {"apart": True, "gives_change": True}
        self.shift = Shift(nn, at, [at.name("first_mix")], at.hidden, 1, **options)
        down = at.name("mixes_down")
        self.down = _Narrow(nn, down, at.hidden, count * r.mixes, r.shards, activation="tanh")
        self.shape = RowMixShape(
            width=at.hidden,
            rank=r.mixes,
            count=count,
            up_dtype=nn.stored(self.up).dtype,
            mixes_dtype=nn.stored(mixes[0]).dtype,
        )

    def __call__(self, x: Any, batch: Batch, memory: Memory) -> list[Any]:
        from mlc_llm.compiler.nn.gpu import rwkv as gpu_rwkv

        nn = self.nn
        first, change = self.shift(x, batch, memory)
        rows = [nn.plain(x), nn.plain(change), self.down(first)]
        up, mixes = nn.param(self.up), list(map(nn.param, self.mixes))
        make = nn.of(self._on_cpu, partial(gpu_rwkv.row_mix, nn, self.shape))
        return list(make(rows, up, mixes))

    def _on_cpu(self, rows: list[Any], up: Any, mixes: list[Any]) -> list[Any]:
        from mlc_llm.compiler.kernels.cpu.rwkv6 import row_mix

        nn, shape = self.nn, self.shape
        kernel = nn.kernel("row_mix", (shape,), partial(row_mix, shape))
        out = [nn.rows(rows[0], shape.width)] * shape.count
        made = nn.members_of(nn.call(kernel, [*rows, up, *mixes], out), shape.count)
        return [nn.deferred(one) for one in made]


class _Decay:
    """How each row's states decay in RWKV 6."""

    def __init__(self, nn: Builder, at: Place, r: DecayMixSpec) -> None:
        down, up = at.name("decay_down"), at.name("decay_up")
        self.down = _Narrow(nn, down, at.hidden, r.decay, r.shards, activation="tanh")
        self.up = _Narrow(nn, up, r.decay, r.width, bias=at.name("decay"))

    def __call__(self, x: Any) -> Any:
        return self.up(self.down(x))


class _Narrow:
    """activation(x weight + bias), with the weight as [ins, outs]. `shards` share the outs, and
    all of them get the whole result."""

    def __init__(
        self,
        nn: Builder,
        name: str,
        ins: int,
        outs: int,
        shards: int = 1,
        *,
        activation: str | None = None,
        bias: str | None = None,
    ) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import NarrowShape

        self.nn, self.weights = nn, [name, *([bias] if bias else [])]
        own = own_part(outs, shards, _STEP)
        self.joined = nn.shards.beside if own < outs else lambda x: x
        self.shape = NarrowShape(
            ins=ins,
            outs=own,
            activation=activation,
            weight_dtype=nn.stored(name).dtype,
            bias_dtype=nn.stored(bias).dtype if bias else None,
        )

    def __call__(self, x: Any) -> Any:
        from mlc_llm.compiler.kernels.cpu.rwkv6 import narrow as on_cpu
        from mlc_llm.compiler.kernels.gpu.rwkv import narrow as on_gpu

        nn, shape = self.nn, self.shape
        kernel = nn.kernel("narrow", (shape,), partial(nn.of(on_cpu, on_gpu), shape))
        args = [nn.plain(x), *map(nn.param, self.weights)]
        return self.joined(nn.call(kernel, args, nn.rows(x, shape.outs)))


@dataclass(frozen=True, kw_only=True)
class GatedMixSpec(FeedForward):
    """The MLP: sigmoid(receptance(x)) * down(activation(up(x))), of two mixtures. `of_before`: the
    mixes say how much of the row before, as in RWKV 6."""

    width: int
    of_before: bool = True
    activation: str = "relu2"
    shards: int = 1  # so many share the layer, and each has some of the gates

    tensors = {
        "up_mix": _vector("feed_forward.time_maa_k"),
        "mlp_gate_mix": _vector("feed_forward.time_maa_r"),
        "up": Tensor("feed_forward.key", gguf="channel_mix_key"),
        "down": Tensor("feed_forward.value", gguf="channel_mix_value"),
        "mlp_gate": Tensor("feed_forward.receptance", gguf="channel_mix_receptance"),
    }

    def sharded(self, count: int) -> GatedMixSpec:
        width = self.share_of(self.width, count, "elements of an MLP")
        return replace(self, width=width, shards=count)

    def parameters(self, at: Place) -> Iterator[Parameter]:
        hidden = at.hidden
        yield from (at.plain(role, 1, 1, hidden) for role in ("up_mix", "mlp_gate_mix"))
        yield from at.linear("up", (self.width,), hidden)
        yield from at.linear("mlp_gate", (hidden // self.shards,), hidden)
        yield from at.linear("down", (hidden,), self.width)

    def build(self, nn: Builder, at: Place) -> _GatedMix:
        return _GatedMix(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        roles = ["up_mix", "mlp_gate_mix"]
        mixed, for_gate = _mixtures(at, roles, x, of_before=self.of_before)
        made = at.linear("down", at.activated(self.activation, at.linear("up", mixed)))
        return made * sigmoid(at.linear("mlp_gate", for_gate))


class _GatedMix:
    """The MLP of two mixtures, one of which is its gate."""

    def __init__(self, mlp: GatedMixSpec, nn: Builder, at: Place) -> None:
        mixes = [at.name("up_mix"), at.name("mlp_gate_mix")]
        options = {"apart": True, "of_before": mlp.of_before}
        self.nn, self.shift = nn, Shift(nn, at, mixes, at.hidden, len(mixes), **options)
        self.up = nn.linear(at.name("up"), mlp.width, at.hidden)
        self.activation = nn.activated(mlp.width, mlp.activation)
        self.down = nn.linear(at.name("down"), at.hidden, mlp.width)
        self.gate = nn.linear(at.name("mlp_gate"), at.hidden // mlp.shards, at.hidden)
        self.gated, self.sum = nn.sigmoid_gate(at.hidden), nn.scaled_add(at.hidden, 1.0)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        mixed, for_gate = self.shift(x, batch, memory)
        made = self.down(self.activation(self.up(mixed)))
        gates = self.nn.shards.beside(self.gate(for_gate))
        made = self.nn.plain(self.gated(made, gates))
        return made if residual is None else self.sum.add(made, residual)
