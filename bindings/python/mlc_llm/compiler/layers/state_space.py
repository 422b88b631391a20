"""State space mixers: Mamba 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers import states
from mlc_llm.compiler.layers.states import sigmoid
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class StateSpaceSpec(Mixer):
    """Recurrent: Mamba 2, a state [state_dim, head_dim] for each of `heads`.

    The linear layer `in` computes values of all heads, writers and readers of all groups, which go
    through a convolution of `taps` rows and silu. It also computes the gates z and the time step of
    each head. For each head and each row, with t = softplus(time_step + its bias):

        state = exp(decay * t) * state + outer(writer, t * values)
        y = reader @ state + skip * values

    Then norm(y * silu(z)), with a norm for each group or with none. `heads // groups` neighbouring
    heads share a writer and a reader.
    """

    heads: int
    head_dim: int
    state_dim: int
    groups: int
    taps: int
    norm: NormSpec | None
    shards: int = 1  # so many share the only group, and each has some of its heads
    bias: bool = False  # whether `in` and `out` have a bias
    conv_bias: bool = False

    tensors = states.TENSORS

    @property
    def values(self) -> int:
        """The width of all values."""
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        """The width of values, writers and readers together."""
        return self.values + 2 * self.groups * self.state_dim

    def sharded(self, count: int) -> StateSpaceSpec:
        """A group that is the only one is on each shard."""
        own = replace(self, heads=self.share_of(self.heads, count, "heads"))
        if self.groups == 1:
            return replace(own, shards=count)
        return replace(own, groups=self.share_of(self.groups, count, "groups"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        pieces, group = (self.convolved, self.values, self.heads), self.groups * self.state_dim
        convolved = (self.values, group, group)
        runs = (*convolved, *pieces[1:])
        yield from at.linear("recurrent_in", pieces, at.hidden, self.bias, runs=runs)
        yield from states.conv_parameters(at, self.taps, self.convolved, self.conv_bias, convolved)
        yield from [at.vector(role, self.heads) for role in _VECTORS]
        if self.norm is not None:
            yield at.vector("recurrent_norm", self.values)
        yield from at.linear("recurrent_out", (at.hidden,), self.values, self.bias)

    def build(self, nn: Builder, at: Place) -> _StateSpace:
        return _StateSpace(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """transformers' `torch_forward` of a Mamba 2 mixer, row by row."""
        decay, bias, skip = map(at.weight, _VECTORS)
        made = at.linear("recurrent_in", x, self.bias)
        xbc, z, step = np.split(made, np.cumsum([self.convolved, self.values]), axis=1)
        xbc = states.conv_reference(at, self.taps, xbc, self.conv_bias)
        ends = np.cumsum([self.values, self.groups * self.state_dim])
        values, writers, readers = np.split(xbc * sigmoid(xbc), ends, axis=1)
        values = values.reshape(len(x), self.heads, self.head_dim)
        owner = np.arange(self.heads) // (self.heads // self.groups)
        writers, readers = (
            t.reshape(len(x), self.groups, -1)[:, owner] for t in (writers, readers)
        )
        times = np.log1p(np.exp(step + bias))
        kept, state = np.exp(decay * times), np.zeros((self.heads, self.state_dim, self.head_dim))
        y = np.zeros_like(values)
        for n in range(len(x)):
            new = np.einsum("hn,hp->hnp", writers[n], values[n] * times[n][:, None])
            state = state * kept[n][:, None, None] + new
            y[n] = np.einsum("hn,hnp->hp", readers[n], state) + skip[:, None] * values[n]
        gated = y.reshape(len(x), self.values) * z * sigmoid(z)
        if self.norm is None:
            return at.linear("recurrent_out", gated, self.bias)
        groups = gated.reshape(len(x), self.groups, -1)
        groups = groups / np.sqrt((groups * groups).mean(-1, keepdims=True) + self.norm.eps)
        made = groups.reshape(gated.shape) * at.weight("recurrent_norm")
        return at.linear("recurrent_out", made, self.bias)


_VECTORS = ("decay", "time_step", "skip")


class _StateSpace:
    """A convolution, then the scan, then the norm of what the gates leave, if it has one."""

    def __init__(self, r: StateSpaceSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import ScanShape
        from mlc_llm.compiler.kernels.cpu import state_space as on_cpu
        from mlc_llm.compiler.kernels.gpu import recurrence as on_gpu

        kernels = nn.of(on_cpu, on_gpu)
        self.nn, self.spec, self.scan = nn, r, kernels.scan
        self.weights = [f"{at.name(role)}.weight" for role in _VECTORS]
        decay, time_step, skip = (nn.stored(weight).dtype for weight in self.weights)
        shape = ScanShape(
            heads=r.heads,
            head_dim=r.head_dim,
            state_dim=r.state_dim,
            groups=r.groups,
            decay_dtype=decay,
            time_step_dtype=time_step,
            skip_dtype=skip,
        )
        sizes = {"width": r.convolved, "taps": r.taps, "columns": shape.columns}
        self.conv = states.Conv(nn, at, bias=r.conv_bias, is_gated=False, **sizes)
        self.states = states.Recurrence(nn, at, shape)
        wide, gates = r.values // r.groups, (shape.columns, shape.convolved)
        if r.norm is not None and r.shards == 1:
            key = (r.groups, wide, r.norm.eps, *gates)
            self.norm: Any = states.Norm(nn, at, "norm_of_gated", kernels.norm_of_gated, key)
        else:
            self.norm = gate = states.Gate(nn, kernels.gated_rows, (r.values, *gates))
            if r.norm is not None:
                weight = f"{at.name('recurrent_norm')}.weight"
                of_all = nn.shards.norm({weight: r.values}, r.norm.eps)
                self.norm = lambda made, x: of_all(gate(made, x))
        self.before = nn.linear(at.name("recurrent_in"), shape.columns, at.hidden, bias=r.bias)
        self.behind = nn.linear(at.name("recurrent_out"), at.hidden, r.values, bias=r.bias)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        x = self.before(x)
        args = [self.conv(x, batch, memory), x, *map(self.nn.param, self.weights)]
        wide = self.spec.values
        made = self.states.run("scan", self.scan, args, batch, memory, wide, x_dtype=x)
        return self.behind(self.norm(made, x), residual)
