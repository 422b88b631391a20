"""What all languages share: a field's sentence, cases of letters, rendering."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from codegen import ir

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
COMMAND = "python -m codegen"


@dataclass(frozen=True)
class Stamp:
    """The first two lines of every generated file, without the comment sign."""

    source: str
    schema_hash: str


def stamp(protocol: ir.Protocol) -> Stamp:
    source = f"Generated from codegen/schema by `{COMMAND}`. Do not edit."
    return Stamp(source, protocol.schema_hash)


class _CompiledTemplates(jinja2.BytecodeCache):
    """By their text: compiling a template takes far longer than filling it."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _CompiledTemplates()


def render(template: str, **values: object) -> str:
    """Fills `templates/<template>`; an undefined name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        bytecode_cache=_COMPILED,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)


def pascal_case(word: str) -> str:
    """`tool_calls` and `chat.completions` as `ToolCalls` and `ChatCompletions`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^0-9A-Za-z]+", word))


def camel_case(word: str) -> str:
    """`kv.save` and `who_ever` as `kvSave` and `whoEver`."""
    name = pascal_case(word)
    return name[:1].lower() + name[1:]


def escape(name: str, reserved: frozenset[str]) -> str:
    """A wire name as an identifier: a reserved word gets an underscore behind it."""
    identifier = re.sub(r"\W", "_", name)
    if identifier[:1].isdigit() or identifier.startswith("_"):
        identifier = "n" + identifier
    return identifier + "_" if identifier in reserved else identifier


def check_distinct(where: str, names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"{where}: names that clash: {sorted(names)}")


def article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def field_doc(field: ir.Field) -> str:
    """The field's sentence, then what is known of its values."""
    leaf = leaf_limits(field.type)
    facts = [field.description, _range(leaf), _count("Length", leaf)]
    if isinstance(field.type, ir.ListOf):
        facts.append(_count("Items", field.type.limits))
    if field.required_when:
        roles = " or ".join(f"`{value}`" for value in field.required_when.values)
        facts.append(f"Required when `{field.required_when.field}` is {roles}.")
    if field.default is not None:
        facts.append(f"Default: {_show(field.default)}.")
    if field.unit:
        facts.append(f"Unit: {field.unit}.")
    return " ".join(fact for fact in facts if fact)


def leaf_limits(type_: ir.Type) -> ir.Limits:
    """The limits of the numbers or strings in lists and maps of them."""
    if isinstance(type_, ir.Scalar):
        return type_.limits
    if isinstance(type_, ir.ListOf):
        return leaf_limits(type_.item)
    if isinstance(type_, ir.MapOf):
        return leaf_limits(type_.value)
    return ir.NO_LIMITS


def _range(limits: ir.Limits) -> str:
    low = _bound("at least", limits.ge) or _bound("above", limits.gt)
    high = _bound("at most", limits.le) or _bound("below", limits.lt)
    parts = " and ".join(part for part in (low, high) if part)
    return f"Range: {parts}." if parts else ""


def _bound(words: str, bound: float | None) -> str:
    return "" if bound is None else f"{words} {number(bound)}"


def number(value: float) -> str:
    """All its digits: 2147483647, 0.85."""
    return str(int(value)) if value == int(value) else repr(value)


def _count(word: str, limits: ir.Limits) -> str:
    low = "" if limits.min_length is None else f"at least {limits.min_length}"
    high = "" if limits.max_length is None else f"at most {limits.max_length}"
    parts = " and ".join(part for part in (low, high) if part)
    return f"{word}: {parts}." if parts else ""


def _show(default: bool | int | float | str) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    return f"`{default}`" if isinstance(default, str) else number(default)


def types_in(type_: ir.Type) -> set[str]:
    """The names of the declared types in a type."""
    if isinstance(type_, ir.Ref):
        return {type_.name}
    if isinstance(type_, ir.ListOf):
        return types_in(type_.item)
    return types_in(type_.value) if isinstance(type_, ir.MapOf) else set()


def by_name(protocol: ir.Protocol) -> Mapping[str, ir.Declaration]:
    return {d.names.name: d for d in protocol.declarations}


def all_routes(protocol: ir.Protocol) -> list[ir.Route | ir.Call | ir.PlainRoute]:
    """Everything that a request can be submitted to."""
    return [*protocol.routes, *protocol.calls, *protocol.plain_routes]


@dataclass(frozen=True)
class View:
    """What a template is given of a declaration."""

    name: str
    doc: str

    @property
    def kind(self) -> str:
        """`struct`, `enum` or `union`, by which a template picks a layout."""
        return type(self).__name__.removesuffix("View").lower()


@dataclass(frozen=True)
class EnumValueView:
    name: str
    wire: str
    doc: str


@dataclass(frozen=True)
class EnumView(View):
    values: tuple[EnumValueView, ...]


@dataclass(frozen=True)
class RouteView:
    """`chunk` and `stream_field` are "" where nothing is streamed."""

    route: str
    class_name: str
    request: str
    response: str
    chunk: str
    stream_field: str


def route_names(
    route: ir.Route, literal: Callable[[str], str], type_: Callable[[str], str]
) -> dict[str, str]:
    """The fields of a RouteView. `type_`: how the language calls the type that has this name."""
    return {
        "route": literal(route.name),
        "class_name": pascal_case(route.name),
        "request": type_(route.request),
        "response": type_(route.response),
        "chunk": type_(route.chunk) if route.chunk else "",
        "stream_field": route.stream_field or "",
    }


@dataclass(frozen=True)
class CallView:
    """A route that gives one answer, as a function of the engine's. `route` is a literal."""

    route: str
    name: str
    request: str
    response: str


def call_views(
    protocol: ir.Protocol, function: Callable[[str], str], type_: Callable[[str], str]
) -> list[CallView]:
    """`function` and `type_`: how the language calls what has this name."""
    check_distinct("functions", [function(call.name) for call in protocol.calls])
    return [
        CallView(f'"{c.name}"', function(c.name), type_(c.request), type_(c.response))
        for c in protocol.calls
    ]


def kind(declaration: Any) -> str:
    """`struct`, `union` or `enum`, by which a template picks a layout."""
    return type(declaration).__name__.lower()
