"""Schema to IR: every decision about what the pydantic models mean is taken here.

Anything that a language could not express is refused with the place where it stands.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from codegen import ir, lower_errors
from codegen.annotations import limits as limits_of
from codegen.annotations import without_annotated, without_none
from codegen.lower_errors import SchemaError, check_sentence
from codegen.schema.base import (
    AnyJson,
    AnyObject,
    Case,
    ClosedEnum,
    CompatibleModel,
    HelperModel,
    Model,
    OneOf,
    OpenEnum,
    ProtocolRoots,
    RouteModel,
    SamplingModel,
)


def lower(roots: ProtocolRoots) -> ir.Protocol:
    """The whole protocol; each declaration stands after those it uses."""
    _check_step_inputs(roots.step_inputs)
    lowering = _Lowering()
    for model in (*roots.requests, *roots.responses):
        lowering.declare(model, model.__name__)
    declarations = lowering.used_in(roots.requests, roots.responses)
    for server_model in (*roots.server_requests, *roots.server_responses):
        lowering.declare(server_model, server_model.__name__)
    server = lowering.used_in(roots.server_requests, roots.server_responses)[len(declarations) :]
    routes = tuple(_route(route) for route in roots.routes)
    calls = tuple(
        ir.Call(call.name, call.request.__name__, call.response.__name__) for call in roots.calls
    )
    helpers = tuple(_helper(lowering, helper) for helper in roots.helpers)
    used = {d.base for d in declarations if isinstance(d, ir.Struct)}
    return ir.Protocol(
        declarations=declarations,
        routes=routes,
        calls=calls,
        server=server,
        helpers=helpers,
        compatible=tuple(_compatible(roots.compatible)),
        plain_routes=roots.plain_routes,
        bases=tuple(base for name, base in lowering.bases.items() if name in used),
        sampling=_sampling(lowering, roots.sampling) if roots.sampling else None,
        errors=lower_errors.lower(roots.errors) if roots.errors else None,
        step_inputs=roots.step_inputs,
    )


def _sampling(lowering: _Lowering, model: SamplingModel) -> ir.Sampling:
    fields = lowering.base_of(model.fields)
    given = (
        (field, _extra(model.fields.model_fields[field.name])["neutral"]) for field in fields.fields
    )
    numbers = tuple(ir.SamplingNumber(field, value) for field, value in given if value is not None)
    for number in numbers:
        if not isinstance(number.field.type, ir.Scalar) or not number.field.optional:
            raise SchemaError(f"{number.field.name}: only a number that may be absent is neutral")
    for record in model.records:
        for word in record.words:
            check_sentence(word.description, f"{record.name}.{word.name}")
    return ir.Sampling(fields, numbers, model.records, model.meaning)


def _check_step_inputs(rows: Iterable[ir.StepInput]) -> None:
    names: list[str] = []
    for row in rows:
        check_sentence(row.description, row.name)
        if not isinstance(row.shape[0], str) or not all(isinstance(e, int) for e in row.shape[1:]):
            raise SchemaError(f"{row.name}: the first extent of an input is its run-time size")
        if row.name in names or (isinstance(row.unset, str) and row.unset not in names):
            raise SchemaError(f"{row.name}: is there twice, or is copied from a later input")
        names.append(row.name)


def _helper(lowering: _Lowering, helper: HelperModel) -> ir.Helper:
    for model in helper.types:
        lowering.declare(model, helper.name)
    own = [lowering.declarations[model.__name__] for model in helper.types]
    for item in (*helper.events, *helper.numbers, *helper.texts):
        check_sentence(item.description, f"{helper.name}.{item.name}")
    return ir.Helper(
        name=helper.name,
        declarations=tuple(d for d in own if isinstance(d, (ir.Struct, ir.Enum))),
        event_name=helper.event_name,
        event_description=helper.event_description,
        events=tuple(
            ir.Event(e.name, e.field, lowering.type_of(e.type, (), e.name), e.description)
            for e in helper.events
        ),
        numbers=helper.numbers,
        texts=helper.texts,
    )


def _compatible(models: Iterable[CompatibleModel]) -> Iterator[ir.Compatible]:
    """MLC-LLM's types, in a scope of their own."""
    scope = _Lowering()
    for item in models:
        name = scope.declare(item.model, item.model.__name__).name
        yield ir.Compatible(scope.declarations[name], item.stands_for.__name__, item.others)


def _route(route: RouteModel) -> ir.Route:
    return ir.Route(
        name=route.name,
        request=route.request.__name__,
        response=route.response.__name__,
        chunk=route.chunk.__name__ if route.chunk else None,
        stream_field=route.stream_field,
        typed_fields=route.typed_fields,
    )


