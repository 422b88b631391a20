"""Seeded JSON schemas of all the kinds that are enforced, each with the tokens that it may take."""

from __future__ import annotations

import random
from typing import Any

Schema = dict[str, Any]
WORDS = ("name", "city", "größe", "数量", "tags", "price", "id", "kind", "note", "émoji 😀", "a b")
PATTERNS = ("^[A-Z]{3}-\\d{4}$",
            "^(red|green|blue)$", "^[a-z]{2,8}@[a-z]{2,6}\\.org$", "^\\+?\\d{6,9}$",
            "^[α-ω]{2,5}$")  # fmt: skip
FORMATS = ("date", "date-time", "time", "uuid", "ipv4", "email", "duration", "hostname")


def _string(rng: random.Random) -> Schema:
    low = rng.randrange(4)
    return rng.choice((
        {"type": "string", "minLength": low, "maxLength": low + rng.randrange(1, 12)},
        {"type": "string", "pattern": rng.choice(PATTERNS)},
        {"type": "string", "format": rng.choice(FORMATS)},
        {"type": "string", "maxLength": 16},
    ))  # fmt: skip


def _number(rng: random.Random) -> Schema:
    low = rng.choice((-1000, -5, 0, 1, 17))
    high = low + rng.choice((1, 9, 250, 10**6))
    return rng.choice((
        {"type": "integer", "minimum": low, "maximum": high},
        {"type": "number", "minimum": low / 4, "maximum": high / 4},
        {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high},
        {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 500},
        {"type": "integer"}, {"type": "number"},
    ))  # fmt: skip


def _enum(rng: random.Random) -> Schema:
    values = ["low", "hoch ü", "高い", 3, -2.5, None, True, {"x": 1}, ["a", "b"], ""]
    return {"enum": rng.sample(values, rng.randrange(1, 6))}


def _array(rng: random.Random, depth: int) -> Schema:
    low = rng.randrange(3)
    if rng.random() < 0.2:
        return {"type": "array", "prefixItems": [_any(rng, 0), _any(rng, 0)], "items": False,
                "minItems": low}  # fmt: skip
    return {"type": "array", "items": _any(rng, depth - 1), "minItems": low,
            "maxItems": low + rng.randrange(1, 4)}  # fmt: skip


def _object(rng: random.Random, depth: int) -> Schema:
    names = rng.sample(WORDS, rng.randrange(1, 5))
    schema: Schema = {
        "type": "object",
        "properties": {name: _any(rng, depth - 1) for name in names},
        "required": rng.sample(names, rng.randrange(len(names) + 1)),
        "additionalProperties": False,
    }
    if rng.random() < 0.1:
        schema["maxProperties"] = max(len(schema["required"]), 2)
    return schema


def _tree(rng: random.Random) -> Schema:
    node = {"type": "object", "properties": {"v": _any(rng, 0), "kids": {
        "type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
        "required": ["v"], "additionalProperties": False}  # fmt: skip
    return {"$ref": "#/$defs/node", "$defs": {"node": node}}


def _any(rng: random.Random, depth: int) -> Schema:
    leaf = rng.choice((_string, _number, _enum))
    if depth <= 0:
        return rng.choice((leaf(rng), leaf(rng), {"type": "boolean"}, {"const": "fest"}))
    kind = rng.random()
    if kind < 0.4:
        return _object(rng, depth)
    if kind < 0.6:
        return _array(rng, depth)
    if kind < 0.75:
        return {"anyOf": [_any(rng, depth - 1), {"type": "null"}, _any(rng, 0)]}
    return leaf(rng)


def _weight(schema: Any, depth: int = 0) -> int:
    """The tokens of a long value: more than a model that goes astray usually writes."""
    if not isinstance(schema, dict):
        return 0
    items = schema.get("items")
    most = int(schema.get("maxItems", 2))
    weight = 40 + sum(_weight(s) for s in schema.get("anyOf", []))
    weight += sum(12 + _weight(s) for s in schema.get("properties", {}).values())
    weight += sum(_weight(s) for s in schema.get("prefixItems", []))
    return weight + most * _weight(items)


def random_schema(seed: int) -> tuple[Schema, int]:
    """A schema, and tokens enough for nearly every answer to it."""
    rng = random.Random(seed)
    if seed % 10 == 9:
        schema = _tree(rng)
        return schema, 600
    schema = _object(rng, 2)
    return schema, min(1000, 60 + _weight(schema))
