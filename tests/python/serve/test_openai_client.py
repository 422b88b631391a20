"""The official `openai` package, sync and async: all works as with OpenAI's own server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Literal

import httpx
import openai
import pydantic
import pytest

from .conftest import ENDLESS, KEY, running_server

MODEL = "fake-model"
HELLO: Any = [{"role": "user", "content": "Hello"}]
LONG: Any = {"model": MODEL, "messages": HELLO, "extra_body": ENDLESS}
TO_THE_LIMIT: Any = {"extra_body": {"debug_config": {"ignore_eos": True}}}


class Answer(pydantic.BaseModel):
    """What the model must give."""

    kind: Literal["cat", "dog"]
    fine: bool
    friends: list[Literal["Ann", "Bo"]] = pydantic.Field(max_length=2)


def run(url: str, act: Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, Any]]) -> Any:
    async def inside() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            return await act(client)

    return asyncio.run(inside())


# Chat


def test_parse_gives_a_pydantic_object(client: openai.OpenAI, url: str) -> None:
    options: Any = {"model": MODEL, "messages": HELLO, "seed": 5, "response_format": Answer}
    parsed = client.chat.completions.parse(**options).choices[0].message.parsed
    assert isinstance(parsed, Answer)
    again = run(url, lambda c: c.chat.completions.parse(**options))
    assert again.choices[0].message.parsed == parsed


def test_a_cut_answer_cannot_be_parsed(client: openai.OpenAI) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(
            model=MODEL, messages=HELLO, max_tokens=2, response_format=Answer
        )


def test_the_stream_helper(client: openai.OpenAI, url: str) -> None:
    options: Any = {"model": MODEL, "messages": HELLO, "seed": 6}
    with client.chat.completions.stream(**options) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= set(kinds)
    whole = client.chat.completions.create(**options)
    assert final.choices[0].message.content == whole.choices[0].message.content

    async def act(c: openai.AsyncOpenAI) -> str | None:
        async with c.chat.completions.stream(**options) as stream:
            async for _ in stream:
                pass
            return (await stream.get_final_completion()).choices[0].message.content

    assert run(url, act) == whole.choices[0].message.content


def test_the_stream_helper_parses(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model=MODEL, messages=HELLO, seed=5, response_format=Answer
    ) as stream:
        parsed = stream.get_final_completion().choices[0].message.parsed
    assert isinstance(parsed, Answer)


def test_logprobs_have_the_clients_form(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=5, logprobs=True, top_logprobs=3, **TO_THE_LIMIT
    )
    content = answer.choices[0].logprobs.content
    assert len(content) == 5 and all(len(entry.top_logprobs) == 3 for entry in content)
    answer.model_validate(answer.model_dump())  # strictly, which the client itself is not


def test_raw_and_streamed_responses(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=HELLO, max_tokens=3, **TO_THE_LIMIT
    )
    assert raw.status_code == 200 and raw.parse().usage.completion_tokens == 3
    with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=HELLO, max_tokens=3, stream=True
    ) as answer:
        assert list(answer.iter_lines())[-2:] == ["data: [DONE]", ""]


def test_several_answers_in_a_stream(client: openai.OpenAI) -> None:
    texts = ["", "", ""]
    for chunk in client.chat.completions.create(
        model=MODEL, messages=HELLO, n=3, seed=1, max_tokens=9, stream=True
    ):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert len(set(texts)) == 3


# Tools

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Oslo", "Rome"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


def test_a_tool_is_called_and_answered(client: openai.OpenAI, url: str) -> None:
    options: Any = {"model": MODEL, "tools": [WEATHER], "seed": 2}
    first = client.chat.completions.create(messages=HELLO, tool_choice="required", **options)
    assert first.choices[0].finish_reason == "tool_calls"
    call = first.choices[0].message.tool_calls[0]
    assert call.function.name == "weather"
    assert json.loads(call.function.arguments)["city"] in ("Oslo", "Rome")
    answered = [
        *HELLO,
        first.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": "Rain."},
    ]
    last = client.chat.completions.create(
        messages=answered, max_tokens=5, **options, tool_choice="none", **TO_THE_LIMIT
    )
    assert last.choices[0].message.tool_calls is None and last.choices[0].message.content

    async def act(c: openai.AsyncOpenAI) -> Any:
        async with c.chat.completions.stream(
            messages=HELLO, tool_choice="required", **options
        ) as stream:
            return await stream.get_final_completion()

    streamed = run(url, act).choices[0].message.tool_calls[0]
    assert streamed.function.arguments == call.function.arguments


def test_a_response_calls_a_function(client: openai.OpenAI) -> None:
    tool = {"type": "function", **WEATHER["function"]}
    options: Any = {"model": MODEL, "tools": [tool], "tool_choice": "required", "input": "Hello"}
    response = client.responses.create(**options, extra_body={"seed": 2})
    call = response.output[-1]
    assert call.type == "function_call" and call.name == "weather"
    events = list(client.responses.create(**options, extra_body={"seed": 2}, stream=True))
    kinds = [event.type for event in events]
    start = kinds.index("response.output_item.added")
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[start + 1] == "response.function_call_arguments.delta"
    assert kinds[-3:] == [
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-1].response.output[-1].arguments == call.arguments
    follow: Any = [
        {"role": "user", "content": "Hello"},
        *[item.model_dump() for item in response.output],
        {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."},
    ]
    last = client.responses.create(
        model=MODEL, input=follow, max_output_tokens=5, extra_body={"seed": 2}
    )
    assert last.output_text


# Responses


def test_responses_parse(client: openai.OpenAI, url: str) -> None:
    options: Any = {"model": MODEL, "input": "Hello", "text_format": Answer}
    parsed = client.responses.parse(**options, extra_body={"seed": 5}).output_parsed
    assert isinstance(parsed, Answer)
    again = run(url, lambda c: c.responses.parse(**options, extra_body={"seed": 5}))
    assert again.output_parsed == parsed


def test_a_response_is_whole_under_strict_reading(client: openai.OpenAI) -> None:
    response = client.responses.create(
        model=MODEL, input="Hello", max_output_tokens=5, top_logprobs=2,
        include=["message.output_text.logprobs"], metadata={"a": "b"}, instructions="Be brief.",
        extra_body={"seed": 2},
    )  # fmt: skip
    openai.types.responses.Response.model_validate(response.model_dump(), strict=False)
    text = response.output[0].content[0]
    assert len(text.logprobs) == 5 and len(text.logprobs[0].top_logprobs) == 2
    assert response.metadata == {"a": "b"} and response.store is True


def test_responses_async(url: str) -> None:
    async def act(c: openai.AsyncOpenAI) -> tuple[str, str]:
        options: Any = {"model": MODEL, "input": "Hello", "temperature": 0}
        whole = await c.responses.create(**options)
        async with c.responses.stream(**options) as stream:
            return whole.output_text, (await stream.get_final_response()).output_text

    whole, streamed = run(url, act)
    assert whole == streamed != ""


# Errors


@pytest.fixture(scope="module")
def busy() -> Any:
    """A server that answers one request and lets one wait."""
    overrides = ("--overrides", "max_num_sequence=1;max_queued_requests=1")
    no_turns = ("--prefix-cache-mode", "disable")
    with running_server("--enable-debug", "--api-key", KEY, *overrides, *no_turns) as url:
        yield url


def test_rate_limit(busy: str) -> None:
    async def act(c: openai.AsyncOpenAI) -> openai.RateLimitError:
        ask = c.chat.completions.create
        async with await ask(**LONG, stream=True) as first:
            await anext(first)  # it is being answered, and leaves room for one
            others = [asyncio.create_task(ask(**LONG)) for _ in range(2)]
            (refused,), (waiting,) = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            with pytest.raises(openai.RateLimitError) as error:
                refused.result()
            return error.value

    error = run(busy, act)
    assert error.code == "queue_full" and error.response.headers["retry-after"] == "1"


def test_error_classes_async(url: str) -> None:
    async def act(c: openai.AsyncOpenAI) -> None:
        with pytest.raises(openai.BadRequestError) as bad:
            await c.chat.completions.create(model=MODEL, messages=HELLO, temperature=3)
        assert (bad.value.param, bad.value.code) == ("temperature", "decimal_above_max_value")
        assert bad.value.type == "invalid_request_error"
        with pytest.raises(openai.NotFoundError):
            await c.chat.completions.create(model="gpt-9", messages=HELLO)
        with pytest.raises(openai.AuthenticationError):
            await c.with_options(api_key="wrong").models.list()
        with pytest.raises(openai.BadRequestError):
            stream = await c.chat.completions.create(
                model=MODEL, messages=HELLO, stream=True, max_tokens=-1
            )
            async for _ in stream:
                pass

    run(url, act)


def test_the_clients_timeout(client: openai.OpenAI, http: httpx.Client) -> None:
    with pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(**LONG, timeout=0.2)
    drained(http)


def test_a_stream_that_is_cancelled_ends_the_request(
    client: openai.OpenAI, url: str, http: httpx.Client
) -> None:
    with client.chat.completions.create(**LONG, stream=True) as stream:
        next(iter(stream))
    drained(http)

    async def act(c: openai.AsyncOpenAI) -> None:
        async def read(stream: AsyncIterator[Any]) -> None:
            async for _ in stream:
                pass

        stream = await c.chat.completions.create(**LONG, stream=True)
        task = asyncio.create_task(read(stream))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.close()

    run(url, act)
    drained(http)


def drained(http: httpx.Client) -> None:
    """No request is being answered any more, long before these could have been whole."""
    deadline = time.monotonic() + 60
    while "requests_running 0.0" not in http.get("/metrics").text:
        assert time.monotonic() < deadline, "a request that nobody reads goes on"
        time.sleep(0.01)


# Embeddings


def test_embeddings(client: openai.OpenAI, url: str) -> None:
    options: Any = {"model": MODEL, "input": ["one", "two", "one"]}
    answer = client.embeddings.create(**options)  # as base64, which the client decodes
    one, two, again = (item.embedding for item in answer.data)
    assert one == pytest.approx(again) and one != pytest.approx(two)
    assert [item.index for item in answer.data] == [0, 1, 2] and answer.usage.prompt_tokens > 0
    floats = client.embeddings.create(**options, encoding_format="float").data[0].embedding
    assert floats == pytest.approx(one, abs=1e-6)
    short = client.embeddings.create(model=MODEL, input="one", dimensions=4)
    assert len(short.data[0].embedding) == 4
    later = run(url, lambda c: c.embeddings.create(**options))
    assert later.data[1].embedding == pytest.approx(two)
    with pytest.raises(openai.BadRequestError) as error:
        client.embeddings.create(model=MODEL, input=[])
    assert (error.value.param, error.value.code) == ("input", "empty_array")
