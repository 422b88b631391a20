"""Positions of patches from a learned table that is resized to the patch's view, on GPUs."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.resized_table import Taps
from mlc_llm.compiler.kernels.gpu.elementwise import emit_each
from mlc_llm.compiler.kernels.gpu.grid import emit_value, registers, to_float
from mlc_llm.compiler.kernels.gpu.patches import PLACES


def place_resized(width: int, side: int, dtype: str) -> tirx.PrimFunc:
    """As `kernels/cpu/resized_table.py` has it. Each work-item computes the weights of the few
    entries that its number is mixed from."""

    def body(x, positions, grids, table, y) -> None:
        def add(row, k) -> None:
            rows, columns = (
                Taps.of(positions[row, i], grids[row, i], side, emit_value, registers(1))
                for i in (0, 1)
            )
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
