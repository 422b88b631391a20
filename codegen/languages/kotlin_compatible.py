"""Kotlin's `OpenAIProtocol`: MLC-LLM's types, with the members and numbers that they have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codegen import ir
from codegen.languages.kotlin_declarations import Kotlin, name_of
from codegen.languages.kotlin_views import (
    EnumView,
    FieldView,
    OverloadView,
    RouteView,
    StructView,
    UnionView,
    VariantView,
)

# What a default or an annotation of the schema cannot say.
INITIALIZERS = {("ChatToolCall", "id"): ("String", " = UUID.randomUUID().toString()")}
ANNOTATIONS = {
    ("ChatToolCall", "id"): "@EncodeDefault",
    ("ChatFunction", "parameters"): "@Serializable(with = JsonMembersSerializer::class)",
    ("ChatFunctionCall", "arguments"): (
        "@EncodeDefault @Serializable(with = JsonTextSerializer::class)"
    ),
}
MEMBERS = {
    "CompletionUsageExtra": """\
/** The speeds as text: `prefill: 120.5 tok/s, decode: 33.1 tok/s`. */
fun asTextLabel(): String = speedLabel(prefill_tokens_per_s, decode_tokens_per_s)
""",
    "ChatCompletionStreamResponse": """\
/** Why the answer ended early: a failure is the last element. MLC-LLM has no such member. */
@kotlinx.serialization.Transient
var error: MLCException? = null
""",
}


@dataclass(frozen=True)
class CompatibleView:
    """`view` with the names that it has beside its own, and functions of its own as text."""

    view: StructView | EnumView | UnionView
    others: tuple[str, ...]
    members: str


@dataclass(frozen=True)
class _MlcLlm(Kotlin):
    """A union is a class that takes each of its members; numbers are `Int` and `Float`."""

    def type_of(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar) and type_.kind in ("int", "float"):
            return "Int" if type_.kind == "int" else "Float"
        return super().type_of(type_)

    def variant(self, union: ir.Union, variant: ir.Variant) -> VariantView:
        return replace(super().variant(union, variant), name=name_of(union))

    def struct(self, struct: ir.Struct) -> StructView:
        view = super().struct(struct)
        fields = tuple(_special(view.name, field) for field in view.fields)
        return replace(
            view, fields=fields, overloads=tuple(_special_overload(o) for o in view.overloads)
        )


def _special(struct: str, field: FieldView) -> FieldView:
    key = (struct, field.name)
    annotation = ANNOTATIONS.get(key)
    type_, initializer = INITIALIZERS.get(key, (field.type, field.initializer))
    return replace(
        field,
        type=type_,
        initializer=initializer,
        annotations=(*field.annotations, annotation) if annotation else field.annotations,
    )


def _special_overload(overload: OverloadView) -> OverloadView:
    """No overloads of overloads for Java: they would be the same for a text and for parts."""
    return replace(overload, java=False)


def views(protocol: ir.Protocol) -> list[CompatibleView]:
    declarations: Mapping[str, ir.Declaration] = {
        c.declaration.names.name: c.declaration for c in protocol.compatible
    }
    language = _MlcLlm(declarations, {})
    return [
        CompatibleView(
            language.view(c.declaration), c.others, MEMBERS.get(name_of(c.declaration), "")
        )
        for c in protocol.compatible
    ]


def with_request(route: RouteView, compatible: Sequence[CompatibleView]) -> RouteView:
    """The route with MLC-LLM's parameters, if its request is one of MLC-LLM's."""
    for item in compatible:
        if isinstance(item.view, StructView) and item.view.name == route.request:
            own = [c.view.name for c in compatible]
            return replace(
                route,
                compatible=tuple(
                    replace(f, type=_qualified(f.type, own)) for f in item.view.fields
                ),
            )
    return route


def _qualified(type_: str, own: Sequence[str]) -> str:
    """`List<ChatTool>?` as `List<OpenAIProtocol.ChatTool>?`."""
    for name in own:
        if type_.strip("?").removeprefix("List<").removesuffix(">") == name:
            return type_.replace(name, f"OpenAIProtocol.{name}")
    return type_
