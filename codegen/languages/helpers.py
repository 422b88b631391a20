"""Helpers as views: what the languages' templates lay out, in the names and words of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from codegen import ir
from codegen.languages import common


@dataclass(frozen=True)
class Style:
    """How a language writes names, types, comments and texts.

    `constant`, `member` and `case` make names, `doc` takes a text and its indentation, `pattern`
    makes a literal of a text whose `{names}` are put in.
    """

    constant: Callable[[str], str]
    member: Callable[[str], str]
    case: Callable[[str], str]
    type_of: Callable[[ir.Type], str]
    optional: Callable[[str], str]
    doc: Callable[[str, int], str]
    literal: Callable[[str], str]
    pattern: Callable[[str], str]


@dataclass(frozen=True)
class MemberView:
    """A property, a word (`value` is its literal), an event or a number.

    An event is a `case`, or a class of its own where a language has no such.
    """

    name: str
    doc: str
    type: str = ""
    value: str = ""
    case: str = ""
    class_name: str = ""


@dataclass(frozen=True)
class TypeView:
    kind: str
    name: str
    doc: str
    members: tuple[MemberView, ...]


@dataclass(frozen=True)
class TextView:
    name: str
    parameters: tuple[str, ...]
    value: str
    doc: str


@dataclass(frozen=True)
class HelperView:
    file: str
    types: tuple[TypeView, ...]
    event: TypeView
    numbers: tuple[MemberView, ...]
    texts_name: str
    texts: tuple[TextView, ...]


def helper_view(helper: ir.Helper, style: Style) -> HelperView:
    return HelperView(
        file=common.pascal_case(helper.name),
        types=tuple(_type(d, style) for d in helper.declarations),
        event=_event(helper, style),
        numbers=tuple(
            MemberView(
                style.constant(n.name),
                style.doc(n.description, 0),
                style.type_of(ir.Scalar("int")),
                str(n.value),
            )
            for n in helper.numbers
        ),
        texts_name=common.pascal_case(helper.name) + "Texts",
        texts=tuple(_text(text, style) for text in helper.texts),
    )


def _type(declaration: ir.Struct | ir.Enum, style: Style) -> TypeView:
    members = (
        tuple(
            MemberView(
                style.constant(v.wire), style.doc(v.description, 4), value=style.literal(v.wire)
            )
            for v in declaration.values
        )
        if isinstance(declaration, ir.Enum)
        else tuple(
            MemberView(style.member(f.name), style.doc(f.description, 4), _field_type(f, style))
            for f in declaration.fields
        )
    )
    doc = style.doc(declaration.description, 4)
    return TypeView(common.kind(declaration), declaration.names.name, doc, members)


def _field_type(field: ir.Field, style: Style) -> str:
    type_ = style.type_of(field.type)
    return style.optional(type_) if field.optional else type_


def _event(helper: ir.Helper, style: Style) -> TypeView:
    """Its class is named by the union's name: `RunEvent` has `RunText`."""
    stem = helper.event_name.removesuffix("Event")
    members = tuple(
        MemberView(
            style.member(event.field),
            style.doc(event.description, 4),
            style.type_of(event.type),
            style.literal(event.name),
            style.case(event.name),
            stem + common.pascal_case(event.name),
        )
        for event in helper.events
    )
    return TypeView("event", helper.event_name, style.doc(helper.event_description, 0), members)


def _text(text: ir.Text, style: Style) -> TextView:
    parameters = tuple(style.member(name) for name in text.parameters)
    renamed = re.sub(r"{(\w+)}", lambda m: "{" + style.member(m[1]) + "}", text.text)
    value = style.pattern(renamed) if parameters else style.literal(text.text)
    name = style.member(text.name) if parameters else style.constant(text.name)
    return TextView(name, parameters, value, style.doc(text.description, 4))
