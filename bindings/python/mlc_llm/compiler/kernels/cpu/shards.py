"""Rows of a table of which each shard has a part, and the logits of all shards."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.shards import JOIN, emit_call, emit_first_token, is_own
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


def known_rows(entries: int) -> tirx.PrimFunc:
    """f(ids i32 [n], y i32 [n]): the row of the shard's own table; 0 for tokens of others."""

    def body(ids: Any, y: Any) -> None:
        first = emit_first_token(entries)
        with T.serial(ids.shape[0]) as row, T.sblock("known"):
            T.reads()
            T.writes()
            own = is_own(ids[row], first, entries)
            T.buffer_store(y, T.if_then_else(own, ids[row] - first, 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("ids", "y")], body)


def keep_own(entries: int, size: int) -> tirx.PrimFunc:
    """f(x [n, size], ids i32 [n], y [n, size]): y = x, or zeros for tokens of other shards."""

    def body(x: Any, ids: Any, y: Any) -> None:
        first = emit_first_token(entries)

        def row(r: Any) -> None:
            def keep(base: Any, lanes: int) -> None:
                place = [r, at(base, lanes)]
                zero = T.Broadcast(T.float32(0), lanes) if lanes > 1 else T.float32(0)
                own = is_own(ids[r], first, entries)
                T.buffer_store(y, T.if_then_else(own, x[place[0], place[1]], zero), place)

            emit_over(size, keep)

        emit_rows(y.shape[0], row)

    x, ids = Arg("x", ("n", size)), Arg("ids", ("n",), "int32")
    return kernel([x, ids, Arg("y", ("n", size))], body)


def join_shards(width: int, count: int) -> tirx.PrimFunc:
    """f(x [rows, width], y [rows, count * width]): all shards' x side by side, on the first shard;
    on the others y is undefined."""

    def body(x: Any, y: Any) -> None:
        with T.serial(1), T.sblock("call"):
            T.reads()
            T.writes()
            emit_call(JOIN, x, y)

    return kernel([Arg("x", ("rows", width)), Arg("y", ("rows", count * width))], body)
