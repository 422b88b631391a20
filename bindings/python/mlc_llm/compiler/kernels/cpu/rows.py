"""Chosen rows of a tensor, beside those of others."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows, emit_value


def take_rows(width: int, first: int, total: int) -> tirx.PrimFunc:
    """f(x [n, width], rows i32 [h], y [h, total]): the rows of x become the columns of y from
    `first` on. Other columns stay."""

    def body(x, rows, y) -> None:
        def row(r) -> None:
            source = emit_value(rows[r])

            def copy(base, lanes: int) -> None:
                T.buffer_store(y, x[source, at(base, lanes)], [r, at(first + base, lanes)])

            emit_over(width, copy)

        emit_rows(rows.shape[0], row)

    return kernel(
        [Arg("x", ("n", width)), Arg("rows", ("h",), "int32"), Arg("y", ("h", total))], body
    )
