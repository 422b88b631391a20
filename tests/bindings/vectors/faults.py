"""Requests that break one rule of the schema each, and what must be said of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from codegen import ir
from expect import member
from samples import Samples

Fault = tuple[str, str, str, str]  # name, body, param, code

WRONG = {"bool": ["yes"], "int": "many", "float": "much", "string": {"not": "text"}}
NUMBER = {"int": "integer", "float": "decimal"}


def schema_faults(protocol: ir.Protocol, route: str, request: str) -> Iterator[Fault]:
    """One fault for each rule of the request's fields."""
    struct = protocol.find(request)
    assert isinstance(struct, ir.Struct)
    samples = Samples(protocol, newer=False)
    base = samples.minimal(struct)
    for item in struct.fields:
        if item.required:
            body = {key: value for key, value in base.items() if key != item.name}
            yield f"{item.name} missing", json.dumps(body), item.name, "missing_required_parameter"
        for label, value, path, code in _of_type(protocol, item.type, item.name):
            yield f"{item.name} {label}", json.dumps({**base, item.name: value}), path, code


def _of_type(
    protocol: ir.Protocol, type_: ir.Type, path: str
) -> Iterator[tuple[str, Any, str, str]]:
    if isinstance(type_, ir.Scalar):
        yield from _of_scalar(type_, path)
    elif isinstance(type_, ir.ListOf):
        yield "is no list", 3, path, "invalid_type"
        yield from _of_length("array", type_.limits, path, lambda n: [_item(protocol, type_)] * n)
    elif isinstance(type_, ir.MapOf):
        yield "is no map", [], path, "invalid_type"
        for label, value, at, code in _of_type(protocol, type_.value, member(path, "1")):
            yield f"value {label}", {"1": value}, at, code
        if type_.key == "int":
            yield "key", {"x": 1}, member(path, "x"), "invalid_value"
            yield "negative key", {"-1": 1}, member(path, "-1"), "invalid_value"
    elif isinstance(type_, ir.Raw) and type_.object_only:
        yield "is no object", [1], path, "invalid_type"
    elif isinstance(type_, ir.Ref):
        yield from _of_declaration(protocol, protocol.find(type_.name), path)


def _of_declaration(
    protocol: ir.Protocol, target: ir.Declaration, path: str
) -> Iterator[tuple[str, Any, str, str]]:
    if isinstance(target, ir.Enum):
        yield "is no word", 3, path, "invalid_type"
        if not target.open:
            yield "other word", "no such word", path, "invalid_value"
    elif isinstance(target, ir.Union):
        yield "is nothing of it", True, path, "invalid_type"
        if target.discriminator:
            at = member(path, target.discriminator)
            yield "has no tag", {}, at, "missing_required_parameter"
            yield "other tag", {target.discriminator: "no such tag"}, at, "invalid_value"
    else:
        yield "is no object", "text", path, "invalid_type"
        minimal = Samples(protocol, newer=False).minimal(target)
        for item in target.fields:
            at = member(path, item.name)
            if item.required:
                less = {key: value for key, value in minimal.items() if key != item.name}
                yield f"{item.name} missing", less, at, "missing_required_parameter"
            if isinstance(item.type, ir.Scalar):
                for label, value, where, code in _of_scalar(item.type, at):
                    yield f"{item.name} {label}", {**minimal, item.name: value}, where, code


def _of_scalar(type_: ir.Scalar, path: str) -> Iterator[tuple[str, Any, str, str]]:
    yield "wrong type", WRONG[type_.kind], path, "invalid_type"
    limits = type_.limits
    if type_.kind == "string":
        yield from _of_length("string", limits, path, lambda count: "\u00e9" * count)
    if type_.kind in NUMBER:
        kind = NUMBER[type_.kind]
        low = limits.ge if limits.ge is not None else limits.gt
        high = limits.le if limits.le is not None else limits.lt
        if low is not None:
            value = low if limits.gt is not None else low - 1
            yield "too low", value, path, f"{kind}_below_min_value"
        if high is not None:
            value = high if limits.lt is not None else high + 1
            yield "too high", value, path, f"{kind}_above_max_value"


def _of_length(
    kind: str, limits: ir.Limits, path: str, make: Any
) -> Iterator[tuple[str, Any, str, str]]:
    if limits.min_length:
        few = limits.min_length - 1
        yield (
            "too short",
            make(few),
            path,
            (f"empty_{kind}" if few == 0 else f"{kind}_below_min_length"),
        )
    if limits.max_length is not None:
        yield "too long", make(limits.max_length + 1), path, f"{kind}_above_max_length"


def _item(protocol: ir.Protocol, type_: ir.ListOf) -> Any:
    return Samples(protocol, newer=False).basic(type_.item)
