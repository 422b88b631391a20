"""`engine.chat.completions` with helpers that use `create`: typed answers and the tool loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from typing_extensions import Unpack

from mlc_llm.sdk.completions_gen import (
    AsyncChatCompletions,
    AsyncStream,
    ChatCompletions,
    Stream,
)
from mlc_llm.sdk.tool_loop import (
    Approve,
    AsyncApprove,
    AsyncToolStream,
    ToolLoop,
    ToolStream,
    loop_events,
    loop_events_async,
)
from mlc_llm.structured import ParsedChatCompletion, format_of, parsed
from mlc_llm.tools import MAX_TOOL_CALLS, Tool, ToolRun
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionCommonParams,
    ChatCompletionToolParam,
    ResponseFormatParam,
)

T = TypeVar("T")


class HelpedChatCompletions(ChatCompletions):
    """`engine.chat.completions` of the synchronous engine."""

    def parse(
        self,
        *,
        response_format: type[T],
        tools: Iterable[ChatCompletionToolParam] | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ParsedChatCompletion[T]:
        """Asks for a value of a type. The value is `choices[0].message.parsed` of the answer."""
        create = cast("Callable[..., ChatCompletion]", self.create)
        return parsed(create(**_parse_request(response_format, tools, params)), response_format)

    def run_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_TOOL_CALLS,
        approve: Approve | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ToolRun:
        """Runs the tools that the model calls until it answers with text; see `mlc_llm.tools`.

        `approve` is asked before each call. If it says no, the model is told so. `max_calls` limits
        the calls of all rounds together; then the model must answer without a call. `tool_choice`
        is for the first round.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls)
        return self._stream_tools(loop, approve).run()

    def stream_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_TOOL_CALLS,
        approve: Approve | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ToolStream:
        """Like `run_tools`, but yields events while it runs. The last event has the run.

        Leaving its `with` block ends the loop and cancels the current request.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls)
        return self._stream_tools(loop, approve)

    def _stream_tools(self, loop: ToolLoop, approve: Approve | None) -> ToolStream:
        def ask(request: dict[str, Any]) -> Stream[ChatCompletionChunk]:
            chunks: Stream[ChatCompletionChunk] = self.create(**request, stream=True)
            return chunks

        return ToolStream(loop_events(ask, loop, approve))


class AsyncHelpedChatCompletions(AsyncChatCompletions):
    """`engine.chat.completions` of the asynchronous engine."""

    async def parse(
        self,
        *,
        response_format: type[T],
        tools: Iterable[ChatCompletionToolParam] | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ParsedChatCompletion[T]:
        """Asks for a value of a type. The value is `choices[0].message.parsed` of the answer."""
        create = cast("Callable[..., Awaitable[ChatCompletion]]", self.create)
        answer = await create(**_parse_request(response_format, tools, params))
        return parsed(answer, response_format)

    async def run_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_TOOL_CALLS,
        approve: AsyncApprove | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ToolRun:
        """Like the synchronous engine's. Tools and `approve` may be coroutine functions.

        The calls of one answer run at the same time.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls)
        async with self._stream_tools(loop, approve) as events:
            return await events.run()

    def stream_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_TOOL_CALLS,
        approve: AsyncApprove | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> AsyncToolStream:
        """Like `run_tools`, but yields events while it runs. The last event has the run.

        Leaving its `async with` block ends the loop. It cancels the running calls and the current
        request.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls)
        return self._stream_tools(loop, approve)

    def _stream_tools(self, loop: ToolLoop, approve: AsyncApprove | None) -> AsyncToolStream:
        async def ask(request: dict[str, Any]) -> AsyncStream[ChatCompletionChunk]:
            chunks: AsyncStream[ChatCompletionChunk] = await self.create(**request, stream=True)
            return chunks

        return AsyncToolStream(loop_events_async(ask, loop, approve))


def _parse_request(
    kind: type[T],
    tools: Iterable[ChatCompletionToolParam] | None,
    params: ChatCompletionCommonParams,
) -> dict[str, Any]:
    offered = {} if tools is None else {"tools": list(tools)}
    return {**params, **offered, "response_format": format_of(kind)}


def _loop_params(
    params: ChatCompletionCommonParams, response_format: ResponseFormatParam | None
) -> dict[str, Any]:
    if "messages" not in params:
        raise TypeError("run_tools() missing required keyword argument 'messages'")
    held = {} if response_format is None else {"response_format": response_format}
    return {**params, **held}
