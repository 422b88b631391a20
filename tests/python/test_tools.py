"""Functions as tools, and the loop that calls them, over a model that is a script."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mlc_llm import MLCEngine
from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.sdk.answer_fold import AnswerFold
from mlc_llm.sdk.chat_helpers import AsyncHelpedChatCompletions, HelpedChatCompletions
from mlc_llm.tools import Tool
from mlc_llm.types_gen import ChatCompletionChunk

ASK: Any = [{"role": "user", "content": "How is the weather in Oslo?"}]


class Place(BaseModel):
    city: str
    country: str | None = None


def weather(place: Place, unit: Literal["C", "F"] = "C", days: int = 1) -> dict[str, Any]:
    """The weather of a place.

    It may rain.

    Args:
        place: Where; the city
            and its country.
        unit (str): Celsius or Fahrenheit.

    Returns:
        A report.
    """
    if place.city == "Nowhere":
        raise LookupError("no such city")
    return {"city": place.city, "unit": unit, "days": days}


def noon() -> str:
    """When it is noon.

    :param zone: there is none
    """
    return "at 12"


def test_a_signature_and_its_docstring_are_a_schema() -> None:
    tool = Tool.of(weather)
    function = tool.definition()["function"]
    assert function["name"] == "weather"
    assert function["description"] == "The weather of a place.\n\nIt may rain."
    parameters: Any = function["parameters"]
    assert parameters["required"] == ["place"] and parameters["additionalProperties"] is False
    assert parameters["properties"]["unit"]["enum"] == ["C", "F"]
    assert parameters["properties"]["unit"]["description"] == "Celsius or Fahrenheit."
    place = parameters["properties"]["place"]
    assert place["description"] == "Where; the city and its country."
    assert "description" not in parameters["properties"]["days"]
    assert Tool.of(noon).definition()["function"]["description"] == "When it is noon."


def test_fields_of_pydantic_describe_parameters_too() -> None:
    def find(
        name: Annotated[str, Field(description="Whose.")], most: int = Field(3, ge=1)
    ) -> dict[str, Any]:
        return {"name": name, "most": most}

    tool = Tool.of(find)
    properties: Any = tool.parameters["properties"]
    assert properties["name"]["description"] == "Whose."
    assert properties["most"]["minimum"] == 1 and properties["most"]["default"] == 3
    assert find(**tool.arguments('{"name": "Anna"}')) == {"name": "Anna", "most": 3}


def test_a_function_that_cannot_be_described_is_refused() -> None:
    def starred(*cities: str) -> None: ...

    with pytest.raises(TypeError, match="cities"):
        Tool.of(starred)


def says(content: str | None = None, *calls: tuple[str, str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": text}}
            for i, (name, text) in enumerate(calls)
        ]
    return message


def pieces(message: dict[str, Any]) -> Iterator[ChatCompletionChunk]:
    """An answer in chunks: a character of text each, a call in two."""
    for letter in message["content"] or "":
        yield chunk({"content": letter})
    for i, call in enumerate(message.get("tool_calls", [])):
        text = call["function"]["arguments"]
        head = {**call, "index": i, "function": {**call["function"], "arguments": text[:3]}}
        yield chunk({"role": "assistant", "tool_calls": [head]})
        yield chunk({"tool_calls": [{"index": i, "function": {"arguments": text[3:]}}]})
    yield chunk({}, "tool_calls" if "tool_calls" in message else "stop")


def chunk(delta: dict[str, Any], finish: str | None = None) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return ChatCompletionChunk.model_validate({**head, "choices": [choice]})


class Script(HelpedChatCompletions):
    """Gives these answers, and keeps what it was asked and whether its streams were closed."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages, self.asked = list(messages), list[dict[str, Any]]()
        self.open = 0

    def _create(self, request: dict[str, Any], stream: bool) -> Any:
        self.asked.append(json.loads(json.dumps(request)))
        assert stream
        return self.stream(self.messages.pop(0))

    @contextmanager
    def stream(self, message: dict[str, Any]) -> Iterator[Iterator[ChatCompletionChunk]]:
        self.open += 1
        try:
            yield pieces(message)
        finally:
            self.open -= 1


class AsyncScript(AsyncHelpedChatCompletions):
    def __init__(self, *messages: dict[str, Any]) -> None:
        self.script = Script(*messages)

    async def _create(self, request: dict[str, Any], stream: bool) -> Any:
        return self.stream(self.script._create(request, stream))

    @asynccontextmanager
    async def stream(self, chunks: Any) -> AsyncIterator[AsyncIterator[ChatCompletionChunk]]:
        async def each() -> AsyncIterator[ChatCompletionChunk]:
            for piece in whole:
                await asyncio.sleep(0)
                yield piece

        with chunks as whole:
            yield each()


