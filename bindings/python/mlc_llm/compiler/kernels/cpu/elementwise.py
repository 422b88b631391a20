"""Embedding rows, RMS norm and the gated activation: one row in, one row out."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.linear import emit_blocks
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_sum,
    emit_value,
    emit_zero,
    fma,
    sigmoid,
    splat,
    to_float,
)
from mlc_llm.compiler.kernels.cpu.weights import Rows


def embedding(weights: Rows, shape: tuple[int, int]) -> tirx.PrimFunc:
    """f(ids i32 [n], *stored weights, y [n, hidden]); an id outside the table reads its edge."""
    entries, hidden = shape

    def body(ids, *rest) -> None:
        *buffers, y = rest

        def row(r) -> None:
            entry = emit_value(T.max(T.min(ids[r], entries - 1), 0))

            def copy(block, vector: int) -> None:
                value = weights.emit_vector(buffers, entry, block, vector)
                offset = (block * weights.block_vectors + vector) * LANES
                T.buffer_store(y, value, [r, at(offset)])

            emit_blocks(hidden, weights.block_vectors, copy)
            for k in range(hidden // LANES * LANES, hidden):
                T.buffer_store(y, weights.element(buffers, entry, k), [r, k])

        emit_rows(ids.shape[0], row, parallel_from=256)

    tables = [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(weights.stored)]
    return kernel([Arg("ids", ("n",), "int32"), *tables, Arg("y", ("n", hidden))], body)


def rms_norm(size: int, eps: float, dtype: str, *, gather: bool = False) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], y [n, size]): y = x / rms(x) * weight.

    With `gather`: f(x [n, size], rows i32 [m], weight [size], y [m, size]), of those rows of x.
    """

    def body(x, *rest) -> None:
        rows, (weight, y) = (rest[0] if gather else None), rest[-2:]

        def row(r) -> None:
            source = emit_value(rows[r]) if gather else r
            factor = emit_norm_factor(x, source, size, eps)

            def scale(base, lanes: int) -> None:
                value = x[source, at(base, lanes)] * splat(factor, lanes)
                value = value * to_float(weight[at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(size, scale)

        emit_rows(y.shape[0], row)

    picked = [Arg("rows", ("m",), "int32")] if gather else []
    out = Arg("y", ("m" if gather else "n", size))
    return kernel([Arg("x", ("n", size)), *picked, Arg("weight", (size,), dtype), out], body)


def emit_norm_factor(x, row, size: int, eps: float):
    """1 / rms of a row of x."""
    return emit_value(T.float32(1) / T.sqrt(_mean_square(x, row, size) + T.float32(eps)))


def _mean_square(x, row, size: int):
    sums = emit_floats(1)
    emit_zero(sums, 1)
    tail = T.sblock_alloc_buffer((1,), "float32")
    T.buffer_store(tail, T.float32(0), [0])

    def add(base, lanes: int) -> None:
        buffer = sums if lanes == LANES else tail
        value = emit_value(x[row, at(base, lanes)])
        T.buffer_store(buffer, fma(value, value, buffer[at(0, lanes)], lanes), [at(0, lanes)])

    emit_over(size, add)
    return (emit_sum(sums[at(0)]) + tail[0]) * T.float32(1.0 / size)


def silu_and_multiply(size: int) -> tirx.PrimFunc:
    """f(x [n, 2 size], y [n, size]): y = silu(gate) * up, x holding gate then up."""

    def body(x, y) -> None:
        def row(r) -> None:
            def gated(base, lanes: int) -> None:
                gate = emit_value(x[r, at(base, lanes)])
                up = x[r, at(base + size, lanes)]
                T.buffer_store(y, gate * sigmoid(gate, lanes) * up, [r, at(base, lanes)])

            emit_over(size, gated)

        emit_rows(y.shape[0], row)

    return kernel([Arg("x", ("n", 2 * size)), Arg("y", ("n", size))], body)
