"""What the templates of Kotlin are given."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.languages import common


@dataclass(frozen=True)
class FieldView:
    """A constructor's parameter. `initializer` is text behind the type, such as ` = null`."""

    name: str
    type: str
    initializer: str
    doc: str
    annotations: tuple[str, ...] = ()


@dataclass(frozen=True)
class OverloadView:
    """A constructor or function that takes a member of a union in place of the union.

    `arguments` are what it hands on, by position. `java`: whether `@JvmOverloads` is of use.
    `jvm_suffix`: of the function's name in bytecode, where the types of two lists are the same.
    """

    fields: tuple[FieldView, ...]
    arguments: tuple[str, ...]
    java: bool
    jvm_suffix: str = ""


@dataclass(frozen=True)
class AccessorView:
    """The typed view of a field that holds a word of an open enum as text."""

    name: str
    type: str
    expression: str
    doc: str


@dataclass(frozen=True)
class StructView(common.View):
    fields: tuple[FieldView, ...]
    supertypes: str
    closed: bool
    java: bool
    overloads: tuple[OverloadView, ...]
    accessors: tuple[AccessorView, ...]


@dataclass(frozen=True)
class EnumView(common.EnumView):
    supertypes: str


@dataclass(frozen=True)
class VariantView:
    """`wrapped`: the Kotlin type inside a class of the variant's own; "" when none is needed."""

    name: str
    wrapped: str
    type: str
    condition: str
    doc: str


@dataclass(frozen=True)
class UnionView(common.View):
    """`subject` is what `when` looks at to tell the variants apart."""

    variants: tuple[VariantView, ...]
    subject: str
    supertypes: str


@dataclass(frozen=True)
class RouteView(common.RouteView):
    """`signatures`: the parameters without `stream`, first as they are, then with shorthands.

    `compatible`: MLC-LLM's parameters.
    """

    signatures: tuple[OverloadView, ...]
    required: tuple[FieldView, ...]
    optional: tuple[FieldView, ...]
    compatible: tuple[FieldView, ...] = ()


View = StructView | EnumView | UnionView
