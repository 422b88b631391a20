"""Embedding rows, RMS norm and the gated activation on GPUs: a work-group a row."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
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


def embedding(packs: Packs, shape: tuple[int, int], part: range | None = None) -> tirx.PrimFunc:
    """f(ids i32 [n], *stored weights, y [n, hidden]); an id outside the table reads its edge.

    With `part` the weights are those entries of the table alone, and only their rows are written.
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
    size: int, eps: float, dtype: str, *, gather: bool = False, y_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], y [n, size]): y = x / rms(x) * weight; `dtype` is the weight's.

    With `gather`: f(x [n, size], rows i32 [m], weight [size], y [m, size]), of those rows of x.
    """

    def body(x, *rest) -> None:
        rows, (weight, y) = (rest[0] if gather else None), rest[-2:]
        with grid((y.shape[0],), ITEMS) as ((row,), item):
            source = emit_value(rows[row]) if gather else row
            sums, partial = registers(1), shared(ITEMS)
            emit_fill(sums, 1, 0.0)

            def add(k) -> None:
                value = emit_value(x[source, k])
                T.buffer_store(sums, sums[0] + value * value, [0])

            emit_spread(size, ITEMS, item, add)
            T.buffer_store(partial, sums[0], [item])
            emit_group_sums(partial, item, ITEMS, 1)
            mean = partial[0] * scalar(1.0 / size)
            factor = emit_value(scalar(1.0) / T.sqrt(mean + scalar(eps)))

            def scale(k) -> None:
                value = x[source, k] * factor * to_float(weight[k], 1)
                emit_store(y, value, [row, k])

            emit_spread(size, ITEMS, item, scale)

    picked = [Arg("rows", ("m",), "int32")] if gather else []
    out = Arg("y", ("m" if gather else "n", size), y_dtype)
    return kernel([Arg("x", ("n", size)), *picked, Arg("weight", (size,), dtype), out], body)


def silu_and_multiply(size: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, 2 size], y [n, size]): y = silu(gate) * up, x holding gate then up."""

    def body(x, y) -> None:
        with grid((-(-size // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < size), T.Then():
                gate = emit_value(to_float(x[row, k], 1))
                sigmoid = scalar(1.0) / (scalar(1.0) + T.exp(scalar(0.0) - gate))
                emit_store(y, gate * sigmoid * to_float(x[row, k + size], 1), [row, k])

    return kernel([Arg("x", ("n", 2 * size), dtype), Arg("y", ("n", size), dtype)], body)
