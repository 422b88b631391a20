"""Layer norm and activations without a gate on GPUs: a work-group a row."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.gpu.elementwise import ACTIVATIONS, ITEMS, emit_each
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


def layer_norm(
    size: int,
    eps: float,
    dtype: str,
    bias_dtype: str | None = None,
    *,
    gather: bool = False,
    residual: bool = False,
    x_dtype: str = "float32",
    y_dtype: str = "float32",
) -> tirx.PrimFunc:
    """As `kernels/cpu/layer_norm.py` has it."""

    def body(x, weight, y, rows=None, bias=None, residual=None) -> None:
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            source = emit_value(rows[row]) if gather else row
            mean = _emit_mean(x, source, size, item, None)
            square = _emit_mean(x, source, size, item, mean)
            factor = emit_value(scalar(1.0) / T.sqrt(square + scalar(eps)))

            def scale(k) -> None:
                value = (to_float(x[source, k], 1) - mean) * factor * to_float(weight[k], 1)
                value = value if bias is None else value + to_float(bias[k], 1)
                value = value if residual is None else residual[row, k] + value
                emit_store(y, value, [row, k])

            emit_spread(size, ITEMS, item, scale)

    args = [Arg("x", ("n", size), x_dtype), *([Arg("rows", ("m",), "int32")] if gather else [])]
    args.append(Arg("weight", (size,), dtype))
    args += [Arg("bias", (size,), bias_dtype)] if bias_dtype else []
    args += [Arg("residual", ("n", size))] if residual else []
    return named_kernel([*args, Arg("y", ("m" if gather else "n", size), y_dtype)], body)


def _emit_mean(x, row, size: int, item, mean):
    """Of a row, or of its squared differences from `mean`, for every item of the group."""
    sums, partial = registers(1), shared(ITEMS)
    emit_fill(sums, 1, 0.0)

    def add(k) -> None:
        value = to_float(x[row, k], 1)
        if mean is not None:
            value = emit_value(value - mean)
            value = value * value
        T.buffer_store(sums, sums[0] + value, [0])

    emit_spread(size, ITEMS, item, add)
    T.buffer_store(partial, sums[0], [item])
    emit_group_sums(partial, item, ITEMS, 1)
    return emit_value(partial[0] * scalar(1.0 / size))


def activate(size: int, activation: str, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], y [n, size]): y = activation(x)."""

    def body(x, y) -> None:
        def change(row, k) -> None:
            emit_store(y, ACTIVATIONS[activation](emit_value(to_float(x[row, k], 1))), [row, k])

        emit_each(y.shape[0], size, change)

    return kernel([Arg("x", ("n", size), dtype), Arg("y", ("n", size), dtype)], body)


def curved(size: int, dtype: str, x_dtype: str = "float32") -> tirx.PrimFunc:
    """As `kernels/cpu/layer_norm.py` has it."""

    def body(x, curve, y) -> None:
        def change(row, k) -> None:
            rise, fall, slope, start = (to_float(curve[i], 1) for i in range(4))
            value = emit_value(to_float(x[row, k], 1))
            below = (fall + slope) * (T.exp(T.min(value, start)) - scalar(1.0) - value)
            bent = T.Select(value > scalar(0.0), rise * value * value, below)
            emit_store(y, bent + slope * value, [row, k])

        emit_each(y.shape[0], size, change)

    x, y = Arg("x", ("n", size), x_dtype), Arg("y", ("n", size), x_dtype)
    return kernel([x, Arg("curve", (4,), dtype), y], body)
