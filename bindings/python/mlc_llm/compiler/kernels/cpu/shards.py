"""Rows of a table of which each shard has a part."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


def known_rows() -> tirx.PrimFunc:
    """f(own i32 [n], y i32 [n]): the row of the shard's own table; 0 for -1."""

    def body(own, y) -> None:
        with T.serial(own.shape[0]) as row, T.sblock("known"):
            T.reads()
            T.writes()
            T.buffer_store(y, T.max(own[row], 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("own", "y")], body)


def keep_own(size: int) -> tirx.PrimFunc:
    """f(x [n, size], own i32 [n], y [n, size]): y = x, or zeros where own is -1."""

    def body(x, own, y) -> None:
        def row(r) -> None:
            def keep(base, lanes: int) -> None:
                place = [r, at(base, lanes)]
                zero = T.Broadcast(T.float32(0), lanes) if lanes > 1 else T.float32(0)
                T.buffer_store(y, T.if_then_else(own[r] >= 0, x[place[0], place[1]], zero), place)

            emit_over(size, keep)

        emit_rows(y.shape[0], row)

    x, own = Arg("x", ("n", size)), Arg("own", ("n",), "int32")
    return kernel([x, own, Arg("y", ("n", size))], body)
