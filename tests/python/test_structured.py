"""Answers as values of the program's own types."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.structured import UnfinishedAnswerError, format_of, schema_of

FAKE = Path(__file__).parents[1] / "fixtures" / "fake-model"
HI: Any = [{"role": "user", "content": "Name a city."}]


class Spot(BaseModel):
    kind: Literal["town", "village"]
    properties: list[Literal["old", "large"]] = Field(max_length=2)


class City(BaseModel):
    name: Annotated[str, Field(pattern="^[A-Z][a-z]{2,8}$")]
    size: Annotated[int, Field(ge=1, le=9)]
    spots: list[Spot] = Field(max_length=2)


@dataclasses.dataclass
class Coin:
    heads: bool


def test_objects_have_no_members_beside_the_types_own() -> None:
    schema = schema_of(City)
    assert schema["additionalProperties"] is False
    spot = schema["$defs"]["Spot"]
    assert spot["additionalProperties"] is False
    assert set(spot["properties"]) == {"kind", "properties"}, "a field that is called properties"
    assert format_of(list[Coin])["json_schema"]["name"].startswith("list")  # type: ignore[typeddict-item]


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no JSON Schema"):
        schema_of(threading_lock := type("Lock", (), {}))
    assert threading_lock


def test_answers_are_values(default_model: ResolvedModel) -> None:
    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:
        answer = engine.chat.completions.parse(
            messages=HI, response_format=City, n=2, seed=4, max_tokens=200
        )
        for choice in answer.choices:
            city = choice.message.parsed
            assert isinstance(city, City) and 1 <= city.size <= 9
            assert City.model_validate_json(choice.message.content or "") == city
        assert answer.usage is not None and answer.object == "chat.completion"


def test_any_type_that_pydantic_knows() -> None:
    with MLCEngine(FAKE, device="fake") as engine:
        parse = engine.chat.completions.parse
        coin = parse(messages=HI, response_format=Coin, seed=1).choices[0].message.parsed
        assert coin in (Coin(True), Coin(False))
        word = parse(messages=HI, response_format=Literal["ba", "bo"], seed=1)  # type: ignore[var-annotated, arg-type]
        assert word.choices[0].message.parsed in ("ba", "bo")


def test_a_value_that_its_type_refuses_asks_for_no_more_tokens() -> None:
    def refuse(value: int) -> int:
        raise ValueError("too odd")

    odd: Any = Annotated[Literal[1, 3], AfterValidator(refuse)]
    with MLCEngine(FAKE, device="fake") as engine:
        with pytest.raises(UnfinishedAnswerError, match="too odd$"):
            engine.chat.completions.parse(messages=HI, response_format=odd, seed=1)


def test_an_answer_that_was_cut_says_so() -> None:
    async def run() -> None:
        async with AsyncMLCEngine(FAKE, device="fake") as engine:
            coin = await engine.chat.completions.parse(messages=HI, response_format=Coin, seed=1)
            assert coin.choices[0].message.parsed in (Coin(True), Coin(False))
            with pytest.raises(UnfinishedAnswerError, match="finish_reason length"):
                await engine.chat.completions.parse(messages=HI, response_format=Coin, max_tokens=2)

    asyncio.run(run())
