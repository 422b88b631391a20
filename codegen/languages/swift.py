"""Swift: structs and enums that are `Codable, Sendable`, and the `create` of each route."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from codegen import ir
from codegen.languages import common, helpers
from codegen.languages.helpers import Style
from codegen.languages.swift_views import (
    AliasView,
    CaseView,
    EnumView,
    LiteralView,
    ParameterView,
    PropertyView,
    RouteView,
    StructView,
    UnionView,
)

# Words that backticks turn into a name; the name on the wire stays as it is.
KEYWORDS = frozenset(
    """
    Any actor as associatedtype async await break case catch class continue default defer deinit do
    each else enum extension fallthrough false fileprivate for func guard if import in indirect
    infix init inout internal is let macro mutating nil nonisolated nonmutating open operator
    optional override package postfix precedencegroup prefix private protocol public repeat rethrows
    return self Self some static struct subscript super switch throw throws true try typealias var
    where while
    """.split()
)
# Names that stay taken even in backticks, by the language or by what every generated type has. They
# get an underscore.
TAKEN_MEMBERS = frozenset("Protocol Type hashValue init jsonText jsonValue self".split())
# `.none` of an optional enum would be nil.
TAKEN_CASES = TAKEN_MEMBERS | frozenset("allKnown description none rawValue some unknown".split())
# Types of the language and of the binding's own, which the protocol's stand beside.
TAKEN_TYPES = (
    "Any", "Array", "AsyncStream", "AsyncThrowingStream", "Bool", "Character", "Decoder",
    "Dictionary", "Double", "Encoder", "Error", "Float", "Int", "JSONObject", "JSONValue",
    "MLCEngine", "MLCError", "ModelTool", "Never", "Optional", "Protocol", "Result", "Self", "Set",
    "StreamElement", "String", "Substring", "Task", "ToolOutcome", "ToolResult", "ToolRun",
    "ToolRunEvent", "ToolsTexts", "Type", "Void",
    "WireEnum", "WireFault", "WireObject", "WireReader", "WireValue", "WireWriter",
)  # fmt: skip
# Swift's arguments have an order. These come first, in the order of MLC-LLM's function, so that
# calls written for it compile.
MLC_LLM_ORDER = (
    "messages", "model", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs",
    "logit_bias", "max_tokens", "n", "seed", "stop", "stream", "stream_options", "temperature",
    "top_p", "tools", "user", "response_format",
)  # fmt: skip
# Apple's FoundationModels has types of these names, and an app may import both modules.
APART = {"Prompt": "PromptInput"}
# MLC-LLM's types that are written by hand (Compat/CompatibleAnswers.swift), with its numbers.
OWN_COMPATIBLE = frozenset(
    "ChatCompletionStreamResponseChoice LogProbs LogProbsContent TopLogProbs".split()
)
PACKAGE = "bindings/swift/Sources/MLCSwift"
FOLDER = f"{PACKAGE}/Generated"
WIDTH = 100


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository."""
    language = _Swift(protocol, common.by_name(protocol))
    views = [language.view(d) for d in protocol.declarations]
    routes = [language.route(route) for route in protocol.routes]
    calls = common.call_views(protocol, case_name, language.type_name)
    names = [*(view.name for view in views), *(route.class_name for route in routes)]
    common.check_distinct("Swift types", [*TAKEN_TYPES, *names])
    stamp = common.stamp(protocol)
    return {
        f"{FOLDER}/Types.gen.swift": common.render(
            "swift/types.swift.j2", stamp=stamp, declarations=views
        ),
        f"{PACKAGE}/Compat/Compatibility.gen.swift": common.render(
            "swift/compatibility.swift.j2", stamp=stamp, aliases=language.aliases()
        ),
        f"{FOLDER}/Completions.gen.swift": common.render(
            "swift/completions.swift.j2", stamp=stamp, routes=routes, calls=calls
        ),
        **{
            f"{FOLDER}/{common.pascal_case(helper.name)}.gen.swift": helpers.render(
                "swift/helper.swift.j2", protocol, helper, language.style(helper)
            )
            for helper in protocol.helpers
        },
    }


