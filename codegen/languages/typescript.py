"""TypeScript: interfaces, codecs that read answers, typed `create` functions, and helpers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from codegen import ir
from codegen.languages import common, helpers
from codegen.languages.common import RouteView
from codegen.languages.helpers import Style

FOLDER = "bindings/web/src/protocol"
WIDTH = 100
# What the generated modules import or define themselves, and the globals that they use.
TAKEN_TYPES = (
    "AnswerStream", "AsyncIterable", "Calls", "Channel", "Codec", "JSONObject", "Promise",
    "Record", "RequestOptions", "Uint8Array",
)  # fmt: skip


@dataclass(frozen=True)
class MemberView:
    """A property of an interface: `name?: type`."""

    declaration: str
    doc: str


@dataclass(frozen=True)
class TypeView:
    """`members` of a struct, `words` of an enum, `types` of a union; `codec` is an expression."""

    kind: str
    name: str
    doc: str
    members: tuple[MemberView, ...] = ()
    options: tuple[str, ...] = ()
    codec: tuple[str, ...] = ()
    opening: str = ""
    closing: str = ""


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository."""
    language = _TypeScript(protocol, common.by_name(protocol))
    views = [language.view(d) for d in protocol.declarations]
    routes = [language.route(route) for route in protocol.routes]
    calls = common.call_views(protocol, common.camel_case, language.type_name)
    names = [*(v.name for v in views), *(r.class_name for r in routes)]
    names += [f"{r.request}Streaming" for r in routes if r.chunk]
    common.check_distinct("TypeScript types", [*TAKEN_TYPES, *names])
    stamp = common.stamp(protocol)

    def file(template: str, **values: object) -> str:
        return common.render(f"typescript/{template}.ts.j2", stamp=stamp, **values)

    return {
        f"{FOLDER}/types.gen.ts": file("types", declarations=views),
        f"{FOLDER}/codecs.gen.ts": file("codecs", declarations=views),
        f"{FOLDER}/routes.gen.ts": file("routes", routes=routes, calls=calls),
        **{
            f"{FOLDER}/{helper.name}.gen.ts": helpers.render(
                "typescript/helper.ts.j2",
                protocol,
                helper,
                language.style(helper),
                imports=language.imports(helper),
            )
            for helper in protocol.helpers
        },
    }


def member_name(wire_name: str) -> str:
    """How a field is called: as on the wire, since any word may name a property."""
    return wire_name


