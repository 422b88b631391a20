"""Layers: each knows its parameters' names and picks its kernel; calling it emits the call.

Activations are float32 tensors (rows, features); weights come as the scheme stores them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.cpu import attention, elementwise, linear, linear_columns, weights
from mlc_llm.compiler.models.rope import RopeScaling, inverse_frequencies
from mlc_llm.compiler.quantization import WeightUse

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder


def _tensor(rows: Any, *rest: int) -> relax.TensorType:
    return relax.TensorType([rows, *rest], "float32")


def _rows(x: relax.Expr) -> Any:
    """The run-time number of rows."""
    return x.ty.shape[0]


class _Matrix:
    """A weight matrix (out, in) and the parameters that store it."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, self.name, self.shape = nn, name, shape
        self.use: WeightUse | None = nn.use_of(f"{name}.weight")
        self.rows = weights.rows_of(nn.scheme, f"{name}.weight", shape, self.use)

    @property
    def by_columns(self) -> bool:
        return self.nn.scheme.quantizes(self.use) and self.nn.scheme.layout_of(self.use) == "KN"

    @property
    def kind(self) -> str:
        """What, beside the shape, tells its kernels from others."""
        return "columns" if self.by_columns else "rows"

    def params(self) -> list[relax.Expr]:
        return [self.nn.param(param.name) for param in self.rows.stored]


class Linear:
    """y = x W^T (+ bias) (+ residual)."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], *, bias: bool) -> None:
        self.nn, self.matrix = nn, _Matrix(nn, name, shape)
        self.bias = nn.stored(f"{name}.bias") if bias else None

    def __call__(self, x: relax.Expr, residual: relax.Expr | None = None) -> relax.Var:
        return multiply(self.nn, self.matrix, x, bias=self.bias, residual=residual)


def multiply(nn: Builder, matrix: _Matrix, x, *, bias=None, residual=None) -> relax.Var:
    bias_dtype = bias.dtype if bias else None

    def make():
        options = {"bias": bias_dtype, "residual": residual is not None}
        if matrix.by_columns:
            tile = linear.Tile(*nn.device.vectors.column_tile)
            return linear_columns.linear_columns(
                nn.scheme, matrix.rows.stored, matrix.shape, tile=tile, **options
            )
        tile = linear.Tile(*nn.device.vectors.dot_tile)
        return linear.linear(matrix.rows, matrix.shape, tile=tile, **options)

    key = (matrix.shape, matrix.kind, bias_dtype, residual is not None)
    args = [x, *matrix.params()]
    args += [nn.param(bias.name)] if bias else []
    args += [residual] if residual is not None else []
    return nn.call(nn.kernel("linear", key, make), args, _tensor(_rows(x), matrix.shape[0]))


class Embedding:
    """Rows of a table; with tied embeddings the table is the output layer too."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, self.matrix = nn, _Matrix(nn, name, shape)

    def __call__(self, ids: relax.Expr) -> relax.Var:
        matrix = self.matrix
        kernel = self.nn.kernel(
            "embedding", matrix.shape, lambda: elementwise.embedding(matrix.rows, matrix.shape)
        )
        out = _tensor(_rows(ids), matrix.shape[1])
        return self.nn.call(kernel, [ids, *matrix.params()], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return multiply(self.nn, self.matrix, x)


class RMSNorm:
    """x / rms(x) * weight; of the rows that are named, if any are."""

    def __init__(self, nn: Builder, name: str, size: int, eps: float) -> None:
        self.nn, self.name, self.size, self.eps = nn, f"{name}.weight", size, eps

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> relax.Var:
        gather = rows is not None
        dtype = self.nn.stored(self.name).dtype
        kernel = self.nn.kernel(
            "rms_norm",
            (self.size, self.eps, gather),
            lambda: elementwise.rms_norm(self.size, self.eps, dtype, gather=gather),
        )
        args = [x, *([rows] if gather else []), self.nn.param(self.name)]
        return self.nn.call(kernel, args, _tensor(_rows(rows if gather else x), self.size))


class GatedSilu:
    """silu(gate) * up, of a tensor that holds gate then up."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.size = nn, size

    def __call__(self, x: relax.Expr) -> relax.Var:
        kernel = self.nn.kernel(
            "silu_and_multiply", self.size, lambda: elementwise.silu_and_multiply(self.size)
        )
        return self.nn.call(kernel, [x], _tensor(_rows(x), self.size))


class PagedAttention:
    """Rotates queries and keys, appends to the cache's pages and attends over them."""

    def __init__(
        self,
        nn: Builder,
        *,
        heads: int,
        kv_heads: int,
        dim: int,
        rope_theta: float,
        rope_scaling: RopeScaling,
        sliding_window: int = -1,
        sinks: int = 0,
    ) -> None:
        self.nn = nn
        self.shape = attention.AttentionShape(
            heads=heads, kv_heads=kv_heads, dim=dim, sliding_window=sliding_window, sinks=sinks
        )
        frequencies = inverse_frequencies(dim, rope_theta, rope_scaling)
        self.table = nn.constant(attention.rope_table(frequencies, rope_scaling.magnitude))

    def __call__(self, qkv: relax.Expr, batch: Batch, pages: relax.Expr) -> relax.Var:
        nn, shape = self.nn, self.shape
        append = nn.kernel(
            "rope_and_append",
            shape,
            lambda: attention.rope_and_append(shape),
        )
        attend = nn.kernel(
            "paged_attention",
            shape,
            lambda: attention.paged_attention(shape, 1.0 / math.sqrt(shape.dim)),
        )
        pages = nn.block.emit(pages)
        out = [pages.ty, _tensor(_rows(qkv), shape.heads, shape.dim)]
        args = [qkv, batch.positions, batch.slots, self.table, pages]
        both = nn.call_in_place(append, args, [4, -1], out)
        where = [batch.positions, batch.row_sequence, batch.page_indptr, batch.page_indices]
        args = [relax.TupleGetItem(both, 1), *where, relax.TupleGetItem(both, 0)]
        return nn.call(attend, args, _tensor(_rows(qkv), shape.heads * shape.dim))

    def copy_pages(self, source: relax.Expr, destination: relax.Expr, pages: relax.Expr):
        """Copies whole pages; the result is the tensor of pages itself."""
        kernel = self.nn.kernel("copy_pages", self.shape, lambda: attention.copy_pages(self.shape))
        pages = self.nn.block.emit(pages)
        return self.nn.call_in_place(kernel, [source, destination, pages], [2], [pages.ty])
