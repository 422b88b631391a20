"""Markdown: docs/api.md, the reference of every type, and how each language spells each field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from codegen import ir
from codegen.languages import common, cpp, kotlin, python, swift, typescript

# A language module says by `member_name(wire_name)` how a field is called in it.
COLUMNS: Mapping[str, ModuleType] = {
    "C++": cpp,
    "Python": python,
    "Swift": swift,
    "Kotlin": kotlin,
    "TypeScript": typescript,
}


@dataclass(frozen=True)
class FieldView:
    name: str
    type: str
    presence: str
    doc: str


@dataclass(frozen=True)
class ValueView:
    word: str
    doc: str


@dataclass(frozen=True)
class TypeView:
    """`rows` are a struct's fields, an enum's words or a union's members."""

    kind: str
    name: str
    doc: str
    note: str
    rows: tuple[FieldView | ValueView, ...]


@dataclass(frozen=True)
class ParityView:
    """A field's names, one for each of COLUMNS."""

    field: str
    names: tuple[str, ...]


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository."""
    types = [_type(d, protocol) for d in protocol.declarations]
    text = common.render(
        "markdown/api.md.j2",
        stamp=common.stamp(protocol),
        routes=protocol.routes,
        calls=protocol.calls,
        types=types,
        languages=list(COLUMNS),
        parity=list(_parity(protocol)),
    )
    return {"docs/api.md": text}


def _type(declaration: ir.Declaration, protocol: ir.Protocol) -> TypeView:
    rows: tuple[FieldView | ValueView, ...]
    if isinstance(declaration, ir.Struct):
        rows = tuple(_field(item) for item in declaration.fields)
    elif isinstance(declaration, ir.Enum):
        rows = tuple(ValueView(f"`{v.wire}`", _cell(v.description)) for v in declaration.values)
    else:
        rows = tuple(_variant(variant) for variant in declaration.variants)
    return TypeView(
        kind=common.kind(declaration),
        name=declaration.names.name,
        doc=declaration.description,
        note=_note(declaration),
        rows=rows,
    )


def _note(declaration: ir.Declaration) -> str:
    """Who uses the type, what it is called elsewhere, and what is special about it."""
    usage = declaration.usage
    uses = [("requests", usage.in_requests), ("answers", usage.in_responses)]
    parts = ["In " + " and ".join(word for word, used in uses if used) + "."]
    parts += [f"In {language}: `{name}`." for language, name in declaration.names.overrides]
    if isinstance(declaration, ir.Struct) and declaration.closed:
        parts.append("A member that is not listed is an error.")
    if isinstance(declaration, ir.Enum):
        who = "Everybody keeps" if declaration.open else "Clients keep"
        parts.append(f"{who} a word that is not listed.")
    if isinstance(declaration, ir.Union) and declaration.discriminator:
        parts.append(f"`{declaration.discriminator}` tells which.")
    return " ".join(parts)


def _field(item: ir.Field) -> FieldView:
    presence = "required"
    if item.default is not None:
        presence = "default"
    elif not item.required:
        presence = "or null" if item.always else "optional"
    return FieldView(f"`{item.name}`", _type_of(item.type), presence, _cell(common.field_doc(item)))


def _variant(variant: ir.Variant) -> ValueView:
    return ValueView(f"`{variant.name}`", _type_of(variant.type))


def _type_of(type_: ir.Type) -> str:
    if isinstance(type_, ir.Scalar):
        return {"bool": "boolean", "int": "integer", "float": "number"}.get(type_.kind, type_.kind)
    if isinstance(type_, ir.Const):
        return f'`"{type_.value}"`'
    if isinstance(type_, ir.ListOf):
        return f"array of {_type_of(type_.item)}"
    if isinstance(type_, ir.MapOf):
        return f"map from {type_.key} to {_type_of(type_.value)}"
    if isinstance(type_, ir.Raw):
        return "any object" if type_.object_only else "any JSON"
    return f"[{type_.name}](#{type_.name.lower()})"


def _parity(protocol: ir.Protocol) -> Iterator[ParityView]:
    for declaration in protocol.declarations:
        if isinstance(declaration, ir.Struct):
            for item in declaration.fields:
                names = tuple(f"`{m.member_name(item.name)}`" for m in COLUMNS.values())
                yield ParityView(f"{declaration.names.name}.{item.name}", names)


def _cell(text: str) -> str:
    """One line, in which a bar does not end the cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
