"""Values of each type, made from the schema: every word, every union member, every field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from codegen import ir

Labelled = tuple[str, Any]


@dataclass
class Samples:
    """`newer`: also what a newer peer might send (words and members that nobody knows)."""

    protocol: ir.Protocol
    newer: bool
    expanded: set[str] = field(default_factory=set)

    def of_root(self, name: str) -> list[Labelled]:
        """Values of a root type; each declaration that it reaches is varied once."""
        self.expanded = set()
        found: dict[str, Any] = {}
        for label, value in self._alternatives(ir.Ref(name)):
            found[f"{label}, again" if label in found else label] = value
        return list(found.items())

    def basic(self, type_: ir.Type) -> Any:
        """The plainest value."""
        if isinstance(type_, ir.Scalar):
            return _scalar(type_)
        if isinstance(type_, ir.Const):
            return type_.value
        if isinstance(type_, ir.ListOf):
            return [self.basic(type_.item)] if (type_.limits.min_length or 0) > 0 else []
        if isinstance(type_, ir.MapOf):
            return {"17" if type_.key == "int" else "key": self.basic(type_.value)}
        if isinstance(type_, ir.Raw):
            return {"type": "object", "nested": [1, {"deep": None}]}
        target = self.protocol.find(type_.name)
        if isinstance(target, ir.Enum):
            return target.values[-1].wire
        if isinstance(target, ir.Union):
            return self.basic(target.variants[0].type)
        return self.minimal(target)

    def minimal(self, struct: ir.Struct) -> dict[str, Any]:
        """What must be there and nothing else."""
        value = {f.name: self.basic(f.type) for f in struct.fields if f.required}
        for item in struct.fields:
            when = item.required_when
            if when and value[when.field] in when.values:
                value[item.name] = self.basic(item.type)
        return value

    def full(self, struct: ir.Struct) -> dict[str, Any]:
        return {f.name: self._filled(f.type) for f in struct.fields}

    def _filled(self, type_: ir.Type) -> Any:
        """A value with something in it."""
        if isinstance(type_, ir.ListOf):
            return [self._filled(type_.item)]
        if isinstance(type_, ir.Ref):
            target = self.protocol.find(type_.name)
            if isinstance(target, ir.Struct):
                return self.full(target)
            if isinstance(target, ir.Union):
                return self._filled(target.variants[-1].type)
        return self.basic(type_)

    def _alternatives(self, type_: ir.Type) -> Iterator[Labelled]:
        """Beyond `basic`, values that differ in kind."""
        if isinstance(type_, ir.ListOf):
            if not type_.limits.min_length:
                yield "empty", []
            for label, value in self._alternatives(type_.item):
                yield label, [value]
        elif isinstance(type_, ir.MapOf):
            yield "empty", {}
        elif isinstance(type_, ir.Raw):
            yield "raw", {"a": [], "b": {}, "c": [None, True, -1, 2.5, "\u00e9"]}
        elif isinstance(type_, ir.Ref) and type_.name not in self.expanded:
            self.expanded.add(type_.name)
            yield from self._of_declaration(self.protocol.find(type_.name))

    def _of_declaration(self, target: ir.Declaration) -> Iterator[Labelled]:
        if isinstance(target, ir.Enum):
            yield from ((value.wire, value.wire) for value in target.values)
            if self.newer or target.open:
                yield "newer word", "a-newer word"
        elif isinstance(target, ir.Union):
            for variant in target.variants:
                yield variant.name, self.basic(variant.type)
                for label, value in self._alternatives(variant.type):
                    yield f"{variant.name} {label}", value
        else:
            yield from self._of_struct(target)

    def _of_struct(self, struct: ir.Struct) -> Iterator[Labelled]:
        minimal = self.minimal(struct)
        yield "minimal", minimal
        yield "full", self.full(struct)
        optional = [f for f in struct.fields if not f.required and f.name not in minimal]
        if optional:
            yield "null", {**minimal, **{f.name: None for f in optional}}
        if self.newer and not struct.closed:
            yield "newer member", {**minimal, "x_newer": {"a": [1, None]}}
        for item in struct.fields:
            for label, value in self._alternatives(item.type):
                if not (item.name in minimal and value == minimal[item.name]):
                    yield f"{item.name} {label}", {**minimal, item.name: value}


def _scalar(type_: ir.Scalar) -> Any:
    limits = type_.limits
    if type_.kind == "bool":
        return True
    if type_.kind == "string":
        return "text"
    low = limits.ge if limits.ge is not None else limits.gt
    if type_.kind == "int":
        return int(low) + 1 if low is not None else 7
    return 0.5 if low is None or low < 0.5 else low + 0.5