@dataclass
class _Lowering:
    declarations: dict[str, ir.Declaration] = field(default_factory=dict)
    models: dict[str, type] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # being declared: one in here is a cycle
    uses: dict[str, set[str]] = field(default_factory=dict)
    bases: dict[str, ir.Struct] = field(default_factory=dict)

    def declare(self, model: type, where: str) -> ir.Ref:
        """Declares `model` and, before it, everything it uses."""
        name = model.__name__
        if self.open:
            self.uses[self.open[-1]].add(name)
        if name in self.open:
            raise SchemaError(f"{where}: {name} contains itself")
        if name in self.declarations:
            if self.models[name] is not model:
                raise SchemaError(f"{where}: two types are called {name}")
            return ir.Ref(name)
        self.open.append(name)
        self.models[name] = model
        self.uses[name] = set()
        self.declarations[name] = self._declaration(model)
        self.open.pop()
        return ir.Ref(name)

    def used_in(
        self, requests: Iterable[type], responses: Iterable[type]
    ) -> tuple[ir.Declaration, ...]:
        """What is declared so far, with the word on which side it is used."""
        in_requests, in_responses = self.reachable(requests), self.reachable(responses)
        return tuple(
            replace(d, usage=ir.Usage(name in in_requests, name in in_responses))
            for name, d in self.declarations.items()
        )

    def reachable(self, roots: Iterable[type]) -> set[str]:
        found: set[str] = set()
        todo = [root.__name__ for root in roots]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo.extend(self.uses[name])
        return found

    def _declaration(self, model: type) -> ir.Declaration:
        if not issubclass(model, (Model, OneOf, ClosedEnum, OpenEnum)):
            raise SchemaError(f"{model.__name__}: is no Model, OneOf or enum")
        check_sentence(model.__doc__ or "", model.__name__)
        if issubclass(model, (ClosedEnum, OpenEnum)):
            return _enum(model)
        if issubclass(model, OneOf):
            return self._union(model)
        return self._struct(model)

    def _struct(self, model: type[Model]) -> ir.Struct:
        base = _shared_base(model)
        names = _in_order(model, base)
        fields = tuple(self._field(model, name, model.model_fields[name]) for name in names)
        for item in fields:
            _check_condition(model.__name__, item, fields)
        base_name = self.base_of(base).names.name if base else ""
        return ir.Struct(_names(model), _doc(model), fields, ir.Usage(), model.closed, base_name)

    def base_of(self, model: type[Model]) -> ir.Struct:
        """A shared model, which is no declaration of its own."""
        if model.__name__ not in self.bases:
            self.bases[model.__name__] = self._struct(model)
        return self.bases[model.__name__]

    def _field(self, model: type[Model], name: str, info: FieldInfo) -> ir.Field:
        where = f"{model.__name__}.{name}"
        if not info.description or not isinstance(info.json_schema_extra, dict):
            raise SchemaError(f"{where}: is not written with field(...)")
        extra = _extra(info)
        check_sentence(info.description, where)
        annotation, nullable = without_none(info.annotation)
        type_ = self.type_of(annotation, info.metadata, where)
        default = _default(info, where)
        required = info.is_required()
        if nullable != (not required and default is None):
            raise SchemaError(f"{where}: a type with None and the default None go together")
        if extra["always"] and not nullable:
            raise SchemaError(f"{where}: only a field that may be null can be `always`")
        if isinstance(type_, ir.Const) and not required:
            raise SchemaError(f"{where}: a constant must be required; use an enum")
        is_text = isinstance(type_, ir.Scalar) and type_.kind == "string"
        if extra["or_bytes"] and not (is_text and required):
            raise SchemaError(f"{where}: only a required text can be given as bytes")
        condition = extra["required_when"]
        return ir.Field(
            name=info.alias or name,
            type=type_,
            description=info.description,
            required=required,
            default=default,
            always=bool(extra["always"]),
            required_when=ir.RequiredWhen(*condition) if condition else None,
            unit=extra["unit"],
            or_bytes=extra["or_bytes"],
        )

    def _union(self, model: type[OneOf]) -> ir.Union:
        info = model.model_fields["root"]
        discriminator = typing.cast("str | None", info.discriminator)
        members = get_args(info.annotation)
        if len(members) < 2:
            raise SchemaError(f"{model.__name__}: a union needs two members")
        if discriminator:
            variants = tuple(self._tagged(model, m, discriminator) for m in members)
        else:
            variants = tuple(self._typed(model, m) for m in members)
        _check_distinct(model.__name__, variants)
        names, doc = _names(model), _doc(model)
        return ir.Union(names, doc, variants, discriminator, ir.Usage(), model.mostly_first)

    def _tagged(self, model: type[OneOf], member: Any, discriminator: str) -> ir.Variant:
        where = f"{model.__name__}: {member.__name__}"
        ref = self.declare(member, where)
        struct = self.declarations[ref.name]
        tags = [
            f.type.value
            for f in getattr(struct, "fields", ())
            if f.name == discriminator and isinstance(f.type, ir.Const)
        ]
        if not tags:
            raise SchemaError(f"{where}: has no constant field {discriminator!r}")
        return ir.Variant(tags[0], ref, "object", tags[0])

    def _typed(self, model: type[OneOf], member: Any) -> ir.Variant:
        base, metadata = without_annotated(member)
        cases = [m.name for m in metadata if isinstance(m, Case)]
        where = f"{model.__name__}: {member}"
        if len(cases) != 1:
            raise SchemaError(f"{where}: needs a Case with its name")
        type_ = self.type_of(base, metadata, where)
        return ir.Variant(cases[0], type_, self._json_type(type_))

    def _json_type(self, type_: ir.Type) -> str:
        """The JSON type by which a union knows it."""
        if isinstance(type_, ir.Scalar):
            return {"bool": "boolean", "int": "number", "float": "number", "string": "string"}[
                type_.kind
            ]
        if isinstance(type_, ir.ListOf):
            return "array"
        if isinstance(type_, ir.Const):
            return "string"
        if isinstance(type_, ir.Ref):
            target = self.declarations[type_.name]
            return "string" if isinstance(target, ir.Enum) else "object"
        return "object"

    def type_of(self, annotation: Any, metadata: Iterable[Any], where: str) -> ir.Type:
        base, more = without_annotated(annotation)
        limits = limits_of([*metadata, *more])
        origin, args = get_origin(base), get_args(base)
        if base in (int, float):
            return ir.Scalar("int" if base is int else "float", limits)
        if base is str:
            return ir.Scalar("string", limits)
        if origin is list:
            return ir.ListOf(self.type_of(args[0], (), where), limits)
        if limits != ir.NO_LIMITS:
            raise SchemaError(f"{where}: {base} cannot have limits")
        if base is bool:
            return ir.Scalar("bool")
        if base in (AnyJson, AnyObject):
            return ir.Raw(object_only=base is AnyObject)
        if origin is Literal and len(args) == 1 and isinstance(args[0], str):
            return ir.Const(args[0])
        if origin is dict and args[0] in (str, int):
            key: Literal["string", "int"] = "string" if args[0] is str else "int"
            return ir.MapOf(key, self.type_of(args[1], (), where))
        if isinstance(base, type):
            return self.declare(base, where)
        raise SchemaError(f"{where}: cannot generate {base}; name a union by a OneOf")


