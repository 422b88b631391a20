"""Makes of declarations and routes what the templates of Kotlin are given."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from codegen import ir
from codegen.languages import common
from codegen.languages.common import EnumValueView
from codegen.languages.helpers import Style
from codegen.languages.kotlin_views import (
    AccessorView,
    EnumView,
    FieldView,
    OverloadView,
    RouteView,
    StructView,
    UnionView,
    VariantView,
    View,
)

# The hard keywords: they stand in backticks, so that a field keeps its name on the wire.
KEYWORDS = frozenset(
    """
    as break class continue do else false for fun if in interface is null object package return
    super this throw true try typealias typeof val var when while
    """.split()
)
GETTERS = frozenset({"class"})  # `getClass` is every Java object's
WIDTH = 100
JAVA_OVERLOADS_AT_MOST = 12  # fields; above that, so many constructors are no help


def _of_bytes(fields: tuple[FieldView, ...], sources: list[ir.Field]) -> Iterator[OverloadView]:
    """For each field that may be given as bytes, one that takes them."""
    for position, source in enumerate(sources):
        if source.or_bytes:
            plain = replace(fields[position], type="ByteArray")
            arguments = [f.name for f in fields]
            arguments[position] = f"dataUrl({plain.name})"
            kept = (*fields[:position], plain, *fields[position + 1 :])
            yield OverloadView(kept, tuple(arguments), any(f.initializer for f in kept))


@dataclass(frozen=True)
class Kotlin:
    declarations: Mapping[str, ir.Declaration]
    memberships: Mapping[str, list[str]]

    def style(self, helper: ir.Helper) -> Style:
        own = {d.names.name: d for d in helper.declarations}
        return Style(
            constant=str.upper,
            member=common.camel_case,
            case=common.pascal_case,
            type_of=replace(self, declarations={**self.declarations, **own}).type_of,
            optional=lambda type_: f"{type_}?",
            doc=_doc,
            literal=_quote,
            pattern=lambda text: _quote(text).replace("{", "${"),
        )

    def view(self, declaration: ir.Declaration) -> View:
        if isinstance(declaration, ir.Struct):
            return self.struct(declaration)
        if isinstance(declaration, ir.Enum):
            return self._enum(declaration)
        return self._union(declaration)

    def _enum(self, enum: ir.Enum) -> EnumView:
        values = tuple(
            EnumValueView(_identifier(v.wire), _quote(v.wire), _doc(v.description, indent=12))
            for v in enum.values
        )
        common.check_distinct(enum.names.name, ["knownWords", *(value.name for value in values)])
        return EnumView(
            name_of(enum),
            _doc(enum.description),
            values,
            "".join(f", {name}" for name in self.memberships.get(enum.names.name, ())),
        )

    def struct(self, struct: ir.Struct) -> StructView:
        if not struct.fields:
            raise ValueError(f"{struct.names.name}: a data class needs a field")
        constants = [f for f in struct.fields if isinstance(f.type, ir.Const)]
        others = [f for f in struct.fields if f not in constants]
        # A constant is hardly ever given: it stands last.
        fields = tuple(self._field(field) for field in (*others, *constants))
        common.check_distinct(struct.names.name, [field.name for field in fields])
        supertypes = ", ".join(self.memberships.get(struct.names.name, ()))
        return StructView(
            name=name_of(struct),
            doc=_doc(struct.description),
            fields=fields,
            supertypes=f" : {supertypes}" if supertypes else "",
            closed=struct.closed,
            java=len(fields) <= JAVA_OVERLOADS_AT_MOST and any(f.initializer for f in fields),
            overloads=tuple(
                (
                    *self._overloads(fields, {_identifier(f.name): f for f in others}),
                    *_of_bytes(fields, others),
                )
            ),
            accessors=tuple(self._accessors(others)),
        )

    def _field(self, field: ir.Field) -> FieldView:
        name, type_ = _identifier(field.name), self.field_type(field)
        annotations = []
        if name.strip("`") != field.name:
            annotations.append(f"@SerialName({_quote(field.name)})")
        initializer = self._initializer(field)
        if initializer and (initializer != " = null" or field.always):
            annotations.append("@EncodeDefault")
        doc = _doc(common.field_doc(field), indent=8)
        return FieldView(name, type_, initializer, doc, tuple(annotations))

    def _initializer(self, field: ir.Field) -> str:
        if isinstance(field.type, ir.Const):
            return f" = {_quote(field.type.value)}"
        if field.optional:
            return " = null"
        if field.default is None:
            return ""
        target = self._enum_of(field.type)
        if target is not None and not target.open:
            return f" = {name_of(target)}.{_identifier(str(field.default))}"
        if isinstance(field.type, ir.Scalar) and field.type.kind == "float":
            return f" = {float(str(field.default))!r}"
        return f" = {_quote(field.default)}"

    def _overloads(
        self, fields: tuple[FieldView, ...], by_name: Mapping[str, ir.Field]
    ) -> Iterator[OverloadView]:
        """For each union among the fields, one for each member that has a class around it."""
        for position, field in enumerate(fields):
            source = by_name.get(field.name)
            union = self._union_of(source.type) if source else None
            for variant in self._union(union).variants if union else ():
                if variant.wrapped:
                    plain = replace(field, type=variant.wrapped, initializer="", annotations=())
                    arguments = [f.name for f in fields]
                    arguments[position] = f"{variant.name}({field.name})"
                    yield OverloadView(
                        (*fields[:position], plain, *fields[position + 1 :]),
                        tuple(arguments),
                        not any(f.initializer for f in fields[:position]),
                    )

    def _text_lists(
        self, fields: tuple[FieldView, ...], by_name: Mapping[str, ir.Field]
    ) -> Iterator[OverloadView]:
        """For each union that may be a list of texts: one that takes a list of texts."""
        for position, field in enumerate(fields):
            union = self._union_of(by_name[field.name].type) if field.name in by_name else None
            for wrapper in self._wrappers_of_texts(union) if union else ():
                plain = replace(field, type="List<String>", initializer="", annotations=())
                arguments = [f.name for f in fields]
                arguments[position] = wrapper.format(field.name)
                kept = (*fields[:position], plain, *fields[position + 1 :])
                yield OverloadView(kept, tuple(arguments), java=False, jvm_suffix="OfTexts")

    def _wrappers_of_texts(self, union: ir.Union) -> Iterator[str]:
        """What makes the union of a list of texts: `PromptItems({}.map(::PromptItemText))`."""
        for variant in union.variants:
            item = (
                self._union_of(variant.type.item) if isinstance(variant.type, ir.ListOf) else None
            )
            for text in item.variants if item else ():
                if isinstance(text.type, ir.Scalar) and text.type.kind == "string":
                    assert item is not None
                    names = self.variant(union, variant).name, self.variant(item, text).name
                    yield f"{names[0]}({{}}.map(::{names[1]}))"

    def _accessors(self, fields: list[ir.Field]) -> Iterator[AccessorView]:
        for field in fields:
            enum, name = self._enum_of(field.type), _identifier(field.name)
            if enum is None or not enum.open:
                continue
            question = "?" if field.optional else ""
            call = (
                f"{name}?.let({name_of(enum)}::of)" if question else f"{name_of(enum)}.of({name})"
            )
            yield AccessorView(
                f"{common.camel_case(field.name)}Enum",
                name_of(enum) + question,
                call,
                _doc(f"`{field.name}` as a value that tells known words from unknown ones.", 4),
            )

    def _union(self, union: ir.Union) -> UnionView:
        variants = tuple(self.variant(union, variant) for variant in union.variants)
        subject = f"element.tag({_quote(union.discriminator)})" if union.discriminator else ""
        supertypes = ", ".join(self.memberships.get(union.names.name, ()))
        return UnionView(
            name_of(union),
            _doc(union.description),
            variants,
            f" ({subject})" if subject else "",
            f" : {supertypes}" if supertypes else "",
        )

    def variant(self, union: ir.Union, variant: ir.Variant) -> VariantView:
        type_ = self.type_of(variant.type)
        if isinstance(variant.type, ir.Ref):
            name, wrapped = type_, ""
        else:
            name, wrapped = name_of(union) + common.pascal_case(variant.name), type_
        condition = _quote(variant.tag) if variant.tag else f"element.{_TESTS[variant.json_type]}"
        doc = _doc(f"[{name_of(union)}] as {_SHAPES[variant.json_type]}.")
        return VariantView(name, wrapped, type_, condition, doc)

    def route(self, route: ir.Route) -> RouteView:
        request = self.declarations[route.request]
        assert isinstance(request, ir.Struct)
        view = self.struct(request)
        stream_field = _identifier(route.stream_field) if route.stream_field else ""
        fields = tuple(replace(f, annotations=()) for f in view.fields if f.name != stream_field)
        by_name = {_identifier(f.name): f for f in request.fields}
        plain = OverloadView(fields, tuple(f.name for f in fields), False)
        return RouteView(
            **common.route_names(route, _quote, lambda name: name_of(self.declarations[name])),
            signatures=(
                plain,
                *self._overloads(fields, by_name),
                *self._text_lists(fields, by_name),
            ),
            required=tuple(f for f in fields if not f.initializer),
            optional=tuple(f for f in fields if f.initializer),
        )

    def _enum_of(self, type_: ir.Type) -> ir.Enum | None:
        target = self.declarations[type_.name] if isinstance(type_, ir.Ref) else None
        return target if isinstance(target, ir.Enum) else None

    def _union_of(self, type_: ir.Type) -> ir.Union | None:
        target = self.declarations[type_.name] if isinstance(type_, ir.Ref) else None
        return target if isinstance(target, ir.Union) else None

    def field_type(self, field: ir.Field) -> str:
        """A word of an open enum is text, so that it can be compared with a literal."""
        enum = self._enum_of(field.type)
        type_ = "String" if enum is not None and enum.open else self.type_of(field.type)
        return f"{type_}?" if field.optional else type_

    def type_of(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar):
            scalars = {"bool": "Boolean", "int": "Long", "float": "Double", "string": "String"}
            return scalars[type_.kind]
        if isinstance(type_, ir.Const):
            return "String"
        if isinstance(type_, ir.Raw):
            return "JsonObject" if type_.object_only else "JsonElement"
        if isinstance(type_, ir.ListOf):
            return f"List<{self.type_of(type_.item)}>"
        if isinstance(type_, ir.MapOf):
            # Integer keys are token ids, which are never long; literals of the language are Int.
            return f"Map<{'Int' if type_.key == 'int' else 'String'}, {self.type_of(type_.value)}>"
        return name_of(self.declarations[type_.name])


_TESTS = {
    "boolean": "isBoolean",
    "number": "isNumber",
    "string": "isText",
    "array": "isArray",
    "object": "isObject",
}
_SHAPES = {
    "boolean": "a truth value",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
}


def name_of(declaration: ir.Declaration) -> str:
    return declaration.names.in_language("kotlin")


def member_name(wire_name: str) -> str:
    """How a field is called."""
    return _identifier(wire_name).strip("`")


def _identifier(name: str) -> str:
    identifier = common.escape(name, GETTERS)
    return f"`{identifier}`" if identifier in KEYWORDS else identifier


def _quote(value: bool | int | float | str | None) -> str:
    """A literal. In a Kotlin string a dollar sign begins a template."""
    return json.dumps(value, ensure_ascii=False).replace("$", "\\$")


def _doc(text: str, indent: int = 0) -> str:
    """A KDoc comment; `indent` stands before its first line already."""
    text = re.sub(r"\*/", "*&#47;", text.replace("/*", "/&#42;"))
    width = WIDTH - 8 - indent
    if "\n" not in text and len(text) <= width:
        return f"/** {text} */"
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])
