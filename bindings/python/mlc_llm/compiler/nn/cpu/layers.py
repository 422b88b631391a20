"""Layers for the CPU. A layer knows its parameters' names and chooses its kernel; calling the layer
emits the kernel call.

Activations are float32 tensors (rows, features). Weights have the form in which the scheme stores
them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from mlc_llm.compiler.kernels.cpu import (
    activations,
    elementwise,
    join,
    layer_norm,
    positions,
)
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.kernels.cpu.low_rank_codes import Added
from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
from mlc_llm.compiler.nn.cpu.experts import Experts
from mlc_llm.compiler.nn.cpu.tower import Tower
from mlc_llm.compiler.nn.interface import DeviceLayers
from mlc_llm.compiler.nn.tensors import Deferred, num_rows, plain, quantized, tensor, types_of
from mlc_llm.compiler.quantization import Matrix
from mlc_llm.compiler.spec import NormSpec

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
    from mlc_llm.compiler.kernels.common.function import Arg
    from mlc_llm.compiler.nn.builder import Builder


def matrices_of(nn: Builder, name: str, shape: tuple[int, int]) -> list[CPUMatrix]:
    """The matrices of the weight of module `name`, split by rows; usually one."""
    parts = nn.parts_of(f"{name}.weight")
    assert (parts[-1].outputs.stop, parts[0].reader.shape[1]) == shape, (name, shape)
    return [part.reader for part in parts]


class Linear:
    """y = x W^T (+ bias) (+ residual)."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], *, bias: bool) -> None:
        self.nn, self.matrices = nn, matrices_of(nn, name, shape)
        self.bias = nn.stored(f"{name}.bias") if bias else None

    def __call__(
        self, x: relax.Expr, residual: relax.Expr | None = None, added: Adding | None = None
    ) -> relax.Var:
        if len(self.matrices) == 1:
            (matrix,) = self.matrices
            return multiply(self.nn, matrix, x, bias=self.bias, residual=residual, added=added)
        assert added is None
        return _join(self.nn, self.matrices, x, self.bias, residual)

    @property
    def codes_beside(self) -> activations.Codes | None:
        """The codes of its rows, if its kernel can add what adapters add."""
        codes = [self.nn.codes_of(matrix) for matrix in self.matrices]
        return codes[0] if len(codes) == 1 else None

    def form_of(self, x: Any) -> tuple[activations.Codes | None, relax.Expr]:
        """The form in which it multiplies x: codes or floats; and x in it."""
        codes = self.nn.codes_of(self.matrices[0])
        return codes, plain(x) if codes is None else quantized(self.nn, x, codes)


Adding = tuple[Added, list[relax.Expr]]  # with its arguments


def multiply(
    nn: Builder, matrix: CPUMatrix, x, *, bias=None, residual=None, added: Adding | None = None
) -> relax.Var:
    options, unit = _options(bias, residual), nn.device.vectors
    codes = nn.codes_of(matrix)
    if codes is None:
        name, key, rows = "linear", (matrix.shape, matrix.kind), plain(x)
        make = partial(matrix.linear, unit, **options)
    else:
        name, key, rows = "linear_integer", (codes, matrix.kind), quantized(nn, x, codes)
        make = partial(matrix.linear_of_codes, codes, unit, **options)
    args = [rows, *nn.params_of(matrix), *_extras(nn, bias, residual)]
    key = (*key, *options.values())
    kernel, out = nn.kernel(name, key, make), tensor(num_rows(x), matrix.shape[0])
    if added is None:
        return nn.call(kernel, args, out)
    inside, more = added
    adding = nn.kernel(f"{name}_added", (*key, inside), partial(make, added=inside))
    nn.adapters.run_without_units(adding, kernel, len(args))
    scratch = types_of(inside.scratch, units=num_rows(more[0]))
    return nn.first_of(nn.call(adding, [*args, *more], [out, *scratch]))


def _join(nn: Builder, matrices: list[CPUMatrix], x, bias, residual) -> relax.Var:
    """Multiplies by each matrix and puts the results side by side."""
    x = x if isinstance(x, Deferred) else Deferred.of(nn, x)  # the codes are made only once
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


