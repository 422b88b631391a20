"""OpenAI's Responses API over chat completions, without state.

`to_chat` writes a response request as a chat completion request, which the core validates and runs;
`ResponseShape` writes the core's answer as a response object or as its stream of events.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from mlc_llm.serve.errors import RequestError
from mlc_llm.serve.inference import Shape

# Fields that mean the same in both, by the chat's name.
_SAME = {
    "model": "model",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_output_tokens": "max_completion_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "user": "user",
    "stream": "stream",
    "seed": "seed",
}
# What needs state or services that are not here.
_REFUSED = ("previous_response_id", "conversation", "background", "prompt")
_TEXT_PARTS = ("input_text", "output_text", "text")
_ROLES = {"developer": "system"}


def parse(body: bytes) -> dict[str, Any]:
    """The request; refuses what is no JSON object and what needs state."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _bad(f"We could not parse the JSON body of your request: {error}") from None
    if not isinstance(asked, dict):
        raise _bad("the request must be a JSON object")
    for name in _REFUSED:
        if asked.get(name):
            raise _bad(f"'{name}' is not supported: this server keeps no state", name)
    return asked


def to_chat(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The chat completion request that says the same."""
    chat = {to: asked[name] for name, to in _SAME.items() if asked.get(name) is not None}
    chat["messages"] = [*_instructions(asked), *_messages(asked.get("input"))]
    if chat.get("stream") is True:
        chat["stream_options"] = {"include_usage": True}
    if response_format := _response_format(asked.get("text")):
        chat["response_format"] = response_format
    if asked.get("tools"):
        chat["tools"] = [_tool(tool, index) for index, tool in enumerate(asked["tools"])]
    if asked.get("tool_choice") is not None:
        chat["tool_choice"] = _tool_choice(asked["tool_choice"])
    if effort := (asked.get("reasoning") or {}).get("effort"):
        chat["reasoning_effort"] = effort
    return chat


def _bad(message: str, param: str | None = None) -> RequestError:
    return RequestError(message, code="invalid_request", param=param)


def _instructions(asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if asked.get("instructions"):
        yield {"role": "system", "content": asked["instructions"]}


def _messages(given: object) -> Iterator[dict[str, Any]]:
    if isinstance(given, str):
        yield {"role": "user", "content": given}
        return
    if not isinstance(given, list) or not given:
        raise _bad("'input' must be a text or a list of input items", "input")
    for index, item in enumerate(given):
        where = f"input[{index}]"
        if not isinstance(item, dict):
            raise _bad(f"'{where}' must be an object", where)
        yield _message(item, where)


def _message(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    kind = item.get("type", "message")
    if kind == "function_call":
        call = {"name": item.get("name"), "arguments": item.get("arguments")}
        calls = [{"id": item.get("call_id"), "type": "function", "function": call}]
        return {"role": "assistant", "tool_calls": calls}
    if kind == "function_call_output":
        output = _content(item.get("output"), f"{where}.output")
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
    if kind != "message":
        raise _bad(f"'{where}.type' {kind!r} is not supported", f"{where}.type")
    role = item.get("role")
    content = _content(item.get("content"), f"{where}.content")
    return {"role": _ROLES.get(str(role), role), "content": content}


def _content(content: object, where: str) -> object:
    if not isinstance(content, list):
        return content
    parts = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _TEXT_PARTS:
            parts.append({"type": "text", "text": part.get("text")})
        elif kind == "input_image":
            parts.append({"type": "image_url", "image_url": {"url": part.get("image_url")}})
        else:
            raise _bad(f"'{where}[{index}].type' is not supported", f"{where}[{index}].type")
    return parts


def _response_format(text: object) -> dict[str, Any] | None:
    format_ = text.get("format") if isinstance(text, dict) else None
    if not isinstance(format_, dict) or format_.get("type") == "text":
        return None
    if format_.get("type") != "json_schema":
        return format_
    schema = {name: value for name, value in format_.items() if name != "type"}
    return {"type": "json_schema", "json_schema": schema}


def _tool(tool: object, index: int) -> dict[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise _bad("only tools of the type 'function' are supported", f"tools[{index}].type")
    return {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}}


def _tool_choice(choice: object) -> object:
    if isinstance(choice, dict) and choice.get("type") == "function":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return choice


class ResponseShape(Shape):
    """One response. Its output is a message and, when the model calls functions, their calls."""

    def __init__(self, asked: Mapping[str, Any], model: str) -> None:
        self._asked = asked
        self._model = model
        self._id = f"resp_{uuid.uuid4().hex}"
        self._item_id = f"msg_{uuid.uuid4().hex}"
        self._created = int(time.time())
        self._sequence = 0
        self._text = ""
        self._calls: list[dict[str, Any]] = []
        self._finish: str | None = None
        self._usage: dict[str, Any] | None = None
        self._message_open = False

    # Whole

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        choice = answer["choices"][0]
        self._text = choice["message"].get("content") or ""
        self._calls = [_call_item(call) for call in choice["message"].get("tool_calls") or ()]
        self._finish = choice["finish_reason"]
        self._usage = answer.get("usage")
        return json.dumps(self._response(self._status()))

    # Streamed

    def begin(self) -> bytes:
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        out = b""
        for choice in chunk["choices"]:
            self._finish = choice.get("finish_reason") or self._finish
            if piece := choice["delta"].get("content"):
                out += self._open_message() + self._delta(piece)
            for call in choice["delta"].get("tool_calls") or ():
                self._add_call(call)
        return out

    def done(self) -> bytes:
        out = self._close_message()
        for index, call in enumerate(self._calls, start=int(bool(self._text))):
            out += self._call_events(index, call)
        kind = "response.incomplete" if self._status() == "incomplete" else "response.completed"
        return out + self._event(kind, response=self._response(self._status()))

    def error(self, text: str) -> bytes:
        error = json.loads(text)["error"]
        failure = {"code": error["code"], "message": error["message"]}
        response = {**self._response("failed"), "error": failure}
        return self._event("response.failed", response=response)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()

    def _part_event(self, kind: str, **fields: Any) -> bytes:
        place = {"item_id": self._item_id, "output_index": 0, "content_index": 0}
        return self._event(kind, **place, **fields)

    def _open_message(self) -> bytes:
        if self._message_open:
            return b""
        self._message_open = True
        item = {**self._message("in_progress"), "content": []}
        added = self._event("response.output_item.added", output_index=0, item=item)
        return added + self._part_event("response.content_part.added", part=_text_part(""))

    def _delta(self, piece: str) -> bytes:
        self._text += piece
        return self._part_event("response.output_text.delta", delta=piece, logprobs=[])

    def _close_message(self) -> bytes:
        if not self._message_open:
            return b""
        out = self._part_event("response.output_text.done", text=self._text, logprobs=[])
        out += self._part_event("response.content_part.done", part=_text_part(self._text))
        item = self._message("completed")
        return out + self._event("response.output_item.done", output_index=0, item=item)

    def _add_call(self, delta: Mapping[str, Any]) -> None:
        """Pieces of a call carry its index; the first one its id and name."""
        while len(self._calls) <= delta["index"]:
            self._calls.append(_call_item({"id": "", "function": {"name": "", "arguments": ""}}))
        call, function = self._calls[delta["index"]], delta.get("function") or {}
        call["call_id"] = delta.get("id") or call["call_id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""

    def _call_events(self, index: int, call: dict[str, Any]) -> bytes:
        item = {"item_id": call["id"], "output_index": index}
        text = call["arguments"]
        opened = {**call, "status": "in_progress", "arguments": ""}
        return (
            self._event("response.output_item.added", output_index=index, item=opened)
            + self._event("response.function_call_arguments.delta", **item, delta=text)
            + self._event(
                "response.function_call_arguments.done", **item, name=call["name"], arguments=text
            )
            + self._event("response.output_item.done", output_index=index, item=call)
        )

    # The objects

    def _status(self) -> str:
        return "incomplete" if self._finish == "length" else "completed"

    def _message(self, status: str) -> dict[str, Any]:
        return {
            "type": "message",
            "id": self._item_id,
            "status": status,
            "role": "assistant",
            "content": [_text_part(self._text)],
        }

    def _response(self, status: str) -> dict[str, Any]:
        asked = self._asked
        ended = status in ("completed", "incomplete")
        message = [self._message(status)] if ended and (self._text or not self._calls) else []
        reason = {"reason": "max_output_tokens"} if status == "incomplete" else None
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": reason,
            "instructions": asked.get("instructions"),
            "max_output_tokens": asked.get("max_output_tokens"),
            "metadata": asked.get("metadata") or {},
            "model": self._model,
            "output": message + (self._calls if ended else []),
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "previous_response_id": None,
            "reasoning": asked.get("reasoning") or {"effort": None, "summary": None},
            "store": False,
            "temperature": asked.get("temperature"),
            "text": asked.get("text") or {"format": {"type": "text"}},
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools") or [],
            "top_p": asked.get("top_p"),
            "truncation": "disabled",
            "usage": _usage(self._usage) if ended and self._usage else None,
        }


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4().hex}",
        "call_id": call["id"],
        "name": call["function"]["name"],
        "arguments": call["function"]["arguments"],
        "status": "completed",
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": prompt.get("cached_tokens") or 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": completion.get("reasoning_tokens") or 0},
        "total_tokens": usage["total_tokens"],
    }