@dataclass(frozen=True)
class _Swift:
    protocol: ir.Protocol
    declarations: Mapping[str, ir.Declaration]

    def style(self, helper: ir.Helper) -> Style:
        own = {d.names.name: d for d in helper.declarations}
        return Style(
            constant=case_name,
            member=case_name,
            case=case_name,
            type_of=_Swift(self.protocol, {**self.declarations, **own}).type_of,
            optional=lambda type_: f"{type_}?",
            doc=lambda text, indent: _doc(text, " " * indent),
            literal=_literal,
            pattern=lambda text: _literal(text).replace("{", "\\(").replace("}", ")"),
        )

    def view(self, declaration: ir.Declaration) -> StructView | EnumView | UnionView:
        if isinstance(declaration, ir.Struct):
            return self._struct(declaration)
        if isinstance(declaration, ir.Enum):
            return self._enum(declaration)
        return self._union(declaration)

    def route(self, route: ir.Route) -> RouteView:
        request = self.declarations[route.request]
        assert isinstance(request, ir.Struct)
        docs = {f.name: f.description for f in request.fields}
        create = self._parameters(request)
        return RouteView(
            **common.route_names(route, _literal, self.type_name),
            stream_doc=docs[route.stream_field] if route.stream_field else "",
            create=tuple(_streaming(p) if p.name == route.stream_field else p for p in create),
            parameters=tuple(p for p in create if p.name != route.stream_field),
        )

    def aliases(self) -> list[AliasView]:
        """MLC-LLM's names of types that have another name here."""
        chunks = {route.chunk for route in self.protocol.routes}
        views: list[AliasView] = []
        for item in self.protocol.compatible:
            name = item.declaration.names.name
            type_ = self.type_name(item.stands_for)
            if item.stands_for in chunks:
                type_ = f"StreamElement<{type_}>"
            if name != type_ and name not in OWN_COMPATIBLE:
                views.append(AliasView(name, type_, _doc(item.declaration.description)))
        return views

    def _name(self, declaration: ir.Declaration) -> str:
        name = declaration.names.in_language("swift")
        return APART.get(name, name)

    def type_name(self, name: str) -> str:
        """Of the type that the schema calls so."""
        return self._name(self.declarations[name])

    def _struct(self, struct: ir.Struct) -> StructView:
        names = [_member(field.name) for field in struct.fields]
        common.check_distinct(struct.names.name, names)
        parameters = self._parameters(struct)
        is_request = struct.names.name in {route.request for route in self.protocol.routes}
        takes = () if is_request else (self._text, self._bytes)
        overloads = (self._parameters(struct, take) for take in takes)
        return StructView(
            name=self._name(struct),
            doc=_doc(struct.description),
            properties=tuple(self._property(field) for field in struct.fields),
            parameters=parameters,
            overloads=tuple(overload for overload in overloads if overload != parameters),
            known=_array([_literal(f.name) for f in struct.fields]) if struct.closed else "",
        )

    def _property(self, field: ir.Field) -> PropertyView:
        name, key = _member(field.name), _literal(field.name)
        doc = _doc(common.field_doc(field), indent="    ")
        if isinstance(field.type, ir.Const):
            value = _literal(field.type.value)
            call = f"constant({key}, {value})"
            declared = f"let {name} = {value}"
            return PropertyView(declared, doc, f"try reader.{call}", f"writer.{call}")
        if field.optional:
            read = f"optional({key})"
        elif field.required:
            read = f"required({key})"
        else:
            read = f"defaulted({key}, {self._default(field)})"
        write = "always" if field.always else "optional" if field.optional else "required"
        return PropertyView(
            declaration=f"var {name}: {self._declared_type(field)}",
            doc=doc,
            read=_statement(f"self.{name} = try reader.{read}"),
            write=_statement(f"writer.{write}({key}, self.{name})"),
        )

    def _parameters(
        self, struct: ir.Struct, take: Callable[[ir.Field], ParameterView] | None = None
    ) -> tuple[ParameterView, ...]:
        """Of the initializer; `take` makes a parameter of a field."""
        fields = [f for f in struct.fields if not isinstance(f.type, ir.Const)]
        if struct.names.name in {route.request for route in self.protocol.routes}:
            fields.sort(key=_rank)
        return tuple((take or self._parameter)(field) for field in fields)

    def _parameter(self, field: ir.Field) -> ParameterView:
        name = _member(field.name)
        default = "" if field.required else f" = {self._default(field)}"
        return ParameterView(name, f"{name}: {self._declared_type(field)}{default}", name)

    def _bytes(self, field: ir.Field) -> ParameterView:
        """Bytes for a URL."""
        name = _member(field.name)
        if field.or_bytes:
            return ParameterView(name, f"{name}: Data", f"dataURL(of: {name})")
        return self._parameter(field)

    def _text(self, field: ir.Field) -> ParameterView:
        """A text for a union that may hold one."""
        union = self.declarations[field.type.name] if isinstance(field.type, ir.Ref) else None
        if isinstance(union, ir.Union):
            for variant in union.variants:
                if isinstance(variant.type, ir.Scalar) and variant.type.kind == "string":
                    name = _member(field.name)
                    return ParameterView(
                        name, f"{name}: String", f".{case_name(variant.name)}({name})"
                    )
        return self._parameter(field)

    def _declared_type(self, field: ir.Field) -> str:
        return self.type_of(field.type) + ("?" if field.optional else "")

    def _default(self, field: ir.Field) -> str:
        """The field's value when it is absent, as an expression."""
        if field.default is None:
            return "nil"
        if isinstance(field.type, ir.Ref):
            return f".{case_name(str(field.default))}"
        return _literal(field.default) if isinstance(field.default, str) else _number(field.default)

    def _enum(self, enum: ir.Enum) -> EnumView:
        cases = tuple(
            CaseView(case_name(v.wire), _literal(v.wire), _doc(v.description, indent="    "))
            for v in enum.values
        )
        common.check_distinct(enum.names.name, [case.name for case in cases])
        known = _array([f".{case.name}" for case in cases])
        return EnumView(self._name(enum), _doc(enum.description), cases, known)

    def _union(self, union: ir.Union) -> UnionView:
        cases = tuple(
            CaseView(
                name=case_name(variant.name),
                wire=_literal(variant.tag or ""),
                doc="",
                payload=self.type_of(variant.type),
                test=_literal(variant.tag) if variant.tag else f".{variant.json_type}",
            )
            for variant in union.variants
        )
        common.check_distinct(union.names.name, [case.name for case in cases])
        phrases = [common.article(variant.json_type) for variant in union.variants]
        return UnionView(
            name=self._name(union),
            doc=_doc(union.description),
            cases=cases,
            discriminator=_literal(union.discriminator) if union.discriminator else "",
            expected=_literal("one of " + " or ".join(phrases)),
            literals=tuple(view for v in union.variants for view in self._literals(v)),
        )

    def _literals(self, variant: ir.Variant) -> tuple[LiteralView, ...]:
        name = case_name(variant.name)
        if variant.tag is None and variant.json_type == "string":
            value = "value"
            if isinstance(variant.type, ir.Ref):
                value = f"{self.type_of(variant.type)}(rawValue: value)"
            protocol, parameter = "ExpressibleByStringInterpolation", "stringLiteral value: String"
            text = LiteralView(protocol, parameter, f".{name}({value})")
            return (text,)
        if isinstance(variant.type, ir.ListOf):
            item = self.type_of(variant.type.item)
            array = LiteralView(
                "ExpressibleByArrayLiteral", f"arrayLiteral value: {item}...", f".{name}(value)"
            )
            return (array,)
        return ()

    def type_of(self, type_: ir.Type) -> str:
        if isinstance(type_, ir.Scalar):
            scalars = {"bool": "Bool", "int": "Int", "float": "Double", "string": "String"}
            return scalars[type_.kind]
        if isinstance(type_, ir.Const):
            return "String"
        if isinstance(type_, ir.ListOf):
            return f"[{self.type_of(type_.item)}]"
        if isinstance(type_, ir.MapOf):
            key = "Int" if type_.key == "int" else "String"
            return f"[{key}: {self.type_of(type_.value)}]"
        if isinstance(type_, ir.Raw):
            return "JSONObject" if type_.object_only else "JSONValue"
        return self.type_name(type_.name)


