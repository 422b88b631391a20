"""Embedding rows, RMS norm, the gated activation and caps on GPUs: one work-group for each row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, split_rows
from mlc_llm.compiler.kernels.common.values import SWISH_LIMIT, SWISH_SLOPE
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_fill,
    emit_group_sums,
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.packs import Packs

ITEMS = 64


def emit_each(rows, width: int, body: Callable[[Any, Any], None]) -> None:
    """A launch that calls `body(row, k)` for each of `width` numbers of each row."""
    with grid((-(-width // ITEMS), rows), ITEMS) as ((part, row), item):
        k = emit_value(part * ITEMS + item)
        with T.If(k < width), T.Then():
            body(row, k)


def embedding(
    packs: Packs, shape: tuple[int, int], part: range | None = None, scale: float = 1.0
) -> tirx.PrimFunc:
    """f(ids i32 [n], *stored weights, y [n, hidden]): rows times `scale`. An id outside the table
    reads the first or last row.

    With `part` the weights are only those entries of the table, and only their rows are written.
    """
    entries, hidden = shape
    part = part or range(entries)

    def body(ids, *rest) -> None:
        *buffers, y = rest
        with grid((ids.shape[0],), ITEMS) as ((row,), item):
            wanted = T.max(T.min(ids[row], entries - 1), 0)
            entry = emit_value(wanted - part.start)

            def copy(pack) -> None:
                for i, value in enumerate(packs.emit(buffers, entry, pack)):
                    k = pack * packs.size + i
                    value = value if scale == 1.0 else value * scalar(scale)
                    if hidden % packs.size == 0:
                        T.buffer_store(y, value, [row, k])
                        continue
                    with T.If(k < hidden), T.Then():
                        T.buffer_store(y, value, [row, k])

            if len(part) == entries:
                emit_spread(packs.count, ITEMS, item, copy)
                return
            with T.If(T.And(entry >= 0, entry < len(part))), T.Then():
                emit_spread(packs.count, ITEMS, item, copy)

    return kernel([Arg("ids", ("n",), "int32"), *packs.args, Arg("y", ("n", hidden))], body)


def rms_norm(
    size: int,
    eps: float,
    dtype: str,
    *,
    gather: bool = False,
    residual: bool = False,
    x_dtype: str = "float32",
    y_dtype: str = "float32",
    residual_dtype: str = "float32",
) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], y [n, size]): y = x / rms(x) * weight; `dtype` is the weight's.

    With `gather`: f(x [n, size], rows i32 [m], weight [size], y [m, size]); it reads only those
    rows of x.
    With `residual`: f(x, weight, residual [n, size], y), y = residual + x / rms(x) * weight.
    """

    def body(x, *rest) -> None:
        rows, before = (rest[0] if gather else None), (rest[-2] if residual else None)
        weight, y = rest[-3 if residual else -2], rest[-1]
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            source = emit_value(rows[row]) if gather else row
            factor = emit_norm_factor(x, source, 0, size, eps, item)

            def scale(k) -> None:
                value = to_float(x[source, k], 1) * factor * to_float(weight[k], 1)
                value = value if before is None else to_float(before[row, k], 1) + value
                emit_store(y, value, [row, k])

            emit_spread(size, ITEMS, item, scale)

    picked = [Arg("rows", ("m",), "int32")] if gather else []
    added = [Arg("residual", ("n", size), residual_dtype)] if residual else []
    out = Arg("y", ("m" if gather else "n", size), y_dtype)
    weight = Arg("weight", (size,), dtype)
    return kernel([Arg("x", ("n", size), x_dtype), *picked, weight, *added, out], body)


def emit_norm_factor(x, row, first, size: int, eps, item, used=None):
    """1 / rms of `size` elements of a row of x, from `first` on, for every work-item of the
    group. `used`: an expression for the size, at most `size`, the same in the whole group. `eps`: a
    number or an expression."""

    def load(k):
        return emit_value(to_float(x[row, first + k], 1))

    return emit_factor_of(load, size, eps, item, used)


def emit_factor_of(load, size: int, eps, item, used=None):
    """The same for the numbers `load(k)`."""
    return emit_factor_of_squares(emit_squares_of(load, size, item, used), size, eps, used)


def emit_factor_of_squares(squares, size: int, eps, used=None):
    """The same of `size` numbers, the sum of whose squares is given."""
    if used is None:
        mean = squares * scalar(1.0 / size)
    else:
        mean = squares / T.Cast("float32", used)
    return emit_value(scalar(1.0) / T.sqrt(mean + (scalar(eps) if isinstance(eps, float) else eps)))


def emit_squares_of(load, size: int, item, used=None):
    """The sum of the squares of the numbers `load(k)`, for every work-item of the group."""
    sums, partial = registers(1), shared(ITEMS)
    emit_fill(sums, 1, 0.0)

    def square(k) -> None:
        value = load(k)
        T.buffer_store(sums, sums[0] + value * value, [0])

    def add(k) -> None:
        if used is not None:
            with T.If(k < used), T.Then():
                square(k)
            return
        square(k)

    emit_spread(size, ITEMS, item, add)
    T.buffer_store(partial, sums[0], [item])
    emit_group_sums(partial, item, ITEMS, 1)
    return partial[0]


def sigmoid(x):
    return scalar(1.0) / (scalar(1.0) + T.exp(scalar(0.0) - x))


