"""Computes the memory of a function's temporaries from its Relax graph, before lowering.

A tensor lives from the binding that makes it to the last binding that reads it. Its size is linear
in one run-time size (the rows of a step, or the rows with logits). So the peak is given as bytes
for each unit of each size. It is an upper bound, since the peaks of two sizes need not be at the
same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import tvm
from tvm import relax

FIXED = "fixed"  # the key for tensors that depend on no run-time size
UNITS = "u"  # rows and groups of adapters that change them; settings of the engine are the bound


@dataclass
class _Live:
    """The bytes in use, by run-time size, and their maximum so far."""

    now: dict[str, int] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)

    def add(self, sizes: dict[str, int], sign: int = 1) -> None:
        for name, size in sizes.items():
            self.now[name] = self.now.get(name, 0) + sign * size
            self.peak[name] = max(self.peak.get(name, 0), self.now[name])


def peak_bytes(function: relax.Function) -> dict[str, int]:
    """Returns {"n": bytes for each row, "m": ..., "fixed": bytes}. A tensor of another size that
    has no bound in the function, such as the number of pages, is not a temporary."""
    bounds = {UNITS, *dict(function.attrs["tir_var_upper_bound"])}
    bindings = bindings_of(function)
    last_use, read = last_uses(bindings), members_read(bindings)
    live = _Live()
    for param in function.params:
        live.add(_bytes_of(param.ty, bounds))
    ends: dict[int, list[dict[str, int]]] = {}
    for index, binding in enumerate(bindings):
        for place, made in enumerate(made_by(binding)):
            size = _bytes_of(made, bounds)
            live.add(size)
            end = (
                index
                if is_scratch(binding, place, read)
                else last_use.get(binding.var, len(bindings))
            )
            ends.setdefault(end, []).append(size)
        for size in ends.get(index, []):
            live.add(size, -1)
    return {name: size for name, size in live.peak.items() if size}


def bindings_of(function: relax.Function) -> list[relax.Binding]:
    return [b for block in function.body.blocks for b in block.bindings]


def made_by(binding: relax.Binding) -> list[relax.Type]:
    """The types of the tensors that a binding allocates. Other tensors refer to existing memory."""
    value = binding.value
    if not isinstance(value, relax.Call) or value.op.name == "relax.reshape":
        return []
    types = list(getattr(binding.var.ty, "fields", [binding.var.ty]))
    if value.op.name == "relax.call_tir_inplace":
        in_place = value.attrs["inplace_indices"]
        return [made for made, index in zip(types, in_place, strict=True) if int(index) < 0]
    return types


def is_scratch(binding: relax.Binding, place: int, read: set[tuple[relax.Var, int]]) -> bool:
    """Whether a tensor that a kernel makes is only for the kernel itself: it is one of several, and
    not in `read`, the result of `members_read`."""
    several = isinstance(binding.var.ty, relax.TupleType)
    fresh = binding.value.op.name == "relax.call_tir"
    return several and fresh and (binding.var, place) not in read


def members_read(bindings: list[relax.Binding]) -> set[tuple[relax.Var, int]]:
    """The members of tuples that some binding reads."""
    values = [binding.value for binding in bindings]
    found = [value for value in values if isinstance(value, relax.TupleGetItem)]
    return {(value.tuple_value, int(value.index)) for value in found}


def last_uses(bindings: list[relax.Binding]) -> dict[relax.Var, int]:
    """For each variable that allocates: the last binding that reads its memory, under any name."""
    owner: dict[relax.Var, relax.Var] = {}
    last: dict[relax.Var, int] = {}
    for index, binding in enumerate(bindings):
        last.update(dict.fromkeys(_owners(binding.value, owner), index))
        memory = _owners(_memory_of(binding.value), owner)
        if not made_by(binding) and memory:
            owner[binding.var] = memory[0]
    return last


def _owners(value: relax.Expr, owner: dict[relax.Var, relax.Var]) -> list[relax.Var]:
    return [owner.get(var, var) for var in relax.analysis.free_vars(value)]


def _memory_of(value: relax.Expr) -> relax.Expr:
    """What a binding that allocates nothing refers to: of a kernel, the argument that it
    changes."""
    if isinstance(value, relax.Call) and value.op.name == "relax.call_tir_inplace":
        return value.args[1][int(value.attrs["inplace_indices"][0])]
    return value


def _bytes_of(kind: relax.Type, bounds: set[str]) -> dict[str, int]:
    if not isinstance(kind, relax.TensorType):
        return {}
    elements, size = 1, FIXED
    for extent in kind.shape:
        if isinstance(extent, tvm.tirx.IntImm):
            elements *= int(extent)
        elif isinstance(extent, tvm.tirx.Var) and extent.name in bounds and size == FIXED:
            size = extent.name
        else:
            return {}
    return {size: elements * tvm.DataType(kind.dtype).itemsize}
