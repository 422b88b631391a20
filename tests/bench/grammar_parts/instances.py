"""Values that fit a schema, and values that nearly do; `jsonschema` judges both.

They are drawn with a seed: what a schema names comes in its order, as grammars write it.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from jsonschema import validators

Json = Any

SITE = "https" + "://example.com/a"

TEXTS = (
    "", "a", "abc", "A", "Hello world", "value-1", "x_y", "example", "1", "42", "1.2.3", "v1.0",
    "2024-02-29", "2024-01-01T12:00:00Z", "2024-01-01T12:00:00.000Z", "12:30:00", "true", "en",
    "en-US", "US", "USD", "#ff0000", SITE, "mailto:a@b.cc", "a@example.com",
    "/usr/bin", "./a.txt", "a/b", "*.py", "192.168.0.1", "::1", "example.com", "P1D", "100Mi",
    "123e4567-e89b-42d3-a456-426614174000", "indicator--123e4567-e89b-42d3-a456-426614174000",
    "0000-0002-1825-0097", "INSPIRE-00000001", "10.1000/xyz123", "3.10", ">=3.9", "${{ x }}", "A1",
    "arn:aws:iam::123456789012:role/x", "abcdef0123456789", "a" * 12, "f" * 32, "f" * 64, "T1234",
    "urn:uuid:123e4567-e89b-42d3-a456-426614174000", "$ref", "x-a", "0 12 * * *",
    "application/json",
)  # fmt: skip
OF_FORMAT = {
    "date": "2024-02-29", "date-time": "2024-01-01T12:00:00Z", "time": "12:30:00Z",
    "email": "a@example.com", "uri": SITE, "ipv4": "10.0.0.1", "ipv6": "::1",
    "uuid": "123e4567-e89b-42d3-a456-426614174000", "hostname": "example.com",
}  # fmt: skip
MOST_DEPTH = 7


class Drawer:
    def __init__(self, document: Json, seed: int) -> None:
        self.document = document
        self.random = random.Random(seed)
        self.chance = self.random.choice((0.05, 0.4, 0.9))  # of members that may be left out

    def follow(self, reference: str) -> Json:
        place = self.document
        for step in reference.lstrip("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~").replace("%24", "$")
            place = place[int(step)] if isinstance(place, list) else place[step]
        return place

    def merged(self, schema: Json) -> dict[str, Json]:
        """The schema with its references, its `allOf` and one branch of each choice."""
        if schema is True or schema is False:
            return {}
        out = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "anyOf", "oneOf")}
        more = [self.follow(schema["$ref"])] if "$ref" in schema else []
        more += schema.get("allOf", [])
        more += [self.random.choice(schema[k]) for k in ("anyOf", "oneOf") if schema.get(k)]
        for one in more:
            for key, value in self.merged(one).items():
                if key in ("properties", "patternProperties"):
                    out[key] = {**out.get(key, {}), **value}
                elif key == "required" and isinstance(value, list):
                    out[key] = [*out.get(key, []), *value]
                else:
                    out.setdefault(key, value)
        return out

    def draw(self, schema: Json, depth: int = 0) -> Json:
        if depth > 2 * MOST_DEPTH:
            raise RecursionError
        one = self.merged(schema)
        if "const" in one:
            return one["const"]
        if one.get("enum"):
            return self.random.choice(one["enum"])
        kind = one.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind is None:
            kind = self.implied(one)
        draw = getattr(self, f"draw_{kind}", None)
        return draw(one, depth) if draw else None

    def implied(self, one: dict[str, Json]) -> str:
        for kind, keys in {
            "object": ("properties", "required", "additionalProperties", "patternProperties"),
            "array": ("items", "minItems", "prefixItems"),
            "number": ("minimum", "maximum", "multipleOf"),
        }.items():
            if any(key in one for key in keys):
                return kind
        return "string"

    def draw_boolean(self, one: dict[str, Json], depth: int) -> bool:
        return self.random.random() < 0.5

    def draw_integer(self, one: dict[str, Json], depth: int) -> int:
        low = one.get("minimum", one.get("exclusiveMinimum", one.get("maximum", 100) - 100))
        low = 0 if isinstance(low, bool) else low
        step = one.get("multipleOf", 1)
        return int(-(-low // step) * step) + self.random.choice((0, 1, 7)) * int(step)

    def draw_number(self, one: dict[str, Json], depth: int) -> float:
        whole = self.draw_integer({**one, "multipleOf": 1}, depth)
        return whole + self.random.choice((0, 0.5, 0.25))

    def draw_string(self, one: dict[str, Json], depth: int) -> str:
        if one.get("format") in OF_FORMAT and self.random.random() < 0.9:
            return OF_FORMAT[one["format"]]
        fitting = [
            text
            for text in (*TEXTS, "a" * one.get("minLength", 0))
            if one.get("minLength", 0) <= len(text) <= one.get("maxLength", 1000)
            and ("pattern" not in one or matches(one["pattern"], text))
        ]
        return self.random.choice(fitting or [""])

    def draw_array(self, one: dict[str, Json], depth: int) -> list[Json]:
        items, first = one.get("items", {}), one.get("prefixItems", [])
        if isinstance(items, list):
            items, first = one.get("additionalItems", {}), items
        least = one.get("minItems", 0)
        most = one.get("maxItems", least + 2)
        count = least if depth > MOST_DEPTH else self.random.randint(least, min(most, least + 2))
        count = min(count, len(first)) if first and least <= len(first) else count
        return [self.draw(first[i] if i < len(first) else items, depth + 1) for i in range(count)]

    def draw_object(self, one: dict[str, Json], depth: int) -> dict[str, Json]:
        named, required = one.get("properties", {}), one.get("required", [])
        required = required if isinstance(required, list) else []
        out = {}
        others = one.get("additionalProperties")
        for name in (*named, *(r for r in dict.fromkeys(required) if r not in named)):
            chance = self.chance if depth <= MOST_DEPTH else 0
            if name in required or self.random.random() < chance:
                value = named.get(name, others if isinstance(others, dict) else {})
                out[name] = self.draw(value, depth + 1)
        patterns = one.get("patternProperties", {})
        for value in [*patterns.items(), (None, others)]:
            pattern, schema = value
            is_open = isinstance(schema, dict) and (pattern or not named)
            if not is_open or self.random.random() > max(self.chance, 0.3) or depth > MOST_DEPTH:
                continue
            names = [t for t in TEXTS if t and (pattern is None or matches(pattern, t))]
            if names and not out:
                out[self.random.choice(names)] = self.draw(schema, depth + 1)
        return out


def matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


OTHERS: tuple[Json, ...] = (None, True, -7, 1.5, "zzz \u00fc", [], {}, [None], {"zz": 1})


def spoilt(value: Json, chance: random.Random) -> Json:
    """The value with one place changed."""
    places: list[list[Any]] = [[]]
    for path in places:
        at = value
        for step in path:
            at = at[step]
        steps = at if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        places += [[*path, step] for step in steps][:20]
    copy = json.loads(json.dumps(value))
    path = chance.choice(places)
    if not path:
        return chance.choice(OTHERS)
    at = copy
    for step in path[:-1]:
        at = at[step]
    if chance.random() < 0.3:
        del at[path[-1]]
    else:
        at[path[-1]] = chance.choice(OTHERS)
    return copy


def instances(schema: Json, *, most: int = 3, tries: int = 40) -> tuple[list[str], list[str]]:
    """JSON texts of values that fit, and of ones that do not."""
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    judge, formats = kind(schema), kind(schema, format_checker=kind.FORMAT_CHECKER)
    valid: list[str] = []
    invalid: list[str] = []
    for seed in range(tries):
        if len(valid) == most:
            break
        try:
            value = Drawer(schema, seed).draw(schema)
            text = json.dumps(value, ensure_ascii=False)
            if text not in valid and len(text) < 4000 and formats.is_valid(value):
                valid.append(text)
        except Exception:  # noqa: BLE001, S112 - a schema that the drawer or the judge cannot read
            continue
    chance = random.Random(1)
    for text in valid * 4:
        value = spoilt(json.loads(text), chance)
        spoilt_text = json.dumps(value, ensure_ascii=False)
        try:
            is_new = spoilt_text not in invalid and not judge.is_valid(value)
        except Exception:  # noqa: BLE001, S112 - of a schema that the judge cannot read
            continue
        if is_new:
            invalid.append(spoilt_text)
    return valid, invalid
