"""OpenAPI: the types as JSON Schemas (draft 2020-12), which the server's document refers to."""

from __future__ import annotations

import json
from typing import Any

from codegen import ir
from codegen.languages import common

PATH = "bindings/python/mlc_llm/serve/openapi_gen.json"
Schema = dict[str, Any]

_SCALARS = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer", "format": "int64"},
    "float": {"type": "number"},
    "string": {"type": "string"},
}
_INT_KEY = {"pattern": "^(0|[1-9][0-9]{0,17})$"}


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository."""
    schemas = {d.names.name: _declaration(d) for d in (*protocol.declarations, *protocol.server)}
    text = common.render(
        "openapi/openapi_gen.json.j2",
        stamp=common.stamp(protocol),
        schemas=json.dumps(schemas, indent=1, ensure_ascii=False),
    )
    return {PATH: text}


def _declaration(declaration: ir.Declaration) -> Schema:
    described = {"description": declaration.description}
    if isinstance(declaration, ir.Enum):
        return described | _enum(declaration)
    if isinstance(declaration, ir.Union):
        return described | _union(declaration)
    return described | _struct(declaration)


def _enum(enum: ir.Enum) -> Schema:
    words = {} if enum.open else {"enum": [value.wire for value in enum.values]}
    return {"type": "string"} | words


def _union(union: ir.Union) -> Schema:
    members = [type_schema(variant.type) for variant in union.variants]
    if union.discriminator is None:
        return {"anyOf": members}
    mapping = {v.tag: member["$ref"] for v, member in zip(union.variants, members, strict=True)}
    tagged = {"propertyName": union.discriminator, "mapping": mapping}
    return {"oneOf": members, "discriminator": tagged}


def _struct(struct: ir.Struct) -> Schema:
    required = [
        f.name for f in struct.fields if f.required or (f.always and not struct.usage.in_requests)
    ]
    schema: Schema = {
        "type": "object",
        "properties": {f.name: _field(f, struct) for f in struct.fields},
    }
    if required:
        schema["required"] = required
    if conditions := [_condition(f, struct) for f in struct.fields if f.required_when]:
        schema["allOf"] = conditions
    if struct.closed:
        schema["additionalProperties"] = False
    return schema


def _field(field: ir.Field, struct: ir.Struct) -> Schema:
    schema = type_schema(field.type)
    if not field.required and (field.always or struct.usage.in_requests):
        schema = _or_null(schema)  # in a request null means absent
    facts: Schema = {"description": common.field_doc(field)}
    if field.default is not None:
        facts["default"] = field.default
    return schema | facts


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]} if schema else {}


def _condition(field: ir.Field, struct: ir.Struct) -> Schema:
    """`field` must be there and hold something when another field has one of some values."""
    condition = field.required_when
    assert condition is not None
    other = next(f for f in struct.fields if f.name == condition.field)
    given: Schema = {"properties": {other.name: {"enum": list(condition.values)}}}
    if other.default in condition.values:
        given["properties"][other.name]["enum"].append(None)
    else:
        given["required"] = [other.name]
    value = {"properties": {field.name: {"not": {"type": "null"}}}, "required": [field.name]}
    return {"if": given, "then": value}


def type_schema(type_: ir.Type) -> Schema:
    if isinstance(type_, ir.Scalar):
        return _SCALARS[type_.kind] | _limits(type_.limits, "Length")
    if isinstance(type_, ir.Const):
        return {"type": "string", "const": type_.value}
    if isinstance(type_, ir.ListOf):
        items = type_schema(type_.item)
        return {"type": "array", "items": items} | _limits(type_.limits, "Items")
    if isinstance(type_, ir.MapOf):
        keys = {"propertyNames": _INT_KEY} if type_.key == "int" else {}
        return {"type": "object", "additionalProperties": type_schema(type_.value)} | keys
    if isinstance(type_, ir.Raw):
        return {"type": "object"} if type_.object_only else {}
    return {"$ref": f"#/components/schemas/{type_.name}"}


def _limits(limits: ir.Limits, counted: str) -> Schema:
    words = {
        "minimum": limits.ge,
        "exclusiveMinimum": limits.gt,
        "maximum": limits.le,
        "exclusiveMaximum": limits.lt,
        f"min{counted}": limits.min_length,
        f"max{counted}": limits.max_length,
    }
    return {word: _plain(value) for word, value in words.items() if value is not None}


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value
