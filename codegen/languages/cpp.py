"""C++17: plain structs with Parse and ToJson over the helpers of core/src/chat/protocol/wire.h."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from codegen import ir
from codegen.languages import common
from codegen.languages.common import EnumValueView, EnumView

KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq
    """.split()
)
TAKEN_TYPES = ("Json", "Result", "Status")  # of namespace mlc, which the protocol's stands in
UNION_MEMBERS = KEYWORDS | {"value"}  # a union keeps its variant in `value`


@dataclass(frozen=True)
class FieldView:
    """`reads` and `write` are calls on an ObjectReader and an ObjectWriter.

    `key` is the name on the wire as a literal, `access` reads the member of an `object`. A field
    that is `inherited` is declared by the struct's base.
    """

    key: str
    access: str

    declaration: str
    doc: str
    reads: tuple[str, ...]
    write: str
    inherited: bool = False


@dataclass(frozen=True)
class StructView(common.View):
    fields: tuple[FieldView, ...]
    schema_name: str
    known: str  # the keys, as C++ literals, of an object that refuses all others; else ""
    base: str = ""


@dataclass(frozen=True)
class VariantView:
    accessor: str
    type: str
    test: str
    limits: str


@dataclass(frozen=True)
class UnionView(common.View):
    """`expected` is a phrase for a message; `tags` and `held`, the names of the variants, are lists
    of C++ string literals.
    """

    variants: tuple[VariantView, ...]
    discriminator: str | None
    expected: str
    tags: str
    held: str


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    language = _Cpp(common.by_name(protocol), {base.names.name: base for base in protocol.bases})
    views = [language.view(d) for d in protocol.declarations]
    bases = [language.view(base) for base in protocol.bases]
    common.check_distinct("C++ types", [*TAKEN_TYPES, *(view.name for view in (*bases, *views))])
    routes = [_literal(route.name) for route in common.all_routes(protocol)]
    stamp = common.stamp(protocol)
    files = {
        f"core/src/chat/protocol/protocol.gen.{suffix}": common.render(
            f"cpp/protocol.{suffix}.j2", stamp=stamp, declarations=[*bases, *views], routes=routes
        )
        for suffix in ("h", "cc")
    }
    structs = [view for view in views if isinstance(view, StructView)]
    unions = [view for view in views if isinstance(view, UnionView)]
    files["tests/bindings/c/access.gen.h"] = common.render(
        "cpp/access.h.j2", stamp=stamp, structs=structs, unions=unions
    )
    return files


