"""Helpers: what their templates are given, and how each language writes names and texts."""

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

    def field_type(self, field: ir.Field) -> str:
        type_ = self.type_of(field.type)
        return self.optional(type_) if field.optional else type_

    def parameters(self, text: ir.Text) -> list[str]:
        return [self.member(name) for name in text.parameters]

    def text_name(self, text: ir.Text) -> str:
        return self.member(text.name) if text.parameters else self.constant(text.name)

    def text_value(self, text: ir.Text) -> str:
        renamed = re.sub(r"{(\w+)}", lambda m: "{" + self.member(m[1]) + "}", text.text)
        return self.pattern(renamed) if text.parameters else self.literal(text.text)


def render(
    template: str, protocol: ir.Protocol, helper: ir.Helper, style: Style, **values: object
) -> str:
    return common.render(
        template,
        stamp=common.stamp(protocol),
        helper=helper,
        style=style,
        kind=common.kind,
        texts_name=common.pascal_case(helper.name) + "Texts",
        number_type=style.type_of(ir.Scalar("int")),
        event_class=lambda event: _event_class(helper, event),
        **values,
    )


def _event_class(helper: ir.Helper, event: ir.Event) -> str:
    """By the union's name: `RunEvent` has `RunText`."""
    return helper.event_name.removesuffix("Event") + common.pascal_case(event.name)
