"""Layer norm, and activations without a gate: one row in, one row out."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import (
    ACTIVATIONS,
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_sum,
    emit_value,
    emit_zero,
    fma,
    xielu,
)


def layer_norm(
    size: int,
    eps: float,
    dtype: str,
    bias_dtype: str | None = None,
    *,
    gather: bool = False,
    residual: bool = False,
) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], (bias [size]), y [n, size]):
    y = (x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + eps) * weight + bias.

    With `gather`: f(x, rows i32 [m], weight, ..., y [m, size]), of those rows of x. With
    `residual`: f(x, weight, ..., residual [n, size], y), which is added.
    """

    def body(x, weight, y, rows=None, bias=None, residual=None) -> None:
        def row(r) -> None:
            source = emit_value(rows[r]) if gather else r
            zero = splat(0.0)
            mean = emit_value(_emit_total(x, source, size, None) * T.float32(1.0 / size))
            square = _emit_total(x, source, size, mean) * T.float32(1.0 / size)
            factor = emit_value(T.float32(1) / T.sqrt(square + T.float32(eps)))

            def scale(base, lanes: int) -> None:
                value = (x[source, at(base, lanes)] - splat(mean, lanes)) * splat(factor, lanes)
                added = zero if lanes == LANES else T.float32(0)
                added = added if bias is None else to_float(bias[at(base, lanes)], lanes)
                value = fma(value, to_float(weight[at(base, lanes)], lanes), added, lanes)
                value = value if residual is None else residual[r, at(base, lanes)] + value
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, scale)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", size)), *([Arg("rows", ("m",), "int32")] if gather else [])]
    args.append(Arg("weight", (size,), dtype))
    args += [Arg("bias", (size,), bias_dtype)] if bias_dtype else []
    args += [Arg("residual", ("n", size))] if residual else []
    return named_kernel([*args, Arg("y", ("m" if gather else "n", size))], body)


def _emit_total(x, row, size: int, mean):
    """The sum of a row, or of its squared differences from `mean`."""
    sums, tail = emit_floats(1), T.sblock_alloc_buffer((1,), "float32")
    emit_zero(sums, 1)
    T.buffer_store(tail, T.float32(0), [0])

    def add(base, lanes: int) -> None:
        buffer, value = (sums if lanes == LANES else tail), x[row, at(base, lanes)]
        total = buffer[at(0, lanes)]
        if mean is None:
            total = total + value
        else:
            value = emit_value(value - splat(mean, lanes))
            total = fma(value, value, total, lanes)
        T.buffer_store(buffer, total, [at(0, lanes)])

    emit_over(size, add)
    return emit_sum(sums[at(0)]) + tail[0]


def activate(size: int, activation: str) -> tirx.PrimFunc:
    """f(x [n, size], y [n, size]): y = activation(x)."""

    def body(x, y) -> None:
        def row(r) -> None:
            def change(base, lanes: int) -> None:
                value = ACTIVATIONS[activation](emit_value(x[r, at(base, lanes)]), lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, change)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", size)), Arg("y", ("n", size))], body)


def curved(size: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, size], curve [4], y [n, size]): y = xielu(x), with a curve that is learned."""

    def body(x, curve, y) -> None:
        def row(r) -> None:
            numbers = [emit_value(to_float(curve[i], 1)) for i in range(4)]

            def change(base, lanes: int) -> None:
                value = emit_value(x[r, at(base, lanes)])
                value = xielu(value, *(splat(number, lanes) for number in numbers), lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, change)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", size)), Arg("curve", (4,), dtype), Arg("y", ("n", size))], body)
