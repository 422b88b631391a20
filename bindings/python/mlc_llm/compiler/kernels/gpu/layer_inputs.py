"""What layers get of a token besides the residual (`LayerInputSpec`), and a learned factor, on
GPUs. The functions are those of `kernels/cpu/layer_inputs.py` and `kernels/cpu/join.py`; `dtype` is
the type of rows between layers. Embeddings, the inputs of layers and the residual are float32.
"""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.elementwise import ACTIVATIONS, ITEMS, emit_each, emit_norm_factor
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_spread,
    emit_store,
    emit_value,
    grid,
    scalar,
    to_float,
)


def join(widths: tuple[int, int]) -> tirx.PrimFunc:
    """f(first [n, width], second [n, width], y [n, both]): side by side."""
    before, behind = widths

    def body(first, second, y) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            emit_spread(before, ITEMS, item, lambda k: T.buffer_store(y, first[row, k], [row, k]))
            emit_spread(
                behind, ITEMS, item, lambda k: T.buffer_store(y, second[row, k], [row, before + k])
            )

    parts = [Arg(f"part{i}", ("n", width)) for i, width in enumerate(widths)]
    return kernel([*parts, Arg("y", ("n", before + behind))], body)


def first_columns(total: int, size: int) -> tirx.PrimFunc:
    """f(x [n, total], y [n, size]): the first columns."""

    def body(x, y) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            emit_spread(size, ITEMS, item, lambda k: T.buffer_store(y, x[row, k], [row, k]))

    return kernel([Arg("x", ("n", total)), Arg("y", ("n", size))], body)


def widen(size: int, total: int) -> tirx.PrimFunc:
    """f(x [n, size], y [n, total]): x, and zeros behind it."""

    def body(x, y) -> None:
        def write(row, k) -> None:
            value = T.Select(k < size, x[row, T.min(k, size - 1)], scalar(0.0))
            T.buffer_store(y, value, [row, k])

        emit_each(y.shape[0], total, write)

    return kernel([Arg("x", ("n", size)), Arg("y", ("n", total))], body)


def add_columns(size: int, total: int, first: int) -> tirx.PrimFunc:
    """f(x [n, size], other [n, total], y [n, size]): x + the columns of `other` from `first` on."""

    def body(x, other, y) -> None:
        def add(row, k) -> None:
            T.buffer_store(y, x[row, k] + other[row, first + k], [row, k])

        emit_each(y.shape[0], size, add)

    return kernel([Arg("x", ("n", size)), Arg("other", ("n", total)), Arg("y", ("n", size))], body)


def add_inputs(
    layers: int, size: int, hidden: int, eps: float, weight_dtype: str, dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, layers * size], embedded [n, hidden + layers * size], weight [size], y [n, layers *
    size]): y = x / rms(x) * weight / sqrt(2) + embedded, with one norm for each layer. The first
    `hidden` columns of `embedded` are not read."""
    wide = layers * size

    def body(x, embedded, weight, y) -> None:
        with grid((layers, y.shape[0]), ITEMS) as ((layer, row), item):
            first = emit_value(layer * size)
            factor = emit_norm_factor(x, row, first, size, eps, item)

            def add(k) -> None:
                value = to_float(x[row, first + k], 1) * (factor * scalar(math.sqrt(0.5)))
                value = value * to_float(weight[k], 1) + embedded[row, first + hidden + k]
                T.buffer_store(y, value, [row, first + k])

            emit_spread(size, ITEMS, item, add)

    args = [Arg("x", ("n", wide), dtype), Arg("embedded", ("n", hidden + wide))]
    return kernel([*args, Arg("weight", (size,), weight_dtype), Arg("y", ("n", wide))], body)


def gate_input(layers: int, size: int, activation: str, dtype: str = "float32") -> tirx.PrimFunc:
    """f(gate [n, size], layer i32 [1], inputs [n, layers * size], y [n, size]): y =
    activation(gate) * the inputs of that layer."""

    def body(gate, layer, inputs, y) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            first = emit_value(layer[0] * size)

            def multiply(k) -> None:
                value = ACTIVATIONS[activation](emit_value(to_float(gate[row, k], 1)))
                emit_store(y, value * inputs[row, first + k], [row, k])

            emit_spread(size, ITEMS, item, multiply)

    args = [Arg("gate", ("n", size), dtype), Arg("layer", (1,), "int32")]
    return kernel([*args, Arg("inputs", ("n", layers * size)), Arg("y", ("n", size), dtype)], body)


def times(size: int, factor_dtype: str) -> tirx.PrimFunc:
    """f(x [n, size], factor [1], y [n, size]): y = x * factor."""

    def body(x, factor, y) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            value = emit_value(to_float(factor[0], 1))
            emit_spread(size, ITEMS, item, lambda k: T.buffer_store(y, x[row, k] * value, [row, k]))

    args = [Arg("x", ("n", size)), Arg("factor", (1,), factor_dtype)]
    return kernel([*args, Arg("y", ("n", size))], body)
