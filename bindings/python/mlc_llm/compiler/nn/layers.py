"""Layers: each knows its parameters' names and picks its kernel; calling it emits the call.

Activations are float32 tensors (rows, features); weights come as the scheme stores them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from mlc_llm.compiler.kernels.cpu import (
    activations,
    attention,
    elementwise,
    join,
    linear,
    linear_columns,
    linear_integer,
    linear_strips,
    paged_attention,
)
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.models.rope import RopeScaling, inverse_frequencies
from mlc_llm.compiler.nn.matrices import Matrix, matrices_of

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder


def tensor(rows: Any, *rest: int, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType([rows, *rest], dtype)


def num_rows(x: relax.Expr) -> Any:
    """The run-time number of rows."""
    return x.ty.shape[0]


class Linear:
    """y = x W^T (+ bias) (+ residual)."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], *, bias: bool) -> None:
        self.nn, self.matrices = nn, matrices_of(nn, name, shape)
        self.bias = nn.stored(f"{name}.bias") if bias else None

    def __call__(self, x: relax.Expr, residual: relax.Expr | None = None) -> relax.Var:
        if len(self.matrices) == 1:
            return multiply(self.nn, self.matrices[0], x, bias=self.bias, residual=residual)
        return _join(self.nn, self.matrices, x, self.bias, residual)


def multiply(nn: Builder, matrix: Matrix, x, *, bias=None, residual=None) -> relax.Var:
    if matrix.by_integers:
        return _multiply_integers(nn, matrix, x, bias, residual)
    options = _options(bias, residual)

    def make():
        if matrix.by_columns:
            tile = linear.Tile(*nn.device.vectors.column_tile)
            return linear_columns.linear_columns(
                matrix.scheme, matrix.rows.stored, matrix.shape, tile=tile, **options
            )
        tile = linear.Tile(*nn.device.vectors.dot_tile)
        return linear.linear(matrix.rows, matrix.shape, tile=tile, **options)

    key = (matrix.shape, matrix.kind, *options.values())
    args = [plain(x), *matrix.params(), *_extras(nn, bias, residual)]
    return nn.call(nn.kernel("linear", key, make), args, tensor(num_rows(x), matrix.shape[0]))


def _multiply_integers(nn: Builder, matrix: Matrix, x, bias, residual) -> relax.Var:
    options, unit, codes = _options(bias, residual), nn.device.vectors, matrix.codes
    tools = {"unit": unit.dot, "tile": unit.integer_tile}

    def make():
        if isinstance(matrix.rows, Strips):
            return linear_strips.linear_strips(codes, matrix.rows, **tools, **options)
        return linear_integer.linear_integer(codes, matrix.rows.stored, **tools, **options)

    kernel = nn.kernel("linear_integer", (codes, matrix.kind, *options.values()), make)
    args = [quantized(nn, x, codes), *matrix.params(), *_extras(nn, bias, residual)]
    return nn.call(kernel, args, tensor(num_rows(x), matrix.shape[0]))


def _join(nn: Builder, matrices: list[Matrix], x, bias, residual) -> relax.Var:
    """The products with each, side by side."""
    x = x if isinstance(x, Deferred) else Deferred.of(nn, x)  # so that codes are made once
    parts = [multiply(nn, matrix, x) for matrix in matrices]
    widths = tuple(matrix.shape[0] for matrix in matrices)
    options = _options(bias, residual)
    kernel = nn.kernel("join", (widths, *options.values()), lambda: join.join(widths, **options))
    args = [*parts, *_extras(nn, bias, residual)]
    return nn.call(kernel, args, tensor(num_rows(x), sum(widths)))


def _options(bias, residual) -> dict[str, Any]:
    return {"bias": bias.dtype if bias else None, "residual": residual is not None}


def _extras(nn: Builder, bias, residual) -> list[relax.Expr]:
    return [*([nn.param(bias.name)] if bias else []), *([residual] if residual is not None else [])]


class Deferred:
    """A tensor that is computed in the form in which it is asked for: as floats, or as codes.

    So that a norm or an activation before a linear layer writes the layer's input at once. Each
    form is computed once at most.
    """

    def __init__(self, nn: Builder, kind: relax.TensorType, forms: Forms) -> None:
        self.ty, self._nn, self._forms = kind, nn, forms
        self._made: dict[Any, Any] = {}

    @classmethod
    def of(cls, nn: Builder, x: relax.Expr) -> Deferred:
        """Of a tensor that is there: its codes."""

        def forms(codes: activations.Codes | None):
            return "quantize", codes, [x], lambda: activations.quantize(codes)

        deferred = cls(nn, x.ty, forms)
        deferred._made[None] = x
        return deferred

    def plain(self) -> relax.Var:
        """The floats."""
        if None not in self._made:
            name, key, args, make = self._forms(None)
            self._made[None] = self._nn.call(self._nn.kernel(name, key, make), args, self.ty)
        return self._made[None]

    def quantized(self, codes: activations.Codes) -> relax.Expr:
        """The codes."""
        if codes not in self._made:
            name, key, args, make = self._forms(codes)
            kernel = self._nn.kernel(name, key, make)
            out = relax.TensorType([num_rows(self), codes.arg.shape[1]], codes.arg.dtype)
            self._made[codes] = self._nn.call(kernel, args, out)
        return self._made[codes]


