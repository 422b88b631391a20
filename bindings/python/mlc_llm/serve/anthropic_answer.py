"""Anthropic's messages on top of chat completions: the answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from mlc_llm.serve.anthropic_request import to_chat
from mlc_llm.serve.errors import anthropic_body, reason_of
from mlc_llm.serve.inference import AnswerFormat, cached_tokens
from mlc_llm.serve.translated import Translation

# The empty block of each kind, and its delta: the delta's type and the name of its text.
_BLOCKS: dict[str, tuple[dict[str, Any], str, str]] = {
    "text": ({"type": "text", "text": ""}, "text_delta", "text"),
    "thinking": (
        {"type": "thinking", "thinking": "", "signature": ""},
        "thinking_delta",
        "thinking",
    ),
    "tool_use": ({"type": "tool_use", "input": {}}, "input_json_delta", "partial_json"),
}
_STOPS = {"length": "max_tokens", "tool_calls": "tool_use"}


class AnthropicAnswerFormat(AnswerFormat):
    """One message, made from the only choice of a chat completion: thoughts, text and calls."""

    keep_alive = b'event: ping\ndata: {"type": "ping"}\n\n'

    def __init__(self, asked: Mapping[str, Any], model: str) -> None:
        self._model = model
        self._id = f"msg_{uuid.uuid4().hex}"
        self._stop_sequences = asked.get("stop_sequences") or ()
        self._num_blocks = 0
        self._current: tuple[str, int] | None = None  # the open block: its kind, and which call
        self._finish: Mapping[str, Any] = {}  # the choice that said why the answer ended
        self._usage: Mapping[str, Any] | None = None

    def begin(self) -> bytes:
        return _event("message_start", message=self._message([]))

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        self._usage = chunk.get("usage") or self._usage
        out = b""
        for choice in chunk["choices"]:
            if choice.get("finish_reason"):
                self._finish = choice
            for kind, call, piece in _pieces(choice["delta"]):
                out += self._add(kind, call, piece)
        return out

    def done(self) -> bytes:
        return (
            self._close()
            + _event("message_delta", delta=self._end(), usage=_usage(self._usage))
            + _event("message_stop")
        )

    def error(self, text: str) -> bytes:
        error = json.loads(text)["error"]
        body = anthropic_body(error, reason_of(error))
        return f"event: error\ndata: {json.dumps(body)}\n\n".encode()

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        choice = self._finish = answer["choices"][0]
        self._usage = answer.get("usage")
        content = [_whole_block(*piece) for piece in _pieces(choice["message"])]
        return json.dumps({**self._message(content), **self._end()})

    def _add(self, kind: str, call: int, piece: Mapping[str, Any] | str) -> bytes:
        """Continues the open block, or begins one of another kind or for another call."""
        empty, delta, name = _BLOCKS[kind]
        out = b""
        if self._current != (kind, call):
            head = _head(piece) if isinstance(piece, Mapping) else {}
            out += self._close()
            self._current = (kind, call)
            out += _event(
                "content_block_start", index=self._num_blocks, content_block={**empty, **head}
            )
        said = _arguments(piece) if isinstance(piece, Mapping) else piece
        if said:
            fields = {"type": delta, name: said}
            out += _event("content_block_delta", index=self._num_blocks, delta=fields)
        return out

    def _close(self) -> bytes:
        if self._current is None:
            return b""
        out = b""
        if self._current[0] == "thinking":
            seal = {"type": "signature_delta", "signature": ""}
            out += _event("content_block_delta", index=self._num_blocks, delta=seal)
        out += _event("content_block_stop", index=self._num_blocks)
        self._current = None
        self._num_blocks += 1
        return out

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(self._usage),
        }

    def _end(self) -> dict[str, Any]:
        """Why the answer ended."""
        stop = self._finish.get("stop_reason")
        if stop in self._stop_sequences:
            return {"stop_reason": "stop_sequence", "stop_sequence": stop}
        finish = self._finish.get("finish_reason") or ""
        return {"stop_reason": _STOPS.get(finish, "end_turn"), "stop_sequence": None}


def _pieces(said: Mapping[str, Any]) -> list[tuple[str, int, Any]]:
    """What a delta, or a whole message, has: the kind of block, the index of the call, and the text
    or the call."""
    pieces: list[tuple[str, int, Any]] = []
    if thought := said.get("reasoning_content"):
        pieces.append(("thinking", 0, thought))
    if text := said.get("content"):
        pieces.append(("text", 0, text))
    for index, call in enumerate(said.get("tool_calls") or ()):
        pieces.append(("tool_use", call.get("index", index), call))
    return pieces


def _whole_block(kind: str, call: int, piece: Any) -> dict[str, Any]:
    empty, _, name = _BLOCKS[kind]
    if kind != "tool_use":
        return {**empty, name: piece}
    return {**empty, **_head(piece), "input": _input(_arguments(piece))}


def _head(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call.get("id") or "", "name": (call.get("function") or {}).get("name") or ""}


def _arguments(call: Mapping[str, Any]) -> str:
    return (call.get("function") or {}).get("arguments") or ""


def _input(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}


def _usage(usage: Mapping[str, Any] | None) -> dict[str, int]:
    usage = usage or {}
    cached = cached_tokens(usage)
    return {
        "input_tokens": usage.get("prompt_tokens", cached) - cached,
        "output_tokens": usage.get("completion_tokens", 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


_REFUSED = ("mcp_servers", "container", "thread")
_WHY = "This server has no services of Anthropic's own."
MESSAGES = Translation(
    "AnthropicRequest",
    lambda asked: ("chat.completions", to_chat(asked)),
    AnthropicAnswerFormat,
    _REFUSED,
    _WHY,
)
COUNT = Translation(
    "AnthropicCountTokensRequest",
    lambda asked: ("input_tokens", to_chat(asked)),
    lambda asked, model: AnswerFormat(),
    _REFUSED,
    _WHY,
    streams=lambda asked: False,
)
