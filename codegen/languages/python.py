"""Python: TypedDicts for what is sent, pydantic models for what is received, typed `create`."""

from __future__ import annotations

import json
import keyword
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from codegen import ir
from codegen.languages import common, helpers
from codegen.languages.helpers import Style

KEYWORDS = frozenset(keyword.kwlist)
# A pydantic field must not hide what a model is made of, such as `schema` or `copy`.
MODEL_MEMBERS = KEYWORDS | frozenset(
    name for name in (*dir(BaseModel), "to_dict") if not name.startswith("_")
)
# What the generated modules import or define themselves.
TAKEN_TYPES = (
    "Any", "BaseModel", "cast", "ClassVar", "ConfigDict", "Field", "ItemsView", "KeysView",
    "Literal", "Mapping", "Required", "Sequence", "TypeAlias", "ValuesView",
    "TypedDict", "AsyncIterator", "AsyncStream", "Iterator", "Protocol", "Self", "Stream",
    "TypeVar", "TYPE_CHECKING", "Unpack",
)  # fmt: skip
MEASUREMENTS = ("CompletionUsageExtra",)  # which can be read as a `dict`
FOLDER = "bindings/python/mlc_llm"
WIDTH = 100


@dataclass(frozen=True)
class AliasView:
    """`Name: TypeAlias = ...`: an enum or a union."""

    kind: str
    name: str
    type: str
    doc: str
    checked_type: str = ""  # what type checkers see, where it is another one


@dataclass(frozen=True)
class MemberView:
    """`initializer` is text behind the type, such as ` = None`."""

    name: str
    key: str
    type: str
    initializer: str
    doc: str


@dataclass(frozen=True)
class ClassView:
    """A pydantic model, or a TypedDict; one whose keys are no identifiers has `functional`.

    `nulls` are the members that are written as null when they have no value.
    """

    kind: str
    name: str
    base: str
    doc: str
    members: tuple[MemberView, ...]
    functional: bool = False
    nulls: tuple[str, ...] = ()


@dataclass(frozen=True)
class RouteView:
    """What a `create` function takes and gives, and which parameters it must be given.

    TypedDict cannot tell the latter at run time, since its annotations are strings. The words about
    streaming are "" where there is none. `fields_doc` is a docstring's list of the parameters.
    """

    route: str
    class_name: str
    params: str
    response: str
    chunk: str
    stream_field: str
    required: tuple[str, ...]
    fields_doc: str


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    language = _Python(protocol, common.by_name(protocol))
    views = [view for d in protocol.declarations for view in language.views(d)]
    common.check_distinct("Python types", [*TAKEN_TYPES, *(view.name for view in views)])
    routes = [language.route(route) for route in protocol.routes]
    imports = sorted({n for r in routes for n in (r.params, r.response, r.chunk) if n})
    stamp = common.stamp(protocol)
    return {
        f"{FOLDER}/types_gen.py": common.render(
            "python/types.py.j2", stamp=stamp, views=views, exports=[view.name for view in views]
        ),
        **_engine_words(stamp, language.declarations),
        f"{FOLDER}/sdk/completions_gen.py": common.render(
            "python/completions.py.j2", stamp=stamp, routes=routes, imports=imports
        ),
        **{
            f"{FOLDER}/sdk/{helper.name}_gen.py": helpers.render(
                "python/helper.py.j2",
                protocol,
                helper,
                language.style(helper),
                imports=language.received(),
            )
            for helper in protocol.helpers
        },
    }


def _engine_words(
    stamp: common.Stamp, declarations: Mapping[str, ir.Declaration]
) -> dict[str, str]:
    """The settings of an engine that take certain words alone, for the command line: a module that
    imports nothing."""
    config = declarations.get("EngineConfig")
    lines = []
    for field in config.fields if isinstance(config, ir.Struct) else ():
        type_ = declarations[field.type.name] if isinstance(field.type, ir.Ref) else None
        if isinstance(type_, ir.Enum) and not type_.open:
            words = tuple(value.wire for value in type_.values)
            lines.append(f"{field.name.upper()}S = {words}")
    head = [f"# {stamp.source}", f"# Schema hash: {stamp.schema_hash}"]
    head += ['"""The words that settings of an engine take."""', ""]
    return {f"{FOLDER}/sdk/engine_words_gen.py": "\n".join([*head, *lines, ""])} if lines else {}


