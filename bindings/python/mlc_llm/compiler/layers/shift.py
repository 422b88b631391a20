"""What RWKV's halves share: mixtures of each row and the row before, and norms of heads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers.states import Recurrence
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.transforms import Array

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


class Shift:
    """Mixtures of each row and the row before, which is the state. `mixes`: the parameters."""

    def __init__(
        self, nn: Builder, at: Place, mixes: list[str], width: int, count: int, **options: bool
    ) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import ShiftShape

        self.nn, self.mixes = nn, mixes
        dtype = nn.stored(mixes[0]).dtype
        shape = ShiftShape(width=width, count=count, mixes_dtype=dtype, **options)
        self.states = Recurrence(nn, at, shape)

    def __call__(self, x: Any, batch: Batch, memory: Memory) -> list[Any]:
        from mlc_llm.compiler.nn.gpu.rwkv import shift_mix

        nn, shape, x = self.nn, self.states.shape, self.nn.plain(x)
        mixes = list(map(nn.param, self.mixes))
        results = partial(self.states.results, batch, memory)
        make = nn.of(self._on_cpu, partial(shift_mix, nn, shape))
        return list(make(x, mixes, results))

    def _on_cpu(self, x: Any, mixes: list[Any], results: Any) -> list[Any]:
        from mlc_llm.compiler.kernels.cpu.rwkv import shift_mix

        nn, shape = self.nn, self.states.shape
        kernel = nn.kernel("shift_mix", (shape,), partial(shift_mix, shape))
        return [nn.deferred(one) for one in results(kernel, [x, *mixes], shape.results)]


def own_part(rank: int, shards: int, granule: int) -> int:
    """The elements of a narrow row that one of so many shards makes: all of them if they cannot be
    divided into multiples of `granule`."""
    return rank if rank % (shards * granule) else rank // shards


def scan_on_cpu(
    name: str, make: Any, nn: Builder, shape: Any, rows: list[Any], weights: list[str], step: Any
) -> Any:
    """A mixer's scan by one kernel; `nn/gpu/rwkv.py` has several."""
    kernel = nn.kernel(name, (shape,), partial(make, shape))
    (made,) = step(kernel, [*rows, *map(nn.param, weights)])
    return made


def before(x: Array) -> Array:
    """In NumPy: the row before each row."""
    return np.concatenate([np.zeros_like(x[:1]), x[:-1]])


def head_norm(at: Reference, y: Array, eps: float) -> Array:
    """In NumPy: a layer norm of each head, (rows, heads, head_dim)."""
    y = y - y.mean(-1, keepdims=True)
    y = y / np.sqrt((y * y).mean(-1, keepdims=True) + eps)
    weight, bias = (part("time_norm").reshape(y.shape[1:]) for part in (at.weight, at.bias))
    return np.asarray(y * weight + bias)
