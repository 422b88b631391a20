"""Builds a model's functions as a Relax module: parameters, kernels, and calls between them.

A model asks for layers once and calls them on Relax expressions inside `function`:

    nn = Builder(scheme, device, family.weight_map(config))
    norm = nn.rms_norm("model.norm", 576, eps=1e-5)
    with nn.function("final", {"x": Input(("n", 576))}, bounds={"n": 2048}) as f:
        f.result = norm(f["x"])

Each kernel is emitted once, however many layers call it. A weight that the weight map does not hold
is a mistake in the model's file (KeyError).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from mlc_llm.compiler.models.family import WeightSource
from mlc_llm.compiler.nn import gpu_layers, layers
from mlc_llm.compiler.nn.parts import axis_of, weight_parts
from mlc_llm.compiler.quantization import AnyScheme, Scheme, StoredParam, WeightUse
from mlc_llm.compiler.targets import GPU, Device


@dataclass(frozen=True)
class Input:
    """A function's argument: a tensor, or a tuple of them. Strings in shapes are run-time sizes."""

    shape: tuple[int | str, ...]
    dtype: str = "float32"
    count: int = 0  # of tensors in the tuple; 0: the tensor itself


@dataclass(frozen=True)
class Batch:
    """Where each row of a batch stands; all are int32 tensors (ARCHITECTURE.md).

    Where branches of a token tree may be among the sequences, `copy_source` and
    `copy_destination` say which slots they take over from rows of the same step.
    """

    positions: relax.Var
    slots: relax.Var
    row_sequence: relax.Var
    page_indptr: relax.Var
    page_indices: relax.Var
    copy_source: relax.Var | None = None
    copy_destination: relax.Var | None = None


class Function:
    """The function being built: its arguments by name, and what it is to return."""

    def __init__(self, arguments: dict[str, relax.Var]) -> None:
        self._arguments = arguments
        self.result: Any = None

    def __getitem__(self, name: str) -> relax.Var:
        return self._arguments[name]

    def items(self, name: str, count: int) -> list[relax.Expr]:
        """The tensors of a tuple argument."""
        return [relax.TupleGetItem(self[name], i) for i in range(count)]


