"""Positions of patches from a learned table that is resized to the patch's view, on GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.elementwise import emit_each
from mlc_llm.compiler.kernels.gpu.grid import emit_value, registers, scalar, to_float
from mlc_llm.compiler.kernels.gpu.patches import PLACES


def place_resized(width: int, side: int, dtype: str) -> tirx.PrimFunc:
    """As `kernels/cpu/resized_table.py` has it. Each work-item computes the weights of the few
    entries that its number is mixed from."""

    def body(x, positions, grids, table, y) -> None:
        def add(row, k) -> None:
            rows, columns = (_Taps.of(positions[row, i], grids[row, i], side) for i in (0, 1))
            total = registers(1)
            T.buffer_store(total, x[row, k], [0])
            with T.serial(rows.count) as i, T.serial(columns.count) as j:
                weight = emit_value(rows.weight(i) * columns.weight(j))
                entry = emit_value((rows.first + i) * side + columns.first + j)
                value = total[0] + to_float(table[entry, k], 1) * weight
                T.buffer_store(total, value, [0])
            T.buffer_store(y, total[0], [row, k])

        emit_each(y.shape[0], width, add)

    table = Arg("table", (side * side, width), dtype)
    return kernel([Arg("x", ("n", width)), *PLACES, table, Arg("y", ("n", width))], body)


@dataclass(frozen=True)
class _Taps:
    """The entries along one side of a table that a place of a view is mixed from: a tent over the
    pixels of the table that the place covers, at least two wide."""

    centre: Any
    support: Any
    first: Any
    count: Any
    total: Any  # the sum of the weights before they are divided by it

    @classmethod
    def of(cls, index, size, side: int) -> _Taps:
        """Of the place `index` of `size` places."""
        half, one = scalar(0.5), scalar(1.0)
        scale = emit_value(scalar(float(side)) / T.Cast("float32", T.max(size, 1)))
        centre = emit_value((T.Cast("float32", index) + half) * scale - half)
        support = emit_value(T.max(scale, one))
        first = T.max(T.Cast("int32", T.floor(centre - support)) + 1, 0)
        last = T.min(T.Cast("int32", T.ceil(centre + support)) - 1, side - 1)
        first = emit_value(T.min(first, side - 1))
        count = emit_value(T.max(last - first + 1, 1))
        sums = registers(1)
        T.buffer_store(sums, scalar(0.0), [0])
        taps = cls(centre, support, first, count, one)
        with T.serial(count) as i:
            T.buffer_store(sums, sums[0] + taps.weight(i), [0])
        return cls(centre, support, first, count, emit_value(sums[0]))

    def weight(self, i):
        offset = emit_value(T.Cast("float32", self.first + i) - self.centre)
        away = T.max(offset, scalar(0.0) - offset) / self.support
        return T.max(scalar(1.0) - away, scalar(0.0)) / self.total
