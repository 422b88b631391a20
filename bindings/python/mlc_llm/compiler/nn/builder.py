"""Builds a model's functions as a Relax module: parameters, kernels, and calls between them.

A model asks for layers once and calls them on Relax expressions inside `function`:

    nn = Builder(scheme, device, family.weight_map(config))
    norm = nn.norm("model.norm", 576, NormSpec(eps=1e-5))
    with nn.function("final", {"x": Input(("n", 576))}, bounds={"n": 2048}) as f:
        f.results = {"y": norm(f["x"])}

Each kernel is emitted once, even if many layers call it. A weight that is missing in the weight map
is a mistake in the model's file (KeyError).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from mlc_llm.compiler import kv_cache
from mlc_llm.compiler.hosts import is_wasm
from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.layers import MoESpec
from mlc_llm.compiler.nn import adapters, tensors
from mlc_llm.compiler.nn.cpu.layers import CPULayers
from mlc_llm.compiler.nn.function_inputs import Input, Inputs, argument, described, tensor_type
from mlc_llm.compiler.nn.gpu.layers import GPULayers
from mlc_llm.compiler.nn.interface import DeviceLayers
from mlc_llm.compiler.nn.pages import Pages, State, page_inputs, table_of, tables_of, with_table
from mlc_llm.compiler.nn.parts import Part, parts_of
from mlc_llm.compiler.nn.shards import Shards
from mlc_llm.compiler.quantization import Scheme, StoredParam, WeightUse
from mlc_llm.compiler.quantization.shards import Split, plain_of
from mlc_llm.compiler.spec import DraftSpec, NormSpec, WeightSource
from mlc_llm.compiler.step_inputs_gen import STEP_INPUTS
from mlc_llm.compiler.targets import GPU, Device

# The inputs of a step by name (docs/step-inputs.md), None where the function has no such input; and
# what a model makes of them for its layers: in encoders the last position that each row sees, and
# what each layer gets of each row besides the residual.
_MADE = ("attended", "inputs")
Batch = make_dataclass(
    "Batch",
    [(name, Any, None) for name in (*(row.name for row in STEP_INPUTS), *_MADE)],
    frozen=True,
)


@dataclass
class Memory:
    """The pages and the states of all layers, in the order of the layers. They stay between steps.
    A layer that writes replaces its own tensor in the list."""

    pages: list[Any]
    states: list[Any]
    first_values: Any = None  # RWKV 7: the first layer's values of the step's rows


class Function:
    """The function that is being built: its arguments by name, and its results by name."""

    def __init__(self, arguments: dict[str, relax.Var]) -> None:
        self._arguments = arguments
        self.results: dict[str, Any] = {}

    @property
    def batch(self) -> Batch:
        """The inputs of the step that it has."""
        rows = {row.name: self._arguments.get(row.name) for row in STEP_INPUTS}
        return Batch(**rows)

    def __getitem__(self, name: str) -> relax.Var:
        return self._arguments[name]

    def items(self, name: str) -> list[relax.Expr]:
        """The tensors of a tuple argument; none if there is no such argument."""
        argument = self._arguments.get(name)
        count = 0 if argument is None else len(argument.ty.fields)
        return [relax.TupleGetItem(argument, i) for i in range(count)]


class Builder:
    def __init__(
        self,
        scheme: Scheme,
        device: Device | GPU,
        weights: Sequence[WeightSource],
        *,
        activation_bits: int = 8,
        kv_cache_dtype: str = kv_cache.AUTO,
        adapted: Mapping[str, adapters.Widths] | None = None,
        splits: Mapping[str, Split] | None = None,
    ) -> None:
        """`adapted`: the modules that may have adapters. `splits`: of the weights of shards."""
        self.scheme = scheme
        self.device = device
        self.on: DeviceLayers = (GPULayers if isinstance(device, GPU) else CPULayers)(self)
        self.activation_bits = activation_bits  # 32: floats
        self._kv_cache_dtype = kv_cache_dtype
        self._uses: dict[str, WeightUse | None] = {w.name: w.quantizable for w in weights}
        sizes = (self.on.reader_of, self.on.largest_weight)
        self.shards = Shards(self, splits or {})
        split, large = self.shards.split, [w for w in weights if w.quantizable]
        self._parts = {w.name: parts_of(w, scheme, *sizes, split(w.name)) for w in large}
        self.params: list[StoredParam] = [p for w in weights for p in self._stored_params(w)]
        # of them, which its functions take: up to `_taken`, and from `_begin` on no others do
        self._begin = 0
        self._taken = sum(len(self._stored_params(w)) for w in weights if not w.draft)
        self._index = {(p.name, p.span): i for i, p in enumerate(self.params)}
        self.adapters = adapters.Adapters(self, adapted, self.on.page_dtype) if adapted else None
        self.adapting: Function | None = None  # the function that is being built, if it has them
        self.pages: list[Pages] = []  # in the order of the library's `kv_pages`
        self.states: list[State] = []  # in the order of the library's `states`
        self.token_types = 0  # how many types the rows of a step may have; 0: one
        self._needed = {"always"}  # by the layers: what a step's inputs are there for
        self.functions: dict[str, Any] = {}  # the inputs and results of each, by name
        self.results_of: dict[str, list[str]] = {}  # of all, also of those that are built apart
        self._module = relax.BlockBuilder()
        self._kernels: dict[Any, relax.GlobalVar] = {}
        self._packed: relax.Var | None = None

    def apart(self, draft: DraftSpec) -> Builder:
        """For the functions of the part that drafts, with inputs of their own, and its parameters
        behind the others. Pages are its own too, or all that there are."""
        other = copy.copy(self)
        other._begin, other._taken = self._taken, len(self.params)
        other.on, other.adapters = type(self.on)(other), None
        other.states, other._needed, other.functions = [], {"always"}, {}
        other.pages = self.pages if draft.reads_pages else []
        other.params, other._index, other._parts = [*self.params], {**self._index}, {**self._parts}
        return other

    def add_part(self, name: str, part: Part) -> None:
        """A weight that is a part of another one, with parameters of its own."""
        self._parts[name] = [part]
        for param in part.reader.stored:
            self._index[param.name, param.span] = len(self.params)
            self.params.append(param)
        self._taken = len(self.params)

    @property
    def own_params(self) -> list[StoredParam]:
        """The parameters that its functions take and that no other builder's do."""
        return self.params[self._begin : self._taken]

    def read_by_rows(self) -> set[str]:
        """The parameters of tables that stay in their file, since a step on a CPU reads single rows
        of them. A browser maps no files."""
        if not self.of(not is_wasm(self.device), False):
            return set()
        tables = [self._parts[name] for name, use in self._uses.items() if use == "embedding"]
        return {p.name for parts in tables for part in parts for p in part.reader.stored}

    def _stored_params(self, weight: WeightSource) -> list[StoredParam]:
        if weight.quantizable is None:
            (param,) = weight.stored_params(self.scheme)
            return [plain_of(param, self.shards.split(weight.name))]
        return [param for part in self._parts[weight.name] for param in part.reader.stored]

    @property
    def row_dtype(self) -> str:
        """The type of rows between layers."""
        return self.on.row_dtype

    @property
    def page_dtype(self) -> str:
        """The type of cached keys and values."""
        if self._kv_cache_dtype != kv_cache.AUTO:
            return kv_cache.page_dtype(self._kv_cache_dtype, self.device)
        return self.on.page_dtype

    def codes_of(self, matrix: Any) -> Any:
        """The form of activations for a matrix on this CPU. None: floats."""
        codes = matrix.codes(self.activation_bits)
        return codes.on(self.device.vectors.dot) if codes is not None else None

    # Layers

    def linear(
        self, name: str, outs: int, ins: int, *, bias: bool = False, adapts: bool = True
    ) -> Any:
        """`adapts`: its rows are those of a step, so that they may have adapters."""
        made = self.on.linear(self, name, (outs, ins), bias=bias)
        if not self.adapters or not adapts:
            return made
        self.needs("adapters")
        return self.adapters.beside(made, name, ins)

    def embedding(self, name: str, entries: int, size: int, *, scale: float = 1.0) -> Any:
        return self.on.embedding(self, name, (entries, size), scale)

    def norm(self, name: str, size: int, spec: NormSpec, *, is_exact: bool = False) -> Any:
        """`is_exact`: the result is float32 on all devices, as a residual is."""
        if spec.kind == "layer":
            return self.on.layer_norm(self, name, size, spec, is_exact=is_exact)
        return self.on.rms_norm(self, name, size, spec.eps, is_exact=is_exact)

    def gated(self, size: int, activation: str, each: int = 1) -> Any:
        """`each`: how many results a row has, side by side."""
        return self.on.gated(self, size, activation, each)

    def activated(self, size: int, activation: str, each: int = 1) -> Any:
        return self.on.activated(self, size, activation, each)

    def experts(self, spec: MoESpec, hidden: int, name: Callable[[str], str]) -> Any:
        """The experts of a layer. `name` maps a role to the name of its weight."""
        return self.on.experts(self, spec, hidden, name)

    def scale_and_cap(self, size: int, *, scale: float, cap: float) -> Any:
        return self.on.scale_and_cap(self, size, scale=scale, cap=cap)

    def scaled_add(self, size: int, scale: float) -> Any:
        return self.on.scaled_add(self, size, scale)

    def sigmoid_gate(self, size: int) -> Any:
        return self.on.sigmoid_gate(self, size)

    def add_state(self, state: State) -> int:
        """Adds a tensor of a layer's state; returns its index."""
        self.needs("states")
        self.states.append(state)
        return len(self.states) - 1

    def add_pages(self, pages: Pages) -> int:
        """Adds the pages of a layer; returns their index."""
        self.pages.append(pages)
        return len(self.pages) - 1

    def with_table(self, batch: Batch, index: int) -> Batch:
        """The batch for a layer that reads the pages `index`: their slots and block table."""
        return with_table(batch, table_of(self.pages[index], self.pages))

    def needs(self, what: str) -> None:
        """A layer that reads inputs of a step which not every library takes says so: `when` in
        `codegen/schema/step.py`."""
        assert any(row.when == what for row in STEP_INPUTS), what
        self._needed.add(what)

    def step_inputs(self, *, also: set[str], without: set[str]) -> Inputs:
        """The inputs of a step that layers need, and the memory that they keep."""
        wanted = (self._needed | also) - without
        if len(tables_of(self.pages)) > 1:
            wanted |= {"windowed_pages"}
            wanted |= {"windowed_trees"} if "token_trees" in wanted else set()
        rows = {r.name: Input(r.shape, "int32") for r in STEP_INPUTS if r.when in wanted}
        kept = {"kv_pages": page_inputs(self.pages)}
        if self.states:
            kept["states"] = [state.input() for state in self.states]
        if self.adapters and "adapters" not in without:
            kept[adapters.WEIGHTS] = self.adapters.inputs()
        return {**rows, **kept}

    # What layers use

    def of(self, cpu: Any, gpu: Any) -> Any:
        """The one for the device."""
        return self.on.of(cpu, gpu)

    def typed(self, **rows: Any) -> dict[str, str]:
        """The types of rows (or types), for kernels of devices that have several."""
        dtypes = {k: v if isinstance(v, str) else str(v.ty.dtype) for k, v in rows.items()}
        return self.on.typed(**dtypes)

    def attention_sizes(self) -> dict[str, Any]:
        """The sizes of the attention kernels' inner loops on this CPU."""
        return self.on.attention_sizes()

    def attention_scratch(self, shape: AttentionShape) -> list[Arg]:
        """The temporary tensors of the attention kernels."""
        return self.on.attention_scratch(shape)

    def dot_tile(self) -> dict[str, Any]:
        """The same of small matrices."""
        return self.on.dot_tile()

    def rows(self, like: relax.Expr, *shape: int, dtype: str = "float32") -> relax.TensorType:
        """The type of a tensor with as many rows as `like`."""
        return tensors.tensor(tensors.num_rows(like), *shape, dtype=dtype)

    def plain(self, x: Any) -> relax.Expr:
        """The floats of rows that may be computed later."""
        return tensors.plain(x)

    def deferred(self, x: Any) -> Any:
        """Floats of which a linear layer may want another form."""
        return x if isinstance(x, tensors.Deferred) else tensors.Deferred.of(self, x)

    def item(self, made: relax.Var, index: int) -> relax.Expr:
        """A tensor of a call that returns several."""
        return relax.TupleGetItem(made, index)

    def use_of(self, weight: str) -> WeightUse | None:
        return self._uses[weight]

    def stored(self, name: str) -> StoredParam:
        return self.params[self._index[name, None]]

    def parts_of(self, weight: str) -> list[Part]:
        """The parts of the weight; usually one."""
        return self._parts[weight]

    def param(self, name: str, span: range | None = None) -> relax.Expr:
        """The parameter in the function that is being built. `span`: of the part, for a weight in
        parts."""
        return relax.TupleGetItem(self._packed, self._index[name, span])

    def params_of(self, reader: Any) -> list[relax.Expr]:
        """The parameters of one part of a weight."""
        return [self.param(param.name, param.span) for param in reader.stored]

    def constant(self, value: np.ndarray) -> relax.Expr:
        return relax.const(value)

    def kernel(self, name: str, key: Any, make: Callable[[], tirx.PrimFunc]) -> relax.GlobalVar:
        """The kernel with this key. The first call makes it."""
        if (name, key) not in self._kernels:
            self._kernels[name, key] = self._module.add_func(make(), name)
        return self._kernels[name, key]

    def call(self, kernel: relax.GlobalVar, args: list, out: Any) -> relax.Var:
        args = [tensors.plain(arg) for arg in args]
        return self._module.emit(relax.call_tir(kernel, args, out))

    def call_with(
        self, kernel: relax.GlobalVar, args: list, out: Any, scratch: list[Arg]
    ) -> relax.Var:
        """The same for a kernel that needs temporary tensors of fixed shapes behind its result."""
        if not scratch:
            return self.call(kernel, args, out)
        return self.first_of(self.call(kernel, args, [out, *tensors.types_of(scratch)]))

    def first_of(self, made: relax.Var) -> relax.Var:
        """The first tensor of a call that returns several."""
        return self._module.emit(relax.TupleGetItem(made, 0))

    def members_of(self, made: relax.Var, count: int) -> list[relax.Var]:
        """The tensors of a call that returns several results."""
        return [self._module.emit(relax.TupleGetItem(made, i)) for i in range(count)]

    def call_in_place(self, kernel: relax.GlobalVar, args: list, changed: list[int], out: Any):
        """`out[i]` is argument `changed[i]`, written in place. It is a new tensor if that is -1."""
        return self._module.emit(relax.op.call_tir_inplace(kernel, args, changed, out))

    @property
    def block(self) -> relax.BlockBuilder:
        return self._module

    # Functions

    @contextmanager
    def function(
        self, name: str, inputs: Inputs, *, bounds: dict[str, int], params: bool = True
    ) -> Iterator[Function]:
        """Builds one function of the library; it returns a tuple of its results. An input that is
        a list is a tuple of tensors.
        `bounds`: the largest value of each run-time size, by name."""
        sizes: dict[str, tirx.Var] = {}
        arguments = {key: argument(key, value, sizes) for key, value in inputs.items()}
        kinds = [tensor_type(param, {}) for param in self.params[: self._taken]]
        packed = relax.Var("params", relax.TupleType(kinds))
        everything = [*arguments.values(), *([packed] if params else [])]
        attributes = {"relax.force_pure": 1, "tir_var_upper_bound": bounds}
        with self._module.function(name, everything, attrs=attributes):
            self._packed = packed
            function = Function(arguments)
            self.adapting = function if adapters.WEIGHTS in arguments else None
            with self._module.dataflow():
                yield function
                results = [tensors.plain(result) for result in function.results.values()]
                made = self._module.emit_output(relax.Tuple(results))
            self._module.emit_func_output(made)
        self._packed = self.adapting = None
        taken = [described(key, value) for key, value in inputs.items()]
        taken += [{"name": "params"}] if params else []
        self.results_of[name] = list(function.results)
        self.functions[name] = {"inputs": taken, "results": list(function.results)}

    def text_function(self, name: str, text: str) -> None:
        """A function without arguments that returns `text`."""
        with self._module.function(name, []):
            self._module.emit_func_output(tvm.ir.StringImm(text))

    def constant_function(self, name: str, value: tvm.runtime.Tensor) -> None:
        """A function without arguments that returns `value`."""
        with self._module.function(name, []):
            self._module.emit_func_output(relax.const(value))

    def change(self, change: Callable[[tvm.IRModule], tvm.IRModule]) -> None:
        """Goes on with what `change` makes of the module."""
        self._module = relax.BlockBuilder(change(self._module.get()))

    def finish(self) -> tvm.IRModule:
        return self._module.finalize()
