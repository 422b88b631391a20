"""The layers of `layers.py` on GPU kernels: the same names, arguments and parameters.

Activations are float32 tensors (rows, features) in the device's memory; weights come as the scheme
stores them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from mlc_llm.compiler.kernels.gpu import attention, elementwise, linear, packs
from mlc_llm.compiler.kernels.gpu.library_gemm import GemmCall
from mlc_llm.compiler.nn import layers
from mlc_llm.compiler.nn.layers import num_rows, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


class _Matrix:
    """A weight matrix (out, in) and the parameters that store it."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, self.shape = nn, shape
        use = nn.use_of(f"{name}.weight")
        self.packs = packs.packs_of(nn.scheme, f"{name}.weight", shape, use)

    def params(self) -> list[relax.Expr]:
        return [self.nn.param(param.name) for param in self.packs.stored]

    def multiply(self, x: relax.Expr, *, bias: Any = None, residual: Any = None) -> relax.Var:
        nn = self.nn
        options = {"bias": bias.dtype if bias else None, "residual": residual is not None}
        library = GemmCall.of(nn.device.gemm, self.packs, self.shape)
        kernel = nn.kernel(
            "linear",
            (self.shape, self.packs.by_columns, self.packs.scheme is None, *options.values()),
            lambda: linear.linear(
                self.packs, self.shape, nn.device.linear, library=library, **options
            ),
        )
        extras = [nn.param(bias.name)] if bias else []
        extras += [residual] if residual is not None else []
        args = [x, *self.params(), *extras]
        y = tensor(num_rows(x), self.shape[0])
        if library is None or not library.scratch:
            return nn.call(kernel, args, y)
        sizes = {"n": num_rows(x)}
        scratch = [
            relax.TensorType([sizes.get(e, e) for e in arg.shape], arg.dtype)
            for arg in library.scratch
        ]
        return nn.first_of(nn.call(kernel, args, [y, *scratch]))


class Linear:
    """y = x W^T (+ bias) (+ residual)."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], *, bias: bool) -> None:
        self.matrix = _Matrix(nn, name, shape)
        self.bias = nn.stored(f"{name}.bias") if bias else None

    def __call__(self, x: relax.Expr, residual: relax.Expr | None = None) -> relax.Var:
        return self.matrix.multiply(x, bias=self.bias, residual=residual)


class Embedding:
    """Rows of a table; with tied embeddings the table is the output layer too."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, self.matrix = nn, _Matrix(nn, name, shape)

    def __call__(self, ids: relax.Expr) -> relax.Var:
        matrix = self.matrix
        kernel = self.nn.kernel(
            "embedding", matrix.shape, lambda: elementwise.embedding(matrix.packs, matrix.shape)
        )
        out = tensor(num_rows(ids), matrix.shape[1])
        return self.nn.call(kernel, [ids, *matrix.params()], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return self.matrix.multiply(x)


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
        return self.nn.call(kernel, args, tensor(num_rows(rows if gather else x), self.size))


class GatedSilu:
    """silu(gate) * up, of a tensor that holds gate then up."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.size = nn, size

    def __call__(self, x: relax.Expr) -> relax.Var:
        kernel = self.nn.kernel(
            "silu_and_multiply", self.size, lambda: elementwise.silu_and_multiply(self.size)
        )
        return self.nn.call(kernel, [x], tensor(num_rows(x), self.size))


class PagedAttention(layers.PagedAttention):
    """The same over the GPU's kernels."""

    kernels = attention

    def attend(self) -> tirx.PrimFunc:
        return attention.paged_attention(self.shape, self.shape.dim**-0.5)
