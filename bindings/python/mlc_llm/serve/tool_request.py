"""A request whose calls of MCP tools this server makes: several requests in the core, one after the
other, whose events look like those of one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from mlc_llm import _core
from mlc_llm.errors import MLCError
from mlc_llm.sdk.answer_fold import AnswerFold
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.tool_loop import ToolLoop, call_async
from mlc_llm.sdk.tools_gen import ToolResult
from mlc_llm.serve.core_request import CoreRequest, Event
from mlc_llm.tools import Tool
from mlc_llm.types_gen import ChatCompletion, ChatCompletionChunk

RESULT = "tool_result"  # the only member of an event's object that tells a tool's result
TURNS = "turns"  # the only member of a whole answer's object: answers and results in order


class ToolRequest(CoreRequest):
    """Events of the core, and between them the results of tools. It ends with the first answer that
    calls none of the tools; if that calls other functions, their caller is the client."""

    def __init__(self, tools: Sequence[Tool], max_calls: int) -> None:
        super().__init__()
        self._tools, self._max_calls = tools, max_calls
        self._route = ""
        self._turn: CoreRequest | None = None  # in the core
        self._loop_of_tools: ToolLoop | None = None
        self._fold = AnswerFold()
        self._calls: list[asyncio.Task[ToolResult]] = []
        self._goes_on = False  # whether the model is asked again after the calls
        self._whole: list[dict[str, Any]] | None = None  # turns of an answer that is not streamed
        self._watching: tuple[float, Callable[[], object]] | None = None

    async def submit(self, engine: CoreEngine, route: str, body: bytes) -> None:
        self._engine, self._route = engine, route
        fields = json.loads(body)
        self._whole = None if fields.get("stream") else []
        self._loop_of_tools = ToolLoop(self._tools, fields, self._max_calls)
        await self._begin_turn()

    async def next_events(self, timeout: float | None = None) -> list[Event]:
        deadline = None if timeout is None else self._loop.time() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - self._loop.time())
            try:
                events = await (self._results(left) if self._calls else self._of_turn(left))
            except MLCError as error:
                self._ended = True
                return [(_core.EVENT_ERROR, json.dumps(error.to_dict()))]
            out_of_time = deadline is not None and self._loop.time() >= deadline
            if events or out_of_time:
                return events

    def watch(self, patience: float, on_stalled: Callable[[], object]) -> None:
        self._watching = patience, on_stalled
        if self._turn is not None:
            self._turn.watch(patience, self._on_turn_stalled)

    def end(self) -> None:
        self._ended = True
        for call in self._calls:
            call.cancel()
        if self._turn is not None:
            self._turn.end()

    def _on_turn_stalled(self) -> None:
        if self._watching is not None:
            self._watching[1]()

    async def _begin_turn(self) -> None:
        assert self._engine is not None and self._loop_of_tools is not None
        request = self._loop_of_tools.request()
        if self._whole is not None:
            del request["stream_options"]  # belongs to streams
        self._fold = AnswerFold()
        self._turn = CoreRequest()
        if self._watching is not None:
            self._turn.watch(self._watching[0], self._on_turn_stalled)
        await self._turn.submit(self._engine, self._route, json.dumps(request).encode())

    async def _of_turn(self, timeout: float | None) -> list[Event]:
        """Events of the core. One that ends the turn is left out where the answer goes on."""
        assert self._turn is not None
        events = await self._turn.next_events(timeout)
        if not events:
            return events
        for kind, text in events:
            if kind == _core.EVENT_CHUNK:
                self._fold.add(ChatCompletionChunk.model_validate_json(text))
        kind, text = events[-1]
        if kind == _core.EVENT_DONE and self._begin_calls(self._fold.completion()):
            return events[:-1]
        if kind == _core.EVENT_RESULT:
            assert self._whole is not None
            self._whole.append(json.loads(text))
            if self._begin_calls(ChatCompletion.model_validate_json(text)):
                return []
            return [(_core.EVENT_RESULT, json.dumps({TURNS: self._whole}))]
        return events

    def _begin_calls(self, answer: ChatCompletion) -> bool:
        """Begins the calls of an answer. False: there is none, so it is the last answer."""
        loop = self._loop_of_tools
        assert loop is not None
        asked = answer.choices[0].message.tool_calls or []
        planned = [one for one in loop.take(answer) if loop.has(one.call.function.name)]
        self._goes_on = len(planned) == len(asked)
        self._calls = [asyncio.ensure_future(call_async(one, True)) for one in planned]
        return bool(planned)

    async def _results(self, timeout: float | None) -> list[Event]:
        """The next result; results come in the order of the calls. After the last one the next
        turn begins."""
        assert self._loop_of_tools is not None
        done, _ = await asyncio.wait({self._calls[0]}, timeout=timeout)
        if not done:
            return []
        result = self._calls.pop(0).result()
        self._loop_of_tools.answer(result)
        told = {"id": result.call.id, "outcome": result.outcome, "content": result.content}
        events = [(_core.EVENT_CHUNK, json.dumps({RESULT: told}))]
        if self._whole is not None:
            self._whole.append({RESULT: told})
            events = []
        if self._calls:
            return events
        if self._goes_on:
            await self._begin_turn()
            return events
        self._ended = True
        if self._whole is not None:
            return [(_core.EVENT_RESULT, json.dumps({TURNS: self._whole}))]
        return [*events, (_core.EVENT_DONE, "")]
