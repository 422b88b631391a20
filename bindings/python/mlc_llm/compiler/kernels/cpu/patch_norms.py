"""Norms of the queries and of the keys of patches, over all heads together."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, emit_rows


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
