"""The items of a response's output, and their events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlc_llm.tools import Tool

Logprobs = Sequence[Mapping[str, Any]]


class EventWriter:
    """Server-sent events with their names and numbers."""

    def __init__(self) -> None:
        self._sequence = 0

    def write(self, kind: str, **fields: Any) -> bytes:
        data = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


class OutputItem:
    """An item that grows: `open`, any number of `add`, `close`. Each call returns its events."""

    kind: str
    id_prefix: str

    def __init__(self, events: EventWriter, index: int) -> None:
        self._events = events
        self._index = index
        self._status = "in_progress"
        self.id = f"{self.id_prefix}_{uuid.uuid4().hex}"

    def describe(self) -> dict[str, Any]:
        """The item in the form of `output`."""
        return {"type": self.kind, "id": self.id, "status": self._status}

    def open(self) -> bytes:
        item = self.describe()
        return self._events.write("response.output_item.added", output_index=self._index, item=item)

    def close(self, status: str) -> bytes:
        """`status`: `completed`, or `incomplete` if the answer was cut off in this item."""
        self._status = status
        ended = self._end()
        return ended + self._events.write(
            "response.output_item.done", output_index=self._index, item=self.describe()
        )

    def _end(self) -> bytes:
        raise NotImplementedError

    def _event(self, kind: str, **fields: Any) -> bytes:
        return self._events.write(kind, item_id=self.id, output_index=self._index, **fields)


class _TextItem(OutputItem):
    """An item with one part of text."""

    part: str

    def __init__(self, events: EventWriter, index: int) -> None:
        super().__init__(events, index)
        self._text = ""
        self._opened = False

    def open(self) -> bytes:
        added = super().open()
        self._opened = True
        return added + self._event(
            "response.content_part.added", content_index=0, part=self._part()
        )

    def add(self, piece: str, logprobs: Logprobs = ()) -> bytes:
        self._text += piece
        return self._event(
            f"response.{self.part}.delta", content_index=0, delta=piece, **self._extra(logprobs)
        )

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "content": [self._part()] if self._opened else []}

    def _end(self) -> bytes:
        done = self._event(
            f"response.{self.part}.done", content_index=0, text=self._text, **self._extra()
        )
        return done + self._event("response.content_part.done", content_index=0, part=self._part())

    def _part(self) -> dict[str, Any]:
        return {"type": self.part, "text": self._text, **self._extra()}

    def _extra(self, logprobs: Logprobs | None = None) -> dict[str, Any]:
        """The members of the part and its events next to the text."""
        return {}


class MessageItem(_TextItem):
    """The answer's text."""

    kind, id_prefix, part = "message", "msg", "output_text"

    def __init__(self, events: EventWriter, index: int) -> None:
        super().__init__(events, index)
        self._logprobs: list[Mapping[str, Any]] = []

    def add(self, piece: str, logprobs: Logprobs = ()) -> bytes:
        self._logprobs += [_logprob(entry) for entry in logprobs]
        return super().add(piece, logprobs)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "role": "assistant"}

    def _part(self) -> dict[str, Any]:
        return {**super()._part(), "annotations": []}

    def _extra(self, logprobs: Logprobs | None = None) -> dict[str, Any]:
        if logprobs is None:
            return {"logprobs": list(self._logprobs)}
        return {"logprobs": [_logprob(entry) for entry in logprobs]}


class ReasoningItem(_TextItem):
    """The model's thoughts."""

    kind, id_prefix, part = "reasoning", "rs", "reasoning_text"

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "summary": []}


class CallItem(OutputItem):
    """A function call."""

    kind, id_prefix = "function_call", "fc"

    def __init__(self, events: EventWriter, index: int, call_id: str, name: str) -> None:
        super().__init__(events, index)
        self._call_id, self._name, self._arguments = call_id, name, ""

    def add(self, piece: str) -> bytes:
        self._arguments += piece
        return self._event("response.function_call_arguments.delta", delta=piece)

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "call_id": self._call_id,
            "name": self._name,
            "arguments": self._arguments,
        }

    def _end(self) -> bytes:
        return self._event(
            "response.function_call_arguments.done", name=self._name, arguments=self._arguments
        )


class MCPListItem(OutputItem):
    """The tools of an MCP server that the model may call. They are known already."""

    kind, id_prefix = "mcp_list_tools", "mcpl"

    def __init__(self, events: EventWriter, index: int, server: str, tools: Sequence[Tool]) -> None:
        super().__init__(events, index)
        self._server, self._tools = server, tools

    def open(self) -> bytes:
        return super().open() + self._event("response.mcp_list_tools.in_progress")

    def describe(self) -> dict[str, Any]:
        tools = [
            {"name": one.name, "description": one.description, "input_schema": one.parameters}
            for one in self._tools
        ]
        return {"type": self.kind, "id": self.id, "server_label": self._server, "tools": tools}

    def _end(self) -> bytes:
        return self._event("response.mcp_list_tools.completed")


class MCPCallItem(OutputItem):
    """A call at an MCP server. It is closed when its result has come."""

    kind, id_prefix = "mcp_call", "mcp"

    def __init__(self, events: EventWriter, index: int, server: str, name: str) -> None:
        super().__init__(events, index)
        self._server, self._name, self._arguments = server, name, ""
        self._output: str | None = None
        self._error: dict[str, Any] | None = None

    def open(self) -> bytes:
        return super().open() + self._event("response.mcp_call.in_progress")

    def add(self, piece: str) -> bytes:
        self._arguments += piece
        return self._event("response.mcp_call_arguments.delta", delta=piece)

    def end_arguments(self) -> bytes:
        return self._event("response.mcp_call_arguments.done", arguments=self._arguments)

    def take(self, result: Mapping[str, Any]) -> bytes:
        """`result`: as `tool_request.RESULT` has it."""
        returned = result["outcome"] == "returned"
        self._output = result["content"] if returned else None
        if not returned:
            said = [{"type": "text", "text": result["content"]}]
            self._error = {"type": "mcp_tool_execution_error", "content": said}
        return self.close("completed" if returned else "failed")

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "server_label": self._server,
            "name": self._name,
            "arguments": self._arguments,
            "output": self._output,
            "error": self._error,
        }

    def _end(self) -> bytes:
        failed = self._status != "completed"
        return self._event("response.mcp_call.failed" if failed else "response.mcp_call.completed")


def _logprob(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The chat's entry with bytes and alternatives, which a response always has."""
    out = {name: entry[name] for name in ("token", "logprob")}
    out["bytes"] = entry.get("bytes") or []
    if "top_logprobs" in entry:
        out["top_logprobs"] = [_logprob(top) for top in entry["top_logprobs"] or ()]
    return out