class Embedding:
    """Rows of a table. With tied embeddings the table is also the output layer."""

    def __init__(self, nn: Builder, name: str, shape: tuple[int, int], scale: float) -> None:
        self.nn, (self.matrix,), self.scale = nn, matrices_of(nn, name, shape), scale

    def __call__(self, ids: relax.Expr) -> relax.Var:
        matrix = self.matrix
        kernel = self.nn.kernel(
            "embedding",
            (matrix.shape, matrix.kind, self.scale),
            lambda: matrix.embedding(self.scale),
        )
        out = tensor(num_rows(ids), matrix.shape[1])
        return self.nn.call(kernel, [ids, *self.nn.params_of(matrix)], out)

    def logits(self, x: relax.Expr) -> relax.Var:
        return multiply(self.nn, self.matrix, x)


class RMSNorm:
    """x / rms(x) * weight, of the chosen `rows` or of all."""

    def __init__(self, nn: Builder, name: str, size: int, eps: float, *, is_exact: bool) -> None:
        self.nn, self.name, self.size, self.eps = nn, f"{name}.weight", size, eps

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> Deferred:
        gather = rows is not None
        dtype = self.nn.stored(self.name).dtype
        args = [x, *([rows] if gather else []), self.nn.param(self.name)]

        def forms(codes: activations.Codes | None):
            key = (self.size, self.eps, gather, codes)
            if codes is None:
                make = partial(elementwise.rms_norm, self.size, self.eps, dtype, gather=gather)
                return "rms_norm", key, args, make
            make = partial(activations.norm_and_quantize, codes, self.eps, dtype, gather=gather)
            return "norm_and_quantize", key, args, make

        return Deferred(self.nn, tensor(num_rows(rows if gather else x), self.size), forms)

    def add(self, x: relax.Expr, residual: relax.Expr) -> relax.Var:
        """residual + x / rms(x) * weight."""
        nn, dtype = self.nn, self.nn.stored(self.name).dtype
        kernel = nn.kernel(
            "norm_and_add",
            (self.size, self.eps),
            lambda: elementwise.rms_norm(self.size, self.eps, dtype, residual=True),
        )
        out = tensor(num_rows(x), self.size)
        return nn.call(kernel, [x, nn.param(self.name), residual], out)


class LayerNorm:
    """(x - mean) / deviation * weight + bias, of the chosen `rows` or of all."""

    kernels: Any = layer_norm

    def __init__(
        self, nn: Builder, name: str, size: int, spec: NormSpec, *, is_exact: bool
    ) -> None:
        self.nn, self.size, self.eps = nn, size, spec.eps
        kinds = [("weight", spec.weight), ("bias", spec.bias)]
        self.weights = [f"{name}.{kind}" for kind, is_there in kinds if is_there]
        self.ones = [] if spec.weight else [nn.constant(np.ones(size, "float32"))]
        self.is_exact = is_exact

    def __call__(self, x: relax.Expr, rows: relax.Expr | None = None) -> Any:
        return Deferred.of(self.nn, self._call(x, rows, None))

    def add(self, x: relax.Expr, residual: relax.Expr) -> relax.Var:
        """residual + the norm of x."""
        return self._call(x, None, residual)

    def _call(self, x: relax.Expr, rows: Any, residual: Any) -> relax.Var:
        is_exact = self.is_exact or rows is not None or residual is not None
        nn, types = self.nn, self._types(x, is_exact)
        dtypes = ["float32"] * len(self.ones) + [nn.stored(name).dtype for name in self.weights]
        options = {"gather": rows is not None, "residual": residual is not None, **types}
        sizes = (self.size, self.eps, *dtypes)
        make = partial(self.kernels.layer_norm, *sizes, **options)
        kernel = nn.kernel("layer_norm", (*sizes, *options.values()), make)
        weights = [*self.ones, *(nn.param(name) for name in self.weights)]
        args = [x, rows, *weights, residual]
        out = tensor(num_rows(x if rows is None else rows), self.size, **_dtype_of(types))
        return nn.call(kernel, [arg for arg in args if arg is not None], out)

    def _types(self, x: relax.Expr, is_exact: bool) -> dict[str, str]:
        """The types of the kernel's rows, on devices that have several."""
        return {}


def _dtype_of(types: dict[str, str]) -> dict[str, str]:
    return {"dtype": types["y_dtype"]} if types else {}


