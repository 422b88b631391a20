"""The same on GPUs as `cpu/shards.py`."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.shards import JOIN, emit_call, emit_first_token, is_own
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, grid, scalar

_ITEMS = 128


def known_rows(entries: int) -> tirx.PrimFunc:
    def body(ids: Any, y: Any) -> None:
        first = emit_first_token(entries)
        with grid((ids.shape[0],), 1) as ((row,), _):
            own = is_own(ids[row], first, entries)
            T.buffer_store(y, T.Select(own, ids[row] - first, 0), [row])

    return kernel([Arg(name, ("n",), "int32") for name in ("ids", "y")], body)


def keep_own(entries: int, size: int) -> tirx.PrimFunc:
    def body(x: Any, ids: Any, y: Any) -> None:
        first = emit_first_token(entries)
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
