"""OpenAI's Responses API on top of chat completions: the answers."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlc_llm.serve.inference import AnswerFormat, cached_tokens
from mlc_llm.serve.responses_items import (
    CallItem,
    EventWriter,
    MCPCallItem,
    MCPListItem,
    MessageItem,
    OutputItem,
    ReasoningItem,
)
from mlc_llm.serve.responses_request import param_of
from mlc_llm.serve.tool_request import RESULT, TURNS

if TYPE_CHECKING:
    from mlc_llm.tools import Tool

_ERROR_CODES = {
    "rate_limit_error": "rate_limit_exceeded",
    "invalid_request_error": "invalid_prompt",
}


def forget(_: dict[str, Any]) -> None:
    """Keeps nothing."""


class ResponsesAnswerFormat(AnswerFormat):
    """One response, made from the only choice of a chat completion: thoughts, text and calls."""

    def __init__(
        self,
        asked: Mapping[str, Any],
        model: str,
        keep: Callable[[dict[str, Any]], None] = forget,
        mcp: Mapping[str, Sequence[Tool]] = MappingProxyType({}),
    ) -> None:
        """`keep` gets the response when its stream begins, and when it has ended. `mcp`: the tools
        of each MCP server that the model may call."""
        self._asked = asked
        self._keep = keep
        self._model = model
        self._id = f"resp_{uuid.uuid4().hex}"
        self._created = int(time.time())
        self._events = EventWriter()
        self._items: list[OutputItem] = []
        self._current: OutputItem | None = None
        self._call_index: int | None = None  # index of the call that is being written
        self._finish: str | None = None
        self._usage: dict[str, Any] = {}  # of all turns
        self._mcp = mcp
        self._server_of = {tool.name: server for server, tools in mcp.items() for tool in tools}
        self._mcp_calls: dict[str, MCPCallItem] = {}  # whose results are to come, by their ids
        self._warnings: list[Any] | None = None
        self._streams = False  # whether a stream has begun and not ended

    def begin(self) -> bytes:
        response = self.describe("in_progress")
        self._streams = True
        self._keep(response)
        out = self._events.write("response.created", response=response)
        out += self._events.write("response.in_progress", response=response)
        return out + self._list_tools()

    def _list_tools(self) -> bytes:
        out = b""
        for server, tools in self._mcp.items():
            out += self._open(MCPListItem(self._events, len(self._items), server, tools))
        return out + self._close("completed")

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        if result := chunk.get(RESULT):
            return self._take_result(result)
        _add_usage(self._usage, chunk.get("usage") or {})
        self._warnings = chunk.get("warnings") or self._warnings
        return b"".join(self._take(choice, choice["delta"]) for choice in chunk["choices"])

    def done(self) -> bytes:
        if self._is_empty():  # an empty answer is still a message
            return self._switch(MessageItem) + self.done()
        out = self._close(self._status())
        kind = "response.incomplete" if self._status() == "incomplete" else "response.completed"
        return out + self._events.write(kind, response=self._ended(self._status()))

    def whole(self, text: str) -> str:
        """The same, without the events."""
        answer = json.loads(text)
        self._list_tools()
        for turn in answer.get(TURNS, [answer]):
            if result := turn.get(RESULT):
                self._take_result(result)
                continue
            choice = turn["choices"][0]
            _add_usage(self._usage, turn.get("usage") or {})
            self._warnings = turn.get("warnings") or self._warnings
            self._take(choice, choice["message"])
            self._close(self._status())
        if self._is_empty():
            self._switch(MessageItem)
        self._close(self._status())
        return json.dumps(self._ended(self._status()))

    def error(self, text: str) -> bytes:
        out = self._close("incomplete")
        response = self.failed(json.loads(text)["error"])
        return out + self._events.write("response.failed", response=response)

    def left(self) -> None:
        """The stream is over. Where that was before its end, as its client left, the response is
        cancelled."""
        if self._streams:
            self._close("incomplete")
            self._ended("cancelled")

    def failed(self, error: Mapping[str, Any]) -> dict[str, Any]:
        """The response that an error ended."""
        code = _ERROR_CODES.get(error["type"], "server_error")
        return self._ended("failed", {"code": code, "message": error["message"]})

    def translate_error(self, error: Mapping[str, Any]) -> dict[str, Any]:
        return {**error, "param": param_of(error.get("param"))}

    # The parts of the model's answer

    def _take(self, choice: Mapping[str, Any], said: Mapping[str, Any]) -> bytes:
        """`said`: the delta of a chunk, or a whole message."""
        self._finish = choice.get("finish_reason") or self._finish
        out = b""
        if thought := said.get("reasoning_content"):
            out += self._switch(ReasoningItem)
            assert isinstance(self._current, ReasoningItem)
            out += self._current.add(thought)
        logprobs = (choice.get("logprobs") or {}).get("content") or ()
        if (piece := said.get("content")) or logprobs:
            out += self._switch(MessageItem)
            assert isinstance(self._current, MessageItem)
            out += self._current.add(piece or "", logprobs)
        for index, call in enumerate(said.get("tool_calls") or ()):
            out += self._take_call(call, call.get("index", index))
        return out

    def _switch(self, kind: type[MessageItem] | type[ReasoningItem]) -> bytes:
        """Continues with an item of that kind. Text after something else is a new item."""
        if isinstance(self._current, kind):
            return b""
        return self._open(kind(self._events, len(self._items)))

    def _is_empty(self) -> bool:
        return all(isinstance(item, MCPListItem) for item in self._items)

    def _take_result(self, result: Mapping[str, Any]) -> bytes:
        out = self._close("completed")
        return out + self._mcp_calls.pop(result["id"]).take(result)

    def _take_call(self, call: Mapping[str, Any], index: int) -> bytes:
        """The first piece of a call has its id and name. Later pieces have only its index."""
        function = call.get("function") or {}
        out = b""
        kinds = (CallItem, MCPCallItem)
        if index != self._call_index or not isinstance(self._current, kinds):
            out = self._open(self._call_item(call.get("id") or "", function.get("name") or ""))
            self._call_index = index
        assert isinstance(self._current, kinds)
        if arguments := function.get("arguments"):
            out += self._current.add(arguments)
        return out

    def _call_item(self, call_id: str, name: str) -> OutputItem:
        server = self._server_of.get(name)
        if server is None:
            return CallItem(self._events, len(self._items), call_id, name)
        item = MCPCallItem(self._events, len(self._items), server, name)
        self._mcp_calls[call_id] = item
        return item

    def _open(self, item: OutputItem) -> bytes:
        out = self._close("completed")
        self._items.append(item)
        self._current = item
        return out + item.open()

    def _close(self, status: str) -> bytes:
        item, self._current = self._current, None
        if isinstance(item, MCPCallItem):  # its result is to come
            return item.end_arguments()
        return b"" if item is None else item.close(status)

    # The response object

    def _status(self) -> str:
        return "incomplete" if self._finish == "length" else "completed"

    def _ended(self, status: str, error: dict[str, str] | None = None) -> dict[str, Any]:
        response = {**self.describe(status), "error": error}
        self._streams = False
        self._keep(response)
        return response

    def describe(self, status: str) -> dict[str, Any]:
        """The response as it is now."""
        asked = self._asked
        ended = status not in ("queued", "in_progress")
        reasoning = asked.get("reasoning") or {}
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "completed_at": int(time.time()) if status == "completed" else None,
            "status": status,
            "background": asked.get("background") is True,
            "error": None,
            "incomplete_details": (
                {"reason": "max_output_tokens"} if status == "incomplete" else None
            ),
            "instructions": asked.get("instructions"),
            "max_output_tokens": asked.get("max_output_tokens"),
            "metadata": asked.get("metadata") or {},
            "model": self._model,
            "output": [item.describe() for item in self._items] if ended else [],
            "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
            "previous_response_id": asked.get("previous_response_id"),
            "reasoning": {name: reasoning.get(name) for name in ("effort", "summary")},
            "service_tier": "default",
            "store": asked.get("store") is not False,
            "temperature": asked.get("temperature"),
            "text": {"format": (asked.get("text") or {}).get("format") or {"type": "text"}},
            "tool_choice": asked.get("tool_choice") or "auto",
            "tools": asked.get("tools") or [],
            "top_logprobs": asked.get("top_logprobs") or 0,
            "top_p": asked.get("top_p"),
            "truncation": "disabled",
            "usage": _usage(self._usage) if ended and self._usage else None,
            "user": asked.get("user"),
            **({"warnings": self._warnings} if self._warnings else {}),
        }


def _add_usage(total: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Adds the numbers, also those of inner objects."""
    for name, value in more.items():
        if isinstance(value, Mapping):
            _add_usage(total.setdefault(name, {}), value)
        elif isinstance(value, int | float):
            total[name] = total.get(name, 0) + value


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    completion = usage.get("completion_tokens_details") or {}
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached_tokens(usage), "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": completion.get("reasoning_tokens") or 0},
        "total_tokens": usage["total_tokens"],
    }


class InputTokens(AnswerFormat):
    """The length of a prompt."""

    def whole(self, text: str) -> str:
        return json.dumps({"object": "response.input_tokens", **json.loads(text)})
