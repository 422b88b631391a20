"""Latent attention beside the softmax: rows into pages, and the matrices of each head.

`paged_attention.py` attends, with the state of `latent_state.py`. The matrices act on queries and
on results (`layers/latent.py`), in prompts too: then a row has the same bits in any chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.latent import LatentShape
from mlc_llm.compiler.kernels.common.routing import joined
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float, vector_type
from mlc_llm.compiler.kernels.cpu.attention import copy_pages as copy_pages
from mlc_llm.compiler.kernels.cpu.attention import emit_rotated, emit_rotation
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.linear import FloatStrip, Tile
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows, emit_sum, emit_value
from mlc_llm.compiler.kernels.cpu.weights import PlainRows


def append(shape: LatentShape, eps: float, norm: str, *, pairs: bool) -> tirx.PrimFunc:
    """f(x [n, row], positions, slots, table, norm [dim], pages): each row's latent vector, normed,
    and its key, rotated, into the row's slot."""

    def body(x, positions, slots, table, weight, pages) -> None:
        def row(r) -> None:
            page, offset = (emit_value(e) for e in (slots[r] // PAGE_SIZE, slots[r] % PAGE_SIZE))
            factor = emit_norm_factor(x, r, shape.dim, eps)

            def store(d, value, lanes: int) -> None:
                value = T.Cast(vector_type(shape.page_dtype, lanes), value)
                T.buffer_store(pages, value, [page, 0, 0, at(offset * shape.row + d, lanes)])

            def scale(base, lanes: int) -> None:
                value = x[r, at(base, lanes)] * splat(factor, lanes)
                store(base, value * to_float(weight[at(base, lanes)], lanes), lanes)

            emit_over(shape.dim, scale)
            rotation = _Rotation(shape, table, emit_value(positions[r]), pairs)
            rotation.emit(lambda place: x[r, place], shape.dim, store)

        emit_rows(x.shape[0], row)

    table = Arg("table", (3 * ROPE_FINE, 2, shape.rotary // 2))
    where = [Arg(name, ("n",), "int32") for name in ("positions", "slots")]
    weight = Arg("norm", (shape.dim,), norm)
    return kernel([Arg("x", ("n", shape.row)), *where, table, weight, shape.pages], body)


def queries(
    shape: LatentShape, plain: int, weight: str, *, pairs: bool, tile: Tile
) -> tirx.PrimFunc:
    """f(x [n, heads * (plain + rotary)], positions, table, keys_up [heads, dim, plain],
    q [n, heads, row]): each head's matrix on the first elements, and a rotation of the others."""
    size = plain + shape.rotary
    matrices = _Matrices(shape.heads, shape.dim, plain, size, tile)

    def body(x, positions, table, keys_up, q) -> None:
        def put(r, head, column, value) -> None:
            T.buffer_store(q, value, [r, head, column])

        matrices.emit(x, keys_up, put)

        def row(r) -> None:
            rotation = _Rotation(shape, table, emit_value(positions[r]), pairs)
            with T.serial(shape.heads) as head:

                def store(d, value, lanes: int) -> None:
                    T.buffer_store(q, value, [r, head, at(shape.dim - plain + d, lanes)])

                def read(place):
                    return x[r, _moved(place, head * size)]

                rotation.emit(read, plain, store)

        emit_rows(x.shape[0], row)

    args = [
        Arg("x", ("n", shape.heads * size)),
        Arg("positions", ("n",), "int32"),
        Arg("table", (3 * ROPE_FINE, 2, shape.rotary // 2)),
        Arg("keys_up", (shape.heads, shape.dim, plain), weight),
        Arg("q", ("n", shape.heads, shape.row)),
    ]
    return kernel(args, body)


def values(shape: LatentShape, size: int, weight: str, *, tile: Tile) -> tirx.PrimFunc:
    """f(x [n, heads * dim], values_up [heads, size, dim], y [n, heads * size])."""
    matrices = _Matrices(shape.heads, size, shape.dim, shape.dim, tile)

    def body(x, values_up, y) -> None:
        def put(r, head, column, value) -> None:
            T.buffer_store(y, value, [r, head * size + column])

        matrices.emit(x, values_up, put)

    args = [
        Arg("x", ("n", shape.heads * shape.dim)),
        Arg("values_up", (shape.heads, size, shape.dim), weight),
        Arg("y", ("n", shape.heads * size)),
    ]
    return kernel(args, body)


@dataclass(frozen=True)
class _Rotation:
    """Rotates the last `rotary` elements of a row or of a head. The first elements of all pairs are
    stored before the second ones, whatever their order was: queries and keys have the same."""

    shape: LatentShape
    table: Any
    position: Any
    pairs: bool

    def emit(self, read: Callable, first: int, store: Callable) -> None:
        """`read(place)`: elements at a place (an index or a ramp), from `first` on."""
        half = self.shape.rotary // 2
        lanes = math.gcd(half, LANES)
        for base in range(0, half, lanes):
            rotation = emit_rotation(self.table, self.position, base, lanes)
            low, high = (emit_value(read(p)) for p in self._places(first, base, lanes))
            low, high = emit_rotated(low, high, rotation, lanes)
            store(first + base, low, lanes)
            store(first + half + base, high, lanes)

    def _places(self, first: int, base: int, lanes: int) -> list:
        if self.pairs:
            return [T.ramp(T.int32(first + 2 * base + i), 2, lanes) for i in (0, 1)]
        half = self.shape.rotary // 2
        return [T.ramp(T.int32(first + base + i * half), 1, lanes) for i in (0, 1)]


@dataclass(frozen=True)
class _Matrices:
    """y[r, h] = W[h] x[r, h], with W [heads, outs, ins]; a head of x has `size` elements, of which
    the first are taken."""

    heads: int
    outs: int
    ins: int
    size: int
    tile: Tile

    def emit(self, x, weights, store: Callable) -> None:
        strips = -(-self.outs // self.tile.w_rows)
        reader = PlainRows(())
        with T.parallel(self.heads * strips) as task, T.sblock("head"):
            T.reads()
            T.writes()
            head = emit_value(task // strips)
            base = emit_value(head * self.outs)
            strip = FloatStrip(reader, self.outs, self.ins, self.tile, base)

            def put(r, column, vector) -> None:
                store(r, head, column, emit_sum(vector))

            first = emit_value(task % strips * self.tile.w_rows)
            given = _Head(x, emit_value(head * self.size))
            strip.emit(first, x.shape[0], given, [joined(weights)], put)


@dataclass(frozen=True)
class _Head:
    """The columns of x from `first` on."""

    x: Any
    first: Any

    def __getitem__(self, place: tuple[Any, Any]) -> Any:
        return self.x[place[0], _moved(place[1], self.first)]


def _moved(place: Any, by: Any) -> Any:
    """An index or a ramp, `by` elements further."""
    if isinstance(place, tirx.Ramp):
        return T.ramp(place.base + by, place.stride, place.lanes)
    return place + by


def copy_slots(shape: LatentShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): `attention.copy_slots` for rows of latents."""

    def body(source, destination, pages) -> None:
        with T.serial(source.shape[0]) as i, T.sblock("copy"):
            T.reads()
            T.writes()
            old, new = emit_value(source[i]), emit_value(destination[i])
            from_page, page = (emit_value(slot // PAGE_SIZE) for slot in (old, new))
            origin, target = (emit_value(slot % PAGE_SIZE * shape.row) for slot in (old, new))
            with T.serial(shape.row // LANES) as v:
                value = pages[from_page, 0, 0, at(origin + v * LANES)]
                T.buffer_store(pages, value, [page, 0, 0, at(target + v * LANES)])

    indices = [Arg(name, ("c",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
