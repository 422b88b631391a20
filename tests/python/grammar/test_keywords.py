"""Every keyword of JSON Schema is enforced, harmless, or refused with its path.

What a grammar admits is walked at random and judged by `jsonschema`; docs/json-schema.md shows the
same table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from walk import walk

DOCS = Path(__file__).parents[3] / "docs" / "json-schema.md"
DRAFT_7 = "http" + "://json-schema.org/draft-07/schema#"
STRING, INTEGER, ANY_NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def arr(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", **keywords}


TREE = {
    "$ref": "#/$defs/n",
    "$defs": {"n": {**obj(v=INTEGER, c=arr(items={"$ref": "#/$defs/n"})), "required": ["v"]}},
}
KIND = [
    {**obj(k={"const": k}, v=v), "required": ["k", "v"]} for k, v in (("a", STRING), ("b", INTEGER))
]

# What is written must validate; `json.dumps` with an int is a count of samples.
ENFORCED: dict[str, list[Any]] = {
    "$ref": [
        TREE,
        {"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": INTEGER}},
        {"$ref": "#x", "$defs": {"q": {"$anchor": "x", "type": "null"}}},
        {"$ref": "#/$defs/a", "maximum": 5, "$defs": {"a": {**INTEGER, "minimum": 0}}},
    ],
    "allOf": [
        {"allOf": [obj(a=INTEGER), {"required": ["a"]}, obj(a={"minimum": 3}, b={})]},
        {"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]},
        {"allOf": [{**obj(a=INTEGER), "additionalProperties": False}, obj(a={"maximum": 4}, b={})]},
        {"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 4, 2]}]},
    ],
    "anyOf": [
        {"anyOf": [INTEGER, {"type": "string", "maxLength": 3}]},
        {**obj(a=INTEGER, b=STRING), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {
            "anyOf": [{"minimum": 3, "maximum": 99}, {"maximum": -3, "minimum": -50}],
            "type": "integer",
            "multipleOf": 2,
        },
    ],
    "oneOf": [
        {"oneOf": [{"not": {"type": "string", "format": "date"}}, {"const": "hello"}]},
        {"oneOf": KIND},
        {"oneOf": [INTEGER, STRING, {"enum": [None, True]}]},
        {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": obj(a=INTEGER)}},
    ],
    "prefixItems": [
        arr(prefixItems=[INTEGER, STRING]),
        arr(prefixItems=[INTEGER], minItems=3),
        arr(prefixItems=[INTEGER, STRING], items={"type": "null"}, maxItems=4),
    ],
    "items": [arr(items=INTEGER), arr(items=False), arr(items=arr(items={"enum": [1, "x"]}))],
    "properties": [
        obj(a=INTEGER, b=obj(c=STRING)),
        {"properties": {"a": INTEGER}},
        obj(**{'é"\n': INTEGER}),
    ],
    "patternProperties": [
        {"type": "object", "patternProperties": {"^x[0-9]{1,3}$": INTEGER}},
        {**obj(a=STRING), "patternProperties": {"^b": INTEGER}, "additionalProperties": False},
    ],
    "additionalProperties": [
        {**obj(a=INTEGER, ab=STRING, abc={}), "additionalProperties": {"type": "boolean"}},
        {"type": "object", "additionalProperties": INTEGER},
        {**obj(a=False, é=INTEGER), "additionalProperties": True},
    ],
    "propertyNames": [
        {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z]{1,3}$"},
            "additionalProperties": INTEGER,
        },
        {"type": "object", "propertyNames": {"enum": ["r", "g"]}, "additionalProperties": INTEGER},
        {**obj(r=STRING), "propertyNames": {"enum": ["r", "g"]}, "additionalProperties": INTEGER},
    ],
    "unevaluatedItems": [
        arr(prefixItems=[INTEGER], unevaluatedItems=STRING),
        arr(unevaluatedItems=INTEGER),
    ],
    "unevaluatedProperties": [
        {**obj(a=INTEGER), "unevaluatedProperties": STRING},
        {**obj(a=INTEGER), "unevaluatedProperties": False},
    ],
    "type": [
        {"type": t}
        for t in (
            "object",
            "array",
            "string",
            "number",
            "integer",
            "boolean",
            "null",
            ["string", "null"],
            ["integer", "number"],
        )
    ],
    "const": [
        {"const": c}
        for c in (1, -2.5, 'é"\\\n😀', None, True, [1, {"a": "b"}], {"a": [None]}, "", {})
    ],
    "enum": [
        {"enum": [1, "a", None, {"b": [1, 2.5]}, "ü\u2028"]},
        {"enum": ["a", 1, "bb"], "type": "string", "minLength": 2},
        {"enum": [1, 2, 3], "const": 2},
        {"enum": [1, 5.5, 9], "maximum": 6},
    ],
    "multipleOf": [{**INTEGER, "multipleOf": m} for m in (1, 2, 5, 25, 100)]
    + [
        {**INTEGER, "multipleOf": 7, "minimum": -50, "maximum": 90},
        {**ANY_NUMBER, "multipleOf": 4},
    ],
    "maximum": [
        {**INTEGER, "maximum": -7},
        {**ANY_NUMBER, "maximum": 0.125},
        {**INTEGER, "maximum": 12345, "minimum": 9},
    ],
    "exclusiveMaximum": [
        {**INTEGER, "exclusiveMaximum": 0, "minimum": -3},
        {**ANY_NUMBER, "exclusiveMaximum": -1.5},
        {**ANY_NUMBER, "exclusiveMaximum": 1.05, "minimum": 1},
    ],
    "minimum": [
        {**INTEGER, "minimum": 999},
        {**ANY_NUMBER, "minimum": 99.95, "maximum": 100.05},
        {**ANY_NUMBER, "minimum": 1e-7, "maximum": 1},
        {"minimum": 3},
        {**ANY_NUMBER, "minimum": -0.5, "maximum": 0.5},
        {**ANY_NUMBER, "minimum": 3, "maximum": 3},
    ],
    "exclusiveMinimum": [
        {**ANY_NUMBER, "exclusiveMinimum": 0, "maximum": 1},
        {**INTEGER, "exclusiveMinimum": 2.5, "maximum": 11},
        {**ANY_NUMBER, "exclusiveMinimum": -2.25, "exclusiveMaximum": -2.2},
    ],
    "maxLength": [
        {**STRING, "maxLength": 3},
        {**STRING, "maxLength": 0},
        {**STRING, "maxLength": 65},
        {**STRING, "maxLength": 4, "pattern": "^[a-c]*$"},
        {**STRING, "maxLength": 30, "format": "date"},
    ],
    "minLength": [
        {**STRING, "minLength": 5, "maxLength": 9},
        {**STRING, "minLength": 60, "maxLength": 66},
        {**STRING, "minLength": 66, "maxLength": 70},
        {**STRING, "minLength": 65},
        {**STRING, "minLength": 2, "pattern": "^\\w+$"},
    ],
    "pattern": [
        {**STRING, "pattern": p}
        for p in (
            "^[^a-z]{1,4}\\d+$",
            "(\\w|\\s|.){2,8}",
            "[\\W\\D\\S]{3}",
            "^[^\\w\\s]{3}$",
            "a|b*|",
            '^(ab|["\\\\\\n])+$',
            "^\\u00e9\\x41[α-ω]$",
            "[\\]^-]{2}",
            "^(?:a{2,3}|(b)?)$",
            "^.{1,5}\\/\\.$",
        )
    ],
    "maxItems": [
        arr(items=INTEGER, maxItems=2),
        arr(maxItems=0),
        arr(prefixItems=[INTEGER, INTEGER, INTEGER], maxItems=2),
    ],
    "minItems": [arr(items=INTEGER, minItems=2, maxItems=3), arr(items=INTEGER, minItems=1)],
    "uniqueItems": [
        arr(items=INTEGER, uniqueItems=True, maxItems=1),
        arr(items=INTEGER, uniqueItems=False),
        arr(uniqueItems=True),
        arr(items=STRING, uniqueItems=True, minItems=2),
        arr(items=ANY_NUMBER, uniqueItems=True, minItems=3),
        arr(items={**INTEGER, "minimum": 0, "maximum": 40}, uniqueItems=True, minItems=3),
        arr(items=obj(a=STRING, b={"type": "boolean"}), uniqueItems=True, minItems=2),
        arr(items=arr(items=STRING, uniqueItems=True), uniqueItems=True, minItems=2),
        arr(prefixItems=[STRING, STRING], uniqueItems=True),
        {"anyOf": [obj(a=arr(items=STRING)), obj(a=arr(items=STRING, uniqueItems=True))]},
    ],
    "maxProperties": [
        {**obj(a=INTEGER, b=STRING, c={}), "maxProperties": 2},
        {"type": "object", "additionalProperties": INTEGER, "maxProperties": 2},
        {**obj(a=INTEGER, b=INTEGER), "additionalProperties": STRING, "maxProperties": 2},
    ],
    "minProperties": [
        {**obj(a=INTEGER, b=STRING, c={}), "minProperties": 2},
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1},
        {**obj(a=INTEGER), "additionalProperties": STRING, "minProperties": 2},
    ],
    "required": [
        {**obj(a=INTEGER, b=STRING), "required": ["b"]},
        {"type": "object", "required": ["x"]},
        {**obj(a=INTEGER), "required": ["x", "a"]},
    ],
    "format": [],  # by value, below
}

# What is enforced since it can be written in other words.
CASES = obj(k={"enum": ["x", "y"]}, v={"type": ["integer", "string"]}, w=INTEGER)
IF_X = {"properties": {"k": {"const": "x"}}, "required": ["k"]}
ENFORCED |= {
    "not": [
        {"not": STRING},
        {**STRING, "not": {"enum": ["a", "b", ""]}},
        {**INTEGER, "not": {"const": 5}},
        {**INTEGER, "not": {"minimum": 3}},
        {**STRING, "not": {"pattern": "a"}},
        {**CASES, "not": {"required": ["k", "v"]}},
        {**CASES, "not": IF_X},
    ],
    "if": [{**CASES, "if": IF_X, "then": {"required": ["v"]}}, {"type": "boolean", "if": True}],
    "then": [{**CASES, "if": IF_X, "then": {"properties": {"v": INTEGER}, "required": ["v"]}}],
    "else": [{**CASES, "if": IF_X, "else": {"properties": {"v": STRING}}}],
    "dependentSchemas": [{**CASES, "dependentSchemas": {"v": {"required": ["w"]}}}],
    "dependentRequired": [
        {**CASES, "dependentRequired": {"w": ["k"], "k": ["v"]}},
        {"type": "object", "dependentRequired": {"a": ["b"]}},
    ],
    "dependencies": [{**CASES, "$schema": DRAFT_7, "dependencies": {"k": ["w"], "v": IF_X}}],
    "additionalItems": [
        {"$schema": DRAFT_7, **arr(items=[INTEGER], additionalItems=STRING)},
        {"$schema": DRAFT_7, **arr(items=[INTEGER, STRING], additionalItems=False)},
    ],
    "contains": [arr(contains=INTEGER, items={"type": ["integer", "string"]})],
    "minContains": [arr(contains=INTEGER, minContains=2, maxItems=4)],
    "maxContains": [arr(contains={"const": 1}, items=INTEGER, maxContains=1)],
    "$dynamicRef": [{"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", **INTEGER}}}],
    "$recursiveRef": [obj(a={"$recursiveRef": "#"})],
    "nullable": [{**STRING, "nullable": False}],
}
ENFORCED["oneOf"] += [
    {"oneOf": [INTEGER, ANY_NUMBER]},
    {**CASES, "oneOf": [{"required": ["k"]}, {"required": ["v"]}, {"required": ["w"]}]},
    {"oneOf": [{**INTEGER, "minimum": 5}, {**INTEGER, "maximum": 9}]},
    {"oneOf": [obj(a=INTEGER), obj(b=INTEGER)]},
]
ENFORCED["oneOf"] += [
    {"oneOf": [arr(items=INTEGER), arr(items=STRING)]},
    {"oneOf": [{**obj(a=STRING), "additionalProperties": False},
               {**obj(b=STRING), "additionalProperties": False}]},
    {"oneOf": [{**obj(a=STRING, b=STRING), "additionalProperties": INTEGER},
               {**obj(b=STRING, c=STRING), "additionalProperties": INTEGER}]},
]  # fmt: skip
ENFORCED["not"] += [
    {**arr(items={}), "not": {"items": STRING}},
    {**arr(items={"enum": [1, 2, "a"]}), "not": {"contains": STRING}},
    {**obj(a=STRING, b=STRING), "not": {**obj(a=STRING), "additionalProperties": False}},
    *({**STRING, "not": {"pattern": p}} for p in ("\\d", "^\\w*$", "a$", "\\s")),
    # Of two ways to break it one has no grammar: the other is taken.
    {**obj(a=STRING), "not": {"required": ["a"], "patternProperties": {"b": STRING}}},
    {"oneOf": [{"required": ["a"], "not": {"required": ["a"]}},
               {"required": ["a"], **obj(a={"const": 1})}, {"const": 1}]},
]  # fmt: skip
ENFORCED["patternProperties"] += [
    {"type": "object", "patternProperties": {"a": INTEGER, "^b": {"minimum": 3}}},
    {**obj(xa=INTEGER), "patternProperties": {"^x": {"minimum": 3}}, "additionalProperties": {}},
]
ENFORCED["allOf"] += [{"allOf": [{**STRING, "pattern": "a"}, {"pattern": "b$", "maxLength": 9}]}]
ENFORCED["multipleOf"] += [
    {**ANY_NUMBER, "multipleOf": m, "minimum": -3} for m in (0.5, 0.25, 2.5, 7)
]
ENFORCED["uniqueItems"] += [arr(items={"enum": [1, "a", None]}, uniqueItems=True)]
ENFORCED["pattern"] += [
    {**STRING, "pattern": p, "maxLength": 20}
    for p in ("b+c", "^a", "z$", "^a|b$", "^(?!foo$)[a-z]+$", "\\S", "^$|x")
] + [
    {**STRING, "pattern": p, "maxLength": 20}
    for p in ("a(?=b)", "\\bx", "^((?!ab|cd).)*$", "^x(?!\\d)\\B", "o\\b")
]

# What is refused, and where.

REFUSED: dict[str, list[tuple[Any, str]]] = {
    "$ref": [
        ({"$ref": "other.json"}, "/$ref"),
        ({"$ref": "#/nowhere"}, "/$ref"),
        ({"$ref": 3}, "/$ref"),
    ],
    "allOf": [({"allOf": []}, "/allOf")],
    "oneOf": [
        ({"oneOf": [STRING, {**STRING, "format": "email"}]}, "/oneOf/1/format"),
    ],
    "not": [
        ({**arr(items={}), "not": {"prefixItems": [STRING]}}, "/not/prefixItems"),
        ({**STRING, "not": {**STRING, "format": "email"}}, "/not/format"),
    ],
    "enum": [({"enum": []}, "/enum")],
    "type": [({"type": "thing"}, "/type"), ({"type": []}, "/type")],
    "multipleOf": [({**INTEGER, "multipleOf": 1234567}, "/multipleOf")],
    "minLength": [({"minLength": -1}, "/minLength"), ({"minLength": "3"}, "/minLength")],
    "pattern": [
        ({**STRING, "pattern": p}, "/pattern")
        for p in ("(?<!a)b", "(?<=a)b", "a(?=\\bb)", "(a)\\1", "(", "[", "a{3,2}", "(?i)a")
    ],
    "minProperties": [({"type": "object", "minProperties": 2}, "/minProperties")],
    "contains": [(arr(contains=INTEGER, prefixItems=[{}]), "/contains")],
    "(near a keyword)": [
        ({**STRING, "minLenght": 3}, "/minLenght"),
        (obj(a={**STRING, "Pattern": "a"}), "/properties/a/Pattern"),
    ],
    "(joined)": [
        (
            {"allOf": [{"type": "object"}, obj(a={**STRING, "pattern": "(?<!a)x"})]},
            "/allOf/1/properties/a/pattern",
        ),
    ],
    "(no value)": [
        ({"$ref": "#"}, "the schema refers"),
        ({**obj(a={"$ref": "#"}), "required": ["a"]}, "no value"),
        (False, "no value"),
        ({**INTEGER, "minimum": 3, "maximum": 2}, "no value"),
        ({"allOf": [{"$ref": "#"}]}, "/allOf/0 refers"),
    ],
}


def table() -> dict[str, Any]:
    return walk([{"kind": "keywords", "source": ""}])[0]


def judge(schema: Any, texts: list[str]) -> None:
    from jsonschema import validators  # takes 2 s, which other processes do not need

    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    judge = kind(schema, format_checker=kind.FORMAT_CHECKER)
    for text in texts:
        errors = [error.message for error in judge.iter_errors(json.loads(text))]
        assert not errors, (schema, text, errors)


@pytest.mark.parametrize("keyword", ENFORCED)
def test_what_is_enforced_is_never_broken(keyword: str, request: pytest.FixtureRequest) -> None:
    samples = 300 if request.config.getoption("--long") else 40
    schemas = ENFORCED[keyword]
    if keyword == "format":
        names = [f["name"] for f in table()["formats"] if f["is_enforced"]]
        schemas = [{"type": "string", "format": name} for name in names]
    answers = walk([{"kind": "schema", "source": s, "samples": samples} for s in schemas])
    for schema, answer in zip(schemas, answers, strict=True):
        assert "error" not in answer, (schema, answer)
        assert len(answer["texts"]) > samples // 2, (schema, answer)
        judge(schema, answer["texts"])


@pytest.mark.parametrize("keyword", REFUSED)
def test_what_is_refused_is_named_by_its_path(keyword: str) -> None:
    cases = REFUSED[keyword]
    answers = walk([{"kind": "schema", "source": schema} for schema, _ in cases])
    for (schema, path), answer in zip(cases, answers, strict=True):
        assert answer.get("error", "").startswith(path + " "), (schema, answer)


def test_annotations_change_nothing() -> None:
    names = [k["name"] for k in table()["keywords"] if k["verdict"] == "annotation"]
    values: dict[str, Any] = {"$anchor": "a", "$dynamicAnchor": "b", "$defs": {"x": {}}}
    schemas = [{"const": 7, name: values.get(name, "any text")} for name in names]
    for schema, answer in zip(
        schemas, walk([{"kind": "schema", "source": s, "samples": 2} for s in schemas]), strict=True
    ):
        assert answer.get("texts") == ["7", "7"], (schema, answer)


def test_every_keyword_has_a_test() -> None:
    for keyword in table()["keywords"]:
        name, verdict = keyword["name"], keyword["verdict"]
        assert verdict != "enforced" or name in ENFORCED, name


def test_the_manual_shows_the_table() -> None:
    found = table()
    rows = [
        f"| `{k['name']}` | {k['vocabulary']} | {k['verdict']} | {k['note']} |"
        for k in found["keywords"]
    ]
    formats = ", ".join(f"`{f['name']}`" for f in found["formats"] if f["is_enforced"])
    text = DOCS.read_text()
    missing = [row for row in [*rows, formats] if row not in text]
    assert not missing, "docs/json-schema.md lacks:\n" + "\n".join(missing)
