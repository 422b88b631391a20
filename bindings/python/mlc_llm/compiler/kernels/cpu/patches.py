"""Rows of patches: their positions, and the blocks of neighbours that become one row."""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.attention import emit_rotated, emit_rotation_of
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows, emit_value, fma


def place_patches(
    width: int, entries: int, columns: int, dtype: str, class_dtype: str | None = None
) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], table [entries, width], (class [width]), y): a patch at
    (row, column) of a grid of `columns` gets its entry of the table. With a class row, the table
    begins with its entry: y = class + table[0] for the position (-1, -1)."""
    first = 0 if class_dtype is None else 1

    def body(x, positions, table, y, class_row=None) -> None:
        def row(r) -> None:
            place = emit_value(positions[r, 0] * columns + positions[r, 1] + first)
            entry = emit_value(T.max(T.min(place, entries - 1), 0))

            def add(base, lanes: int) -> None:
                value = x[r, at(base, lanes)]
                if class_row is not None:
                    is_class = splat(positions[r, 0] < 0, lanes)
                    value = T.Select(is_class, to_float(class_row[at(base, lanes)], lanes), value)
                value = value + to_float(table[entry, at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, add)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("positions", ("n", 2), "int32")]
    args.append(Arg("table", (entries, width), dtype))
    args += [Arg("class_row", (width,), class_dtype)] if class_dtype else []
    return named_kernel([*args, Arg("y", ("n", width))], body)


def place_in_buckets(width: int, columns: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], grids i32 [n, 2], table [columns * columns, width], y):
    a square table is spread over the grid of the patch's view, and a patch gets the entry that its
    first corner is in (NaViT's buckets)."""

    def body(x, positions, grids, table, y) -> None:
        def row(r) -> None:
            sizes = [T.max(grids[r, axis], 1) for axis in (0, 1)]
            inside = [T.max(T.min(positions[r, axis], sizes[axis] - 1), 0) for axis in (0, 1)]
            line, column = (emit_value(inside[i] * columns // sizes[i]) for i in (0, 1))
            entry = emit_value(line * columns + column)

            def add(base, lanes: int) -> None:
                value = x[r, at(base, lanes)] + to_float(table[entry, at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, add)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), *(Arg(a, ("n", 2), "int32") for a in ("positions", "grids"))]
    table = Arg("table", (columns * columns, width), dtype)
    return kernel([*args, table, Arg("y", ("n", width))], body)


def place_by_axes(width: int, entries: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], table [2 * entries, width], y): a patch at (row,
    column) gets the entry of its column in the first half of the table, and that of its row in the
    second."""

    def body(x, positions, table, y) -> None:
        def row(r) -> None:
            places = [T.max(T.min(positions[r, axis], entries - 1), 0) for axis in (1, 0)]
            places = [emit_value(places[0]), emit_value(places[1] + entries)]

            def add(base, lanes: int) -> None:
                value = x[r, at(base, lanes)]
                for place in places:
                    value = value + to_float(table[place, at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, add)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("positions", ("n", 2), "int32")]
    return kernel([*args, Arg("table", (2 * entries, width), dtype), Arg("y", ("n", width))], body)


def place_between(width: int, columns: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], grids i32 [n, 2], table [columns * columns, width], y):
    a square table is stretched over the grid of the patch's view so that their corners meet. A
    patch between entries gets of the four around it the more, the nearer they are (bilinear)."""

    def body(x, positions, grids, table, y) -> None:
        def along(r, axis: int):
            """The entry before the patch, the one behind it, and the share of the latter."""
            last = T.max(grids[r, axis] - 1, 1)
            scaled = emit_value(T.max(T.min(positions[r, axis], last), 0) * (columns - 1))
            first = emit_value(scaled // last)
            share = T.Cast("float32", scaled % last) / T.Cast("float32", last)
            return first, emit_value(T.min(first + 1, columns - 1)), emit_value(share)

        def row(r) -> None:
            (top, bottom, down), (left, right, over) = along(r, 0), along(r, 1)
            one = T.float32(1)
            taps = [
                (emit_value(line * columns + column), emit_value(high * wide))
                for line, high in ((top, one - down), (bottom, down))
                for column, wide in ((left, one - over), (right, over))
            ]

            def add(base, lanes: int) -> None:
                value = x[r, at(base, lanes)]
                for entry, share in taps:
                    entries = to_float(table[entry, at(base, lanes)], lanes)
                    value = fma(entries, splat(share, lanes), value, lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, add)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), *(Arg(a, ("n", 2), "int32") for a in ("positions", "grids"))]
    table = Arg("table", (columns * columns, width), dtype)
    return kernel([*args, table, Arg("y", ("n", width))], body)


