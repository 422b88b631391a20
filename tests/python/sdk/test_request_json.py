"""Requests that are no JSON: each error names the field, as the core's errors do."""

from __future__ import annotations

import asyncio
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import InvalidRequestError, UnsupportedError
from mlc_llm.errors import reasons_gen as reasons

FOLDER = Path(__file__).parents[2] / "fixtures" / "fake-model"
HELLO = [{"role": "user", "content": "Hello"}]
HALF = "\ud800"


@pytest.fixture(scope="module")
def engine():
    with MLCEngine(FOLDER, device="fake") as engine:
        yield engine


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def ring() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


class Part(BaseModel):
    text: Any


def refused(engine: MLCEngine, **fields: Any) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        engine.chat.completions.create(**{"messages": HELLO, "max_tokens": 1} | fields)
    return caught.value


@pytest.mark.parametrize("name", ["stop", "user", "service_tier", "lora", "logit_processor"])
def test_bytes_are_for_pictures_only(engine: MLCEngine, name: str) -> None:
    error = refused(engine, **{name: b"x"})
    assert (error.param, error.code) == (name, reasons.INVALID_TYPE)
    assert error.message.startswith(f"Invalid type for '{name}': ")


def test_bytes_in_a_message(engine: MLCEngine) -> None:
    text = [{"role": "user", "content": b"hi"}]
    assert refused(engine, messages=text).param == "messages[0].content"
    picture = {"type": "image_url", "image_url": {"url": b"x"}}
    both = [{"role": "user", "content": [picture, {"type": "text", "text": bytearray(b"hi")}]}]
    assert refused(engine, messages=both).param == "messages[0].content[1].text"
    for url in (
        {"url": b"x"},
        b"x",
        {"url": memoryview(b"x")},
    ):  # the engine gets them, and its model takes no pictures
        part = {"type": "image_url", "image_url": url}
        with pytest.raises(UnsupportedError, match="reads text only"):
            engine.chat.completions.create(messages=[{"role": "user", "content": [part]}])


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"temperature": float("nan")}, "temperature", reasons.INVALID_JSON),
        ({"top_p": np.float32("inf")}, "top_p", reasons.INVALID_JSON),
        ({"messages": [{"content": HALF}]}, "messages[0].content", reasons.INVALID_JSON),
        ({"messages": [Part(text=HALF)]}, "messages[0].text", reasons.INVALID_JSON),
        ({"chat_template_kwargs": {HALF: {1: HALF}}}, "chat_template_kwargs.?.1", None),
        ({"response_format": nested(100_000)}, "response_format", reasons.INVALID_JSON),
        ({"stop": ring()}, "stop", reasons.INVALID_JSON),
        ({"stop": {"a"}}, "stop", reasons.INVALID_TYPE),
        ({"stop": array("i", [1])}, "stop", reasons.INVALID_TYPE),
        ({"stop": ["a", object()]}, "stop[1]", reasons.INVALID_TYPE),
        ({"response_format": Part}, "response_format", reasons.INVALID_TYPE),
        ({"logit_bias": {(1, 2): 3}}, "logit_bias", reasons.INVALID_TYPE),
        ({"extra_body": {(1, 2): 3}}, "extra_body", reasons.INVALID_TYPE),
        ({"extra_body": 5}, "extra_body", reasons.INVALID_REQUEST),
        ({"extra_body": ""}, "extra_body", reasons.INVALID_REQUEST),
        ({"request_id": [1]}, "request_id", reasons.INVALID_REQUEST),
        ({"request_id": object()}, "request_id", reasons.INVALID_REQUEST),
    ],
)
def test_what_json_cannot_hold_is_named(
    engine: MLCEngine, fields: dict[str, Any], param: str, code: object
) -> None:
    error = refused(engine, **fields)
    assert error.param == param and f"'{param}'" in error.message
    assert code in (error.code, None)


def test_the_async_engine_names_it_too() -> None:
    async def ask(**fields: Any) -> str | None:
        async with AsyncMLCEngine(FOLDER, device="fake") as engine:
            with pytest.raises(InvalidRequestError) as caught:
                await engine.chat.completions.create(messages=HELLO, **fields)
            return caught.value.param

    for fields in ({"stop": b"x"}, {"seed": object()}, {"request_id": 5}, {"extra_body": "x"}):
        assert [asyncio.run(ask(**fields))] == [*fields]


def test_numpys_values_are_pythons(engine: MLCEngine) -> None:
    def answer(**fields: Any) -> object:
        result = engine.chat.completions.create(messages=HELLO, **fields)
        return [(one.message.content, one.logprobs) for one in result.choices]

    plain = {"max_tokens": 5, "temperature": 0.5, "seed": 3, "logprobs": True, "stop": ["z"]}
    kinds = (np.int64, np.float32, np.int32, np.bool_, np.array)
    given = {name: kind(plain[name]) for name, kind in zip(plain, kinds, strict=True)}
    assert answer(**given) == answer(**plain)
