"""Norms of queries, keys and values of patches on GPUs, and what else is done number by number. The
functions are those of `kernels/cpu/patch_norms.py`, and one that a CPU's product does itself."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.elementwise import ITEMS, emit_each, emit_norm_factor
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, emit_value, grid, scalar, to_float


def normalize_patches(width: int, eps: float, dtype: str) -> tirx.PrimFunc:
    return _normalize(2, width, eps, dtype, each=1)


def normalize_heads(heads: int, dim: int, eps: float, dtype: str) -> tirx.PrimFunc:
    return _normalize(3 * heads, dim, eps, dtype, each=heads)


def _normalize(groups: int, size: int, eps: float, dtype: str, each: int) -> tirx.PrimFunc:
    """Of the first `groups` runs of `size` numbers in a row. The first `each` have the weights of
    queries, the next ones those of keys, and others none."""

    def body(queries, keys, qkv) -> None:
        with grid((groups, qkv.shape[0]), ITEMS) as ((group, row), item):
            first = emit_value(group * size)
            factor = emit_norm_factor(qkv, row, first, size, eps, item)

            def scale(k) -> None:
                weight = T.Select(group < 2 * each, to_float(keys[k], 1), scalar(1.0))
                weight = T.Select(group < each, to_float(queries[k], 1), weight)
                T.buffer_store(qkv, qkv[row, first + k] * factor * weight, [row, first + k])

            emit_spread(size, ITEMS, item, scale)

    args = [Arg("queries", (size,), dtype), Arg("keys", (size,), dtype)]
    return kernel([*args, Arg("qkv", ("n", max(groups, 3) * size))], body)


def clamp(width: int, first: int, dtype: str) -> tirx.PrimFunc:
    def body(x, bounds, y) -> None:
        def hold(row, k) -> None:
            least, most = (to_float(bounds[first + i], 1) for i in (0, 1))
            T.buffer_store(y, T.max(T.min(x[row, k], most), least), [row, k])

        emit_each(y.shape[0], width, hold)

    bounds = Arg("bounds", (4,), dtype)
    return kernel([Arg("x", ("n", width)), bounds, Arg("y", ("n", width))], body)


def standardize(width: int, dtype: str) -> tirx.PrimFunc:
    def body(x, bias, scale, y) -> None:
        def change(row, k) -> None:
            value = (x[row, k] - to_float(bias[k], 1)) * to_float(scale[k], 1)
            T.buffer_store(y, value, [row, k])

        emit_each(y.shape[0], width, change)

    vectors = [Arg(name, (width,), dtype) for name in ("bias", "scale")]
    return kernel([Arg("x", ("n", width)), *vectors, Arg("y", ("n", width))], body)


def add_scaled(width: int, dtype: str) -> tirx.PrimFunc:
    """f(x [n, width], scale [width], residual [n, width], y [n, width]): residual + x * scale."""

    def body(x, scale, residual, y) -> None:
        def add(row, k) -> None:
            value = residual[row, k] + x[row, k] * to_float(scale[k], 1)
            T.buffer_store(y, value, [row, k])

        emit_each(y.shape[0], width, add)

    rows = [Arg(name, ("n", width)) for name in ("x", "residual", "y")]
    return kernel([rows[0], Arg("scale", (width,), dtype), *rows[1:]], body)