# The kernel of a form (None: floats): its name, its key, its arguments and how it is made.
Forms = Callable[[activations.Codes | None], tuple[str, Any, list, Callable[[], tirx.PrimFunc]]]


def plain(x: relax.Expr | Deferred) -> relax.Expr:
    return x.plain() if isinstance(x, Deferred) else x


def quantized(nn: Builder, x: relax.Expr | Deferred, codes: activations.Codes) -> relax.Expr:
    return (x if isinstance(x, Deferred) else Deferred.of(nn, x)).quantized(codes)


class Embedding:
    """Rows of a table; with tied embeddings the table is the output layer too."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, (self.matrix,) = nn, matrices_of(nn, name, shape)

    def __call__(self, ids: relax.Expr) -> relax.Var:
        matrix = self.matrix
        kernel = self.nn.kernel(
            "embedding",
            (matrix.shape, matrix.kind),
            lambda: elementwise.embedding(matrix.rows, matrix.shape),
        )
        out = tensor(num_rows(ids), matrix.shape[1])
        return self.nn.call(kernel, [ids, *matrix.params()], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return multiply(self.nn, self.matrix, x)


class RMSNorm:
    """x / rms(x) * weight; of the rows that are named, if any are."""

    def __init__(self, nn: Builder, name: str, size: int, eps: float) -> None:
        self.nn, self.name, self.size, self.eps = nn, f"{name}.weight", size, eps

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> Deferred:
        gather = rows is not None
        dtype = self.nn.stored(self.name).dtype
        args = [x, *([rows] if gather else []), self.nn.param(self.name)]

        def forms(codes: activations.Codes | None):
            key = (self.size, self.eps, gather, codes)
            if codes is None:
                return (
                    "rms_norm",
                    key,
                    args,
                    lambda: elementwise.rms_norm(self.size, self.eps, dtype, gather=gather),
                )
            return (
                "norm_and_quantize",
                key,
                args,
                lambda: activations.norm_and_quantize(codes, self.eps, dtype, gather=gather),
            )

        return Deferred(self.nn, tensor(num_rows(rows if gather else x), self.size), forms)


class GatedSilu:
    """silu(gate) * up, of a tensor that holds gate then up."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.size = nn, size

    def __call__(self, x: relax.Expr) -> Deferred:
        def forms(codes: activations.Codes | None):
            key = (self.size, codes)
            if codes is None:
                return (
                    "silu_and_multiply",
                    key,
                    [x],
                    lambda: elementwise.silu_and_multiply(self.size),
                )
            return "silu_and_quantize", key, [x], lambda: activations.silu_and_quantize(codes)

        return Deferred(self.nn, tensor(num_rows(x), self.size), forms)


class PagedAttention:
    """Rotates queries and keys, appends to the cache's pages and attends over them."""

    kernels: Any = attention  # whose `rope_and_append`, `copy_slots` and `copy_pages` it calls

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
            heads=heads,
            kv_heads=kv_heads,
            dim=dim,
            sliding_window=sliding_window,
            sinks=sinks,
            page_dtype=nn.page_dtype,
            row_dtype=nn.row_dtype,
        )
        frequencies = inverse_frequencies(dim, rope_theta, rope_scaling)
        self.table = nn.constant(attention.rope_table(frequencies, rope_scaling.magnitude))

    def __call__(self, qkv: relax.Expr, batch: Batch, pages: relax.Expr) -> relax.Var:
        nn, shape = self.nn, self.shape
        append = nn.kernel("rope_and_append", shape, lambda: self.kernels.rope_and_append(shape))
        attend = nn.kernel("paged_attention", shape, self.attend)
        pages = nn.block.emit(pages)
        dtype = shape.row_dtype
        out = [pages.ty, tensor(num_rows(qkv), shape.heads, shape.dim, dtype=dtype)]
        args = [qkv, batch.positions, batch.slots, self.table, pages]
        both = nn.call_in_place(append, args, [4, -1], out)
        q, pages = relax.TupleGetItem(both, 1), relax.TupleGetItem(both, 0)
        if batch.copy_source is not None:
            pages = self._copy_slots(batch, nn.block.emit(pages))
        where = [batch.positions, batch.row_sequence, batch.page_indptr, batch.page_indices]
        out = tensor(num_rows(qkv), shape.heads * shape.dim, dtype=dtype)
        return nn.call(attend, [q, *where, pages], out)

    def _copy_slots(self, batch: Batch, pages: relax.Var) -> relax.Var:
        shape = self.shape
        kernel = self.nn.kernel("copy_slots", shape, lambda: self.kernels.copy_slots(shape))
        args = [batch.copy_source, batch.copy_destination, pages]
        return self.nn.call_in_place(kernel, args, [2], [pages.ty])

    def attend(self) -> tirx.PrimFunc:
        """The kernel that attends, scaled by 1 / sqrt(dim)."""
        sizes = self.nn.device.vectors.attention_sizes
        return paged_attention.paged_attention(self.shape, self.shape.dim**-0.5, **sizes)

    def copy_pages(self, source: relax.Expr, destination: relax.Expr, pages: relax.Expr):
        """Copies whole pages; the result is the tensor of pages itself."""
        shape = self.shape
        kernel = self.nn.kernel("copy_pages", shape, lambda: self.kernels.copy_pages(shape))
        pages = self.nn.block.emit(pages)
        return self.nn.call_in_place(kernel, [source, destination, pages], [2], [pages.ty])
