"""MLCEngine and AsyncMLCEngine on the embedded default model."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import (
    CancelledError,
    InvalidRequestError,
    MLCError,
    UnavailableError,
    UnsupportedError,
)
from mlc_llm.prepare.model_source import ResolvedModel

FRANCE = [{"role": "user", "content": "What is the capital of France?"}]
SEA = [{"role": "user", "content": "Write two sentences about the sea."}]


@pytest.fixture(scope="module")
def engine(default_model: ResolvedModel) -> Iterator[MLCEngine]:
    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:
        yield engine


def stream_text(stream: object) -> str:
    chunks = list(stream)  # type: ignore[call-overload]
    return "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices)


def wait_for_free_pages(engine: MLCEngine) -> None:
    """All pages are back shortly after the last request ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        metrics = engine.metrics()
        if metrics["kv_pages_free"] == metrics["kv_pages_total"]:
            return
        time.sleep(0.02)
    pytest.fail(f"pages are missing: {engine.metrics()}")


def test_an_answer_names_paris(engine: MLCEngine) -> None:
    answer = engine.chat.completions.create(messages=FRANCE, temperature=0, max_tokens=40)
    assert "Paris" in (answer.choices[0].message.content or "")
    assert answer.object == "chat.completion"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_streaming_gives_the_same_text(engine: MLCEngine) -> None:
    whole = engine.chat.completions.create(messages=SEA, temperature=0, max_tokens=12)
    stream = engine.chat.completions.create(
        messages=SEA, temperature=0, max_tokens=12, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    chunks = list(stream)
    text = "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.finish_reason for chunk in chunks for c in chunk.choices][-1] == "length"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 12
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_seed_repeats_and_another_differs(engine: MLCEngine) -> None:
    def answer(seed: int) -> str:
        result = engine.chat.completions.create(
            messages=SEA, temperature=1.2, seed=seed, max_tokens=24
        )
        return result.choices[0].message.content or ""

    assert answer(7) == answer(7)
    assert len({answer(seed) for seed in (7, 8, 9)}) > 1


def test_equal_outputs_in_any_company(engine: MLCEngine) -> None:
    """Eight different requests at once give what each gives alone."""

    def ask(i: int) -> str:
        result = engine.chat.completions.create(
            messages=[{"role": "user", "content": f"Count from {i} to {i + 9}. " * (i + 1)}],
            temperature=0.8, seed=i, max_tokens=16,
        )  # fmt: skip
        return result.choices[0].message.content or ""

    alone = [ask(i) for i in range(8)]
    together: list[str] = [""] * 8
    threads = [
        threading.Thread(target=lambda i=i: together.__setitem__(i, ask(i))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    wait_for_free_pages(engine)


def test_n_choices_stop_and_logprobs(engine: MLCEngine) -> None:
    result = engine.chat.completions.create(
        messages=FRANCE, n=3, temperature=1.0, seed=1, max_tokens=12, logprobs=True, top_logprobs=2
    )
    assert [c.index for c in result.choices] == [0, 1, 2]
    for choice in result.choices:
        assert choice.logprobs is not None and choice.logprobs.content
        first = choice.logprobs.content[0]
        assert first.logprob <= 0 and len(first.top_logprobs) == 2
        assert first.top_logprobs[0].logprob >= first.top_logprobs[1].logprob
        text = b"".join(bytes(t.bytes or []) for t in choice.logprobs.content)
        assert text.decode("utf-8", "replace").startswith((choice.message.content or "")[:5])
    stopped = engine.chat.completions.create(messages=FRANCE, temperature=0, stop=["Paris"])
    assert "Paris" not in (stopped.choices[0].message.content or "")
    assert stopped.choices[0].finish_reason == "stop"


def test_a_json_schema_is_followed(engine: MLCEngine) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    result = engine.chat.completions.create(
        messages=[{"role": "user", "content": "Invent a person."}], seed=3, max_tokens=120,
        response_format={"type": "json_object", "schema": json.dumps(schema)},
    )  # fmt: skip
    value = json.loads(result.choices[0].message.content or "")
    assert isinstance(value["name"], str) and isinstance(value["age"], int)


def test_closing_a_stream_frees_its_pages(engine: MLCEngine) -> None:
    endless = {"messages": SEA, "debug_config": {"ignore_eos": True}}
    with engine.chat.completions.create(**endless, stream=True) as stream:
        next(stream)
    assert list(stream) == []
    wait_for_free_pages(engine)
    dropped = engine.chat.completions.create(**endless, stream=True)
    next(dropped)
    del dropped
    wait_for_free_pages(engine)


def test_an_answer_can_be_appended_to_the_messages(engine: MLCEngine) -> None:
    first = engine.chat.completions.create(messages=FRANCE, temperature=0, max_tokens=20)
    messages = [*FRANCE, first.choices[0].message, {"role": "user", "content": "And of Spain?"}]
    second = engine.chat.completions.create(messages=messages, temperature=0, max_tokens=20)
    assert second.choices[0].message.content


@pytest.mark.parametrize(
    ("arguments", "error", "param"),
    [
        ({"messages": []}, InvalidRequestError, "messages"),
        ({"messages": "hi"}, InvalidRequestError, "messages"),
        ({"messages": [{"role": "user"}]}, InvalidRequestError, "messages[0].content"),
        ({"messages": FRANCE, "temperature": 3}, InvalidRequestError, "temperature"),
        ({"messages": FRANCE, "max_tokens": -1}, InvalidRequestError, "max_tokens"),
        ({"messages": FRANCE, "top_logprobs": 2}, InvalidRequestError, "top_logprobs"),
        (
            {"messages": FRANCE, "logit_bias": {"999999": 1}},
            InvalidRequestError,
            "logit_bias.999999",
        ),
        (
            {"messages": FRANCE, "tools": [{"type": "function", "function": {"name": "f g"}}]},
            InvalidRequestError,
            "tools[0].function.name",
        ),
        (
            {"messages": FRANCE, "response_format": {"type": "regex", "regex": "("}},
            InvalidRequestError,
            "response_format.regex",
        ),
        ({"messages": FRANCE, "functions": []}, UnsupportedError, "functions"),
        (
            {"messages": [{"role": "user", "content": "word " * 9000}]},
            InvalidRequestError,
            "messages",
        ),
    ],
)
def test_a_wrong_request_is_refused_and_the_engine_goes_on(
    engine: MLCEngine, arguments: dict, error: type[MLCError], param: str
) -> None:
    with pytest.raises(error) as caught:
        engine.chat.completions.create(**arguments)
    assert caught.value.param == param
    assert engine.chat.completions.create(messages=FRANCE, max_tokens=1).choices


def test_a_prompt_longer_than_the_context_has_openais_code(engine: MLCEngine) -> None:
    with pytest.raises(InvalidRequestError, match="maximum context length") as caught:
        engine.chat.completions.create(messages=[{"role": "user", "content": "word " * 9000}])
    assert caught.value.code == "context_length_exceeded"


async def wait_for(engine: AsyncMLCEngine, holds: Callable[[dict[str, int]], bool]) -> None:
    """Until it holds of the numbers of free pages and of all."""
    deadline = time.monotonic() + 60
    while True:
        metrics = await engine.metrics()
        pages = {"free": metrics["kv_pages_free"], "total": metrics["kv_pages_total"]}
        if holds(pages):
            return
        assert time.monotonic() < deadline, pages
        await asyncio.sleep(0.01)


def test_async_streams_run_together(default_model: ResolvedModel) -> None:
    async def main() -> list[str]:
        async with AsyncMLCEngine(
            default_model.folder, model_lib=default_model.model_lib, mode="local"
        ) as engine:

            async def ask(i: int) -> str:
                stream = await engine.chat.completions.create(
                    messages=FRANCE, temperature=0, max_tokens=8 + i, stream=True
                )
                return "".join(
                    [c.delta.content or "" async for chunk in stream for c in chunk.choices]
                )

            texts = await asyncio.gather(*(ask(i) for i in range(3)))
            await wait_for(engine, lambda pages: pages["free"] == pages["total"])
            endless = engine.chat.completions.create(
                messages=SEA, debug_config={"ignore_eos": True}
            )
            task = asyncio.create_task(endless)
            await wait_for(engine, lambda pages: pages["free"] < pages["total"])
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await wait_for(engine, lambda pages: pages["free"] == pages["total"])
            return texts

    texts = asyncio.run(main())
    assert texts[2].startswith(texts[0]) and texts[0]


def test_two_engines_and_an_unload_in_mid_stream(
    engine: MLCEngine, default_model: ResolvedModel
) -> None:
    other = MLCEngine(default_model.folder, model_lib=default_model.model_lib)
    stream = other.chat.completions.create(
        messages=SEA, stream=True, debug_config={"ignore_eos": True}
    )
    next(stream)
    assert engine.chat.completions.create(messages=FRANCE, max_tokens=2).choices
    other.terminate()
    with pytest.raises((UnavailableError, CancelledError)):
        list(stream)
    with pytest.raises(MLCError):
        other.chat.completions.create(messages=FRANCE)
