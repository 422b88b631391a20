"""Rows of patches on GPUs: their positions, and the blocks of neighbours that become one row. The
functions are those of `kernels/cpu/patches.py`."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.gpu.attention import emit_rotation, on_axis
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS, emit_each
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, emit_value, grid, scalar, to_float

PLACES = [Arg(name, ("n", 2), "int32") for name in ("positions", "grids")]


def place_patches(
    width: int, entries: int, columns: int, dtype: str, class_dtype: str | None = None
) -> tirx.PrimFunc:
    first = 0 if class_dtype is None else 1

    def body(x, positions, table, y, class_row=None) -> None:
        def add(row, k) -> None:
            place = positions[row, 0] * columns + positions[row, 1] + first
            entry = emit_value(T.max(T.min(place, entries - 1), 0))
            value = x[row, k]
            if class_row is not None:
                value = T.Select(positions[row, 0] < 0, to_float(class_row[k], 1), value)
            T.buffer_store(y, value + to_float(table[entry, k], 1), [row, k])

        emit_each(y.shape[0], width, add)

    args = [Arg("x", ("n", width)), PLACES[0], Arg("table", (entries, width), dtype)]
    args += [Arg("class_row", (width,), class_dtype)] if class_dtype else []
    return named_kernel([*args, Arg("y", ("n", width))], body)


def place_in_buckets(width: int, columns: int, dtype: str) -> tirx.PrimFunc:
    def body(x, positions, grids, table, y) -> None:
        def add(row, k) -> None:
            places = []
            for axis in (0, 1):
                size = emit_value(T.max(grids[row, axis], 1))
                inside = T.max(T.min(positions[row, axis], size - 1), 0)
                places.append(emit_value(inside * columns // size))
            entry = emit_value(places[0] * columns + places[1])
            T.buffer_store(y, x[row, k] + to_float(table[entry, k], 1), [row, k])

        emit_each(y.shape[0], width, add)

    table = Arg("table", (columns * columns, width), dtype)
    return kernel([Arg("x", ("n", width)), *PLACES, table, Arg("y", ("n", width))], body)


def place_by_axes(width: int, entries: int, dtype: str) -> tirx.PrimFunc:
    def body(x, positions, table, y) -> None:
        def add(row, k) -> None:
            column, line = (T.max(T.min(positions[row, i], entries - 1), 0) for i in (1, 0))
            value = x[row, k] + to_float(table[column, k], 1)
            T.buffer_store(y, value + to_float(table[line + entries, k], 1), [row, k])

        emit_each(y.shape[0], width, add)

    table = Arg("table", (2 * entries, width), dtype)
    return kernel([Arg("x", ("n", width)), PLACES[0], table, Arg("y", ("n", width))], body)


def place_between(width: int, columns: int, dtype: str) -> tirx.PrimFunc:
    def body(x, positions, grids, table, y) -> None:
        def along(row, axis: int):
            """The entry before the patch, the one behind it, and the share of the latter."""
            last = emit_value(T.max(grids[row, axis] - 1, 1))
            scaled = emit_value(T.max(T.min(positions[row, axis], last), 0) * (columns - 1))
            first = emit_value(scaled // last)
            share = T.Cast("float32", scaled % last) / T.Cast("float32", last)
            return first, emit_value(T.min(first + 1, columns - 1)), emit_value(share)

        def add(row, k) -> None:
            (top, bottom, down), (left, right, over) = along(row, 0), along(row, 1)
            value, one = x[row, k], scalar(1.0)
            for line, high in ((top, one - down), (bottom, down)):
                for column, wide in ((left, one - over), (right, over)):
                    entry = to_float(table[line * columns + column, k], 1)
                    value = value + entry * (high * wide)
            T.buffer_store(y, value, [row, k])

        emit_each(y.shape[0], width, add)

    table = Arg("table", (columns * columns, width), dtype)
    return kernel([Arg("x", ("n", width)), *PLACES, table, Arg("y", ("n", width))], body)


def rotate_patches(heads: int, dim: int, axes: tuple[int, ...]) -> tirx.PrimFunc:
    half = dim // 2

    def body(positions, table, qkv) -> None:
        with grid((2 * heads, qkv.shape[0]), ITEMS) as ((head, row), item):
            begin = emit_value(head * dim)

            def turn(i) -> None:
                place = emit_value(T.max(on_axis(axes, positions, row, i), 0))
                cos, sin = emit_rotation(table, place, i)
                low, high = (emit_value(qkv[row, begin + i + add]) for add in (0, half))
                T.buffer_store(qkv, low * cos - high * sin, [row, begin + i])
                T.buffer_store(qkv, high * cos + low * sin, [row, begin + i + half])

            emit_spread(half, ITEMS, item, turn)

    args = [PLACES[0], Arg("table", (3 * ROPE_FINE, 2, half))]
    return kernel([*args, Arg("qkv", ("n", 3 * heads * dim))], body)


def join_patches(width: int, count: int) -> tirx.PrimFunc:
    def body(x, first, y) -> None:
        def copy(row, k) -> None:
            source = emit_value(_row(x, first[row] + k // width))
            T.buffer_store(y, x[source, k % width], [row, k])

        emit_each(y.shape[0], count * width, copy)

    args = [Arg("x", ("n", width)), Arg("first", ("m",), "int32")]
    return kernel([*args, Arg("y", ("m", count * width))], body)


def average_patches(width: int, count: int) -> tirx.PrimFunc:
    def body(x, first, y) -> None:
        def mean(row, k) -> None:
            total = scalar(0.0)
            for i in range(count):
                total = total + x[_row(x, first[row] + i), k]
            T.buffer_store(y, total * scalar(1.0 / count), [row, k])

        emit_each(y.shape[0], width, mean)

    args = [Arg("x", ("n", width)), Arg("first", ("m",), "int32")]
    return kernel([*args, Arg("y", ("m", width))], body)


def place_learned(width: int, count: int, dtype: str) -> tirx.PrimFunc:
    def body(first, table, y) -> None:
        def put(row, k) -> None:
            entry = emit_value(-1 - first[row])
            with T.If(entry >= 0), T.Then():
                T.buffer_store(y, to_float(table[T.min(entry, count - 1), k], 1), [row, k])

        emit_each(y.shape[0], width, put)

    args = [Arg("first", ("m",), "int32"), Arg("table", (count, width), dtype)]
    return kernel([*args, Arg("y", ("m", width))], body)


def _row(x, number):
    """The row of x; a number outside of it becomes the nearest."""
    return T.max(T.min(number, T.Cast("int32", x.shape[0]) - 1), 0)
