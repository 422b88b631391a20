"""Logit processors: a program's own function before each token."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import InvalidRequestError

FAKE = Path(__file__).resolve().parents[2] / "fixtures" / "fake-model"
TOKEN, WORD = 97, "woka97"  # of the fake model's vocabulary
MESSAGES = [{"role": "user", "content": "Say something."}]


@pytest.fixture(scope="module")
def engine() -> Iterator[MLCEngine]:
    engine = MLCEngine(FAKE, device="fake")
    yield engine
    engine.terminate()


def ask(engine: Any, **options: Any) -> Any:
    given = {"max_tokens": 6, "temperature": 0, **options}
    return engine.chat.completions.create(messages=MESSAGES, **given)


def text(answer: Any) -> str:
    return str(answer.choices[0].message.content)


def only(token: int) -> Any:
    def processor(prompt: list[int], answer: list[int], logits: memoryview) -> None:
        values = np.asarray(logits)
        values[:] = -math.inf
        values[token] = 0

    return processor


def test_it_chooses(engine: MLCEngine) -> None:
    plain = text(ask(engine))
    engine.set_logit_processor("a", only(TOKEN))
    assert text(ask(engine, logit_processor="a")).split() == [WORD] * 6
    streamed = ask(engine, logit_processor="a", stream=True)
    pieces = [c.choices[0].delta.content or "" for c in streamed if c.choices]
    assert "".join(pieces).split() == [WORD] * 6
    made = engine.completions.create(prompt="x", max_tokens=3, logit_processor="a")
    assert made.choices[0].text.split() == [WORD] * 3
    assert text(ask(engine)) == plain


def test_it_sees_what_was_written(engine: MLCEngine) -> None:
    seen: list[tuple[list[int], list[int]]] = []

    def look(prompt: list[int], answer: list[int], logits: memoryview) -> None:
        assert logits.format == "f" and len(logits) == logits.shape[0] > 255
        seen.append((prompt, answer))

    engine.set_logit_processor("look", look)
    first, second = text(ask(engine, logit_processor="look")), text(ask(engine))
    assert first == second  # it changed nothing
    assert [len(answer) for _, answer in seen] == list(range(6))
    assert seen[5][1][:3] == seen[3][1]
    assert all(prompt == seen[0][0] for prompt, _ in seen) and seen[0][0]


def raises(prompt: list[int], answer: list[int], logits: memoryview) -> None:
    if len(answer) == 2:
        raise ValueError("no more")


def writes_nan(prompt: list[int], answer: list[int], logits: memoryview) -> None:
    logits[5] = math.nan


def leaves_none(prompt: list[int], answer: list[int], logits: memoryview) -> None:
    np.asarray(logits)[:] = -math.inf


@pytest.mark.parametrize(
    ("processor", "match"),
    [
        (raises, "raised ValueError: no more"),
        (writes_nan, "token 5 NaN"),
        (leaves_none, "no token"),
        (lambda: None, "raised TypeError"),
    ],
)
def test_a_fault_ends_its_request_alone(processor: Any, match: str, engine: MLCEngine) -> None:
    engine.set_logit_processor("faulty", processor)
    other = ask(engine, stream=True, max_tokens=40)
    with pytest.raises(InvalidRequestError, match=match) as caught:
        ask(engine, logit_processor="faulty")
    assert caught.value.code == "logit_processor_failed"
    assert caught.value.param == "logit_processor"
    assert len([c for c in other if c.choices and c.choices[0].delta.content]) > 10


def test_a_shape_and_a_processor_that_exclude_each_other(engine: MLCEngine) -> None:
    engine.set_logit_processor("never", only(TOKEN))
    with pytest.raises(InvalidRequestError, match="answer's shape") as caught:
        ask(engine, logit_processor="never", response_format={"type": "json_object"})
    assert caught.value.code == "logit_processor_failed"


def test_what_it_gets_may_be_kept(engine: MLCEngine) -> None:
    arrays: list[Any] = []

    def keeps(prompt: list[int], answer: list[int], logits: memoryview) -> None:
        arrays.append(np.asarray(logits))

    engine.set_logit_processor("keeps", keeps)
    ask(engine, logit_processor="keeps")
    assert len(arrays) == 6
    for array in arrays:
        array[:] = 1  # nobody else's memory
    assert text(ask(engine)) == text(ask(engine, logit_processor="keeps"))


def test_an_unknown_or_removed_name_is_refused(engine: MLCEngine) -> None:
    with pytest.raises(InvalidRequestError, match="no logit processor 'nothing'"):
        ask(engine, logit_processor="nothing")
    engine.set_logit_processor("gone", only(TOKEN))
    engine.set_logit_processor("gone", None)
    with pytest.raises(InvalidRequestError, match="'gone'"):
        ask(engine, logit_processor="gone")


def test_a_removed_function_is_freed(engine: MLCEngine) -> None:
    processor = only(TOKEN)
    alive = weakref.ref(processor)
    engine.set_logit_processor("freed", processor)
    del processor
    assert text(ask(engine, logit_processor="freed", max_tokens=2)).split() == [WORD] * 2
    engine.set_logit_processor("freed", None)
    gc.collect()
    assert alive() is None


def test_many_requests_share_one(engine: MLCEngine) -> None:
    async def main() -> list[str]:
        shared = AsyncMLCEngine(FAKE, device="fake")
        shared.set_logit_processor("a", only(TOKEN))
        try:
            made = await asyncio.gather(
                *(
                    shared.chat.completions.create(
                        messages=MESSAGES, max_tokens=5, logit_processor="a" if i % 2 else None
                    )
                    for i in range(16)
                )
            )
        finally:
            shared.terminate()
        return [text(answer) for answer in made]

    answers = asyncio.run(main())
    assert all(answer.split() == [WORD] * 5 for answer in answers[1::2])
    assert not any(answer.split() == [WORD] * 5 for answer in answers[::2])
