"""LoRA adapters that rows choose at run time: low-rank products beside linear layers.

Their weights are no parameters: the core keeps a pool of groups of 8 ranks for each of these layers
(`kernels/cpu/low_rank.py`). A step has an entry, a unit, for each row and group that changes it. A
program leaves out the calls that take units if there are none, and then runs the calls of a library
without adapters (`Without`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.kernels.common.low_rank import FIELDS
from mlc_llm.compiler.kernels.cpu import low_rank, low_rank_codes
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.gpu import low_rank as gpu_low_rank
from mlc_llm.compiler.nn.tensors import num_rows, tensor
from mlc_llm.compiler.spec.adapters import RANKS, VECTOR, Widths

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder, Function, Input

WEIGHTS = "adapter_weights"  # the argument with the pool
assert low_rank.RANKS == RANKS


@dataclass(frozen=True)
class Place:
    """A layer that may have an adapter. `codes`: of its rows, where adapters are integers too."""

    name: str
    ins: int
    widths: Widths
    codes: Codes | None

    def weights(self, dtype: str) -> list[tuple[tuple[int, ...], str]]:
        """The shapes and types of a group's weights, A and B. `dtype`: of floats."""
        if self.codes is not None:
            *_, a, b = low_rank_codes.Added(self.widths, self.codes).args
            return [(arg.shape[1:], arg.dtype) for arg in (a, b)]
        blocks = len(self.widths) * self.ins // VECTOR, sum(self.widths) // VECTOR
        return [((count, RANKS, VECTOR), dtype) for count in blocks]

    def describe(self) -> dict[str, Any]:
        about = {"name": self.name, "inputs": self.ins, "outputs": list(self.widths)}
        if self.codes is None:
            return about
        return about | {"group": self.codes.group, "step": low_rank_codes.step_of(self.codes)}


@dataclass(frozen=True)
class Without:
    """What runs in the place of a kernel if there are no units: a kernel that takes its first
    `count` arguments. The next one has a row for each unit."""

    kernel: str
    count: int


class Adapters:
    """The layers of a library that may have adapters, in order."""

    def __init__(self, nn: Builder, widths: Mapping[str, Widths], dtype: str) -> None:
        self.nn, self.dtype = nn, dtype
        self._widths = widths
        self.places: list[Place] = []
        self.kernels = nn.of(low_rank, gpu_low_rank)
        self.without: dict[str, Without] = {}  # by the names of kernels
        self._table: tuple[Function, Any] | None = None

    def beside(self, linear: Any, name: str, ins: int) -> Any:
        """The layer with what adapters add to it."""
        if name not in self._widths:
            return linear
        self.places.append(Place(name, ins, self._widths[name], linear.codes_beside))
        return _Adapted(self, linear, len(self.places) - 1)

    def table(self, function: Function) -> Any:
        """Of the units of each row (`low_rank.table`), made once in a function."""
        if self._table is None or self._table[0] is not function:
            batch, kernel = function.batch, self.nn.kernel("lora_table", (), self.kernels.table)
            out = self.nn.rows(batch.positions, FIELDS, dtype="int32")
            units = [batch.adapter_rows, batch.adapter_groups]
            made = self.nn.call(kernel, [batch.positions, *units], out)
            self._table = function, made
        return self._table[1]

    def run_without_units(self, kernel: Any, plain: Any, count: int) -> None:
        """Lets a program call `plain` in the place of `kernel`. No function need call it: its
        symbol keeps it in the library."""
        block = self.nn.block
        block.update_func(plain, block.get()[plain].with_attr("global_symbol", plain.name_hint))
        self.without[kernel.name_hint] = Without(plain.name_hint, count)

    def inputs(self) -> list[Input]:
        from mlc_llm.compiler.nn.builder import Input

        found = [weight for place in self.places for weight in place.weights(self.dtype)]
        return [Input(("pool", *shape), dtype) for shape, dtype in found]

    def describe(self) -> dict[str, Any]:
        """For the library's metadata."""
        layers = [place.describe() for place in self.places]
        return {"ranks": RANKS, "dtype": self.dtype, "layers": layers}


class _Adapted:
    """linear(x) + scale * B (A x), for the rows with an adapter. The rows of x are the step's."""

    def __init__(self, adapters: Adapters, linear: Any, index: int) -> None:
        self.adapters, self.linear, self.index = adapters, linear, index

    def __call__(self, x: Any, residual: Any = None) -> Any:
        nn, place = self.adapters.nn, self.adapters.places[self.index]
        function: Function | None = nn.adapting
        if function is None:
            return self.linear(x, residual)
        kernels, x = self.adapters.kernels, nn.deferred(x)
        a, b = function.items(WEIGHTS)[2 * self.index : 2 * self.index + 2]
        batch, table = function.batch, self.adapters.table(function)
        units = [batch.adapter_groups, batch.adapter_scales]
        if place.codes is not None:
            inside = low_rank_codes.Added(place.widths, place.codes)
            return self.linear(x, residual, (inside, [*units, table, a, b]))
        form, rows = self.linear.form_of(x)
        key = (place.ins, len(place.widths), self.adapters.dtype, form)
        t = nn.call(
            nn.kernel("lora_shrink", key, partial(kernels.shrink, *key, **nn.dot_tile())),
            [rows, a, *nn.of([*units, table], [batch.adapter_rows, *units])],
            tensor(num_rows(batch.adapter_rows), len(place.widths) * RANKS),
        )
        added = kernels.Added(place.widths, self.adapters.dtype)
        args = [t, b, batch.adapter_groups, table]
        y = self.linear(x, residual)
        dtypes = nn.typed(y_dtype=y)
        make = partial(kernels.expand, added, **dtypes)
        kernel = nn.kernel("lora_expand", (added, *dtypes.values()), make)
        return nn.call_in_place(kernel, [*args, y], [4], [y.ty])
