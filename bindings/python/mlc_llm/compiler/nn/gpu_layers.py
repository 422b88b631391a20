"""The layers of `layers.py` on GPU kernels: the same names, arguments and parameters.

Activations are tensors (rows, features) in the device's memory, of `Builder.row_dtype`: 16-bit
floats for schemes of those. Weights come as the scheme stores them; one that is too large for the
device comes in parts, by outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
        self.nn, self.shape, self.name = nn, shape, f"{name}.weight"
        self.use = nn.use_of(self.name)
        self.parts = nn.parts_of(self.name)

    def packs(self, part: range) -> packs.Packs:
        return packs.packs_of(self.nn.scheme, self.name, (len(part), self.shape[1]), self.use)

    def call(
        self,
        name: str,
        make: Callable[..., tirx.PrimFunc],
        key: Any,
        x: Any,
        extras: list,
        out: Any,
    ) -> relax.Var:
        """Calls `make(packs, shape, part=...)` for each part; all write the same result."""
        nn, made = self.nn, None
        for part in self.parts:
            read = self.packs(part)
            kernel = nn.kernel(
                name,
                (self.shape, part.start, read.by_columns, read.scheme is None, key),
                partial(make, read, self.shape, part=part),
            )
            params = [nn.param(param.name, part.start) for param in read.stored]
            args = [x, *params, *extras]
            if made is None:
                made = nn.call(kernel, args, out)
            else:
                made = nn.call_in_place(kernel, [*args, made], [len(args)], [out])
        return made

    def multiply(self, x: relax.Expr, *, bias: Any = None, residual: Any = None) -> relax.Var:
        nn = self.nn
        exact = residual is not None or self.use != "linear"  # logits
        dtype = "float32" if exact else nn.row_dtype
        options = {
            "bias": bias.dtype if bias else None,
            "residual": residual is not None,
            "x_dtype": str(x.ty.dtype),
            "y_dtype": dtype,
        }
        extras = [nn.param(bias.name)] if bias else []
        extras += [residual] if residual is not None else []
        library = None
        if len(self.parts) == 1 and nn.row_dtype == "float32":
            library = GemmCall.of(nn.device.gemm, self.packs(self.parts[0]), self.shape)
        make = partial(linear.linear, sizes=nn.device.linear, library=library, **options)
        key, y = tuple(options.values()), tensor(num_rows(x), self.shape[0], dtype=dtype)
        if library is None or not library.scratch:
            return self.call("linear", make, key, x, extras, y)
        sizes = {"n": num_rows(x)}
        scratch = [
            relax.TensorType([sizes.get(e, e) for e in arg.shape], arg.dtype)
            for arg in library.scratch
        ]
        return nn.first_of(self.call("linear", make, key, x, extras, [y, *scratch]))


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
        out = tensor(num_rows(ids), self.matrix.shape[1])
        return self.matrix.call("embedding", elementwise.embedding, None, ids, [], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return self.matrix.multiply(x)


class RMSNorm:
    """x / rms(x) * weight. Of the rows that are named, if any are: those leave the model, in
    float32."""

    def __init__(self, nn: Builder, name: str, size: int, eps: float) -> None:
        self.nn, self.name, self.size, self.eps = nn, f"{name}.weight", size, eps

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> relax.Var:
        gather = rows is not None
        dtype = self.nn.stored(self.name).dtype
        y_dtype = "float32" if gather else self.nn.row_dtype
        kernel = self.nn.kernel(
            "rms_norm",
            (self.size, self.eps, gather),
            lambda: elementwise.rms_norm(
                self.size, self.eps, dtype, gather=gather, y_dtype=y_dtype
            ),
        )
        args = [x, *([rows] if gather else []), self.nn.param(self.name)]
        out = tensor(num_rows(rows if gather else x), self.size, dtype=y_dtype)
        return self.nn.call(kernel, args, out)


class GatedSilu:
    """silu(gate) * up, of a tensor that holds gate then up."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.size = nn, size

    def __call__(self, x: relax.Expr) -> relax.Var:
        dtype = self.nn.row_dtype
        kernel = self.nn.kernel(
            "silu_and_multiply",
            self.size,
            lambda: elementwise.silu_and_multiply(self.size, dtype),
        )
        return self.nn.call(kernel, [x], tensor(num_rows(x), self.size, dtype=dtype))


class PagedAttention(layers.PagedAttention):
    """The same over the GPU's kernels."""

    kernels = attention

    def attend(self) -> tirx.PrimFunc:
        return attention.paged_attention(self.shape, self.shape.dim**-0.5)
