"""What each schema of schemas/*.json admits: ordinary valid values, and no invalid one.

A case has `valid` and `invalid` values. `refused` is the path of a keyword that cannot be enforced:
an error when strict, else left out with a warning. `jsonschema` judges the table itself, but for
cases that are `unjudged` (formats, and words of OpenAPI and older drafts that it does not know).
`lenient_only` and `empty` cases are refused when strict, or always, for other reasons.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from walk import walk

FOLDER = Path(__file__).parent / "schemas"
TOPICS = sorted(path.stem for path in FOLDER.glob("*.json"))
Case = dict[str, Any]


@functools.cache
def cases(topic: str) -> list[Case]:
    found: list[Case] = json.loads((FOLDER / f"{topic}.json").read_text(encoding="utf-8"))
    return found


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def ask(topic: str, *, strict: bool) -> list[dict[str, Any]]:
    tasks = [
        {
            "kind": "schema",
            "source": text(case["schema"]),
            "strict": strict,
            "admits": [text(value) for value in case["valid"] + case["invalid"]],
        }
        for case in cases(topic)
    ]
    return walk(tasks)


def expect_admitted(case: Case, answer: dict[str, Any]) -> None:
    assert "error" not in answer, (case, answer)
    values = case["valid"] + case["invalid"]
    expected = [True] * len(case["valid"]) + [False] * len(case["invalid"])
    wrong = [v for v, e, a in zip(values, expected, answer["admitted"], strict=True) if e != a]
    assert not wrong, (case["schema"], wrong)


@pytest.mark.parametrize("topic", TOPICS)
def test_strict_holds_to_all_or_refuses(topic: str) -> None:
    for case, answer in zip(cases(topic), ask(topic, strict=True), strict=True):
        if "refused" in case:
            assert answer.get("error", "").startswith(case["refused"] + " "), (case, answer)
        elif "empty" in case:
            assert "no value" in answer["error"], (case, answer)
        elif "lenient_only" not in case:
            expect_admitted(case, answer)
            assert answer["warnings"] == [], (case, answer)


@pytest.mark.parametrize("topic", TOPICS)
def test_lenient_leaves_out_and_says_so(topic: str) -> None:
    for case, answer in zip(cases(topic), ask(topic, strict=False), strict=True):
        if "empty" in case:
            assert "no value" in answer["error"], (case, answer)
            continue
        expect_admitted(case, answer)
        paths = {warning["path"] for warning in answer["warnings"]}
        if "lenient_only" not in case:
            assert paths == ({case["refused"]} if "refused" in case else set()), (case, answer)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_table_is_right(topic: str) -> None:
    from jsonschema import validators  # takes 2 s, which other processes do not need

    for case in cases(topic):
        schema = case["schema"]
        if case.get("unjudged"):
            continue
        kind = validators.validator_for(schema, default=validators.Draft202012Validator)
        judge = kind(schema, format_checker=kind.FORMAT_CHECKER)
        for value in case["valid"]:
            assert judge.is_valid(value), (schema, value)
        for value in case["invalid"] if "refused" not in case else []:
            assert not judge.is_valid(value) or closed(schema, value), (schema, value)


def closed(schema: Any, value: Any) -> bool:
    """Valid, and never written: members that nothing is said of, types that nobody means."""
    return isinstance(schema, dict) and ("properties" in schema or "allOf" in schema)


def test_there_are_enough() -> None:
    assert sum(len(cases(topic)) for topic in TOPICS) >= 200


def test_a_format_that_contradicts_a_pattern_is_an_annotation() -> None:
    pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"
    schema = {"type": "string", "format": "date-time", "pattern": pattern}
    admits = [text("2024-01-01T10:00:00"), text("2024-01-01")]
    (answer,) = walk([{"kind": "schema", "source": schema, "strict": True, "admits": admits}])
    assert answer["admitted"] == [True, False]
    assert [warning["path"] for warning in answer["warnings"]] == ["/format"]


def test_a_way_to_break_a_branch_that_has_no_grammar_is_given_up() -> None:
    first = {
        "type": "array",
        "contains": {"type": "string"},
        "items": {"type": ["string", "integer"]},
    }
    one = {"type": "object", "properties": {"a": first, "b": {"type": "integer"}}}
    other = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"const": 1}},
        "required": ["b"],
    }
    admits = [text(value) for value in ({"a": ["x"]}, {"a": ["x"], "b": 2}, {"b": 1})]
    task = {"kind": "schema", "source": text({"oneOf": [one, other]}), "strict": True}
    assert walk([task | {"admits": admits}])[0]["admitted"] == [True, True, False]


def test_members_whose_names_nothing_fits_are_not_written() -> None:
    named = {"type": "object", "properties": {"a": {"type": "integer"}}}
    numbers = {"additionalProperties": {"type": "integer"}}
    schemas: list[Case] = [
        {**named, **numbers, "propertyNames": {"pattern": "^a$"}},
        {**named, **numbers, "patternProperties": {"^(?!a$)": {"type": "integer"}}},
        {"patternProperties": {"_x$": {}}, "propertyNames": {"maxLength": 1}, "type": "object"},
    ]
    answers = walk([{"kind": "schema", "source": s} for s in schemas])
    for schema, answer in zip(schemas, answers, strict=True):
        assert answer["texts"]
        for written in answer["texts"]:
            assert isinstance(json.loads(written), dict), (schema, written)
