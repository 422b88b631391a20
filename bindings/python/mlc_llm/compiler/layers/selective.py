"""Selective state spaces: Mamba 1, with the norms of Jamba."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers import states
from mlc_llm.compiler.layers.states import sigmoid
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class SelectiveSpec(Mixer):
    """Recurrent: Mamba 1, a state of `state_dim` numbers for each of `width` channels.

    The linear layer `in` computes x and the gates z, `width` channels each; x goes through a
    convolution of `taps` rows and silu. From it the linear layer `select` computes `rank` numbers,
    a writer and a reader, each of which is normed. For each channel and row, with
    t = softplus(a linear layer with a bias, of those `rank` numbers):

        state = exp(decay * t) * state + writer * (t * x)
        y = (reader . state + skip * x) * silu(z)
    """

    width: int
    state_dim: int
    rank: int
    taps: int
    norm: NormSpec
    bias: bool = False  # whether `in` and `out` have a bias
    conv_bias: bool = False

    tensors = {
        **states.TENSORS,
        "select": Tensor("linear_attn.x_proj"),
        "time": Tensor("linear_attn.dt_proj"),
        "time_norm": Tensor("linear_attn.dt_norm"),
        "writer_norm": Tensor("linear_attn.b_norm"),
        "reader_norm": Tensor("linear_attn.c_norm"),
    }

    @property
    def pieces(self) -> tuple[int, int, int]:
        """The widths of what `select` computes."""
        return (self.rank, self.state_dim, self.state_dim)

    def sharded(self, count: int) -> SelectiveSpec:
        return replace(self, width=self.share_of(self.width, count, "channels"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.linear("recurrent_in", (self.width, self.width), at.hidden, self.bias)
        yield from states.conv_parameters(at, self.taps, self.width, self.conv_bias)
        yield from at.linear("select", self.pieces, self.width)
        yield from [at.vector(*pair) for pair in zip(_NORMS, self.pieces, strict=True)]
        yield from at.linear("time", (self.width,), self.rank, True, use="router")
        yield at.vector("decay", self.state_dim, self.width)
        yield at.vector("skip", self.width)
        yield from at.linear("recurrent_out", (at.hidden,), self.width, self.bias)

    def build(self, nn: Builder, at: Place) -> _Selective:
        return _Selective(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """transformers' `slow_forward` of a Jamba mixer, row by row."""
        x, z = np.split(at.linear("recurrent_in", x, self.bias), 2, axis=1)
        x = states.conv_reference(at, self.taps, x, self.conv_bias)
        x = x * sigmoid(x)
        chosen = np.split(at.linear("select", x), np.cumsum(self.pieces)[:2], axis=1)
        time, writers, readers = (
            at.normed(role, part, self.norm) for role, part in zip(_NORMS, chosen, strict=True)
        )
        times = np.log1p(np.exp(at.linear("time", time, True)))
        decay, state = at.weight("decay"), np.zeros((self.state_dim, self.width))
        y = np.zeros_like(x)
        for n in range(len(x)):
            state = state * np.exp(decay * times[n]) + np.outer(writers[n], times[n] * x[n])
            y[n] = readers[n] @ state + at.weight("skip") * x[n]
        return at.linear("recurrent_out", y * z * sigmoid(z), self.bias)


_NORMS = ("time_norm", "writer_norm", "reader_norm")


class _Selective:
    """A convolution, what it chooses, then the scan."""

    def __init__(self, r: SelectiveSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import SelectiveShape
        from mlc_llm.compiler.kernels.cpu import selective as on_cpu
        from mlc_llm.compiler.kernels.gpu import selective as on_gpu

        self.nn, self.spec, self.kernels = nn, r, nn.of(on_cpu, on_gpu)
        self.weights = [f"{at.name(role)}.weight" for role in ("decay", "skip")]
        self.norms = [f"{at.name(role)}.weight" for role in _NORMS]
        decay, skip = (nn.stored(weight).dtype for weight in self.weights)
        shape = SelectiveShape(
            width=r.width, state_dim=r.state_dim, decay_dtype=decay, skip_dtype=skip
        )
        sizes = {"width": r.width, "taps": r.taps, "columns": 2 * r.width}
        self.conv = states.Conv(nn, at, bias=r.conv_bias, is_gated=False, **sizes)
        self.states = states.Recurrence(nn, at, shape)
        self.before = nn.linear(at.name("recurrent_in"), 2 * r.width, at.hidden, bias=r.bias)
        self.select = nn.linear(at.name("select"), sum(r.pieces), r.width)
        self.time = nn.linear(at.name("time"), r.width, r.rank, bias=True)
        self.behind = nn.linear(at.name("recurrent_out"), at.hidden, r.width, bias=r.bias)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        nn, gates = self.nn, self.before(x)
        x = self.conv(gates, batch, memory)
        time, pair = self._chosen(x)
        times = self.time(time)
        args = [x, gates, times, pair, *map(nn.param, self.weights)]
        types = {"x_dtype": gates, "time_dtype": times, "y_dtype": nn.row_dtype}
        make, width = self.kernels.selective_scan, self.spec.width
        made = self.states.run("selective_scan", make, args, batch, memory, width, **types)
        return self.behind(made, residual)

    def _chosen(self, x: Any) -> list[Any]:
        """What `select` computes, normed: the numbers of the time steps; writer and reader. A shard
        has some of the channels that it reads."""
        nn, r, made = self.nn, self.spec, self.nn.shards.sum(self.select(x))
        dtypes = [nn.stored(norm).dtype for norm in self.norms]
        types = nn.typed(x_dtype=made)
        key = (r.pieces, r.norm.eps, *dtypes, *types.items())
        make = partial(self.kernels.norms_of_parts, r.pieces, r.norm.eps, tuple(dtypes), **types)
        out = [nn.rows(made, width) for width in (r.rank, 2 * r.state_dim)]
        kernel = nn.kernel("norms_of_parts", key, make)
        both = nn.call(kernel, [made, *map(nn.param, self.norms)], out)
        return nn.members_of(both, 2)