@dataclass(frozen=True)
class _Python:
    protocol: ir.Protocol
    declarations: Mapping[str, ir.Declaration]

    def style(self, helper: ir.Helper) -> Style:
        own = {d.names.name: d for d in helper.declarations}
        whole = _Python(self.protocol, {**self.declarations, **own})
        return Style(
            constant=str.upper,
            member=str,
            case=str,
            type_of=whole._held,
            optional=lambda type_: f"{type_} | None",
            doc=lambda text, indent: _doc(text, " " * indent),
            literal=_quote,
            pattern=lambda text: "f" + _quote(text),
        )

    def received(self) -> list[str]:
        """The names of what a helper may be given."""
        return sorted(self._name(d) for d in self.declarations.values() if d.usage.in_responses)

    def _held(self, type_: ir.Type) -> str:
        """In an object of a helper: what the engine only reads is held as its JSON object."""
        if isinstance(type_, ir.ListOf):
            return f"list[{self._held(type_.item)}]"
        target = self.declarations[type_.name] if isinstance(type_, ir.Ref) else None
        if target is not None and target.usage == ir.Usage(in_requests=True):
            return "dict[str, Any]"
        return self.type_of(type_, sent=False, closed=True)

    def views(self, declaration: ir.Declaration) -> Iterator[AliasView | ClassView]:
        if isinstance(declaration, ir.Enum):
            doc = _doc(declaration.description)
            yield AliasView("alias", self._name(declaration), self._words(declaration), doc)
            return
        if declaration.usage.in_requests:
            if isinstance(declaration, ir.Union):
                yield self._union(declaration, sent=True)
            else:
                yield from self._params(declaration)
        if declaration.usage.in_responses:
            if isinstance(declaration, ir.Union):
                yield self._union(declaration, sent=False)
            else:
                yield self._model(declaration)

    def route(self, route: ir.Route) -> RouteView:
        request = self.declarations[route.request]
        assert isinstance(request, ir.Struct)
        return RouteView(
            route=route.name,
            class_name=common.pascal_case(route.name),
            params=_create_params(route.request),
            response=self._name(self.declarations[route.response]),
            chunk=self._name(self.declarations[route.chunk]) if route.chunk else "",
            stream_field=route.stream_field or "",
            required=tuple(_quote(f.name) for f in request.fields if f.required),
            fields_doc="\n".join(_argument_doc(f) for f in request.fields),
        )

    def _name(self, declaration: ir.Declaration, *, sent: bool = False) -> str:
        if sent and not isinstance(declaration, ir.Enum):
            return declaration.names.name + "Param"
        return declaration.names.in_language("python")

    def _words(self, enum: ir.Enum) -> str:
        literal = f"Literal[{', '.join(_quote(value.wire) for value in enum.values)}]"
        return f"{literal} | str" if enum.open else literal

    def _union(self, union: ir.Union, *, sent: bool) -> AliasView:
        members = [self.type_of(variant.type, sent=sent) for variant in union.variants]
        checked = members[0] if union.mostly_first else ""
        name, doc = self._name(union, sent=sent), _doc(union.description)
        return AliasView("alias", name, " | ".join(members), doc, checked)

    def _params(self, struct: ir.Struct) -> Iterator[ClassView]:
        """The TypedDict; of a route's request a chain of them, each with more fields.

        `create` takes `stream` by itself, helpers beside it take the typed fields.
        """
        name, doc = self._name(struct, sent=True), _class_doc(struct)
        members = {field.name: self._param(field) for field in struct.fields}
        base = "TypedDict"
        for part, apart in self._parts(struct):
            kept = tuple(members.pop(n) for n in [*members] if n not in apart)
            yield _typed_dict(part, base, doc, kept)
            base = part
        yield _typed_dict(name, base, doc, tuple(members.values()))

    def _parts(self, struct: ir.Struct) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The names of the TypedDicts that come before the whole, and the fields that they lack."""
        for route in self.protocol.routes:
            if route.request != struct.names.name:
                continue
            stream = (route.stream_field,) if route.stream_field else ()
            if route.typed_fields:
                yield _create_params(route.request, "CommonParams"), (*route.typed_fields, *stream)
            yield _create_params(route.request), stream

    def _param(self, field: ir.Field) -> MemberView:
        type_ = self.type_of(field.type, sent=True)
        if field.or_bytes:
            type_ = f"{type_} | bytes"
        if not field.required:
            type_ = f"{type_} | None"
        else:
            type_ = f"Required[{type_}]"
        return MemberView(field.name, _quote(field.name), type_, "", _member_doc(field))

    def _model(self, struct: ir.Struct) -> ClassView:
        members = tuple(self._attribute(field, struct.closed) for field in struct.fields)
        common.check_distinct(struct.names.name, [member.name for member in members])
        base = "_Config" if struct.closed else "_Model"
        if struct.names.name in MEASUREMENTS:
            base = "_Measurements"
        nulls = tuple(
            _quote(m.name) for m, f in zip(members, struct.fields, strict=True) if f.always
        )
        return ClassView(
            "model", self._name(struct), base, _class_doc(struct), members, nulls=nulls
        )

    def _attribute(self, field: ir.Field, closed: bool) -> MemberView:
        name = member_name(field.name)
        type_ = self.type_of(field.type, sent=False, closed=closed)
        default: str | None = None
        if isinstance(field.type, ir.Const):
            default = _quote(field.type.value)
        elif field.optional:
            type_, default = f"{type_} | None", "None"
        elif field.default is not None:
            default = repr(field.default)
        return MemberView(
            name, _quote(field.name), type_, _initializer(field, name, default), _member_doc(field)
        )

    def type_of(self, type_: ir.Type, *, sent: bool, closed: bool = False) -> str:
        """What is sent takes any sequence and mapping; what is received is a list and a dict.

        What is received takes words that no enum has, but in a `closed` object.
        """
        if isinstance(type_, ir.Scalar):
            return "str" if type_.kind == "string" else type_.kind
        if isinstance(type_, ir.Const):
            return f"Literal[{_quote(type_.value)}]"
        if isinstance(type_, ir.Raw):
            value = "object" if sent else "Any"
            return _mapping("str", value, sent=sent) if type_.object_only else value
        if isinstance(type_, ir.ListOf):
            item = self.type_of(type_.item, sent=sent, closed=closed)
            return f"{'Sequence' if sent else 'list'}[{item}]"
        if isinstance(type_, ir.MapOf):
            value = self.type_of(type_.value, sent=sent, closed=closed)
            keys = ("str", "int") if sent and type_.key == "int" else ("str",)
            return " | ".join(_mapping(key, value, sent=sent) for key in keys)
        target = self.declarations[type_.name]
        newer = isinstance(target, ir.Enum) and not target.open and not sent and not closed
        return self._name(target, sent=sent) + (" | str" if newer else "")


def member_name(wire_name: str) -> str:
    """How an answer's attribute is called; the keys of what is sent are the wire's own."""
    return common.escape(wire_name, MODEL_MEMBERS)


def _typed_dict(name: str, base: str, doc: str, members: tuple[MemberView, ...]) -> ClassView:
    functional = any(not m.name.isidentifier() or m.name in KEYWORDS for m in members)
    return ClassView("params", name, base, doc, members, functional)


def _create_params(request: str, kind: str = "CreateParams") -> str:
    return request.removesuffix("Request") + kind


def _mapping(key: str, value: str, *, sent: bool) -> str:
    return f"{'Mapping' if sent else 'dict'}[{key}, {value}]"


def _initializer(field: ir.Field, name: str, default: str | None) -> str:
    if name != field.name:
        return f" = Field({default or '...'}, alias={_quote(field.name)})"
    return "" if default is None else f" = {default}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _member_doc(field: ir.Field) -> str:
    return _doc(common.field_doc(field), indent="    ")


def _argument_doc(field: ir.Field) -> str:
    """A parameter in the docstring of `create`."""
    text = common.field_doc(field).replace("\n", " ").replace("\\", "\\\\")
    first, other = " " * 8, " " * 12
    return textwrap.fill(
        f"{field.name}: {text}", WIDTH, initial_indent=first, subsequent_indent=other
    )


def _class_doc(struct: ir.Struct) -> str:
    return _doc(struct.description, indent="    ")


def _doc(text: str, indent: str = "") -> str:
    """A docstring with its quotes, wrapped; `indent` stands before its first line already."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    width = WIDTH - len(indent) - len('"""' * 2)
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]
    if len(lines) == 1 and not text.endswith('"'):
        return f'"""{lines[0]}"""'
    body = "\n".join(f"{indent}{line}".rstrip() for line in lines[1:])
    return f'"""{lines[0]}\n{body}\n{indent}"""'
