"""Answers under a shape: none breaks it, however wildly they are sampled.

60 answers in CI, 2,000 with `--long`.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from random_schemas import random_schema
from real_requests import Answer, ask_at_once, user

from mlc_llm import MLCEngine
from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel

SCHEMAS = 200


def engine_of(model: ResolvedModel, **config: Any) -> MLCEngine:
    settings = {"max_num_sequence": 16, "max_total_seq_length": 16384, **config}
    return MLCEngine(str(model.folder), model_lib=str(model.model_lib), engine_config=settings)


def shaped(schema: Any, seed: int, **members: Any) -> dict[str, Any]:
    return {
        "messages": user("Give me an example, as JSON."),
        "temperature": 1.5, "top_p": 1.0, "seed": seed,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        **members,
    }  # fmt: skip


def judge(schema: Any, answer: Answer) -> str:
    from jsonschema import Draft202012Validator  # takes 2 s, which other processes do not need

    assert answer.ended and not answer.error, (schema, answer.error)
    text = answer.texts.get(0, "")
    if answer.finish[0] != "stop":
        return "unfinished"
    checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    errors = [error.message for error in checker.iter_errors(json.loads(text))]
    assert not errors, (schema, text, errors)
    return "valid"


def test_no_answer_breaks_its_schema(
    default_model: ResolvedModel, request: pytest.FixtureRequest, record_property: Any
) -> None:
    count = 2000 if request.config.getoption("--long") else 60
    schemas = [random_schema(i) for i in range(min(count, SCHEMAS))]
    requests = [
        shaped(schemas[i % len(schemas)][0], i, max_tokens=schemas[i % len(schemas)][1])
        for i in range(count)
    ]
    begin = time.monotonic()
    with engine_of(default_model) as engine:
        answers = ask_at_once(engine, requests, at_once=16)
        jumps = engine.metrics().get("jump_forward")
    verdicts = [judge(schemas[i % len(schemas)][0], answer) for i, answer in enumerate(answers)]
    finished = verdicts.count("valid")
    print(f"{finished} of {count} finished, all valid; {time.monotonic() - begin:.0f} s; {jumps}")
    assert finished >= 0.95 * count


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_jumping_forward_changes_nothing(default_model: ResolvedModel, temperature: float) -> None:
    requests = [
        shaped(random_schema(i)[0], i, max_tokens=120, temperature=temperature, logprobs=True)
        for i in range(8)
    ]
    answers, metrics = [], []
    for jump in (True, False):
        with engine_of(default_model, jump_forward=jump) as engine:
            answers.append(ask_at_once(engine, requests, at_once=4))
            metrics.append(engine.metrics())
    assert [a.texts for a in answers[0]] == [a.texts for a in answers[1]]
    assert [a.tokens for a in answers[0]] == [a.tokens for a in answers[1]]
    assert metrics[0]["jump_forward"]["accept_count"] > 0
    assert "jump_forward" not in metrics[1]


def test_a_schema_that_cannot_be_enforced_is_refused_or_told(default_model: ResolvedModel) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<!a)x"}}}
    request = shaped(schema, 1, max_tokens=8)
    with engine_of(default_model) as engine:
        answer = engine.chat.completions.create(**request)
        assert answer.warnings is not None
        assert [warning.path for warning in answer.warnings] == ["/properties/a/pattern"]
        request["response_format"]["json_schema"]["strict"] = True
        with pytest.raises(InvalidRequestError, match="/properties/a/pattern") as caught:
            engine.chat.completions.create(**request)
        assert caught.value.param == "response_format.json_schema.schema"