def rotate_patches(heads: int, dim: int, axes: tuple[int, ...]) -> tirx.PrimFunc:
    """f(positions i32 [n, 2], table (`rope_table`), qkv [n, 3 * heads * dim]): rotates the queries
    and the keys where they are. The pair (i, i + dim / 2) of a head turns by positions[axes[i]]."""
    half = dim // 2
    lanes = math.gcd(half, LANES)

    def body(positions, table, qkv) -> None:
        def row(r) -> None:
            places = [emit_value(T.max(positions[r, axis], 0)) for axis in (0, 1)]
            for base in range(0, half, lanes):
                rotation = emit_rotation_of(table, places, axes[base : base + lanes], base, lanes)
                with T.serial(2 * heads) as head:
                    low = emit_value(head * dim + base)
                    ends = [at(low, lanes), at(low + half, lanes)]
                    pair = [emit_value(qkv[r, end]) for end in ends]
                    turned = emit_rotated(*pair, rotation, lanes)
                    for end, value in zip(ends, turned, strict=True):
                        T.buffer_store(qkv, value, [r, end])

        emit_rows(qkv.shape[0], row)

    args = [Arg("positions", ("n", 2), "int32"), Arg("table", (3 * ROPE_FINE, 2, half))]
    return kernel([*args, Arg("qkv", ("n", 3 * heads * dim))], body)


def join_patches(width: int, count: int) -> tirx.PrimFunc:
    """f(x [n, width], first i32 [m], y [m, count * width]): `count` rows of x from `first` on, side
    by side."""

    def body(x, first, y) -> None:
        def row(r) -> None:
            with T.serial(count) as i:
                source = emit_value(_row(x, first, r, i))

                def copy(base, lanes: int) -> None:
                    T.buffer_store(y, x[source, at(base, lanes)], [r, at(i * width + base, lanes)])

                emit_over(width, copy)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("first", ("m",), "int32")]
    return kernel([*args, Arg("y", ("m", count * width))], body)


def average_patches(width: int, count: int) -> tirx.PrimFunc:
    """f(x [n, width], first i32 [m], y [m, width]): the mean of `count` rows of x from `first`
    on."""

    def body(x, first, y) -> None:
        def row(r) -> None:
            def mean(base, lanes: int) -> None:
                total = x[_row(x, first, r, 0), at(base, lanes)]
                for i in range(1, count):
                    total = total + x[_row(x, first, r, i), at(base, lanes)]
                T.buffer_store(y, total * splat(1.0 / count, lanes), [r, at(base, lanes)])

            emit_over(width, mean)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("first", ("m",), "int32")]
    return kernel([*args, Arg("y", ("m", width))], body)


def place_learned(width: int, count: int, dtype: str) -> tirx.PrimFunc:
    """f(first i32 [m], table [count, width], y [m, width]): the row -1 - k of those wanted is row k
    of the table; the others stay."""

    def body(first, table, y) -> None:
        def row(r) -> None:
            entry = emit_value(T.max(T.min(-1 - first[r], count - 1), 0))

            def put(base, lanes: int) -> None:
                learned = to_float(table[entry, at(base, lanes)], lanes)
                is_learned = splat(first[r] < 0, lanes)
                value = T.Select(is_learned, learned, y[r, at(base, lanes)])
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, put)

        emit_rows(y.shape[0], row)

    args = [Arg("first", ("m",), "int32"), Arg("table", (count, width), dtype)]
    return kernel([*args, Arg("y", ("m", width))], body)


def _row(x, first, r, i):
    """The row of x; a number outside of it becomes the nearest."""
    return T.max(T.min(first[r] + i, T.Cast("int32", x.shape[0]) - 1), 0)