def _gelu_tanh(x):
    """x * (1 + tanh(u)) / 2, which is x * sigmoid(2 u), with u a polynomial of x."""
    scale = 2 * math.sqrt(2 / math.pi)
    return x * sigmoid(x * scalar(scale) + x * x * x * scalar(scale * 0.044715))


def _relu2(x):
    positive = emit_value(T.max(x, scalar(0.0)))
    return positive * positive


def _gelu(x):
    """As `kernels/cpu/vector.py` has it."""
    z = emit_value(T.max(x, scalar(0.0) - x) * scalar(math.sqrt(0.5)))
    t = emit_value(scalar(1.0) / (scalar(1.0) + z * scalar(_ERFC_SHRINK)))
    polynomial = scalar(_ERFC[-1])
    for coefficient in reversed(_ERFC[:-1]):
        polynomial = polynomial * t + scalar(coefficient)
    half = emit_value(polynomial * t * T.exp(scalar(0.0) - z * z) * scalar(0.5))
    return x * T.Select(x < scalar(0.0), half, scalar(1.0) - half)


_ERFC_SHRINK = 0.3275911
_ERFC = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
ACTIVATIONS = {
    "silu": lambda x: x * sigmoid(x),
    "gelu_tanh": _gelu_tanh,
    "gelu": _gelu,
    "quick_gelu": lambda x: x * sigmoid(x * scalar(1.702)),
    "relu": lambda x: T.max(x, scalar(0.0)),
    "relu2": _relu2,
    "tanh": lambda x: softcap(x, 1.0),
    "sigmoid": sigmoid,
}


def softcap(x, cap: float):
    """cap * tanh(x / cap)."""
    return sigmoid(x * scalar(2 / cap)) * scalar(2 * cap) - scalar(cap)


def _gated(activation: str, gate, up):
    """activation(gate) * up; "clipped_swish" limits both (`spec.MLPSpec`)."""
    if activation != "clipped_swish":
        return ACTIVATIONS[activation](gate) * up
    gate = emit_value(T.min(gate, scalar(SWISH_LIMIT)))
    up = T.max(T.min(up, scalar(SWISH_LIMIT)), scalar(-SWISH_LIMIT))
    return gate * sigmoid(gate * scalar(SWISH_SLOPE)) * (up + scalar(1.0))


def gate_and_multiply(
    size: int, activation: str = "silu", dtype: str = "float32", each: int = 1
) -> tirx.PrimFunc:
    """f(x [n, each * 2 size], y [n, each * size]): y = activation(gate) * up. x has gate, then up,
    `each` times."""

    def body(x, y) -> None:
        x, y = split_rows(x, each), split_rows(y, each)

        def multiply(row, k) -> None:
            gate = emit_value(to_float(x[row, k], 1))
            value = _gated(activation, gate, to_float(x[row, k + size], 1))
            emit_store(y, value, [row, k])

        emit_each(y.shape[0], size, multiply)

    x, y = Arg("x", ("n", each * 2 * size), dtype), Arg("y", ("n", each * size), dtype)
    return kernel([x, y], body)


def sigmoid_gate(size: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], gate [n, size], y [n, size]): y = x * sigmoid(gate)."""

    def body(x, gate, y) -> None:
        def multiply(row, k) -> None:
            share = sigmoid(to_float(gate[row, k], 1))
            emit_store(y, to_float(x[row, k], 1) * share, [row, k])

        emit_each(y.shape[0], size, multiply)

    return kernel([Arg(name, ("n", size), dtype) for name in ("x", "gate", "y")], body)


def resize_heads(heads: int, size: int, wanted: int, dtype: str = "float32") -> tirx.PrimFunc:
    """As `kernels/cpu/elementwise.py` has it."""

    def body(x, y) -> None:
        def copy(row, k) -> None:
            head, place = k // wanted, emit_value(k % wanted)
            inside = emit_value(head * size + T.min(place, size - 1))
            value = T.Select(place < size, to_float(x[row, inside], 1), scalar(0.0))
            emit_store(y, value, [row, k])

        emit_each(y.shape[0], heads * wanted, copy)

    x, y = Arg("x", ("n", heads * size), dtype), Arg("y", ("n", heads * wanted), dtype)
    return kernel([x, y], body)


def scale_and_cap(size: int, scale: float, cap: float) -> tirx.PrimFunc:
    """f(x [m, size], y [m, size]): y = x * scale; then cap * tanh(y / cap) if cap is not 0."""

    def body(x, y) -> None:
        def change(row, k) -> None:
            value = x[row, k] * scalar(scale)
            T.buffer_store(y, softcap(value, cap) if cap else value, [row, k])

        emit_each(y.shape[0], size, change)

    return kernel([Arg("x", ("m", size)), Arg("y", ("m", size))], body)


def scaled_add(size: int, scale: float, x_dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], residual [n, size], y [n, size]): y = residual + scale * x."""

    def body(x, residual, y) -> None:
        def add(row, k) -> None:
            value = residual[row, k] + to_float(x[row, k], 1) * scalar(scale)
            T.buffer_store(y, value, [row, k])

        emit_each(y.shape[0], size, add)

    x = Arg("x", ("n", size), x_dtype)
    return kernel([x, Arg("residual", ("n", size)), Arg("y", ("n", size))], body)