@dataclass(frozen=True)
class _Cpp:
    declarations: Mapping[str, ir.Declaration]
    bases: Mapping[str, ir.Struct]

    def view(self, declaration: ir.Declaration) -> StructView | EnumView | UnionView:
        if isinstance(declaration, ir.Struct):
            return self._struct(declaration)
        if isinstance(declaration, ir.Enum):
            return self._enum(declaration)
        return self._union(declaration)

    def _name(self, declaration: ir.Declaration) -> str:
        return declaration.names.in_language("cpp")

    def _struct(self, struct: ir.Struct) -> StructView:
        fields = tuple(self._field(struct, field) for field in struct.fields)
        if base := self.bases.get(struct.base):
            fields = tuple(
                replace(view, inherited=field in base.fields)
                for view, field in zip(fields, struct.fields, strict=True)
            )
        names = [member_name(field.name) for field in struct.fields]
        common.check_distinct(struct.names.name, names)
        known = ", ".join(_literal(field.name) for field in struct.fields) if struct.closed else ""
        name, schema_name = self._name(struct), struct.names.name
        return StructView(name, struct.description, fields, schema_name, known, struct.base)

    def _enum(self, enum: ir.Enum) -> EnumView:
        values = tuple(
            EnumValueView(_enumerator(v.wire), _literal(v.wire), v.description) for v in enum.values
        )
        common.check_distinct(enum.names.name, [value.name for value in values])
        return EnumView(self._name(enum), enum.description, values)

    def _union(self, union: ir.Union) -> UnionView:
        variants = tuple(
            VariantView(
                accessor=common.escape(variant.name, UNION_MEMBERS),
                type=self.type_of(variant.type),
                test=_test(variant),
                limits=_limits(variant.type) or "wire::Limits()",
            )
            for variant in union.variants
        )
        common.check_distinct(union.names.name, [variant.accessor for variant in variants])
        phrases = [common.article(variant.json_type) for variant in union.variants]
        return UnionView(
            name=self._name(union),
            doc=union.description,
            variants=variants,
            discriminator=_literal(union.discriminator) if union.discriminator else None,
            expected=_literal("one of " + " or ".join(phrases)),
            tags=", ".join(_literal(variant.tag) for variant in union.variants if variant.tag),
            held=", ".join(_literal(variant.name) for variant in union.variants),
        )

    def _field(self, struct: ir.Struct, field: ir.Field) -> FieldView:
        name, key = member_name(field.name), _literal(field.name)
        if isinstance(field.type, ir.Const):
            value = _literal(field.type.value)
            constant = f"k{common.pascal_case(field.name)}"
            call = f"Constant({key}, {value})"
            return FieldView(
                key=key,
                access=f"object.{constant}",
                declaration=f"static constexpr char {constant}[] = {value}",
                doc=common.field_doc(field),
                reads=(call,),
                write=call,
            )
        declared = self.type_of(field.type)
        if field.optional:
            declared = f"std::optional<{declared}>"
        return FieldView(
            key=key,
            access=f"object.{name}",
            declaration=f"{declared} {name}{self._initializer(field)}",
            doc=common.field_doc(field),
            reads=(*self._condition(struct, field), self._read(field, key, name)),
            write=f"{_write_call(field)}({key}, {name})",
        )

    def _read(self, field: ir.Field, key: str, name: str) -> str:
        arguments = ", ".join(filter(None, (key, f"&out.{name}", _limits(field.type))))
        if isinstance(field.type, ir.Raw) and field.type.object_only:
            return f"RawObject({arguments})"
        if field.required:
            return f"Required({arguments})"
        return f"{'Optional' if field.optional else 'Defaulted'}({arguments})"

    def _condition(self, struct: ir.Struct, field: ir.Field) -> tuple[str, ...]:
        """The call that fails when the field is missing and `required_when` asks for it."""
        when = field.required_when
        if when is None:
            return ()
        other = next(f for f in struct.fields if f.name == when.field)
        name = member_name(other.name)
        tests = [f"out.{name} == {self._value(other.type, value)}" for value in when.values]
        return (f"RequiredWhen({_literal(field.name)}, {' || '.join(tests)})",)

    def _initializer(self, field: ir.Field) -> str:
        if field.optional:
            return ""
        if field.default is not None:
            return f" = {self._value(field.type, field.default)}"
        if isinstance(field.type, ir.Scalar) and field.type.kind != "string":
            return " = false" if field.type.kind == "bool" else " = 0"
        if isinstance(field.type, ir.Ref):
            target = self.declarations[field.type.name]
            if isinstance(target, ir.Enum):
                return f" = {self._value(field.type, target.values[0].wire)}"
        return ""

    def _value(self, type_: ir.Type, value: bool | int | float | str) -> str:
        """A value of the schema as a C++ expression."""
        if isinstance(type_, ir.Ref):
            return f"{self._name(self.declarations[type_.name])}::{_enumerator(str(value))}"
        return json.dumps(value)

    def type_of(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar):
            scalars = {"bool": "bool", "int": "int64_t", "float": "double", "string": "std::string"}
            return scalars[type_.kind]
        if isinstance(type_, ir.ListOf):
            return f"std::vector<{self.type_of(type_.item)}>"
        if isinstance(type_, ir.MapOf):
            key = "int64_t" if type_.key == "int" else "std::string"
            return f"std::map<{key}, {self.type_of(type_.value)}>"
        if isinstance(type_, ir.Raw):
            return "Json"
        if isinstance(type_, ir.Const):
            raise ValueError(f"the constant {type_.value!r} stands where only a field can")
        target = self.declarations[type_.name]
        is_open = isinstance(target, ir.Enum) and target.open
        return f"wire::OpenEnum<{self._name(target)}>" if is_open else self._name(target)


def member_name(wire_name: str) -> str:
    """How a field is called; a constant is `kPascalCase` of it."""
    return common.escape(wire_name, KEYWORDS)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _enumerator(word: str) -> str:
    return "k" + common.pascal_case(word)


def _write_call(field: ir.Field) -> str:
    if field.always:
        return "Always"
    return "Optional" if field.optional else "Required"


def _test(variant: ir.Variant) -> str:
    """The condition under which a union holds this variant, in Parse."""
    if variant.tag:
        return f"tag == {_literal(variant.tag)}"
    return {
        "boolean": "json.is_bool()",
        "number": "json.is_number()",
        "string": "json.is_string()",
        "array": "json.is_array()",
        "object": "json.is_object()",
    }[variant.json_type]


def _limits(type_: ir.Type) -> str:
    """The type's limits as a wire::Limits, or "" for none."""
    leaf = common.leaf_limits(type_)
    calls = [("AtLeast", leaf.ge), ("Above", leaf.gt), ("AtMost", leaf.le), ("Below", leaf.lt)]
    calls += [("MinLength", leaf.min_length), ("MaxLength", leaf.max_length)]
    if isinstance(type_, ir.ListOf):
        _refuse_nested(type_.item)
        calls += [("MinItems", type_.limits.min_length), ("MaxItems", type_.limits.max_length)]
    chain = "".join(
        f".{name}({common.number(bound)})" for name, bound in calls if bound is not None
    )
    return f"wire::Limits(){chain}" if chain else ""


def _refuse_nested(item: ir.Type) -> None:
    """wire::Limits bounds the number of items of the outermost list only."""
    if isinstance(item, ir.ListOf) and item.limits != ir.NO_LIMITS:
        raise ValueError("a list within a list cannot bound its items")
