"""The layers for GPUs.

Activations are tensors (rows, features) in the device's memory with the type `Builder.row_dtype`:
16-bit floats if the scheme has them. Weights have the form in which the scheme stores them. A
weight that is too large for the device is split into parts by outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.gpu import elementwise, layer_norm, linear, positions
from mlc_llm.compiler.kernels.gpu.library_gemm import GemmCall
from mlc_llm.compiler.kernels.gpu.packs import Packs
from mlc_llm.compiler.kernels.gpu.paged_attention import SPLITS, split_scratch
from mlc_llm.compiler.nn.cpu import layers
from mlc_llm.compiler.nn.gpu.experts import Experts
from mlc_llm.compiler.nn.gpu.tower import Tower
from mlc_llm.compiler.nn.interface import DeviceLayers
from mlc_llm.compiler.nn.tensors import num_rows, plain, tensor, types_of
from mlc_llm.compiler.quantization import Matrix

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


class _Weight:
    """A weight (out, in), and its parts."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int]) -> None:
        self.nn, self.shape = nn, shape
        self.use = nn.use_of(f"{name}.weight")
        self.parts = nn.parts_of(f"{name}.weight")

    def call(
        self,
        name: str,
        make: Callable[..., tirx.PrimFunc],
        key: Any,
        x: Any,
        extras: list,
        out: Any,
    ) -> relax.Var:
        """Calls `make(packs, shape, part=...)` for each part. All parts write the same result."""
        nn, made = self.nn, None
        for part in self.parts:
            kernel = nn.kernel(
                name,
                (self.shape, part.outputs, part.reader.kind, key),
                partial(make, part.reader, self.shape, part=part.outputs),
            )
            args = [x, *nn.params_of(part.reader), *extras]
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
            library = GemmCall.of(nn.device.gemm, self.parts[0].reader, self.shape)
        make = partial(linear.linear, sizes=nn.device.linear, library=library, **options)
        key, y = tuple(options.values()), tensor(num_rows(x), self.shape[0], dtype=dtype)
        if library is None or not library.scratch:
            return self.call("linear", make, key, x, extras, y)
        scratch = types_of(library.scratch, n=num_rows(x))
        return nn.first_of(self.call("linear", make, key, x, extras, [y, *scratch]))


