"""LoRA adapters that rows choose at run time: low-rank products beside linear layers.

Their weights are no parameters: the core keeps a pool of groups of 8 ranks for each of these layers
(`kernels/cpu/low_rank.py`). All their calls have an input with an entry for each row that has an
adapter. So a program leaves them out of a step without such rows, which then runs the calls of a
library without adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.kernels.cpu import low_rank
from mlc_llm.compiler.nn.tensors import Deferred, tensor
from mlc_llm.compiler.spec.adapters import RANKS, VECTOR, Widths

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder, Function, Input

WEIGHTS = "adapter_weights"  # the argument with the pool
assert low_rank.RANKS == RANKS


@dataclass(frozen=True)
class Place:
    """A layer that may have an adapter."""

    name: str
    ins: int
    widths: Widths

    def shapes(self) -> list[tuple[int, ...]]:
        """Of a group's weights, A and B."""
        blocks = len(self.widths) * self.ins // VECTOR, sum(self.widths) // VECTOR
        return [(count, RANKS, VECTOR) for count in blocks]


class Adapters:
    """The layers of a library that may have adapters, in order."""

    def __init__(self, nn: Builder, widths: Mapping[str, Widths], dtype: str) -> None:
        self.nn, self.dtype = nn, dtype
        self._widths = widths
        self.places: list[Place] = []

    def beside(self, linear: Any, name: str, ins: int) -> Any:
        """The layer with what adapters add to it."""
        if name not in self._widths:
            return linear
        self.places.append(Place(name, ins, self._widths[name]))
        return _Adapted(self, linear, len(self.places) - 1)

    def inputs(self) -> list[Input]:
        from mlc_llm.compiler.nn.builder import Input

        shapes = [shape for place in self.places for shape in place.shapes()]
        return [Input(("pool", *shape), self.dtype) for shape in shapes]

    def describe(self) -> dict[str, Any]:
        """For the library's metadata."""
        layers = [{"name": p.name, "inputs": p.ins, "outputs": list(p.widths)} for p in self.places]
        return {"ranks": RANKS, "dtype": self.dtype, "layers": layers}


class _Adapted:
    """linear(x) + scale * B (A x), for the rows with an adapter. The rows of x are the step's."""

    def __init__(self, adapters: Adapters, linear: Any, index: int) -> None:
        self.adapters, self.linear, self.index = adapters, linear, index

    def __call__(self, x: Any, residual: Any = None) -> Any:
        nn, place = self.adapters.nn, self.adapters.places[self.index]
        y = self.linear(x, residual)
        function: Function | None = nn.adapting
        if function is None:
            return y
        a, b = function.items(WEIGHTS)[2 * self.index : 2 * self.index + 2]
        batch, dtype = function.batch, self.adapters.dtype
        units = [batch.adapter_rows, batch.adapter_groups]
        floats = x.chosen(batch.adapted_rows) if isinstance(x, Deferred) else x
        shape = (place.ins, len(place.widths), dtype)
        make = partial(low_rank.shrink, *shape, **nn.dot_tile())
        t = nn.call(
            nn.kernel("lora_shrink", shape, make),
            [floats, a, *units, batch.adapter_scales],
            tensor(batch.adapter_rows.ty.shape[0], len(place.widths) * RANKS),
        )
        kernel = nn.kernel(
            "lora_expand", (place.widths, dtype), lambda: low_rank.expand(place.widths, dtype)
        )
        return nn.call_in_place(kernel, [t, b, *units, y], [4], [y.ty])
