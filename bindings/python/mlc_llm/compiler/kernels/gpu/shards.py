"""The same on GPUs as `cpu/shards.py`."""

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
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS, emit_factor_of_squares, emit_squares_of
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, grid, scalar, to_float

_ITEMS = 128


def known_rows(entries: int) -> tirx.PrimFunc:
    def body(ids: Any, y: Any) -> None:
        first = emit_first(entries)
        with grid((ids.shape[0],), 1) as ((row,), _):
            own = is_own(ids[row], first, entries)
            T.buffer_store(y, T.Select(own, ids[row] - first, 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("ids", "y")], body)


def keep_own(entries: int, size: int) -> tirx.PrimFunc:
    def body(x: Any, ids: Any, y: Any) -> None:
        first = emit_first(entries)
        with grid((y.shape[0],), _ITEMS) as ((row,), item):
            own = is_own(ids[row], first, entries)

            def store(k: Any) -> None:
                T.buffer_store(y, T.if_then_else(own, x[row, k], scalar(0.0)), [row, k])

            emit_spread(size, _ITEMS, item, store)

    x, ids = Arg("x", ("n", size)), Arg("ids", ("n",), "int32")
    return kernel([x, ids, Arg("y", ("n", size))], body)


def gathered(width: int, count: int) -> Arg:
    """The temporary tensor of `join_shards`."""
    return Arg("all", ("rows", count * width))


def join_shards(width: int, count: int) -> tirx.PrimFunc:
    """With `gathered` behind y: all x of the first shard, then all of the second one, ..."""

    def body(x: Any, y: Any, together: Any) -> None:
        rows = x.shape[0]

        def in_one(buffer: Any, size: int) -> Any:
            return T.decl_buffer((1, rows * size), data=buffer.data)

        one = in_one(together, count * width)
        emit_call(JOIN, in_one(x, width), one)
        with grid((rows, count), _ITEMS) as ((row, shard), item):

            def store(k: Any) -> None:
                place = (shard * rows + row) * width + k
                T.buffer_store(y, one[0, place], [row, shard * width + k])

            emit_spread(width, _ITEMS, item, store)

    return kernel(
        [Arg("x", ("rows", width)), Arg("y", ("rows", count * width)), gathered(width, count)], body
    )


def own_columns(width: int, count: int) -> tirx.PrimFunc:
    def body(x: Any, y: Any) -> None:
        first = emit_first(width)
        with grid((y.shape[0],), _ITEMS) as ((row,), item):

            def store(k: Any) -> None:
                own = is_own(k, first, width)
                T.buffer_store(y, T.if_then_else(own, x[row, k - first], scalar(0.0)), [row, k])

            emit_spread(count * width, _ITEMS, item, store)

    return kernel([Arg("x", ("n", width)), Arg("y", ("n", count * width))], body)


def squares(pieces: tuple[int, ...], columns: int) -> tirx.PrimFunc:
    def body(x: Any, y: Any) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            for i, (first, size) in enumerate(places_of(pieces)):
                squares = emit_squares_of(lambda k, first=first: x[row, first + k], size, item)
                with T.If(item == 0), T.Then():
                    T.buffer_store(y, squares, [row, i])

    return kernel([Arg("x", ("n", columns)), Arg("y", ("n", len(pieces)))], body)


def norm_of_shards(
    pieces: tuple[int, ...], columns: int, count: int, eps: float, dtypes: tuple[str, ...]
) -> tirx.PrimFunc:
    def body(x: Any, squares: Any, *rest: Any) -> None:
        *weights, y = rest
        with grid((y.shape[0],), _ITEMS) as ((row,), item):
            for i, (first, size) in enumerate(places_of(pieces)):
                factor = emit_factor_of_squares(squares[row, i], count * size, eps)

                def scale(k: Any, i=i, first=first, factor=factor) -> None:
                    value = x[row, first + k] * factor * to_float(weights[i][k], 1)
                    T.buffer_store(y, value, [row, first + k])

                emit_spread(size, _ITEMS, item, scale)

            def copy(k: Any) -> None:
                T.buffer_store(y, x[row, sum(pieces) + k], [row, sum(pieces) + k])

            if columns > sum(pieces):
                emit_spread(columns - sum(pieces), _ITEMS, item, copy)

    return kernel(norm_args(pieces, columns, dtypes), body)
