"""Translates a request for a response into the equivalent request for a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlc_llm.sdk.sampling_gen import SAMPLING_FIELDS
from mlc_llm.serve.pictures import members

# Fields with the same meaning in both, by their name in the chat request.
_SAME = {
    **{name: name for name in SAMPLING_FIELDS},
    "model": "model",
    "lora": "lora",
    "max_output_tokens": "max_completion_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "user": "user",
    "stream": "stream",
    "metadata": "metadata",
}
_LOGPROBS = "message.output_text.logprobs"
# The name of a wrong field in the chat request, and in the response request.
_PARAMS = (
    ("messages", "input"),
    ("max_completion_tokens", "max_output_tokens"),
    ("response_format.json_schema", "text.format"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
)


def to_chat(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The equivalent chat completion request."""
    chat = {to: asked[name] for name, to in _SAME.items() if asked.get(name) is not None}
    chat["messages"] = _messages(asked["input"])
    if instructions := asked.get("instructions"):
        chat["messages"].insert(0, {"role": "system", "content": instructions})
    if chat.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    if wants_logprobs(asked):
        chat |= {"logprobs": True, "top_logprobs": asked.get("top_logprobs") or 0}
    if response_format := _response_format(asked.get("text") or {}):
        chat["response_format"] = response_format
    if functions := [tool for tool in asked.get("tools") or () if tool["type"] == "function"]:
        chat["tools"] = [_function(tool) for tool in functions]
    choice = asked.get("tool_choice")
    if isinstance(choice, str):
        chat["tool_choice"] = choice
    elif choice and choice["type"] == "function":
        chat["tool_choice"] = _function(choice)
    if effort := (asked.get("reasoning") or {}).get("effort"):
        chat["reasoning_effort"] = effort
    return chat


def file_in(asked: Any) -> str | None:
    """Where a request, which need not be right, names a kept file as a picture."""
    for i, item in enumerate(members(asked, "input")):
        for name in ("content", "output"):
            for p, part in enumerate(members(item, name)):
                if isinstance(part, dict) and part.get("file_id") is not None:
                    return f"input[{i}].{name}[{p}].file_id"
    return None


def wants_logprobs(asked: Mapping[str, Any]) -> bool:
    return _LOGPROBS in (asked.get("include") or ()) or bool(asked.get("top_logprobs"))


def param_of(chat_param: str | None) -> str | None:
    """The name in the response request of a wrong field in the chat request."""
    if chat_param is not None and chat_param.startswith(("tools[", "tool_choice.")):
        return chat_param.replace(".function", "", 1)
    for chat_name, name in _PARAMS:
        if chat_param is not None and chat_param.partition("[")[0] == chat_name:
            return name
        if chat_param is not None and chat_param.startswith(chat_name + "."):
            return name + chat_param.removeprefix(chat_name)
    return chat_param


def _function(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, or the choice of one. The chat nests the members that a response has on one level."""
    function = {name: value for name, value in fields.items() if name != "type"}
    return {"type": "function", "function": function}


def _response_format(text: Mapping[str, Any]) -> dict[str, Any] | None:
    given = text.get("format")
    if given is None or given["type"] == "text":
        return None
    if given["type"] != "json_schema":
        return dict(given)
    return {"type": "json_schema", "json_schema": {k: v for k, v in given.items() if k != "type"}}


def _messages(given: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    messages: list[dict[str, Any]] = []
    thought = ""
    for item in given:
        kind = item.get("type") or "message"
        if kind == "reasoning":
            thought += "".join(_texts(item.get("content")))
            continue
        if kind == "mcp_list_tools":
            continue
        message = _MESSAGES[kind](item)
        if message["role"] == "assistant" and thought:
            message["reasoning_content"] = thought
        thought = ""  # thoughts that were cut short belong to no later turn
        is_call = kind in ("function_call", "mcp_call")
        if is_call and messages and messages[-1]["role"] == "assistant":
            _join(messages[-1], message)
        else:
            messages.append(message)
        if kind == "mcp_call":
            messages.append(_mcp_result(item))
    return messages


def _join(turn: dict[str, Any], call: dict[str, Any]) -> None:
    """Joins consecutive calls, and the text before them, into one turn of the assistant."""
    turn.setdefault("tool_calls", []).extend(call["tool_calls"])
    if "reasoning_content" in call:
        turn["reasoning_content"] = turn.get("reasoning_content", "") + call["reasoning_content"]


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": item["role"], "content": _content(item["content"])}


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": item["arguments"]}
    calls = [{"id": item["call_id"], "type": "function", "function": function}]
    return {"role": "assistant", "tool_calls": calls}


def _call_output(item: Mapping[str, Any]) -> dict[str, Any]:
    content = _content(item["output"])
    return {"role": "tool", "tool_call_id": item["call_id"], "content": content}


def _mcp_call(item: Mapping[str, Any]) -> dict[str, Any]:
    return _call({**item, "call_id": _mcp_id(item)})


def _mcp_result(item: Mapping[str, Any]) -> dict[str, Any]:
    error = "".join(_texts((item.get("error") or {}).get("content")))
    return _call_output({"call_id": _mcp_id(item), "output": item.get("output") or error})


def _mcp_id(item: Mapping[str, Any]) -> str:
    return item.get("id") or "mcp"


_MESSAGES = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _call_output,
    "mcp_call": _mcp_call,
}


def _content(content: str | list[dict[str, Any]]) -> object:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] != "input_image":
        return {"type": "text", "text": part["text"]}
    detail = {"detail": part["detail"]} if part.get("detail") else {}
    return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        yield part.get("text") or ""
