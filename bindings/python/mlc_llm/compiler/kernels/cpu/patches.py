"""Rows of patches: their positions, and the blocks of neighbours that become one row."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows, emit_value


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


def _row(x, first, r, i):
    """The row of x; a number outside of it becomes the nearest."""
    return T.max(T.min(first[r] + i, T.Cast("int32", x.shape[0]) - 1), 0)
