"""Writes a function of the library as a list of kernel calls, which the core runs itself.

TVM's virtual machine took a fifth of a decode step on a CPU: ten of its instructions and two
allocations for each kernel. A program has the same content, prepared once: the kernels, their
tensors, and the place of each temporary in one piece of memory. A recording for CUDA graphs needs
the same. docs/model-library.md describes the format; `core/src/runtime/kernel_program.h` runs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from mlc_llm.compiler import memory
from mlc_llm.compiler.memory import bindings_of, is_scratch, last_uses, made_by, members_read
from mlc_llm.compiler.nn.adapters import WEIGHTS as ADAPTER_WEIGHTS
from mlc_llm.compiler.nn.adapters import Without

Program = dict[str, Any]

# What stands for a tensor in a program: a letter and a number.
INPUT, WEIGHT, PAGES, STATE, CONSTANT, TEMPORARY = "i", "w", "p", "s", "c", "t"
ADAPTER = "a"
EMPTY = "!"  # behind what is no argument: the call runs only if it has no rows
FIXED = ""  # in the place of a run-time size: of what no run changes
_TUPLES = {"params": WEIGHT, "kv_pages": PAGES, "states": STATE, ADAPTER_WEIGHTS: ADAPTER}


def program_of(
    function: relax.Function,
    constants: list[tvm.runtime.Tensor] | None = None,
    results: Sequence[str] = ("result",),
    without: Mapping[str, Without] | None = None,
) -> Program:
    """The program of a function that only calls kernels, one after the other. Adds new
    constants. `results`: their names. `without`: what runs in the place of kernels."""
    return _Writer(function, [] if constants is None else constants, without or {}).write(results)


def buffer_bytes(program: Program, inputs: bool = False) -> dict[str, int]:
    """The bytes of all its buffers together, in the form of `memory.peak_bytes`. `inputs`: and of
    the inputs, which a device has to copy."""
    found: dict[str, int] = {}
    sizes = [tuple(size) for size in program["buffers"]]
    for one in program["inputs"] if inputs else ():
        size, *row = one["shape"]
        sizes.append((size, math.prod(row) * tvm.DataType(one["dtype"]).itemsize))
    for size, width in sizes:
        name = memory.FIXED if size == FIXED else size
        found[name] = found.get(name, 0) + width
    return found


@dataclass(frozen=True)
class Lifetime:
    """A temporary from the binding that makes it to the last one that reads it: its run-time size,
    and its bytes for each unit of that."""

    size: str
    width: int
    begin: int
    end: int

    def overlaps(self, other: Lifetime) -> bool:
        return self.begin <= other.end and other.begin <= self.end


@dataclass
class Buffers:
    """Buffers that temporaries use in turn, as bytes for each unit of a run-time size."""

    sizes: list[tuple[str, int]] = field(default_factory=list)
    users: list[list[Lifetime]] = field(default_factory=list)

    def place(self, lifetimes: Sequence[Lifetime]) -> list[int]:
        """The buffer of each temporary. The widest ones choose first, so that few buffers are wide;
        each takes the narrowest buffer that is free all the time."""
        order = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].width, i))
        found = {index: self._take(lifetimes[index]) for index in order}
        return [found[index] for index in range(len(lifetimes))]

    def _take(self, one: Lifetime) -> int:
        for buffer in reversed(range(len(self.sizes))):
            users = self.users[buffer]
            if self.sizes[buffer][0] == one.size and not any(map(one.overlaps, users)):
                users.append(one)
                return buffer
        self.sizes.append((one.size, one.width))
        self.users.append([one])
        return len(self.sizes) - 1


class _Writer:
    def __init__(
        self,
        function: relax.Function,
        constants: list[tvm.runtime.Tensor],
        without: Mapping[str, Without],
    ) -> None:
        self.function, self.constants, self.without = function, constants, without
        # the name of each variable in the program; a list for the members of a tuple
        self.names: dict[relax.Var, Any] = {}
        self.inputs: list[Any] = []
        self.temporaries: list[Any] = []
        self.calls: list[list[str]] = []
        self.buffers = Buffers()
        self.places: Iterator[int] = iter(())  # the buffers of the temporaries to come

    def write(self, results: Sequence[str]) -> Program:
        for param in self.function.params:
            if param.name not in _TUPLES:
                self.names[param] = f"{INPUT}{len(self.inputs)}"
                self.inputs.append({"name": param.name, **_kind(param.ty)})
        bindings = bindings_of(self.function)
        self.places = iter(self.buffers.place(_lifetimes(bindings)))
        for binding in bindings:
            self._bind(binding)
        return {
            "inputs": self.inputs,
            "buffers": [list(size) for size in self.buffers.sizes],
            "temporaries": self.temporaries,
            "calls": self.calls,
            "results": dict(zip(results, self._name(self.function.body.body), strict=True)),
        }

    def _bind(self, binding: relax.Binding) -> None:
        value = binding.value
        if isinstance(value, relax.Call):
            self.names[binding.var] = self._call(binding)
        else:
            self.names[binding.var] = self._name(value)

    def _call(self, binding: relax.Binding) -> Any:
        """Records the call of a kernel: its arguments, then the tensors that it makes."""
        call = binding.value
        assert call.op.name in ("relax.call_tir", "relax.call_tir_inplace"), call.op.name
        kernel, arguments = call.args[0], [self._name(arg) for arg in call.args[1]]
        kinds = made_by(binding)
        made = [self._temporary(kind) for kind in kinds]
        self.calls.append([kernel.name_hint, *arguments, *made])
        if (other := self.without.get(kernel.name_hint)) is not None:
            *given, missing = arguments[: other.count + 1]  # and it makes the first result alone
            self.calls.append([other.kernel, *given, made[0], missing + EMPTY])
        if call.op.name == "relax.call_tir":
            return made if isinstance(binding.var.ty, relax.TupleType) else made[0]
        fresh = iter(made)
        changed = [int(i) for i in call.attrs["inplace_indices"]]
        names = [next(fresh) if i < 0 else arguments[i] for i in changed]
        return names if isinstance(binding.var.ty, relax.TupleType) else names[0]

    def _temporary(self, kind: relax.TensorType) -> str:
        """The name of a tensor in a free buffer. Equal tensors in one buffer have one name."""
        tensor = {**_kind(kind), "buffer": next(self.places)}
        if tensor not in self.temporaries:
            self.temporaries.append(tensor)
        return f"{TEMPORARY}{self.temporaries.index(tensor)}"

    def _name(self, value: Any) -> Any:
        if isinstance(value, tvm.ir.Constant):
            return f"{CONSTANT}{_index_of(value.value, self.constants)}"
        if isinstance(value, relax.Tuple):
            return [self._name(member) for member in value]
        if isinstance(value, relax.TupleGetItem):
            owner = value.tuple_value
            if owner not in self.names:
                return f"{_TUPLES[owner.name]}{value.index}"
            return self.names[owner][value.index]
        return self.names[value]


def _lifetimes(bindings: list[relax.Binding]) -> list[Lifetime]:
    """Of all temporaries, in the order in which they are made."""
    last, read = last_uses(bindings), members_read(bindings)
    found = []
    for index, binding in enumerate(bindings):
        for place, made in enumerate(made_by(binding)):
            scratch = is_scratch(binding, place, read)
            end = index if scratch else last.get(binding.var, len(bindings))
            found.append(Lifetime(*_size_of(made), index, end))
    return found


def _size_of(kind: relax.TensorType) -> tuple[str, int]:
    shape = _kind(kind)["shape"]
    size = shape[0] if isinstance(shape[0], str) else FIXED
    width = math.prod(e for e in shape if isinstance(e, int))
    return size, width * tvm.DataType(str(kind.dtype)).itemsize


def _index_of(data: tvm.runtime.Tensor, constants: list[tvm.runtime.Tensor]) -> int:
    for index, other in enumerate(constants):
        if other.shape == data.shape and (other.numpy() == data.numpy()).all():
            return index
    constants.append(data)
    return len(constants) - 1


def _kind(kind: relax.TensorType) -> dict[str, Any]:
    shape = [int(e) if isinstance(e, tvm.tirx.IntImm) else e.name for e in kind.shape]
    assert all(isinstance(e, int) for e in shape[1:]), shape
    return {"shape": shape, "dtype": str(kind.dtype)}
