"""Chosen rows of a tensor, beside those of others."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, emit_value, grid


def take_rows(width: int, first: int, total: int) -> tirx.PrimFunc:
    """f(x [n, width], rows i32 [h], y [h, total]): the rows of x become the columns of y from
    `first` on. Other columns stay."""

    def body(x, rows, y) -> None:
        with grid((rows.shape[0],), ITEMS) as ((row,), item):
            source = emit_value(rows[row])
            emit_spread(
                width, ITEMS, item, lambda k: T.buffer_store(y, x[source, k], [row, first + k])
            )

    return kernel(
        [Arg("x", ("n", width)), Arg("rows", ("h",), "int32"), Arg("y", ("h", total))], body
    )
