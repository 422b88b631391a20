"""`engine.chat.completions` with what stands on `create`: typed answers and the tool loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from typing_extensions import Unpack

from mlc_llm.completions_gen import AsyncChatCompletions, ChatCompletions
from mlc_llm.structured import ParsedChatCompletion, format_of, parsed
from mlc_llm.tools import (
    MAX_CALLS,
    Approve,
    AsyncApprove,
    Tool,
    ToolLoop,
    ToolRun,
    run_loop,
    run_loop_async,
)
from mlc_llm.types_gen import (
    ChatCompletion,
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
        """Asks for a value of a type; it is `choices[0].message.parsed` of the answer."""
        create = cast("Callable[..., ChatCompletion]", self.create)
        return parsed(create(**_parse_request(response_format, tools, params)), response_format)

    def run_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_CALLS,
        approve: Approve | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ToolRun:
        """Runs the tools that the model calls until it answers with text; see `mlc_llm.tools`.

        `approve`: asked before each call; where it says no the model is told so. `max_calls`: of
        all rounds together; then the model must answer without. `tool_choice` holds for the first
        round.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls=max_calls)

        def complete(request: dict[str, Any]) -> ChatCompletion:
            answer: ChatCompletion = self.create(**request, stream=False)
            return answer

        return run_loop(complete, loop, approve)


class AsyncHelpedChatCompletions(AsyncChatCompletions):
    """`engine.chat.completions` of the asynchronous engine."""

    async def parse(
        self,
        *,
        response_format: type[T],
        tools: Iterable[ChatCompletionToolParam] | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ParsedChatCompletion[T]:
        """Asks for a value of a type; it is `choices[0].message.parsed` of the answer."""
        create = cast("Callable[..., Awaitable[ChatCompletion]]", self.create)
        answer = await create(**_parse_request(response_format, tools, params))
        return parsed(answer, response_format)

    async def run_tools(
        self,
        *,
        tools: Iterable[Callable[..., Any] | Tool],
        max_calls: int = MAX_CALLS,
        approve: AsyncApprove | None = None,
        response_format: ResponseFormatParam | None = None,
        **params: Unpack[ChatCompletionCommonParams],
    ) -> ToolRun:
        """As the synchronous engine's; tools and `approve` may be coroutine functions.

        The calls of one round run at the same time.
        """
        loop = ToolLoop(tools, _loop_params(params, response_format), max_calls=max_calls)

        async def complete(request: dict[str, Any]) -> ChatCompletion:
            answer: ChatCompletion = await self.create(**request, stream=False)
            return answer

        return await run_loop_async(complete, loop, approve)


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