class Linear:
    """y = x W^T (+ bias) (+ residual)."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], *, bias: bool) -> None:
        self.matrix = _Weight(nn, name, shape)
        self.bias = nn.stored(f"{name}.bias") if bias else None

    def __call__(self, x: relax.Expr, residual: relax.Expr | None = None) -> relax.Var:
        return self.matrix.multiply(x, bias=self.bias, residual=residual)

    codes_beside = None  # it multiplies floats

    def form_of(self, x: Any) -> tuple[str, relax.Expr]:
        """The form in which it multiplies x: their type; and x in it."""
        return str(x.ty.dtype), plain(x)


class Embedding:
    """Rows of a table. With tied embeddings the table is also the output layer."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], scale: float) -> None:
        self.nn, self.matrix, self.scale = nn, _Weight(nn, name, shape), scale

    def __call__(self, ids: relax.Expr) -> relax.Var:
        out = tensor(num_rows(ids), self.matrix.shape[1])
        make = partial(elementwise.embedding, scale=self.scale)
        return self.matrix.call("embedding", make, self.scale, ids, [], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return self.matrix.multiply(x)


class RMSNorm:
    """x / rms(x) * weight, of the chosen `rows` or of all. Chosen rows leave the model, so they are
    float32."""

    def __init__(self, nn: Builder, name: str, size: int, eps: float, *, is_exact: bool) -> None:
        self.nn, self.name, self.size, self.eps = nn, f"{name}.weight", size, eps
        self.is_exact = is_exact

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> relax.Var:
        gather = rows is not None
        dtype = self.nn.stored(self.name).dtype
        y_dtype = "float32" if gather or self.is_exact else self.nn.row_dtype
        types = {"x_dtype": str(x.ty.dtype), "y_dtype": y_dtype}
        kernel = self.nn.kernel(
            "rms_norm",
            (self.size, self.eps, gather, *types.values()),
            partial(elementwise.rms_norm, self.size, self.eps, dtype, gather=gather, **types),
        )
        args = [x, *([rows] if gather else []), self.nn.param(self.name)]
        out = tensor(num_rows(rows if gather else x), self.size, dtype=y_dtype)
        return self.nn.call(kernel, args, out)

    def add(self, x: relax.Expr, residual: relax.Expr) -> relax.Var:
        """residual + x / rms(x) * weight, in float32."""
        nn, dtype = self.nn, self.nn.stored(self.name).dtype
        types = {"x_dtype": str(x.ty.dtype), "residual_dtype": str(residual.ty.dtype)}
        kernel = nn.kernel(
            "norm_and_add",
            (self.size, self.eps, *types.values()),
            partial(elementwise.rms_norm, self.size, self.eps, dtype, residual=True, **types),
        )
        return nn.call(kernel, [x, nn.param(self.name), residual], tensor(num_rows(x), self.size))


class LayerNorm(layers.LayerNorm):
    """The same with the GPU's kernel. Chosen `rows` are float32."""

    kernels = layer_norm

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> relax.Var:
        return self._call(x, rows, None)

    def _types(self, x: relax.Expr, is_exact: bool) -> dict[str, str]:
        y_dtype = "float32" if is_exact else self.nn.row_dtype
        return {"x_dtype": str(x.ty.dtype), "y_dtype": y_dtype}


class ScaleAndCap(layers.ScaleAndCap):
    """The same with the GPU's kernel."""

    kernels = elementwise


class ScaledAdd(layers.ScaledAdd):
    """The same with the GPU's kernel."""

    kernels = elementwise


class Gated:
    """activation(gate) * up. The input holds gate, then up; `each` times in a row."""

    def __init__(self, nn: Builder, size: int, activation: str, each: int = 1) -> None:
        self.nn, self.size, self.activation, self.each = nn, size, activation, each

    def __call__(self, x: relax.Expr) -> relax.Var:
        dtype, each = str(x.ty.dtype), self.each
        key = (self.size, self.activation, dtype, each)
        kernel = self.nn.kernel(
            "gate_and_multiply", key, lambda: elementwise.gate_and_multiply(*key)
        )
        return self.nn.call(kernel, [x], tensor(num_rows(x), each * self.size, dtype=dtype))


class SigmoidGate:
    """x * sigmoid(gate)."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.key = nn, (size, nn.row_dtype)

    def __call__(self, x: relax.Expr, gate: relax.Expr) -> relax.Var:
        kernel = self.nn.kernel(
            "sigmoid_gate", self.key, lambda: elementwise.sigmoid_gate(*self.key)
        )
        return self.nn.call(kernel, [x, gate], tensor(num_rows(x), self.key[0], dtype=self.key[1]))


class Activated:
    """activation(x). A row holds `each` inputs side by side."""

    def __init__(self, nn: Builder, size: int, activation: str, each: int = 1) -> None:
        self.nn, self.size, self.activation = nn, each * size, activation

    def __call__(self, x: relax.Expr) -> relax.Var:
        key = (self.size, self.activation, str(x.ty.dtype))
        kernel = self.nn.kernel("activate", key, lambda: layer_norm.activate(*key))
        return self.nn.call(kernel, [x], tensor(num_rows(x), self.size, dtype=key[2]))


class GPULayers(DeviceLayers):
    """The layers above, the experts, and those of towers."""

    linear, embedding = Linear, Embedding
    rms_norm, layer_norm = RMSNorm, LayerNorm
    gated, activated, sigmoid_gate = Gated, Activated, SigmoidGate
    scale_and_cap, scaled_add = ScaleAndCap, ScaledAdd
    experts, tower = Experts, Tower
    positions = positions

    @property
    def largest_weight(self) -> int:
        return self.nn.device.largest_weight

    def of(self, cpu: Any, gpu: Any) -> Any:
        return gpu

    def reader_of(self, matrix: Matrix) -> Packs:
        return matrix.on_gpu()

    @property
    def row_dtype(self) -> str:
        """float16 if the scheme has it. The residual, the last hidden states, the logits and what
        shards add are always float32."""
        nn = self.nn
        half = nn.scheme.model_dtype == "float16" and nn.device.half_rows and nn.shards.count == 1
        return "float16" if half and nn.activation_bits != 32 else "float32"

    @property
    def page_dtype(self) -> str:
        return self.row_dtype

    def typed(self, **dtypes: str) -> dict[str, str]:
        return dtypes

    def attention_sizes(self) -> dict[str, Any]:
        return {"splits": SPLITS, "limits": self.nn.device.tiles}

    def attention_scratch(self, shape: AttentionShape) -> list[Arg]:
        return split_scratch(shape, SPLITS)

    def dot_tile(self) -> dict[str, Any]:
        return {}
