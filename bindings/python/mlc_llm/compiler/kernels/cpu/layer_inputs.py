"""What layers get of a token besides the residual (`LayerInputSpec`), and a learned factor."""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.join import join as join
from mlc_llm.compiler.kernels.cpu.vector import (
    ACTIVATIONS,
    at,
    emit_over,
    emit_rows,
    emit_value,
    fma,
)


def first_columns(total: int, size: int) -> tirx.PrimFunc:
    """f(x [n, total], y [n, size]): the first columns."""

    def body(x, y) -> None:
        def row(r) -> None:
            emit_over(
                size,
                lambda base, lanes: T.buffer_store(y, x[r, at(base, lanes)], [r, at(base, lanes)]),
            )

        emit_rows(y.shape[0], row, parallel_from=256)

    return kernel([Arg("x", ("n", total)), Arg("y", ("n", size))], body)


def widen(size: int, total: int) -> tirx.PrimFunc:
    """f(x [n, size], y [n, total]): x, and zeros behind it."""

    def body(x, y) -> None:
        def row(r) -> None:
            def copy(base, lanes: int) -> None:
                T.buffer_store(y, x[r, at(base, lanes)], [r, at(base, lanes)])

            def clear(base, lanes: int) -> None:
                T.buffer_store(y, splat(0.0, lanes), [r, at(size + base, lanes)])

            emit_over(size, copy)
            emit_over(total - size, clear)

        emit_rows(y.shape[0], row, parallel_from=256)

    return kernel([Arg("x", ("n", size)), Arg("y", ("n", total))], body)


def add_columns(size: int, total: int, first: int) -> tirx.PrimFunc:
    """f(x [n, size], other [n, total], y [n, size]): x + the columns of `other` from `first` on."""

    def body(x, other, y) -> None:
        def row(r) -> None:
            def add(base, lanes: int) -> None:
                value = x[r, at(base, lanes)] + other[r, at(first + base, lanes)]
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, add)

        emit_rows(y.shape[0], row, parallel_from=256)

    return kernel([Arg("x", ("n", size)), Arg("other", ("n", total)), Arg("y", ("n", size))], body)


def add_inputs(layers: int, size: int, hidden: int, eps: float, dtype: str) -> tirx.PrimFunc:
    """f(x [n, layers * size], embedded [n, hidden + layers * size], weight [size], y [n, layers *
    size]): y = x / rms(x) * weight / sqrt(2) + embedded, with one norm for each layer. The first
    `hidden` columns of `embedded` are not read."""
    wide = layers * size

    def body(x, embedded, weight, y) -> None:
        half = T.float32(math.sqrt(0.5))

        def row(r) -> None:
            with T.serial(layers) as layer:
                first = emit_value(layer * size)
                factor = emit_value(emit_norm_factor(x, r, size, eps, first) * half)

                def add(base, lanes: int) -> None:
                    place = at(first + base, lanes)
                    value = x[r, place] * splat(factor, lanes)
                    scale = to_float(weight[at(base, lanes)], lanes)
                    other = embedded[r, at(first + hidden + base, lanes)]
                    T.buffer_store(y, fma(value, scale, other, lanes), [r, place])

                emit_over(size, add)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", wide)), Arg("embedded", ("n", hidden + wide))]
    return kernel([*args, Arg("weight", (size,), dtype), Arg("y", ("n", wide))], body)


def gate_input(layers: int, size: int, activation: str) -> tirx.PrimFunc:
    """f(gate [n, size], layer i32 [1], inputs [n, layers * size], y [n, size]): y =
    activation(gate) * the inputs of that layer."""

    def body(gate, layer, inputs, y) -> None:
        def row(r) -> None:
            first = emit_value(layer[0] * size)

            def multiply(base, lanes: int) -> None:
                value = ACTIVATIONS[activation](emit_value(gate[r, at(base, lanes)]), lanes)
                value = value * inputs[r, at(first + base, lanes)]
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, multiply)

        emit_rows(y.shape[0], row)

    args = [Arg("gate", ("n", size)), Arg("layer", (1,), "int32")]
    return kernel([*args, Arg("inputs", ("n", layers * size)), Arg("y", ("n", size))], body)


def times(size: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, size], factor [1], y [n, size]): y = x * factor."""

    def body(x, factor, y) -> None:
        def row(r) -> None:
            value = emit_value(to_float(factor[0], 1))

            def multiply(base, lanes: int) -> None:
                T.buffer_store(y, x[r, at(base, lanes)] * splat(value, lanes), [r, at(base, lanes)])

            emit_over(size, multiply)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", size)), Arg("factor", (1,), dtype)]
    return kernel([*args, Arg("y", ("n", size))], body)
