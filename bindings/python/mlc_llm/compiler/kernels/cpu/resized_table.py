"""Positions of patches from a learned table that is resized to the patch's view."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.resized_table import Taps
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_over, emit_rows, emit_value


def place_resized(width: int, side: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], grids i32 [n, 2], table [side * side, width], y): a
    patch at (row, column) of a view of `grids` (rows, columns) gets its entry of the table that is
    resized to the view, as PyTorch's bilinear `interpolate(antialias=True)` does it."""

    def body(x, positions, grids, table, y) -> None:
        def row(r) -> None:
            rows, columns = (
                Taps.of(positions[r, i], grids[r, i], side, emit_value, emit_floats(1))
                for i in (0, 1)
            )
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
