"""The loop that runs a model's tool calls, with threads and with asyncio; see `tools.py`."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from mlc_llm.errors import InvalidRequestError
from mlc_llm.sdk.answer_fold import AnswerFold
from mlc_llm.sdk.completions_gen import AsyncStream, Stream
from mlc_llm.sdk.tools_gen import (
    ToolOutcome,
    ToolResult,
    ToolRun,
    ToolRunCall,
    ToolRunChunk,
    ToolRunEnd,
    ToolRunEvent,
    ToolRunResult,
    ToolRunText,
    ToolsTexts,
)
from mlc_llm.tools import Tool
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageToolCall,
)

Approve = Callable[[ChatCompletionMessageToolCall], bool]
AsyncApprove = Callable[[ChatCompletionMessageToolCall], "bool | Awaitable[bool]"]


@dataclass(frozen=True)
class PlannedCall:
    """A call of the model: its function and arguments, or the reason why nothing can be called."""

    call: ChatCompletionMessageToolCall
    tool: Tool | None
    arguments: Mapping[str, Any]
    refusal: str

    def result(self, content: str, outcome: ToolOutcome) -> ToolResult:
        return ToolResult(self.call, content, outcome)

    def returned(self, value: object) -> ToolResult:
        """A text goes to the model unchanged; any other value goes as JSON."""
        text = value if isinstance(value, str) else to_json(value, fallback=str).decode()
        return self.result(text, "returned")

    def failed(self, error: Exception) -> ToolResult:
        return self.result(ToolsTexts.failed(why=str(error) or type(error).__name__), "failed")

    def not_made(self) -> ToolResult:
        if self.tool is None:
            return self.result(self.refusal, "refused")
        return self.result(ToolsTexts.DENIED, "denied")


class ToolLoop:
    """The loop without waiting: it decides what to ask, what to call, and when to end."""

    def __init__(
        self,
        tools: Iterable[Callable[..., Any] | Tool],
        params: Mapping[str, Any],
        max_calls: int,
    ) -> None:
        listed = [tool if isinstance(tool, Tool) else Tool.of(tool) for tool in tools]
        self._tools = {tool.name: tool for tool in listed}
        if not listed or len(self._tools) < len(listed):
            raise InvalidRequestError(ToolsTexts.NAMES, param="tools")
        if max_calls < 1:
            raise InvalidRequestError(ToolsTexts.TOO_FEW, param="max_calls")
        if params.get("n") not in (None, 1):
            raise InvalidRequestError(ToolsTexts.ONE_ANSWER, param="n")
        self._params = dict(params)
        self._max_calls = max_calls
        self._messages = [_as_dict(message) for message in params["messages"]]
        self._num_calls, self._limit_reached = 0, False
        self._completion: ChatCompletion | None = None

    def request(self) -> dict[str, Any]:
        """The next request. `tool_choice` is only in the first one; otherwise the loop would never
        end."""
        request = {**self._params, "messages": list(self._messages)}
        # The caller runs the calls of its own definitions.
        definitions = [tool.definition() for tool in self._tools.values()]
        request["tools"] = [*self._params.get("tools", ()), *definitions]
        request["stream_options"] = {"include_usage": True}
        if self._limit_reached:
            request["tool_choice"] = "none"
        elif self._completion is not None and request.get("tool_choice") is not None:
            request["tool_choice"] = "auto"
        return request

    def take(self, completion: ChatCompletion) -> list[PlannedCall]:
        """The calls of an answer; none if it is the last answer."""
        self._completion = completion
        message = completion.choices[0].message
        self._messages.append(_as_dict(message))
        was_limited, calls = self._limit_reached, message.tool_calls or []
        return [] if was_limited else [self._plan(call) for call in calls]

    def answer(self, result: ToolResult) -> ToolRunResult:
        """Takes a result. Call it in the order of the calls."""
        message = {"role": "tool", "tool_call_id": result.call.id, "content": result.content}
        self._messages.append(message)
        return ToolRunResult(result)

    def has(self, name: str) -> bool:
        """Whether it is the name of one of the loop's tools."""
        return name in self._tools

    def ended(self) -> ToolRunEnd:
        assert self._completion is not None
        content = self._completion.choices[0].message.content
        return ToolRunEnd(
            ToolRun(
                completion=self._completion,
                content=content,
                messages=self._messages,
                num_calls=self._num_calls,
                limit_reached=self._limit_reached,
            )
        )

    def _plan(self, call: ChatCompletionMessageToolCall) -> PlannedCall:
        if self._num_calls == self._max_calls:
            self._limit_reached = True
            return PlannedCall(call, None, {}, ToolsTexts.LIMIT)
        self._num_calls += 1
        tool = self._tools.get(call.function.name)
        if tool is None:
            names = ", ".join(self._tools)
            why = ToolsTexts.no_such(name=call.function.name, names=names)
            return PlannedCall(call, None, {}, why)
        try:
            return PlannedCall(call, tool, tool.arguments(call.function.arguments), "")
        except ValidationError as error:
            return PlannedCall(call, None, {}, ToolsTexts.unfit(why=_words(error)))


def _words(error: ValidationError) -> str:
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, item["loc"])), item["msg"])))
        for item in error.errors()
    )


def _as_dict(message: Any) -> dict[str, Any]:
    if isinstance(message, BaseModel):
        return json.loads(message.model_dump_json(exclude_none=True))  # type: ignore[no-any-return]
    return dict(message)