OSLO = ("weather", '{"place": {"city": "Oslo"}}')


def results(messages: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in messages if m["role"] == "tool"]


def test_calls_are_run_until_there_is_an_answer() -> None:
    script = Script(says(None, OSLO, ("noon", "")), says("It is fine."))
    run = script.run_tools(messages=ASK, tools=[weather, noon], tool_choice="required", seed=3)
    assert run.content == "It is fine." and run.num_calls == 2 and not run.limit_reached
    assert results(run.messages) == ['{"city":"Oslo","unit":"C","days":1}', "at 12"]
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m.get("tool_call_id") for m in run.messages[2:4]] == ["c0", "c1"]
    first, second = script.asked
    assert first["tool_choice"] == "required" and second["tool_choice"] == "auto"
    assert second["seed"] == 3 and second["messages"] == run.messages[:4]
    assert [t["function"]["name"] for t in first["tools"]] == ["weather", "noon"]
    assert len(ASK) == 1, "the caller's own list stays as it was"


def test_what_goes_wrong_goes_back_to_the_model() -> None:
    script = Script(
        says(None, ("weather", '{"place": {"city": "Nowhere"}}')),
        says(None, ("weather", '{"place": "Oslo", "wind": 1}'), ("weather", '{"pla')),
        says(None, ("rain", "{}")),
        says("I do not know."),
    )
    run = script.run_tools(messages=ASK, tools=[weather, noon])
    failed, unfit, cut, unknown = results(run.messages)
    assert failed == "error: no such city"
    assert unfit.startswith("error: the arguments do not fit: place: ") and "wind" in unfit
    assert cut.startswith("error: the arguments do not fit: Invalid JSON")
    assert unknown == "error: there is no tool rain; there are: weather, noon"


def test_calls_are_made_with_approval_alone() -> None:
    called = []

    def noted() -> str:
        called.append(1)
        return "done"

    script = Script(says(None, ("noted", "{}"), ("noon", "{}")), says("Well."))
    run = script.run_tools(
        messages=ASK, tools=[noted, noon], approve=lambda call: call.function.name == "noon"
    )
    assert not called and results(run.messages) == ["error: the call was denied", "at 12"]


def test_the_limit_ends_a_loop_that_would_not_end() -> None:
    endless = [says(None, ("noon", "{}"), ("noon", "{}")) for _ in range(9)]
    script = Script(*endless)
    run = script.run_tools(messages=ASK, tools=[noon], max_calls=3)
    assert run.num_calls == 3 and run.limit_reached and len(script.asked) == 3
    assert script.asked[-1]["tool_choice"] == "none"
    assert results(run.messages)[:3] == ["at 12"] * 3
    assert "limit of calls" in results(run.messages)[3]
    exact = Script(says(None, ("noon", "{}")), says("Noon."))
    assert not exact.run_tools(messages=ASK, tools=[noon], max_calls=1).limit_reached


def test_async_calls_of_a_round_run_at_the_same_time() -> None:
    begun: list[str] = []

    async def slow(city: str) -> str:
        begun.append(city)
        while len(begun) < 3:  # until the others have begun too
            await asyncio.sleep(0)
        return city

    async def approve(call: Any) -> bool:
        return "Rome" not in call.function.arguments

    calls = [("slow", json.dumps({"city": city})) for city in ("Oslo", "Bern", "Rome", "Bonn")]
    script = AsyncScript(says(None, *calls, ("noon", "{}")), says("Done."))
    running = script.run_tools(messages=ASK, tools=[slow, noon], approve=approve)
    run = asyncio.run(asyncio.wait_for(running, 60))
    assert results(run.messages) == ["Oslo", "Bern", "error: the call was denied", "Bonn", "at 12"]


def test_wrong_use_is_told() -> None:
    for wrong in ({"tools": []}, {"tools": [noon, noon]}, {"tools": [noon], "n": 2}):
        with pytest.raises(InvalidRequestError, match="tool is needed|n out"):
            Script().run_tools(messages=ASK, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="messages"):
        Script().run_tools(tools=[noon])


