"""Positions of patches from a learned table that is resized to the patch's view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_over, emit_rows, emit_value


def place_resized(width: int, side: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], grids i32 [n, 2], table [side * side, width], y): a
    patch at (row, column) of a view of `grids` (rows, columns) gets its entry of the table that is
    resized to the view, as PyTorch's bilinear `interpolate(antialias=True)` does it."""

    def body(x, positions, grids, table, y) -> None:
        def row(r) -> None:
            rows, columns = (_Taps.of(positions[r, i], grids[r, i], side) for i in (0, 1))
            emit_over(width, lambda base, lanes: copy(r, base, lanes))
            with T.serial(rows.count) as i, T.serial(columns.count) as j:
                weight = emit_value(rows.weight(i) * columns.weight(j))
                entry = emit_value((rows.first + i) * side + columns.first + j)

                def add(base, lanes: int) -> None:
                    value = to_float(table[entry, at(base, lanes)], lanes) * splat(weight, lanes)
                    place = [r, at(base, lanes)]
                    T.buffer_store(y, y[r, at(base, lanes)] + value, place)

                emit_over(width, add)

        def copy(r, base, lanes: int) -> None:
            T.buffer_store(y, x[r, at(base, lanes)], [r, at(base, lanes)])

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("positions", ("n", 2), "int32")]
    args += [Arg("grids", ("n", 2), "int32"), Arg("table", (side * side, width), dtype)]
    return kernel([*args, Arg("y", ("n", width))], body)


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
        half, one = T.float32(0.5), T.float32(1)
        scale = emit_value(T.float32(side) / T.Cast("float32", T.max(size, 1)))
        centre = emit_value((T.Cast("float32", index) + half) * scale - half)
        support = emit_value(T.max(scale, one))
        first = T.max(T.Cast("int32", T.floor(centre - support)) + 1, 0)
        last = T.min(T.Cast("int32", T.ceil(centre + support)) - 1, side - 1)
        first = emit_value(T.min(first, side - 1))
        count = emit_value(T.max(last - first + 1, 1))
        sums = emit_floats(1)
        T.buffer_store(sums, T.float32(0), [0])
        taps = cls(centre, support, first, count, one)
        with T.serial(count) as i:
            T.buffer_store(sums, sums[0] + taps.weight(i), [0])
        return cls(centre, support, first, count, emit_value(sums[0]))

    def weight(self, i):
        away = T.abs(T.Cast("float32", self.first + i) - self.centre) / self.support
        return T.max(T.float32(1) - away, T.float32(0)) / self.total
