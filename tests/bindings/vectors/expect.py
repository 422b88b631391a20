"""What a value of the protocol must become: derived from the schema alone, not from a binding."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from codegen import ir

JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


@dataclass
class Expectation:
    """What a case says of a value, beside its JSON (README.md, kind `value`)."""

    canonical: Any = None
    ignore: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, str] = field(default_factory=dict)
    unknown_words: list[str] = field(default_factory=list)


def expectation(protocol: ir.Protocol, type_name: str, value: Any) -> Expectation:
    walk = _Walk({d.names.name: d for d in protocol.declarations}, Expectation())
    walk.out.canonical = walk.visit(ir.Ref(type_name), value, "")
    return walk.out


def member(path: str, key: str) -> str:
    if not key or re.search(r'[.\["]', key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


@dataclass
class _Walk:
    declarations: dict[str, ir.Declaration]
    out: Expectation

    def visit(self, type_: ir.Type, value: Any, path: str) -> Any:
        """The canonical form; what is to be read on the way is noted."""
        if isinstance(type_, ir.ListOf):
            if not value:
                self.out.fields[path] = []
            return [self.visit(type_.item, v, f"{path}[{i}]") for i, v in enumerate(value)]
        if isinstance(type_, ir.MapOf):
            if not value:
                self.out.fields[path] = {}
            return {k: self.visit(type_.value, v, member(path, k)) for k, v in value.items()}
        if isinstance(type_, ir.Ref):
            target = self.declarations[type_.name]
            if isinstance(target, ir.Struct):
                return self._struct(target, value, path)
            if isinstance(target, ir.Union):
                return self._union(target, value, path)
            if value not in [word.wire for word in target.values]:
                self.out.unknown_words.append(path)
        self.out.fields[path] = value
        return value

    def _struct(self, struct: ir.Struct, value: dict[str, Any], path: str) -> dict[str, Any]:
        canonical = {}
        for item in struct.fields:
            at, given = member(path, item.name), value.get(item.name)
            if given is not None:
                canonical[item.name] = self.visit(item.type, given, at)
            elif item.default is not None:
                canonical[item.name] = self.out.fields[at] = item.default
                self.out.ignore.append(at)
            elif item.required:
                raise ValueError(f"{struct.names.name}: {at} is required")
            else:
                self._empty(item, item.name in value, at, canonical)
        known = {item.name for item in struct.fields}
        self.out.ignore += [member(path, key) for key in value if key not in known]
        return canonical

    def _empty(self, item: ir.Field, is_null: bool, at: str, canonical: dict[str, Any]) -> None:
        if item.always:
            canonical[item.name] = None
        if item.always or is_null:
            self.out.fields[at] = None

    def _union(self, union: ir.Union, value: Any, path: str) -> Any:
        for variant in union.variants:
            if union.discriminator is None:
                fits = JSON_TYPES.get(type(value), "object") == variant.json_type
            else:
                fits = value[union.discriminator] == variant.tag
            if fits:
                self.out.variants[path] = variant.name
                return self.visit(variant.type, value, path)
        raise ValueError(f"{path}: no member of {union.names.name} holds {value!r}")