def _extra(info: FieldInfo) -> dict[str, Any]:
    """What `field(...)` says beside pydantic's own."""
    return typing.cast("dict[str, Any]", info.json_schema_extra)


def _shared_base(model: type[Model]) -> type[Model] | None:
    bases = (b for b in model.__mro__[1:] if issubclass(b, Model))
    return next((base for base in bases if base.__dict__.get("shared")), None)


def _in_order(model: type[Model], base: type[Model] | None) -> list[str]:
    """The names of the fields: a base's before the field that is named for that."""
    if base is None:
        return list(model.model_fields)
    own = [name for name in model.model_fields if name not in base.model_fields]
    if model.shared_before and model.shared_before not in own:
        raise SchemaError(f"{model.__name__}: has no field {model.shared_before!r} of its own")
    at = own.index(model.shared_before) if model.shared_before else 0
    return [*own[:at], *base.model_fields, *own[at:]]


def _enum(model: type[ClosedEnum] | type[OpenEnum]) -> ir.Enum:
    for member in model:
        check_sentence(member.description, f"{model.__name__}.{member.name}")
    values = tuple(ir.EnumValue(member.value, member.description) for member in model)
    is_open = issubclass(model, OpenEnum)
    return ir.Enum(ir.Names(model.__name__), _doc(model), values, is_open, ir.Usage())


def _names(model: type[Model] | type[OneOf]) -> ir.Names:
    return ir.Names(model.__name__, tuple(sorted(model.names.items())))


def _doc(model: type) -> str:
    """Each paragraph on a line of its own: every language breaks the lines by itself."""
    paragraphs = (inspect.getdoc(model) or "").split("\n\n")
    return "\n\n".join(part.replace("\n", " ") for part in paragraphs)


def _default(info: FieldInfo, where: str) -> Any:
    if info.default is PydanticUndefined or info.default is None:
        return None
    value = info.default.value if isinstance(info.default, Enum) else info.default
    if not isinstance(value, (bool, int, float, str)):
        raise SchemaError(f"{where}: the default {value!r} is no scalar")
    return value


def _check_distinct(where: str, variants: tuple[ir.Variant, ...]) -> None:
    for what in (
        [v.name for v in variants],
        [v.type for v in variants],
        [v.tag or v.json_type for v in variants],
    ):
        if len(set(what)) != len(what):
            raise SchemaError(f"{where}: members that cannot be told apart: {what}")


def _check_condition(where: str, item: ir.Field, fields: tuple[ir.Field, ...]) -> None:
    if item.required_when is None:
        return
    earlier = [f.name for f in fields[: fields.index(item)] if not f.optional]
    if item.required_when.field not in earlier or not item.optional:
        raise SchemaError(
            f"{where}.{item.name}: required_when is for an optional field behind one with a value"
        )