def _streaming(parameter: ParameterView) -> ParameterView:
    """The parameter by which `create`, which always streams, can be told so."""
    return ParameterView(parameter.name, f"{parameter.name}: Bool = true", parameter.value)


def _rank(field: ir.Field) -> int:
    """Where a parameter stands: other required ones, MLC-LLM's, then those of the schema."""
    if field.name in MLC_LLM_ORDER:
        return MLC_LLM_ORDER.index(field.name)
    return -1 if field.required else len(MLC_LLM_ORDER)


def member_name(wire_name: str) -> str:
    """How a field is called."""
    return _member(wire_name).strip("`")


def _member(name: str, taken: frozenset[str] = TAKEN_MEMBERS) -> str:
    """A wire name as a property: a keyword in backticks."""
    identifier = common.escape(name, taken)
    return f"`{identifier}`" if identifier in KEYWORDS else identifier


def case_name(word: str) -> str:
    """A word as a case: `tool_calls` and `dark-red` as `toolCalls` and `darkRed`."""
    name = common.pascal_case(word)
    name = re.sub(r"^[A-Z]+?(?=[A-Z][a-z]|[^A-Z]|$)", lambda m: m[0].lower(), name)
    return _member(name, TAKEN_CASES)


def _literal(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})", r"\1\\u{\2}", quoted)


def _statement(text: str) -> str:
    """In a function's body: a call that is too long has its arguments on a line of their own."""
    return text if len(text) <= WIDTH - 8 else text.replace("(", "(\n            ", 1)


def _array(items: list[str]) -> str:
    """Of several items one a line, as an argument or a value in a type's body."""
    if len(items) < 2:
        return f"[{''.join(items)}]"
    return "[\n" + "".join(f"        {item},\n" for item in items) + "    ]"


def _number(value: bool | int | float) -> str:
    return json.dumps(value)


def _doc(text: str, indent: str = "") -> str:
    """The lines of a comment behind its first `/// `, which stands at `indent`."""
    width = WIDTH - len(indent) - len("/// ")
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]
    return "\n".join([lines[0], *(f"{indent}/// {line}".rstrip() for line in lines[1:])])