@dataclass(frozen=True)
class _TypeScript:
    protocol: ir.Protocol
    declarations: Mapping[str, ir.Declaration]

    def style(self, helper: ir.Helper) -> Style:
        own = {d.names.name: d for d in helper.declarations}
        return Style(
            constant=str.upper,
            member=common.camel_case,
            case=str,
            type_of=_TypeScript(self.protocol, {**self.declarations, **own}).type_of,
            optional=lambda type_: f"{type_} | null",
            doc=lambda text, indent: _doc(text, " " * min(indent, 2)),
            literal=_quote,
            pattern=lambda text: f"`{_escaped(text)}`",
        )

    def imports(self, helper: ir.Helper) -> list[str]:
        """The protocol's types that a helper names."""
        own = {d.names.name for d in helper.declarations}
        types = [f.type for d in helper.declarations if isinstance(d, ir.Struct) for f in d.fields]
        found = {
            name for t in (*types, *(e.type for e in helper.events)) for name in common.types_in(t)
        }
        return sorted(self.type_name(name) for name in found - own)

    def view(self, declaration: ir.Declaration) -> TypeView:
        if isinstance(declaration, ir.Struct):
            return self._struct(declaration)
        if isinstance(declaration, ir.Enum):
            words = tuple(_quote(value.wire) for value in declaration.values)
            facts = [f"{_quote(v.wire)}: {v.description}" for v in declaration.values]
            doc = _doc("\n".join([declaration.description, "", *facts]))
            options = (*words, "(string & {})") if declaration.open else words
            return TypeView(
                "enum", self._name(declaration), doc, (), options, words, "words([", "])"
            )
        return self._union(declaration)

    def route(self, route: ir.Route) -> RouteView:
        return RouteView(**common.route_names(route, _quote, self.type_name))

    def _name(self, declaration: ir.Declaration) -> str:
        return declaration.names.in_language("typescript")

    def type_name(self, name: str) -> str:
        """Of the type that the schema calls so."""
        return self._name(self.declarations[name])

    def _struct(self, struct: ir.Struct) -> TypeView:
        return TypeView(
            kind="struct",
            name=self._name(struct),
            doc=_doc(struct.description),
            members=tuple(self._member(field, struct.usage) for field in struct.fields),
            codec=tuple(self._field_codec(field) for field in struct.fields),
            opening="closed([" if struct.closed else "struct([",
            closing="])",
        )

    def _member(self, field: ir.Field, usage: ir.Usage) -> MemberView:
        type_ = self.type_of(field.type)
        if field.or_bytes and usage.in_requests:
            type_ += " | Uint8Array"
        mark = ""
        if usage.in_requests and not field.required:
            mark, type_ = "?", f"{type_} | null"
        elif field.always:
            type_ = f"{type_} | null"
        elif field.optional:
            mark = "?"
        return MemberView(f"{field.name}{mark}: {type_}", _doc(common.field_doc(field), "  "))

    def _field_codec(self, field: ir.Field) -> str:
        codec = "bytes" if field.or_bytes else self._codec(field.type)
        if field.default is not None:
            return f"defaulted({_quote(field.name)}, {codec}, {json.dumps(field.default)})"
        presence = "always" if field.always else "optional" if field.optional else "required"
        return f"{presence}({_quote(field.name)}, {codec})"

    def _union(self, union: ir.Union) -> TypeView:
        if union.discriminator:
            opening = f"tagged({_quote(union.discriminator)}, ["
        else:
            opening = "either(["
        return TypeView(
            kind="union",
            name=self._name(union),
            doc=_doc(union.description),
            options=tuple(self.type_of(variant.type) for variant in union.variants),
            codec=tuple(self._variant(variant) for variant in union.variants),
            opening=opening,
            closing="])",
        )

    def _variant(self, variant: ir.Variant) -> str:
        test = _quote(variant.tag or variant.json_type)
        return f"variant({_quote(variant.name)}, {test}, {self._codec(variant.type)})"

    def type_of(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar):
            words = {"bool": "boolean", "int": "number", "float": "number", "string": "string"}
            return words[type_.kind]
        if isinstance(type_, ir.Const):
            return _quote(type_.value)
        if isinstance(type_, ir.ListOf):
            return f"{self.type_of(type_.item)}[]"
        if isinstance(type_, ir.MapOf):
            key = "number" if type_.key == "int" else "string"
            return f"Record<{key}, {self.type_of(type_.value)}>"
        if isinstance(type_, ir.Raw):
            return "JSONObject" if type_.object_only else "unknown"
        return self.type_name(type_.name)

    def _codec(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar):
            return {"bool": "flag", "int": "whole", "float": "float", "string": "text"}[type_.kind]
        if isinstance(type_, ir.Const):
            return f"constant({_quote(type_.value)})"
        if isinstance(type_, ir.ListOf):
            return f"list({self._codec(type_.item)})"
        if isinstance(type_, ir.MapOf):
            return f"{'numbered' if type_.key == 'int' else 'named'}({self._codec(type_.value)})"
        if isinstance(type_, ir.Raw):
            return "object" if type_.object_only else "anything"
        return self.type_name(type_.name)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    """In a template literal: `{name}` is put in, everything else stands for itself."""
    replace: tuple[tuple[str, str], ...] = (("\\", "\\\\"), ("`", "\\`"), ("$", "\\$"))
    for old, new in replace:
        text = text.replace(old, new)
    return text.replace("{", "${")


def _doc(text: str, indent: str = "") -> str:
    """A comment with its signs; `indent` stands before its first line already."""
    text = text.replace("*/", "* /")
    width = WIDTH - len(indent) - len(" * ")
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]
    if len(lines) == 1 and len(lines[0]) + len(indent) + len("/**  */") <= WIDTH:
        return f"/** {lines[0]} */"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"/**\n{body}{indent} */"