class Activated:
    """activation(x). A row holds `each` inputs side by side."""

    def __init__(self, nn: Builder, size: int, activation: str, each: int = 1) -> None:
        self.nn, self.key, self.each = nn, (each * size, activation), each

    def __call__(self, x: relax.Expr) -> Deferred:
        kernel = self.nn.kernel("activate", self.key, lambda: layer_norm.activate(*self.key))
        made = self.nn.call(kernel, [x], tensor(num_rows(x), self.key[0]))
        return Deferred.of(self.nn, made, self.each)


class ScaleAndCap:
    """x * scale, then cap * tanh(x / cap), for logits."""

    kernels: Any = elementwise

    def __init__(self, nn: Builder, size: int, *, scale: float, cap: float) -> None:
        self.nn, self.key = nn, (size, scale, cap)

    def __call__(self, x: relax.Expr) -> relax.Var:
        kernel = self.nn.kernel(
            "scale_and_cap", self.key, lambda: self.kernels.scale_and_cap(*self.key)
        )
        return self.nn.call(kernel, [x], tensor(num_rows(x), self.key[0]))


class ScaledAdd:
    """residual + scale * x."""

    kernels: Any = elementwise

    def __init__(self, nn: Builder, size: int, scale: float) -> None:
        self.nn, self.size, self.scale = nn, size, scale

    def add(self, x: relax.Expr, residual: relax.Expr) -> relax.Var:
        key = (self.size, self.scale, str(x.ty.dtype))
        kernel = self.nn.kernel("scaled_add", key, lambda: self.kernels.scaled_add(*key))
        return self.nn.call(kernel, [x, residual], tensor(num_rows(x), self.size))


class Gated:
    """activation(gate) * up. The input holds gate, then up; `each` times in a row."""

    def __init__(self, nn: Builder, size: int, activation: str, each: int = 1) -> None:
        self.nn, self.size, self.activation, self.each = nn, size, activation, each

    def __call__(self, x: relax.Expr) -> Deferred:
        def forms(codes: activations.Codes | None):
            word, each = self.activation, self.each
            if codes is None:
                make = partial(elementwise.gate_and_multiply, self.size, word, each)
                return "gate_and_multiply", (self.size, word, each), [x], make
            make = partial(activations.gate_and_quantize, codes, word, each)
            return "gate_and_quantize", (codes, word, each), [x], make

        return Deferred(self.nn, tensor(num_rows(x), self.each * self.size), forms, self.each)


class SigmoidGate:
    """x * sigmoid(gate)."""

    def __init__(self, nn: Builder, size: int) -> None:
        self.nn, self.size = nn, size

    def __call__(self, x: relax.Expr, gate: relax.Expr) -> Deferred:
        size = self.size
        kernel = self.nn.kernel("sigmoid_gate", size, lambda: elementwise.sigmoid_gate(size))
        made = self.nn.call(kernel, [x, gate], tensor(num_rows(x), size))
        return Deferred.of(self.nn, made)


class CPULayers(DeviceLayers):
    """The layers above, the experts, and those of towers."""

    linear, embedding = Linear, Embedding
    rms_norm, layer_norm = RMSNorm, LayerNorm
    gated, activated, sigmoid_gate = Gated, Activated, SigmoidGate
    scale_and_cap, scaled_add = ScaleAndCap, ScaledAdd
    experts, tower = Experts, Tower
    positions = positions
    row_dtype = "float32"

    def of(self, cpu: Any, gpu: Any) -> Any:
        return cpu

    def reader_of(self, matrix: Matrix) -> CPUMatrix:
        return matrix.on_cpu().coarser() if self._takes_halves else matrix.on_cpu()

    @property
    def page_dtype(self) -> str:
        """Not less precise than the inputs of linear layers."""
        return "float16" if self._takes_halves else "float32"

    @property
    def _takes_halves(self) -> bool:
        """Whether the CPU reads float16, and inputs of linear layers are less precise."""
        nn = self.nn
        coarse = nn.activation_bits == 8 and not nn.scheme.exact
        return coarse and nn.device.vectors.half_floats

    def typed(self, **dtypes: str) -> dict[str, str]:
        return {}

    def attention_sizes(self) -> dict[str, Any]:
        return self.nn.device.vectors.attention_sizes

    def attention_scratch(self, shape: AttentionShape) -> list[Arg]:
        return []

    def dot_tile(self) -> dict[str, Any]:
        return {"tile": Tile(*self.nn.device.vectors.dot_tile)}