def _of_chunk(chunk: ChatCompletionChunk) -> list[ToolRunEvent]:
    text = chunk.choices[0].delta.content if chunk.choices else None
    return [ToolRunChunk(chunk), ToolRunText(text)] if text else [ToolRunChunk(chunk)]


# ---- With threads ------------------------------------------------------------------------------

Ask = Callable[[dict[str, Any]], Stream[ChatCompletionChunk]]


def loop_events(
    ask: Ask, loop: ToolLoop, approve: Approve | None
) -> Generator[ToolRunEvent, None, None]:
    calls = yield from _round(ask, loop)
    while calls:
        approved: list[bool] = []
        for planned in calls:
            yield ToolRunCall(planned.call)
            approved.append(_is_approved(planned, approve))
        for planned, yes in zip(calls, approved, strict=True):
            yield loop.answer(_call(planned) if yes else planned.not_made())
        calls = yield from _round(ask, loop)
    yield loop.ended()


def _round(ask: Ask, loop: ToolLoop) -> Generator[ToolRunEvent, None, list[PlannedCall]]:
    """Asks the model. Returns the calls of its answer."""
    fold = AnswerFold()
    with ask(loop.request()) as chunks:
        for chunk in chunks:
            fold.add(chunk)
            yield from _of_chunk(chunk)
    return loop.take(fold.completion())


def _is_approved(planned: PlannedCall, approve: Approve | None) -> bool:
    if planned.tool is None or approve is None:
        return planned.tool is not None
    answer = approve(planned.call)
    if inspect.isawaitable(answer):  # which would be a yes
        raise _not_awaited(answer, "approve")
    return answer


def _call(planned: PlannedCall) -> ToolResult:
    assert planned.tool is not None
    try:
        value = planned.tool.function(**planned.arguments)
        if not inspect.isawaitable(value):
            return planned.returned(value)
    except Exception as error:
        return planned.failed(error)
    raise _not_awaited(value, "tools")


def _not_awaited(value: Awaitable[Any], param: str) -> InvalidRequestError:
    if inspect.iscoroutine(value):
        value.close()
    return InvalidRequestError(
        f"'{param}' has a coroutine function, which only AsyncMLCEngine awaits", param=param
    )


class ToolStream(AbstractContextManager["ToolStream"]):
    """The events in order. Closing it, or leaving its `with` block, ends the request and the
    loop."""

    def __init__(self, events: Generator[ToolRunEvent, None, None]) -> None:
        self._events = events

    def __iter__(self) -> ToolStream:
        return self

    def __next__(self) -> ToolRunEvent:
        return next(self._events)

    def close(self) -> None:
        self._events.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self) -> ToolRun:
        """Runs to the end and returns the result. Drops the events."""
        for event in self:
            if event.type == "end":
                return event.run
        raise AssertionError("a loop ends with its end")


# ---- With asyncio ------------------------------------------------------------------------------

AsyncAsk = Callable[[dict[str, Any]], Awaitable[AsyncStream[ChatCompletionChunk]]]


async def loop_events_async(
    ask: AsyncAsk, loop: ToolLoop, approve: AsyncApprove | None
) -> AsyncGenerator[ToolRunEvent, None]:
    """The calls of one answer run at the same time. `approve` is asked for one call after the
    other."""
    calls: Sequence[PlannedCall] | None = None
    while calls is None or calls:
        fold = AnswerFold()
        async with await ask(loop.request()) as chunks:
            async for chunk in chunks:
                fold.add(chunk)
                for event in _of_chunk(chunk):
                    yield event
        calls = loop.take(fold.completion())
        approved: list[bool] = []
        for planned in calls:
            yield ToolRunCall(planned.call)
            approved.append(await _is_approved_async(planned, approve))
        async with _Work(calls, approved) as work:
            for result in work:
                yield loop.answer(await result)
    yield loop.ended()


class _Work(AbstractAsyncContextManager["list[asyncio.Task[ToolResult]]"]):
    """Running calls. All of them have ended when the block is left."""

    def __init__(self, calls: Sequence[PlannedCall], approved: Sequence[bool]) -> None:
        self._tasks = [
            asyncio.ensure_future(call_async(planned, yes))
            for planned, yes in zip(calls, approved, strict=True)
        ]

    async def __aenter__(self) -> list[asyncio.Task[ToolResult]]:
        return self._tasks

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _is_approved_async(planned: PlannedCall, approve: AsyncApprove | None) -> bool:
    if approve is None or planned.tool is None:
        return planned.tool is not None
    answer = approve(planned.call)
    return await answer if inspect.isawaitable(answer) else answer


async def call_async(planned: PlannedCall, approved: bool) -> ToolResult:
    if planned.tool is None or not approved:
        return planned.not_made()
    try:
        function = planned.tool.function_async or planned.tool.function
        value = function(**planned.arguments)
        return planned.returned(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        return planned.failed(error)


class AsyncToolStream(AbstractAsyncContextManager["AsyncToolStream"]):
    """The events in order. Closing it, or leaving its `async with` block, ends request and loop."""

    def __init__(self, events: AsyncGenerator[ToolRunEvent, None]) -> None:
        self._events = events

    def __aiter__(self) -> AsyncToolStream:
        return self

    async def __anext__(self) -> ToolRunEvent:
        return await self._events.__anext__()

    async def close(self) -> None:
        await self._events.aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self) -> ToolRun:
        """Runs to the end and returns the result. Drops the events."""
        async for event in self:
            if event.type == "end":
                return event.run
        raise AssertionError("a loop ends with its end")
