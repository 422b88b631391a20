"""Embedding rows, RMS norm, the gated activation and caps: each reads one row and writes one
row."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, split_rows
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.linear import emit_blocks
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_sum,
    emit_value,
    emit_zero,
    fma,
    gated,
    sigmoid,
    softcap,
)
from mlc_llm.compiler.kernels.cpu.weights import Rows


def embedding(weights: Rows, shape: tuple[int, int], scale: float = 1.0) -> tirx.PrimFunc:
    """f(ids i32 [n], *stored weights, y [n, hidden]): rows times `scale`. An id outside the table
    reads the first or last row."""
    entries, hidden = shape

    def scaled(value, lanes: int):
        return value if scale == 1.0 else value * splat(scale, lanes)

    def body(ids, *rest) -> None:
        *buffers, y = rest

        def row(r) -> None:
            entry = emit_value(T.max(T.min(ids[r], entries - 1), 0))

            def copy(block, vector: int) -> None:
                value = weights.emit_vector(buffers, entry, block, vector)
                offset = (block * weights.block_vectors + vector) * LANES
                T.buffer_store(y, scaled(value, LANES), [r, at(offset)])

            emit_blocks(hidden, weights.block_vectors, copy)
            for k in range(hidden // LANES * LANES, hidden):
                T.buffer_store(y, scaled(weights.element(buffers, entry, k), 1), [r, k])

        emit_rows(ids.shape[0], row, parallel_from=256)

    tables = [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(weights.stored)]
    return kernel([Arg("ids", ("n",), "int32"), *tables, Arg("y", ("n", hidden))], body)


def rms_norm(
    size: int,
    eps: float,
    dtype: str,
    *,
    gather: bool = False,
    residual: bool = False,
) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], y [n, size]): y = x / rms(x) * weight.

    With `gather`: f(x [n, size], rows i32 [m], weight [size], y [m, size]); it reads only those
    rows of x.
    With `residual`: f(x, weight, residual [n, size], y), y = residual + x / rms(x) * weight.
    """

    def body(x, *rest) -> None:
        rows = rest[0] if gather else None
        before = rest[-2] if residual else None
        weight, y = rest[-3 if residual else -2], rest[-1]

        def row(r) -> None:
            source = r if rows is None else emit_value(rows[r])
            factor = emit_norm_factor(x, source, size, eps)

            def scale(base, lanes: int) -> None:
                value = x[source, at(base, lanes)] * splat(factor, lanes)
                value = value * to_float(weight[at(base, lanes)], lanes)
                value = value if before is None else before[r, at(base, lanes)] + value
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, scale)

        emit_rows(y.shape[0], row)

    picked = [Arg("rows", ("m",), "int32")] if gather else []
    out = Arg("y", ("m" if gather else "n", size))
    added = [Arg("residual", ("n", size))] if residual else []
    weight = Arg("weight", (size,), dtype)
    return kernel([Arg("x", ("n", size)), *picked, weight, *added, out], body)


def emit_norm_factor(x, row, size: int, eps: float, first=0):
    """1 / rms of `size` elements of a row of x, from `first` on."""
    return emit_factor_of_squares(emit_squares(x, row, size, first), size, eps)


def emit_factor_of_squares(squares, size: int, eps: float):
    """The same of `size` numbers, the sum of whose squares is given."""
    mean = squares * T.float32(1.0 / size)
    return emit_value(T.float32(1) / T.sqrt(mean + T.float32(eps)))


def emit_squares(x, row, size: int, first=0):
    """The sum of the squares of `size` elements of a row of x, from `first` on."""
    sums = emit_floats(1)
    emit_zero(sums, 1)
    tail = T.sblock_alloc_buffer((1,), "float32")
    T.buffer_store(tail, T.float32(0), [0])

    def add(base, lanes: int) -> None:
        buffer = sums if lanes == LANES else tail
        value = emit_value(x[row, at(first + base, lanes)])
        T.buffer_store(buffer, fma(value, value, buffer[at(0, lanes)], lanes), [at(0, lanes)])

    emit_over(size, add)
    return emit_sum(sums[at(0)]) + tail[0]


def gate_and_multiply(size: int, activation: str = "silu", each: int = 1) -> tirx.PrimFunc:
    """f(x [n, each * 2 size], y [n, each * size]): y = activation(gate) * up. x has gate, then up,
    `each` times."""

    def body(x, y) -> None:
        x, y = split_rows(x, each), split_rows(y, each)

        def row(r) -> None:
            def multiply(base, lanes: int) -> None:
                gate = emit_value(x[r, at(base, lanes)])
                up = x[r, at(base + size, lanes)]
                value = gated(activation, gate, up, lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, multiply)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", each * 2 * size)), Arg("y", ("n", each * size))], body)


def sigmoid_gate(size: int) -> tirx.PrimFunc:
    """f(x [n, size], gate [n, size], y [n, size]): y = x * sigmoid(gate)."""

    def body(x, gate, y) -> None:
        def row(r) -> None:
            def multiply(base, lanes: int) -> None:
                value = sigmoid(emit_value(gate[r, at(base, lanes)]), lanes)
                T.buffer_store(y, x[r, at(base, lanes)] * value, [r, at(base, lanes)])

            emit_over(size, multiply)

        emit_rows(y.shape[0], row)

    return kernel([Arg(name, ("n", size)) for name in ("x", "gate", "y")], body)


def resize_heads(heads: int, size: int, wanted: int) -> tirx.PrimFunc:
    """f(x [n, heads * size], y [n, heads * wanted]): zeros behind each head, or its first elements
    alone."""

    def body(x, y) -> None:
        def row(r) -> None:
            with T.serial(heads) as h:

                def copy(base, lanes: int) -> None:
                    value = x[r, at(h * size + base, lanes)]
                    T.buffer_store(y, value, [r, at(h * wanted + base, lanes)])

                emit_over(min(size, wanted), copy)
                for k in range(size, wanted):
                    T.buffer_store(y, T.float32(0), [r, h * wanted + k])

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", heads * size)), Arg("y", ("n", heads * wanted))], body)


def scale_and_cap(size: int, scale: float, cap: float) -> tirx.PrimFunc:
    """f(x [m, size], y [m, size]): y = x * scale; then cap * tanh(y / cap) if cap is not 0."""

    def body(x, y) -> None:
        def row(r) -> None:
            def change(base, lanes: int) -> None:
                value = x[r, at(base, lanes)]
                value = value if scale == 1.0 else value * splat(scale, lanes)
                value = softcap(value, cap, lanes) if cap else value
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, change)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("m", size)), Arg("y", ("m", size))], body)


def scaled_add(size: int, scale: float, x_dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], residual [n, size], y [n, size]): y = residual + scale * x."""

    def body(x, residual, y) -> None:
        def row(r) -> None:
            def add(base, lanes: int) -> None:
                value = to_float(x[r, at(base, lanes)], lanes)
                value = fma(value, splat(scale, lanes), residual[r, at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, add)

        emit_rows(y.shape[0], row)

    x = Arg("x", ("n", size), x_dtype)
    return kernel([x, Arg("residual", ("n", size)), Arg("y", ("n", size))], body)
