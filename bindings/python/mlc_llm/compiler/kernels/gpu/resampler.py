"""A resampler on GPUs: learned queries look at the patches of a view and become its rows. The
functions are those of `kernels/cpu/resampler.py`."""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.attention import emit_rotation
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS, emit_each
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
    emit_fill,
    emit_spread,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)


def pick_queries(width: int, count: int, dtype: str) -> tirx.PrimFunc:
    def body(wanted, queries, y) -> None:
        def copy(row, k) -> None:
            query = emit_value(T.max(wanted[row], 0) % count)
            T.buffer_store(y, to_float(queries[query, k], 1), [row, k])

        emit_each(y.shape[0], width, copy)

    args = [Arg("wanted", ("m",), "int32"), Arg("queries", (count, width), dtype)]
    return kernel([*args, Arg("y", ("m", width))], body)


def add_waves(width: int) -> tirx.PrimFunc:
    quarter = width // 4

    def body(x, positions, table, y) -> None:
        def add(row, k) -> None:
            part = emit_value(k // quarter)
            place = T.Select(part < 2, positions[row, 1], positions[row, 0])
            cos, sin = emit_rotation(table, emit_value(T.max(place, 0)), emit_value(k % quarter))
            T.buffer_store(y, x[row, k] + T.Select(part % 2 == 0, sin, cos), [row, k])

        emit_each(y.shape[0], width, add)

    args = [Arg("x", ("n", width)), Arg("positions", ("n", 2), "int32")]
    args.append(Arg("table", (3 * ROPE_FINE, 2, quarter)))
    return kernel([*args, Arg("y", ("n", width))], body)


def attend_views(heads: int, dim: int, count: int) -> tirx.PrimFunc:
    """A work-group has a head of a query. It walks the view's patches, one for each work-item at a
    time, and then their values, of which each work-item has some numbers."""
    own = -(-dim // ITEMS)

    def body(q, k, v, wanted, indptr, y) -> None:
        patches, views = T.Cast("int32", k.shape[0]), T.Cast("int32", indptr.shape[0]) - 1
        with grid((heads, y.shape[0]), ITEMS) as ((head, row), item):
            column = emit_value(head * dim)
            view = emit_value(T.max(T.min(wanted[row] // count, views - 1), 0))
            begin = emit_value(T.max(indptr[view], 0))
            seen = emit_value(T.max(T.min(indptr[view + 1], patches) - begin, 0))
            query, scores = shared(dim), shared(ITEMS)
            dot, largest, total = registers(1), registers(1), registers(1)
            values = registers(own)
            emit_fill(values, own, 0.0)
            emit_fill(largest, 1, NEVER)
            emit_fill(total, 1, 0.0)
            factor = scalar(dim**-0.5 * math.log2(math.e))
            emit_spread(
                dim,
                ITEMS,
                item,
                lambda d: T.buffer_store(query, q[row, column + d] * factor, [d]),
            )
            with T.serial(T.floordiv(seen + (ITEMS - 1), ITEMS)) as step:
                first = emit_value(step * ITEMS)
                here = emit_value(T.min(seen - first, ITEMS))
                patch = emit_value(begin + first + T.min(item, here - 1))
                barrier()  # the query is there, and nobody reads the scores before
                emit_fill(dot, 1, 0.0)
                with T.serial(dim) as d:
                    T.buffer_store(dot, dot[0] + query[d] * k[patch, column + d], [0])
                T.buffer_store(scores, T.Select(item < here, dot[0], scalar(NEVER)), [item])
                barrier()
                before = emit_value(largest[0])
                with T.serial(here) as i:
                    T.buffer_store(largest, T.max(largest[0], scores[i]), [0])
                shrink = emit_value(T.exp2(before - largest[0]))
                T.buffer_store(total, total[0] * shrink, [0])
                for j in range(own):
                    T.buffer_store(values, values[j] * shrink, [j])
                with T.serial(here) as i:
                    weight = emit_value(T.exp2(scores[i] - largest[0]))
                    T.buffer_store(total, total[0] + weight, [0])
                    for j in range(own):
                        place = column + T.min(item + j * ITEMS, dim - 1)
                        value = values[j] + weight * v[begin + first + i, place]
                        T.buffer_store(values, value, [j])
            for j in range(own):
                d = emit_value(item + j * ITEMS)
                with T.If(d < dim), T.Then():
                    share = values[j] / T.max(total[0], scalar(1e-30))
                    T.buffer_store(y, share, [row, column + d])

    args = [Arg("q", ("m", heads * dim)), *(Arg(a, ("n", heads * dim)) for a in ("k", "v"))]
    args += [Arg("wanted", ("m",), "int32"), Arg("view_indptr", ("v",), "int32")]
    return kernel([*args, Arg("y", ("m", heads * dim))], body)
