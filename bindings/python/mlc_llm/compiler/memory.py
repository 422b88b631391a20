"""How much memory a function's temporaries take, read off its Relax graph before lowering.

A tensor lives from the binding that makes it to the last one that reads it. Its size is linear in
one run-time size (the rows of a step, the rows that want logits), so the peak is told as bytes a
unit of each size: an upper bound, since the peaks of two sizes need not fall together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import tvm
from tvm import relax

FIXED = "fixed"  # the key of what depends on no run-time size


@dataclass
class _Live:
    """Bytes that are in use, by run-time size, and the most there have been."""

    now: dict[str, int] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)

    def add(self, sizes: dict[str, int], sign: int = 1) -> None:
        for name, size in sizes.items():
            self.now[name] = self.now.get(name, 0) + sign * size
            self.peak[name] = max(self.peak.get(name, 0), self.now[name])


def peak_bytes(function: relax.Function) -> dict[str, int]:
    """{"n": bytes a row, "m": ..., "fixed": bytes}; sizes that the function has no bound of, such
    as the number of pages, are no temporaries."""
    bounds = set(dict(function.attrs["tir_var_upper_bound"]))
    bindings = bindings_of(function)
    last_use = last_uses(bindings)
    live = _Live()
    for param in function.params:
        live.add(_bytes_of(param.ty, bounds))
    ends: dict[int, list[dict[str, int]]] = {}
    for index, binding in enumerate(bindings):
        for place, made in enumerate(made_by(binding)):
            size = _bytes_of(made, bounds)
            live.add(size)
            end = index if is_scratch(binding, place) else last_use.get(binding.var, len(bindings))
            ends.setdefault(end, []).append(size)
        for size in ends.get(index, []):
            live.add(size, -1)
    return {name: size for name, size in live.peak.items() if size}


def bindings_of(function: relax.Function) -> list[relax.Binding]:
    return [b for block in function.body.blocks for b in block.bindings]


def made_by(binding: relax.Binding) -> list[relax.Type]:
    """The types of the tensors that a binding allocates; the others name memory that is there."""
    value = binding.value
    if not isinstance(value, relax.Call) or value.op.name == "relax.reshape":
        return []
    types = list(getattr(binding.var.ty, "fields", [binding.var.ty]))
    if value.op.name == "relax.call_tir_inplace":
        in_place = value.attrs["inplace_indices"]
        return [made for made, index in zip(types, in_place, strict=True) if int(index) < 0]
    return types


def is_scratch(binding: relax.Binding, place: int) -> bool:
    """Of the tensors that a kernel makes, those behind its result are for itself
    (`Builder.first_of`)."""
    return place > 0 and binding.value.op.name == "relax.call_tir"


def last_uses(bindings: list[relax.Binding]) -> dict[relax.Var, int]:
    """By the variable that allocated: the last binding that reads it, under whatever name."""
    owner: dict[relax.Var, relax.Var] = {}
    last: dict[relax.Var, int] = {}
    for index, binding in enumerate(bindings):
        read = [owner.get(var, var) for var in relax.analysis.free_vars(binding.value)]
        last.update(dict.fromkeys(read, index))
        if not made_by(binding) and read:
            owner[binding.var] = read[0]
    return last


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
