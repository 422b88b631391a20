"""Writes a function of the library as a list of kernel calls, which the core runs itself.

TVM's virtual machine took a fifth of a decode step on a CPU: ten of its instructions and two
allocations for each kernel. A program has the same content, prepared once: the kernels, their
tensors, and the place of each temporary in one piece of memory. A recording for CUDA graphs needs
the same. docs/model-library.md describes the format; `core/src/runtime/kernel_program.h` runs it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from mlc_llm.compiler import memory
from mlc_llm.compiler.memory import bindings_of, is_scratch, last_uses, made_by, members_read

Program = dict[str, Any]

# What stands for a tensor in a program: a letter and a number.
INPUT, WEIGHT, PAGES, STATE, CONSTANT, TEMPORARY = "i", "w", "p", "s", "c", "t"
FIXED = ""  # in the place of a run-time size: of what no run changes
_TUPLES = {"params": WEIGHT, "kv_pages": PAGES, "states": STATE}


def program_of(function: relax.Function, constants: list[tvm.runtime.Tensor]) -> Program:
    """The program of a function that only calls kernels, one after the other. Adds new
    constants."""
    return _Writer(function, constants).write()


def buffer_bytes(program: Program) -> dict[str, int]:
    """The bytes of all its buffers together, in the form of `memory.peak_bytes`."""
    found: dict[str, int] = {}
    for size, width in program["buffers"]:
        name = memory.FIXED if size == FIXED else size
        found[name] = found.get(name, 0) + width
    return found


@dataclass
class _Buffers:
    """Buffers that temporaries use in turn, as bytes for each unit of a run-time size."""

    sizes: list[tuple[str, int]] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    def take(self, size: str, width: int) -> int:
        """Takes the smallest free buffer that is large enough; or enlarges the largest free one; or
        makes a new one."""
        alike = [i for i in self.free if self.sizes[i][0] == size]
        wide = [i for i in alike if self.sizes[i][1] >= width]
        if wide:
            found = min(wide, key=lambda i: self.sizes[i][1])
        elif alike:
            found = max(alike, key=lambda i: self.sizes[i][1])
            self.sizes[found] = (size, width)
        else:
            self.sizes.append((size, width))
            return len(self.sizes) - 1
        self.free.remove(found)
        return found


class _Writer:
    def __init__(self, function: relax.Function, constants: list[tvm.runtime.Tensor]) -> None:
        self.function, self.constants = function, constants
        # the name of each variable in the program; a list for the members of a tuple
        self.names: dict[relax.Var, Any] = {}
        self.inputs: list[Any] = []
        self.temporaries: list[Any] = []
        self.calls: list[list[str]] = []
        self.buffers = _Buffers()
        self.taken: list[int] = []  # the buffers that the current binding has taken

    def write(self) -> Program:
        for param in self.function.params:
            if param.name not in _TUPLES:
                self.names[param] = f"{INPUT}{len(self.inputs)}"
                self.inputs.append(_kind(param.ty))
        bindings = bindings_of(self.function)
        last, read = last_uses(bindings), members_read(bindings)
        ends: dict[int, list[int]] = {}
        for index, binding in enumerate(bindings):
            self.taken = []
            self._bind(binding)
            for place, buffer in enumerate(self.taken):
                scratch = is_scratch(binding, place, read)
                end = index if scratch else last.get(binding.var, len(bindings))
                ends.setdefault(end, []).append(buffer)
            self.buffers.free += ends.get(index, [])
        return {
            "inputs": self.inputs,
            "buffers": [list(size) for size in self.buffers.sizes],
            "temporaries": self.temporaries,
            "calls": self.calls,
            "result": self._name(self.function.body.body),
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
        made = [self._temporary(kind) for kind in made_by(binding)]
        self.calls.append([kernel.name_hint, *arguments, *made])
        if call.op.name == "relax.call_tir":
            return made if isinstance(binding.var.ty, relax.TupleType) else made[0]
        fresh = iter(made)
        changed = [int(i) for i in call.attrs["inplace_indices"]]
        names = [next(fresh) if i < 0 else arguments[i] for i in changed]
        return names if isinstance(binding.var.ty, relax.TupleType) else names[0]

    def _temporary(self, kind: relax.TensorType) -> str:
        """The name of a tensor in a free buffer. Equal tensors in one buffer have one name."""
        shape, dtype = _kind(kind)["shape"], str(kind.dtype)
        size = shape[0] if isinstance(shape[0], str) else FIXED
        width = math.prod(e for e in shape if isinstance(e, int)) * tvm.DataType(dtype).itemsize
        buffer = self.buffers.take(size, width)
        self.taken.append(buffer)
        tensor = {**_kind(kind), "buffer": buffer}
        if tensor not in self.temporaries:
            self.temporaries.append(tensor)
        return f"{TEMPORARY}{self.temporaries.index(tensor)}"

    def _name(self, value: Any) -> Any:
        if isinstance(value, tvm.ir.Constant):
            return f"{CONSTANT}{_index_of(value.value, self.constants)}"
        if isinstance(value, relax.TupleGetItem):
            owner = value.tuple_value
            if owner not in self.names:
                return f"{_TUPLES[owner.name]}{value.index}"
            return self.names[owner][value.index]
        return self.names[value]


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