def test_the_synchronous_engine_takes_no_coroutine_functions() -> None:
    async def never(*_: object) -> bool:
        return False

    async def later() -> str:
        return "at 12"

    refused: list[dict[str, Any]] = [
        {"tools": [later]},
        {"approve": never},
        {"approve": functools.partial(never, 1)},
        {"approve": lambda call: never(call)},
    ]
    for wrong in refused:
        with pytest.raises(InvalidRequestError, match="only AsyncMLCEngine awaits") as error:
            script = Script(says(None, ("noon", "{}"), ("later", "{}")), says("Done."))
            script.run_tools(messages=ASK, **{"tools": [noon], **wrong})
        assert error.value.param in wrong


def test_a_stream_tells_what_happens() -> None:
    script = Script(says("Hm", OSLO, ("noon", "")), says("Fine."))
    with script.stream_tools(messages=ASK, tools=[weather, noon]) as events:
        seen = list(events)
    kinds = [event.type for event in seen if event.type != "chunk"]
    assert kinds == ["text"] * 2 + ["call"] * 2 + ["result"] * 2 + ["text"] * 5 + ["end"]
    assert "".join(event.text for event in seen if event.type == "text") == "HmFine."
    results_seen = [event.result for event in seen if event.type == "result"]
    assert [r.outcome for r in results_seen] == ["returned"] * 2
    assert [r.call.function.name for r in results_seen] == ["weather", "noon"]
    assert results_seen[0].call.function.arguments == OSLO[1]
    end = seen[-1]
    assert end.type == "end" and end.run.content == "Fine." and end.run.num_calls == 2


def test_leaving_a_stream_ends_what_it_asked_for() -> None:
    script = Script(says("A long text."), says(None, ("noon", "")))
    with script.stream_tools(messages=ASK, tools=[noon]) as events:
        next(events)
        assert script.open == 1
    assert script.open == 0
    dropped = script.stream_tools(messages=ASK, tools=[noon])
    next(dropped)
    del dropped
    gc.collect()
    assert script.open == 0 and not script.messages


def test_leaving_an_async_stream_ends_the_calls_that_run() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def slow(city: str) -> str:
        begun.append(city)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(city)
        return city

    calls = [("slow", json.dumps({"city": city})) for city in ("Oslo", "Bern")]
    script = AsyncScript(says(None, *calls, ("noon", "")))

    async def leave() -> None:
        async with script.stream_tools(messages=ASK, tools=[slow, noon]) as events:
            async for event in events:
                if event.type == "call" and event.call.function.name == "noon":
                    reader = asyncio.ensure_future(events.__anext__())
                    while len(begun) < 2:
                        await asyncio.sleep(0)
                    reader.cancel()
                    await asyncio.wait([reader])
                    assert reader.cancelled()

    asyncio.run(asyncio.wait_for(leave(), 60))
    assert sorted(ended) == ["Bern", "Oslo"] and script.script.open == 0


def test_async_events_are_the_same() -> None:
    answers = [says("Hm", OSLO, ("noon", "")), says("Fine.")]
    with Script(*answers).stream_tools(messages=ASK, tools=[weather, noon]) as expected:
        whole = list(expected)

    async def read() -> list[Any]:
        async with AsyncScript(*answers).stream_tools(
            messages=ASK, tools=[weather, noon]
        ) as events:
            return [event async for event in events]

    assert asyncio.run(read()) == whole


def test_chunks_put_together_are_the_whole_answer(default_model: ResolvedModel) -> None:
    request: Any = {
        "messages": ASK, "max_tokens": 12, "n": 2, "seed": 3, "logprobs": True, "top_logprobs": 2,
    }  # fmt: skip
    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:
        whole = engine.chat.completions.create(**request)
        fold = AnswerFold()
        usage = {"include_usage": True}
        for piece in engine.chat.completions.create(**request, stream=True, stream_options=usage):
            fold.add(piece)
    assert fold.completion().choices == whole.choices
    counts = fold.completion().usage
    assert counts and whole.usage and counts.total_tokens == whole.usage.total_tokens


def test_a_real_model_calls(default_model: ResolvedModel) -> None:
    """It must call in the first round; what it calls with fits the function."""
    seen: list[tuple[str, int]] = []

    def forecast(city: Literal["Oslo", "Rome"], days: Literal[1, 2, 3]) -> str:
        """The weather of the next days."""
        seen.append((city, days))
        return f"Sunny in {city}."

    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:
        run = engine.chat.completions.run_tools(
            messages=ASK, tools=[forecast], tool_choice="required", temperature=0, max_tokens=60,
            max_calls=2,
        )  # fmt: skip
    assert seen and seen[0][0] in ("Oslo", "Rome") and seen[0][1] in (1, 2, 3)
    assert "Sunny in" in results(run.messages)[0]
    assert run.messages[-1]["role"] == "assistant"
