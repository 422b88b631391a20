"""Checks JSON against the schemas, for requests that the server itself reads.

The core checks the requests that it reads; this gives the same messages as the core. It knows those
keywords of JSON Schema that `codegen/languages/openapi.py` writes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.errors.nearest import did_you_mean
from mlc_llm.serve.schemas import Schema, reference, resolve

_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "object": ("an object", dict),
    "array": ("an array", list),
    "string": ("a string", str),
    "boolean": ("a boolean", bool),
    "integer": ("an integer", int),
    "number": ("a decimal", (int, float)),
    "null": ("null", type(None)),
}
_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool], str], ...] = (
    ("minimum", ">=", operator.ge, "below_min"),
    ("exclusiveMinimum", ">", operator.gt, "below_min"),
    ("maximum", "<=", operator.le, "above_max"),
    ("exclusiveMaximum", "<", operator.lt, "above_max"),
)
_MAX_QUOTED = 64  # most characters of the caller's text in a message


def check(value: object, name: str) -> None:
    """Raises MLCError at the first error of a request, with its path."""
    _check(value, reference(name), "")


def _check(value: object, schema: Schema, path: str) -> None:
    schema = resolve(schema)
    if "anyOf" in schema:
        _check_any(value, schema["anyOf"], path)
    elif "oneOf" in schema:
        _check_tagged(value, schema, path)
    else:
        _check_plain(value, schema, path)


def _check_any(value: object, members: list[Schema], path: str) -> None:
    """The members of a union have different JSON types."""
    flat = list(_flatten(members))
    for member in flat:
        if "type" not in member or _has_type(value, member["type"]):
            return _check(value, member, path)
    given = [member["type"] for member in flat if member["type"] != "null"]
    raise _wrong_type(value, path, given)


def _flatten(members: list[Schema]) -> Iterator[Schema]:
    for member in members:
        member = resolve(member)
        if "anyOf" in member:
            yield from _flatten(member["anyOf"])
        else:
            yield {"type": "object", **member} if "oneOf" in member else member


def _check_tagged(value: object, schema: Schema, path: str) -> None:
    if not isinstance(value, dict):
        raise _wrong_type(value, path, ["object"])
    key, tags = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
    where = _member(path, key)
    if value.get(key) is None:
        raise _missing(where)
    if not isinstance(value[key], str):
        raise _wrong_type(value[key], where, ["string"])
    if value[key] not in tags:
        raise _not_supported(value[key], where, list(tags))
    _check(value, {"$ref": tags[value[key]]}, path)


def _check_plain(value: object, schema: Schema, path: str) -> None:
    kind = schema.get("type")
    if kind is None:
        return
    if not _has_type(value, kind):
        raise _wrong_type(value, path, [kind])
    words = [schema["const"]] if "const" in schema else schema.get("enum")
    if words is not None and value not in words:
        raise _not_supported(str(value), path, words)
    if isinstance(value, dict):
        _check_object(value, schema, path)
    elif isinstance(value, list):
        _check_length(len(value), schema, path, "array", "Items")
        for index, item in enumerate(value):
            _check(item, schema["items"], f"{path}[{index}]")
    elif isinstance(value, str):
        _check_length(len(value), schema, path, "string", "Length")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(value, schema, path)


def _check_object(value: dict[str, Any], schema: Schema, path: str) -> None:
    properties: Schema = schema.get("properties", {})
    required = schema.get("required", ())
    for name, member in properties.items():
        if value.get(name) is not None:
            _check(value[name], member, _member(path, name))
        elif name in required:
            raise _missing(_member(path, name))
    for condition in schema.get("allOf", ()):
        _check_condition(value, condition, path)
    others = schema.get("additionalProperties", True)
    for name in value.keys() - properties.keys():
        where = _member(path, name)
        if others is False:
            words = f"Unrecognized parameter: '{_quote(where)}'."
            words += did_you_mean(name, properties, " ").replace("did", "Did", 1)
            raise _fault(words, where, reasons.UNKNOWN_PARAMETER)
        if isinstance(others, dict):
            _check(value[name], others, where)


def _check_condition(value: dict[str, Any], condition: Schema, path: str) -> None:
    """A member is required if another member has one of some values."""
    ((name, words),) = condition["if"]["properties"].items()
    (wanted,) = condition["then"]["required"]
    if value.get(name) in words["enum"] and value.get(wanted) is None:
        raise _missing(_member(path, wanted))


def _check_range(value: float, schema: Schema, path: str) -> None:
    kind = "integer" if schema["type"] == "integer" else "decimal"
    for word, relation, holds, side in _BOUNDS:
        if word in schema and not holds(value, schema[word]):
            wanted = f"{relation} {schema[word]}"
            words = side.replace("_", " ").replace("min", "minimum").replace("max", "maximum")
            raise _fault(
                f"Invalid {_place(path)}: {kind} {words} value. Expected a value {wanted}, but "
                f"got {_quote(str(value))} instead.",
                path,
                reasons.BY_WORD[f"{kind}_{side}_value"],
            )


def _check_length(count: int, schema: Schema, path: str, kind: str, counted: str) -> None:
    low, high = schema.get(f"min{counted}", 0), schema.get(f"max{counted}", count)
    a_kind = _TYPES[kind][0]
    if count == 0 < low:
        wanted = f"Expected {a_kind} with minimum length {low}, but got an empty {kind} instead."
        reason = reasons.BY_WORD[f"empty_{kind}"]
        raise _fault(f"Invalid {_place(path)}: empty {kind}. {wanted}", path, reason)
    if not low <= count <= high:
        size, bound, side = ("short", "min", low) if count < low else ("long", "max", high)
        where = "below" if count < low else "above"
        raise _fault(
            f"Invalid {_place(path)}: {kind} too {size}. Expected {a_kind} with {bound}imum length "
            f"{side}, but got {a_kind} with length {count} instead.",
            path,
            reasons.BY_WORD[f"{kind}_{where}_{bound}_length"],
        )


def _has_type(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int | float) and value == value // 1 and abs(value) < 2**63
    return isinstance(value, _TYPES[kind][1])


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _place(path: str) -> str:
    return f"'{_quote(path)}'" if path else "the request body"


def _quote(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + "..."


def _fault(message: str, path: str, reason: reasons.Reason) -> MLCError:
    return error_of(reason, message, param=path or None)


def _missing(path: str) -> MLCError:
    return _fault(
        f"Missing required parameter: '{path}'.", path, reasons.MISSING_REQUIRED_PARAMETER
    )


def _wrong_type(value: object, path: str, kinds: list[str]) -> MLCError:
    given = next(words for kind, (words, _) in _TYPES.items() if _has_type(value, kind))
    names = (_TYPES[kind][0] if kind != "number" else "a number" for kind in kinds)
    wanted = " or ".join(dict.fromkeys(names))
    expected = f"one of {wanted}" if " or " in wanted else wanted
    message = f"Invalid type for {_place(path)}: expected {expected}, but got {given} instead."
    return _fault(message, path, reasons.INVALID_TYPE)


def _not_supported(value: str, path: str, words: list[str]) -> MLCError:
    known = ", ".join(f"'{word}'" for word in words)
    message = f"Invalid value for {_place(path)}: '{_quote(value)}'. Supported values are: {known}."
    return _fault(message, path, reasons.INVALID_VALUE)
