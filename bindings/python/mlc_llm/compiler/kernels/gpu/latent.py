"""Latent attention on GPUs (layers/latent.py): rows into pages, the matrices of each head, and the
softmax. The functions are those of `kernels/cpu/latent.py` and `paged_attention.py`.

A work-group walks the history of one row, in prompts too. Queries and what the softmax leaves are
float32; `x_dtype` is the type of rows that linear layers give, `y_dtype` that of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.common.latent import LatentShape
from mlc_llm.compiler.kernels.gpu.attention import emit_rotation
from mlc_llm.compiler.kernels.gpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    scalar,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.paged_attention import Attend, split_scratch
from mlc_llm.compiler.kernels.gpu.pages import ITEMS, emit_ahead
from mlc_llm.compiler.targets import TileLimits


def append(
    shape: LatentShape, eps: float, norm: str, *, pairs: bool, x_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, row], positions, slots, table, norm [dim], pages)."""

    def body(x, positions, slots, table, weight, pages) -> None:
        with grid((x.shape[0],), ITEMS) as ((row,), item):
            page, offset = (
                emit_value(e) for e in (slots[row] // PAGE_SIZE, slots[row] % PAGE_SIZE)
            )
            factor = emit_norm_factor(x, row, 0, shape.dim, eps, item)

            def store(d, value) -> None:
                emit_store(pages, value, [page, 0, 0, offset * shape.row + d])

            def scale(d) -> None:
                store(d, to_float(x[row, d], 1) * factor * to_float(weight[d], 1))

            def read(d) -> Any:
                return to_float(x[row, shape.dim + d], 1)

            emit_spread(shape.dim, ITEMS, item, scale)
            _emit_rotated(shape, table, positions[row], item, pairs, read, store)

    where = [Arg(name, ("n",), "int32") for name in ("positions", "slots")]
    x = Arg("x", ("n", shape.row), x_dtype)
    return kernel([x, *where, _table(shape), Arg("norm", (shape.dim,), norm), shape.pages], body)


def queries(
    shape: LatentShape, plain: int, weight: str, *, pairs: bool, x_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, heads * (plain + rotary)], positions, table, keys_up [heads, dim, plain],
    q [n, heads, row])."""
    size = plain + shape.rotary

    def body(x, positions, table, keys_up, q) -> None:
        with grid((shape.heads, x.shape[0]), ITEMS) as ((head, row), item):
            first = emit_value(head * size)

            def store(d, value) -> None:
                T.buffer_store(q, value, [row, head, d])

            def read(d) -> Any:
                return to_float(x[row, first + plain + d], 1)

            def multiply(c) -> None:
                def product(p) -> Any:
                    return to_float(keys_up[head, c, p], 1) * to_float(x[row, first + p], 1)

                store(c, _emit_sum(plain, product))

            emit_spread(shape.dim, ITEMS, item, multiply)
            _emit_rotated(shape, table, positions[row], item, pairs, read, store)

    args = [
        Arg("x", ("n", shape.heads * size), x_dtype),
        Arg("positions", ("n",), "int32"),
        _table(shape),
        Arg("keys_up", (shape.heads, shape.dim, plain), weight),
        Arg("q", ("n", shape.heads, shape.row)),
    ]
    return kernel(args, body)


def values(
    shape: LatentShape, size: int, weight: str, *, y_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, heads * dim], values_up [heads, size, dim], y [n, heads * size])."""

    def body(x, values_up, y) -> None:
        with grid((shape.heads, x.shape[0]), ITEMS) as ((head, row), item):

            def multiply(v) -> None:
                def product(c) -> Any:
                    return to_float(values_up[head, v, c], 1) * x[row, head * shape.dim + c]

                emit_store(y, _emit_sum(shape.dim, product), [row, head * size + v])

            emit_spread(size, ITEMS, item, multiply)

    args = [
        Arg("x", ("n", shape.heads * shape.dim)),
        Arg("values_up", (shape.heads, size, shape.dim), weight),
        Arg("y", ("n", shape.heads * size), y_dtype),
    ]
    return kernel(args, body)


def attention(
    shape: LatentShape, scale: float, splits: int = 1, limits: TileLimits | None = None
) -> tirx.PrimFunc:
    """f(q [n, heads, row], positions, row_sequence, page_indptr, page_indices, pages,
    y [n, heads * dim], *scratch): as `paged_attention`, without tiles and so without limits."""

    def body(partials=None, **buffers: Any) -> None:
        _AttendLatents(shape, scale * math.log2(math.e), **buffers).emit_few(partials, splits)

    return named_kernel([*shape.attend_args, *split_scratch(shape, splits)], body)


class _AttendLatents(Attend):
    """All heads read the same rows, whose first part is the value."""

    @property
    def key_dim(self) -> int:
        return self.shape.row

    @property
    def reader(self) -> _Rows:
        return _Rows(self.shape, self.pages)


@dataclass(frozen=True)
class _Rows:
    """`pages.Floats` for pages of latents."""

    shape: LatentShape
    pages: Any

    def emit_key(self, page, head, slot, use: Callable, ahead: int) -> None:
        def read(d):
            return emit_value(self.value(page, head, slot, d))

        emit_ahead(self.shape.row, ahead, read, use)

    def scaled(self, dot, page, head, slot):
        return dot

    def value(self, page, head, slot, d):
        return to_float(self.pages[page, 0, 0, slot * self.shape.row + d], 1)


def _table(shape: LatentShape) -> Arg:
    return Arg("table", (3 * ROPE_FINE, 2, shape.rotary // 2))


def _emit_sum(count: int, product: Callable) -> Any:
    total = registers(1)
    T.buffer_store(total, scalar(0.0), [0])
    with T.serial(count) as i:
        T.buffer_store(total, total[0] + product(i), [0])
    return total[0]


def _emit_rotated(
    shape: LatentShape, table, position, item, pairs: bool, read: Callable, store: Callable
) -> None:
    """Rotates the last elements. The first elements of all pairs are stored before the second ones,
    whatever their order was."""
    half, position = shape.rotary // 2, emit_value(position)

    def rotate(i) -> None:
        cos, sin = emit_rotation(table, position, i)
        places = (2 * i, 2 * i + 1) if pairs else (i, half + i)
        low, high = (emit_value(read(place)) for place in places)
        store(shape.dim + i, low * cos - high * sin)
        store(shape.dim + half + i, high * cos + low * sin)

    emit_spread(half, ITEMS, item, rotate)


def copy_pages(shape: LatentShape) -> tirx.PrimFunc:
    """f(source i32 [k], destination i32 [k], pages): `attention.copy_pages` for latents."""
    return _copy(shape, "k", PAGE_SIZE * shape.row, lambda index: (index, 0))


def copy_slots(shape: LatentShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): `attention.copy_slots` for latents."""

    def place(slot: Any) -> tuple[Any, Any]:
        return slot // PAGE_SIZE, slot % PAGE_SIZE * shape.row

    return _copy(shape, "c", shape.row, place)


def _copy(shape: LatentShape, number: str, width: int, place: Callable) -> tirx.PrimFunc:
    """Copies `width` elements from each place to another."""

    def body(source, destination, pages) -> None:
        with grid((source.shape[0],), ITEMS) as ((i,), item):
            from_page, origin = (emit_value(e) for e in place(source[i]))
            page, target = (emit_value(e) for e in place(destination[i]))

            def copy(d) -> None:
                T.buffer_store(pages, pages[from_page, 0, 0, origin + d], [page, 0, 0, target + d])

            emit_spread(width, ITEMS, item, copy)

    indices = [Arg(name, (number,), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
