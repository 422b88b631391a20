"""Requests that break one rule of the schema each, and what must be said of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codegen import ir
from codegen.languages.common import number
from expect import member
from samples import Samples

WRONG: dict[str, Any] = {"bool": ["yes"], "int": "many", "float": "much", "string": {"not": "text"}}
NUMBER = {"int": "integer", "float": "decimal"}
A_SCALAR = {"bool": "a boolean", "int": "an integer", "float": "a number", "string": "a string"}
A_JSON = {
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}


@dataclass(frozen=True)
class Fault:
    """A value that breaks a rule at `param`, and the words for it."""

    label: str
    value: Any
    param: str
    code: str
    message: str

    def within(self, label: str, value: Any) -> Fault:
        """The same fault as part of a larger value."""
        return Fault(f"{label} {self.label}", value, self.param, self.code, self.message)


def missing(label: str, value: Any, path: str) -> Fault:
    message = f"Missing required parameter: '{path}'."
    return Fault(label, value, path, "missing_required_parameter", message)


def wrong_type(label: str, value: Any, path: str, expected: str) -> Fault:
    message = (
        f"Invalid type for '{path}': expected {expected}, but got {A_JSON[type(value)]} instead."
    )
    return Fault(label, value, path, "invalid_type", message)


def other_word(label: str, value: Any, path: str, word: str, words: list[str]) -> Fault:
    quoted = [f"'{w}'" for w in words]
    supported = " and ".join(quoted)
    if len(words) > 2:
        supported = f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    message = f"Invalid value for '{path}': '{word}'. Supported values are: {supported}."
    return Fault(label, value, path, "invalid_value", message)


def out_of_range(value: float, path: str, kind: str, relation: str, bound: float) -> Fault:
    above = relation.startswith("<")
    side, word = ("above_max", "above maximum") if above else ("below_min", "below minimum")
    message = (
        f"Invalid '{path}': {kind} {word} value. Expected a value {relation} {number(bound)}, "
        f"but got {json.dumps(value)} instead."
    )
    return Fault("too high" if above else "too low", value, path, f"{kind}_{side}_value", message)


def schema_faults(protocol: ir.Protocol, request: str) -> Iterator[Fault]:
    """One fault for each rule of the request's fields; the values are whole requests."""
    struct = protocol.find(request)
    assert isinstance(struct, ir.Struct)
    base = Samples(protocol, newer=False).minimal(struct)
    for item in struct.fields:
        if item.required:
            less = {key: value for key, value in base.items() if key != item.name}
            yield missing(f"{item.name} missing", less, item.name)
        for fault in _of_type(protocol, item.type, item.name):
            yield fault.within(item.name, {**base, item.name: fault.value})


def _of_type(protocol: ir.Protocol, type_: ir.Type, path: str) -> Iterator[Fault]:
    if isinstance(type_, ir.Scalar):
        yield from _of_scalar(type_, path)
    elif isinstance(type_, ir.ListOf):
        item = Samples(protocol, newer=False).basic(type_.item)
        yield wrong_type("is no list", 3, path, "an array")
        yield from _of_length("array", type_.limits, path, lambda count: [item] * count)
    elif isinstance(type_, ir.MapOf):
        yield from _of_map(protocol, type_, path)
    elif isinstance(type_, ir.Raw) and type_.object_only:
        yield wrong_type("is no object", [1], path, "an object")
    elif isinstance(type_, ir.Ref):
        yield from _of_declaration(protocol, protocol.find(type_.name), path)


def _of_map(protocol: ir.Protocol, type_: ir.MapOf, path: str) -> Iterator[Fault]:
    yield wrong_type("is no map", [], path, "an object")
    for fault in _of_type(protocol, type_.value, member(path, "1")):
        yield fault.within("value", {"1": fault.value})
    for key in ("x", "-1") if type_.key == "int" else ():
        message = (
            f"Invalid key in '{path}': expected a non-negative integer, but got '{key}' instead."
        )
        yield Fault(f"key {key}", {key: 1}, member(path, key), "invalid_value", message)


def _of_declaration(protocol: ir.Protocol, target: ir.Declaration, path: str) -> Iterator[Fault]:
    if isinstance(target, ir.Enum):
        yield wrong_type("is no word", 3, path, "a string")
        if not target.open:
            words, other = [value.wire for value in target.values], "no such word"
            yield other_word("other word", other, path, other, words)
    elif isinstance(target, ir.Union):
        yield from _of_union(target, path)
    else:
        yield wrong_type("is no object", "text", path, "an object")
        minimal = Samples(protocol, newer=False).minimal(target)
        for item in target.fields:
            at = member(path, item.name)
            if item.required:
                less = {key: value for key, value in minimal.items() if key != item.name}
                yield missing(f"{item.name} missing", less, at)
            if isinstance(item.type, ir.Scalar):
                for fault in _of_scalar(item.type, at):
                    yield fault.within(item.name, {**minimal, item.name: fault.value})


def _of_union(target: ir.Union, path: str) -> Iterator[Fault]:
    if target.discriminator is None:
        phrases = [
            f"{'an' if v.json_type[0] in 'aeiou' else 'a'} {v.json_type}" for v in target.variants
        ]
        yield wrong_type("is nothing of it", True, path, "one of " + " or ".join(phrases))
        return
    at, other = member(path, target.discriminator), "no such tag"
    tags = [variant.tag or "" for variant in target.variants]
    yield wrong_type("is nothing of it", True, path, "an object")
    yield missing("has no tag", {}, at)
    yield other_word("other tag", {target.discriminator: other}, at, other, tags)


def _of_scalar(type_: ir.Scalar, path: str) -> Iterator[Fault]:
    yield wrong_type("wrong type", WRONG[type_.kind], path, A_SCALAR[type_.kind])
    limits = type_.limits
    if type_.kind == "string":
        yield from _of_length("string", limits, path, lambda count: "\u00e9" * count)
    if type_.kind not in NUMBER:
        return
    kind = NUMBER[type_.kind]
    for bound, relation, step in (
        (limits.ge, ">=", -1),
        (limits.gt, ">", 0),
        (limits.le, "<=", 1),
        (limits.lt, "<", 0),
    ):
        if bound is not None:
            yield out_of_range(bound + step, path, kind, relation, bound)


def _of_length(kind: str, limits: ir.Limits, path: str, make: Any) -> Iterator[Fault]:
    for bound, count, side, word in (
        (limits.min_length, (limits.min_length or 0) - 1, "below_min", "short"),
        (limits.max_length, (limits.max_length or 0) + 1, "above_max", "long"),
    ):
        if not bound:
            continue
        a_kind = f"an {kind}" if kind == "array" else f"a {kind}"
        limit = "minimum" if word == "short" else "maximum"
        message = (
            f"Invalid '{path}': {kind} too {word}. Expected {a_kind} with {limit} length {bound}, "
            f"but got {a_kind} with length {count} instead."
        )
        code = f"{kind}_{side}_length"
        if count == 0:
            message = (
                f"Invalid '{path}': empty {kind}. Expected {a_kind} with minimum length {bound}, "
                f"but got an empty {kind} instead."
            )
            code = f"empty_{kind}"
        yield Fault(f"too {word}", make(count), path, code, message)
