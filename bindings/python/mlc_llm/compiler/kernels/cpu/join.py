"""Joins the outputs of a layer whose weight is stored in several matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.linear import Epilogue, epilogue_args
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


def join(
    widths: Sequence[int], *, bias: str | None = None, residual: bool = False
) -> tirx.PrimFunc:
    """f(*parts [m, width], bias or none, residual or none, y [m, all]): side by side."""
    outs = sum(widths)

    def body(*buffers) -> None:
        parts, (*extras, y) = buffers[: len(widths)], buffers[len(widths) :]
        epilogue = Epilogue.of(extras, bias=bias, residual=residual)

        def row(r) -> None:
            first = 0
            for part, width in zip(parts, widths, strict=True):

                def copy(base, lanes: int, part=part, first=first) -> None:
                    column = first + base
                    value = epilogue.apply(part[r, at(base, lanes)], r, column, lanes)
                    T.buffer_store(y, value, [r, at(column, lanes)])

                emit_over(width, copy)
                first += width

        emit_rows(y.shape[0], row)

    args = [Arg(f"part{i}", ("rows", width)) for i, width in enumerate(widths)]
    args += epilogue_args(outs, bias, residual)
    return kernel([*args, Arg("y", ("rows", outs))], body)
