"""What the templates of Swift are given."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.languages import common


@dataclass(frozen=True)
class ParameterView:
    """Of a function: `name: type` with ` = default`, and what is handed on for it."""

    name: str
    declaration: str
    value: str


@dataclass(frozen=True)
class PropertyView:
    """`declaration` is what follows `public`; `read` and `write` are statements."""

    declaration: str
    doc: str
    read: str
    write: str


@dataclass(frozen=True)
class AliasView:
    """Another name of a type."""

    name: str
    type: str
    doc: str


@dataclass(frozen=True)
class StructView(common.View):
    """`overloads`: further initializers, which take texts where there is a union with one, or bytes
    where there is a URL.

    `known`: the keys, as an array, of an object that refuses all others; else "".
    """

    properties: tuple[PropertyView, ...]
    parameters: tuple[ParameterView, ...]
    overloads: tuple[tuple[ParameterView, ...], ...]
    known: str


@dataclass(frozen=True)
class CaseView:
    """`payload` and `test` are a union's: its value's type and the pattern of its tag or type."""

    name: str
    wire: str
    doc: str
    payload: str = ""
    test: str = ""


@dataclass(frozen=True)
class EnumView(common.View):
    """`known`: the cases but the unknown one, as an array."""

    cases: tuple[CaseView, ...]
    known: str


@dataclass(frozen=True)
class LiteralView:
    """A kind of literal that makes a value of a union."""

    protocol: str
    parameter: str
    value: str


@dataclass(frozen=True)
class UnionView(common.View):
    """`discriminator`: a literal, or "" when the JSON type tells; `expected`: for a message."""

    cases: tuple[CaseView, ...]
    discriminator: str
    expected: str
    literals: tuple[LiteralView, ...]


@dataclass(frozen=True)
class RouteView(common.RouteView):
    """`parameters` are the request's without `stream_field`."""

    stream_doc: str
    create: tuple[ParameterView, ...]
    parameters: tuple[ParameterView, ...]
