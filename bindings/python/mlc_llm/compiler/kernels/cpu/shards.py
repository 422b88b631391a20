"""Rows of a table of which each shard has a part, the logits of all shards, and rows of which each
shard has some columns."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.shards import (
    JOIN,
    emit_call,
    emit_first,
    is_own,
    norm_args,
    places_of,
)
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_factor_of_squares, emit_squares
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


def known_rows(entries: int) -> tirx.PrimFunc:
    """f(ids i32 [n], y i32 [n]): the row of the shard's own table; 0 for tokens of others."""

    def body(ids: Any, y: Any) -> None:
        first = emit_first(entries)
        with T.serial(ids.shape[0]) as row, T.sblock("known"):
            T.reads()
            T.writes()
            own = is_own(ids[row], first, entries)
            T.buffer_store(y, T.if_then_else(own, ids[row] - first, 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("ids", "y")], body)


def keep_own(entries: int, size: int) -> tirx.PrimFunc:
    """f(x [n, size], ids i32 [n], y [n, size]): y = x, or zeros for tokens of other shards."""

    def body(x: Any, ids: Any, y: Any) -> None:
        first = emit_first(entries)

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


def own_columns(width: int, count: int) -> tirx.PrimFunc:
    """f(x [n, width], y [n, count * width]): x where this shard's columns are, and zeros."""

    def body(x: Any, y: Any) -> None:
        first = emit_first(width)

        def row(r: Any) -> None:
            def clear(base: Any, lanes: int) -> None:
                T.buffer_store(y, splat(0.0, lanes), [r, at(base, lanes)])

            def place(base: Any, lanes: int) -> None:
                T.buffer_store(y, x[r, at(base, lanes)], [r, at(first + base, lanes)])

            emit_over(count * width, clear)
            emit_over(width, place)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", width)), Arg("y", ("n", count * width))], body)


def squares(pieces: tuple[int, ...], columns: int) -> tirx.PrimFunc:
    """f(x [n, columns], y [n, len(pieces)]): the sum of the squares of each piece of a row. The
    pieces are side by side from the first column on."""

    def body(x: Any, y: Any) -> None:
        def row(r: Any) -> None:
            for i, (first, size) in enumerate(places_of(pieces)):
                T.buffer_store(y, emit_squares(x, r, size, first), [r, i])

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", columns)), Arg("y", ("n", len(pieces)))], body)


def norm_of_shards(
    pieces: tuple[int, ...], columns: int, count: int, eps: float, dtypes: tuple[str, ...]
) -> tirx.PrimFunc:
    """f(x [n, columns], squares [n, len(pieces)], a weight for each piece, y [n, columns]): the RMS
    norm of each piece, which `count` shards have together; `squares` are the sums of all. The
    columns behind the pieces are copied."""

    def body(x: Any, squares: Any, *rest: Any) -> None:
        *weights, y = rest

        def row(r: Any) -> None:
            for i, (first, size) in enumerate(places_of(pieces)):
                factor = emit_factor_of_squares(squares[r, i], count * size, eps)

                def scale(base: Any, lanes: int, i=i, first=first, factor=factor) -> None:
                    value = x[r, at(first + base, lanes)] * splat(factor, lanes)
                    value = value * to_float(weights[i][at(base, lanes)], lanes)
                    T.buffer_store(y, value, [r, at(first + base, lanes)])

                emit_over(size, scale)

            def copy(base: Any, lanes: int) -> None:
                place = at(sum(pieces) + base, lanes)
                T.buffer_store(y, x[r, place], [r, place])

            emit_over(columns - sum(pieces), copy)

        emit_rows(y.shape[0], row)

    return kernel(norm_args(pieces, columns, dtypes), body)
