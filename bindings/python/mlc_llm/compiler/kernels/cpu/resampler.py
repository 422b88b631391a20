"""A resampler: learned queries look at the patches of a view and become its rows.

    y[q] = sum over the patches p of softmax(q . k[p]) v[p], head by head

A row is a query of a view. It reads the keys and the values of that view once, so memory bounds it.
64 queries look at a view of 1,024 patches for a thousandth of what its tower takes.
"""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import ROPE_FINE
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat, to_float
from mlc_llm.compiler.kernels.cpu.attention import emit_rotation
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_sum,
    emit_value,
    emit_zero,
    exp2,
    fma,
)


def pick_queries(width: int, count: int, dtype: str) -> tirx.PrimFunc:
    """f(wanted i32 [m], queries [count, width], y [m, width]): the query of each wanted row. Row
    view * count + i is query i of that view."""

    def body(wanted, queries, y) -> None:
        def row(r) -> None:
            query = emit_value(T.max(wanted[r], 0) % count)

            def copy(base, lanes: int) -> None:
                value = to_float(queries[query, at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, copy)

        emit_rows(y.shape[0], row)

    args = [Arg("wanted", ("m",), "int32"), Arg("queries", (count, width), dtype)]
    return kernel([*args, Arg("y", ("m", width))], body)


def add_waves(width: int) -> tirx.PrimFunc:
    """f(x [n, width], positions i32 [n, 2], table (`rope_table`), y): a quarter of a row gets the
    sines and the next one the cosines of the patch's column times each frequency; the others get
    those of its row."""
    quarter = width // 4

    def body(x, positions, table, y) -> None:
        def row(r) -> None:
            for axis, half in ((1, 0), (0, 2)):
                place = emit_value(T.max(positions[r, axis], 0))
                with T.serial(quarter // LANES) as vector:
                    base = emit_value(vector * LANES)
                    cos, sin = emit_rotation(table, place, base, LANES)
                    for part, wave in ((half, sin), (half + 1, cos)):
                        index = [r, at(base + part * quarter)]
                        T.buffer_store(y, x[tuple(index)] + wave, index)

        emit_rows(y.shape[0], row)

    args = [Arg("x", ("n", width)), Arg("positions", ("n", 2), "int32")]
    args.append(Arg("table", (3 * ROPE_FINE, 2, quarter)))
    return kernel([*args, Arg("y", ("n", width))], body)


def attend_views(heads: int, dim: int, count: int) -> tirx.PrimFunc:
    """f(q [m, heads * dim], k [n, heads * dim], v [n, heads * dim], wanted i32 [m], view_indptr
    i32 [v], y [m, heads * dim]). Row r looks at all patches of the view wanted[r] // count, one
    after the other, with a running softmax."""
    vectors, factor = dim // LANES, dim**-0.5 * math.log2(math.e)

    def body(q, k, v, wanted, indptr, y) -> None:
        patches, views = T.Cast("int32", k.shape[0]), T.Cast("int32", indptr.shape[0]) - 1

        def one(task) -> None:
            r, column = emit_value(task // heads), emit_value(task % heads * dim)
            view = emit_value(T.max(T.min(wanted[r] // count, views - 1), 0))
            begin = emit_value(T.max(indptr[view], 0))
            end = emit_value(T.min(indptr[view + 1], patches))
            query, sums, state = emit_floats(vectors), emit_floats(vectors), emit_floats(1)
            for i in range(vectors):
                value = q[r, at(column + i * LANES)] * splat(factor)
                T.buffer_store(query, value, [at(i * LANES)])
            emit_zero(sums, vectors)
            T.buffer_store(state, T.float32(NEVER), [0])  # the largest score
            T.buffer_store(state, T.float32(0), [1])  # the sum of the weights
            with T.serial(T.max(end - begin, 0)) as index:
                p = emit_value(begin + index)
                score = splat(0.0)
                for i in range(vectors):
                    key = k[p, at(column + i * LANES)]
                    score = emit_value(fma(query[at(i * LANES)], key, score))
                score = emit_value(emit_sum(score))
                new = emit_value(T.max(state[0], score))
                shrink = emit_value(exp2(state[0] - new, 1))
                weight = emit_value(exp2(score - new, 1))
                T.buffer_store(state, new, [0])
                T.buffer_store(state, state[1] * shrink + weight, [1])
                for i in range(vectors):
                    kept = sums[at(i * LANES)] * splat(shrink)
                    value = v[p, at(column + i * LANES)]
                    T.buffer_store(sums, fma(splat(weight), value, kept), [at(i * LANES)])
            share = emit_value(T.float32(1) / T.max(state[1], T.float32(1e-30)))
            for i in range(vectors):
                value = sums[at(i * LANES)] * splat(share)
                T.buffer_store(y, value, [r, at(column + i * LANES)])

        emit_rows(T.Cast("int32", y.shape[0]) * heads, one)

    args = [
        Arg("q", ("m", heads * dim)),
        Arg("k", ("n", heads * dim)),
        Arg("v", ("n", heads * dim)),
    ]
    args += [Arg("wanted", ("m",), "int32"), Arg("view_indptr", ("v",), "int32")]
    return kernel([*args, Arg("y", ("m", heads * dim))], body)
