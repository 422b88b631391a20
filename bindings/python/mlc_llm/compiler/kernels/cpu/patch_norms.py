"""Norms of the queries, keys and values of patches, and what else is done number by number."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows, emit_value


def normalize_patches(width: int, eps: float, dtype: str) -> tirx.PrimFunc:
    """f(queries [width], keys [width], qkv [n, 3 * width]): divides the queries and the keys of
    each row by their root mean square, and multiplies them with these weights, in place."""

    def body(queries, keys, qkv) -> None:
        def row(r) -> None:
            for first, weight in ((0, queries), (width, keys)):
                factor = emit_norm_factor(qkv, r, width, eps, first)

                def scale(base, lanes: int, first=first, weight=weight, factor=factor) -> None:
                    value = qkv[r, at(first + base, lanes)] * splat(factor, lanes)
                    value = value * to_float(weight[at(base, lanes)], lanes)
                    T.buffer_store(qkv, value, [r, at(first + base, lanes)])

                emit_over(width, scale)

        emit_rows(qkv.shape[0], row)

    args = [Arg("queries", (width,), dtype), Arg("keys", (width,), dtype)]
    return kernel([*args, Arg("qkv", ("n", 3 * width))], body)


def normalize_heads(heads: int, dim: int, eps: float, dtype: str) -> tirx.PrimFunc:
    """f(queries [dim], keys [dim], qkv [n, 3 * heads * dim]): divides each head of the queries,
    keys and values of a row by its root mean square, and multiplies those of the queries and the
    keys with these weights, in place."""

    def body(queries, keys, qkv) -> None:
        def row(r) -> None:
            for index, weight in enumerate((queries, keys, None)):
                with T.serial(heads) as head:
                    first = emit_value((index * heads + head) * dim)
                    factor = emit_norm_factor(qkv, r, dim, eps, first)

                    def scale(base, lanes: int, first=first, weight=weight, factor=factor) -> None:
                        value = qkv[r, at(first + base, lanes)] * splat(factor, lanes)
                        if weight is not None:
                            value = value * to_float(weight[at(base, lanes)], lanes)
                        T.buffer_store(qkv, value, [r, at(first + base, lanes)])

                    emit_over(dim, scale)

        emit_rows(qkv.shape[0], row)

    args = [Arg("queries", (dim,), dtype), Arg("keys", (dim,), dtype)]
    return kernel([*args, Arg("qkv", ("n", 3 * heads * dim))], body)


def clamp(width: int, first: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], bounds [4], y [n, width]): x, at least bounds[first] and at most the next."""

    def body(x, bounds, y) -> None:
        def row(r) -> None:
            least, most = (emit_value(to_float(bounds[first + i], 1)) for i in (0, 1))

            def hold(base, lanes: int) -> None:
                value = T.min(x[r, at(base, lanes)], splat(most, lanes))
                T.buffer_store(y, T.max(value, splat(least, lanes)), [r, at(base, lanes)])

            emit_over(width, hold)

        emit_rows(y.shape[0], row)

    bounds = Arg("bounds", (4,), dtype)
    return kernel([Arg("x", ("n", width)), bounds, Arg("y", ("n", width))], body)


def standardize(width: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], bias [width], scale [width], y [n, width]): (x - bias) * scale."""

    def body(x, bias, scale, y) -> None:
        def row(r) -> None:
            def change(base, lanes: int) -> None:
                value = x[r, at(base, lanes)] - to_float(bias[at(base, lanes)], lanes)
                value = value * to_float(scale[at(base, lanes)], lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, change)

        emit_rows(y.shape[0], row)

    vectors = [Arg(name, (width,), dtype) for name in ("bias", "scale")]
    return kernel([Arg("x", ("n", width)), *vectors, Arg("y", ("n", width))], body)