class Builder:
    def __init__(
        self,
        scheme: AnyScheme,
        device: Device | GPU,
        weights: Sequence[WeightSource],
        *,
        activation_bits: int = 8,
    ) -> None:
        self.scheme = scheme
        self.device = device
        self._layers = gpu_layers if isinstance(device, GPU) else layers
        self.activation_bits = activation_bits  # 32: floats
        self._uses: dict[str, WeightUse | None] = {w.name: w.quantizable for w in weights}
        largest = device.largest_weight if isinstance(device, GPU) else 0
        self._parts = {w.name: weight_parts(w, scheme, largest) for w in weights}
        self.params: list[StoredParam] = [p for w in weights for p in self._stored_params(w)]
        self._index = {(p.name, p.first): i for i, p in enumerate(self.params)}
        self._module = relax.BlockBuilder()
        self._kernels: dict[Any, relax.GlobalVar] = {}
        self._packed: relax.Var | None = None

    def _stored_params(self, weight: WeightSource) -> list[StoredParam]:
        whole, parts = weight.stored_params(self.scheme), self._parts[weight.name]
        if len(parts) == 1:
            return list(whole)
        axis = axis_of(weight, self.scheme)
        return [param.part(span, axis) for span in parts for param in whole]

    @property
    def row_dtype(self) -> str:
        """On GPUs, of what layers give each other; what is added up through the model (the
        residual), the last hidden states and logits are float32 always."""
        half = isinstance(self.scheme, Scheme) and self.scheme.model_dtype == "float16"
        takes_half = isinstance(self.device, GPU) and self.device.half_rows
        return "float16" if half and takes_half and self.activation_bits != 32 else "float32"

    @property
    def page_dtype(self) -> str:
        """Of cached keys and values: no coarser than what the layers around them compute with."""
        if isinstance(self.device, GPU):
            return self.row_dtype
        exact = isinstance(self.scheme, Scheme) and self.scheme.kind == "none"
        coarse = self.activation_bits == 8 and not exact and self.device.vectors.half_floats
        return "float16" if coarse else "float32"

    # Layers

    def linear(self, name: str, outs: int, ins: int, *, bias: bool = False) -> Any:
        return self._layers.Linear(self, name, (outs, ins), bias=bias)

    def embedding(self, name: str, entries: int, size: int) -> Any:
        return self._layers.Embedding(self, name, (entries, size))

    def rms_norm(self, name: str, size: int, *, eps: float) -> Any:
        return self._layers.RMSNorm(self, name, size, eps)

    def gated_silu(self, size: int) -> Any:
        return self._layers.GatedSilu(self, size)

    def paged_attention(self, **options: Any) -> Any:
        return self._layers.PagedAttention(self, **options)

    # What layers use

    def use_of(self, weight: str) -> WeightUse | None:
        return self._uses[weight]

    def stored(self, name: str) -> StoredParam:
        return self.params[self._index[name, 0]]

    def parts_of(self, weight: str) -> list[range]:
        """The outputs of the weight's parts: one range where it is whole."""
        return self._parts[weight]

    def param(self, name: str, first: int = 0) -> relax.Expr:
        """The parameter inside the function being built; of one in parts, the part from there."""
        return relax.TupleGetItem(self._packed, self._index[name, first])

    def constant(self, value: np.ndarray) -> relax.Expr:
        return relax.const(value)

    def kernel(self, name: str, key: Any, make: Callable[[], tirx.PrimFunc]) -> relax.GlobalVar:
        """The kernel of that key; made on the first call."""
        if (name, key) not in self._kernels:
            self._kernels[name, key] = self._module.add_func(make(), name)
        return self._kernels[name, key]

    def call(self, kernel: relax.GlobalVar, args: list, out: Any) -> relax.Var:
        args = [layers.plain(arg) for arg in args]
        return self._module.emit(relax.call_tir(kernel, args, out))

    def first_of(self, made: relax.Var) -> relax.Var:
        """Of a call that makes several tensors."""
        return self._module.emit(relax.TupleGetItem(made, 0))

    def call_in_place(self, kernel: relax.GlobalVar, args: list, changed: list[int], out: Any):
        """`out[i]` is argument `changed[i]`, written in place, or new where that is -1."""
        return self._module.emit(relax.op.call_tir_inplace(kernel, args, changed, out))

    @property
    def block(self) -> relax.BlockBuilder:
        return self._module

    # Functions

    @contextmanager
    def function(
        self, name: str, inputs: dict[str, Input], *, bounds: dict[str, int], params: bool = True
    ) -> Iterator[Function]:
        """Builds one function of the library. `bounds` are the largest run-time sizes, by name."""
        sizes: dict[str, tirx.Var] = {}
        arguments = {key: _argument(key, value, sizes) for key, value in inputs.items()}
        packed = relax.Var("params", relax.TupleType([_tensor(p, {}) for p in self.params]))
        everything = [*arguments.values(), *([packed] if params else [])]
        attributes = {"relax.force_pure": 1, "tir_var_upper_bound": bounds}
        with self._module.function(name, everything, attrs=attributes):
            self._packed = packed
            function = Function(arguments)
            with self._module.dataflow():
                yield function
                result = self._module.emit_output(layers.plain(function.result))
            self._module.emit_func_output(result)
        self._packed = None

    def text_function(self, name: str, text: str) -> None:
        """A function without arguments that returns that text."""
        with self._module.function(name, []):
            self._module.emit_func_output(tvm.ir.StringImm(text))

    def constant_function(self, name: str, value: tvm.runtime.Tensor) -> None:
        """A function without arguments that returns that constant."""
        with self._module.function(name, []):
            self._module.emit_func_output(relax.const(value))

    def finish(self) -> tvm.IRModule:
        return self._module.finalize()


def _argument(name: str, value: Input, sizes: dict[str, tirx.Var]) -> relax.Var:
    kind = _tensor(value, sizes)
    return relax.Var(name, relax.TupleType([kind] * value.count) if value.count else kind)


def _tensor(value: Input | StoredParam, sizes: dict[str, tirx.Var]) -> relax.TensorType:
    shape = [_size(size, sizes) for size in value.shape]
    return relax.TensorType(shape, value.dtype)


def _size(size: int | str, sizes: dict[str, tirx.Var]) -> Any:
    if isinstance(size, int):
        return size
    if size not in sizes:
        sizes[size] = tirx.Var(size, "int64")
    return sizes[size]
