"""Translates a request for a message of Anthropic's into the equivalent one for a chat
completion."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.sdk.sampling_gen import SAMPLING_FIELDS

# Fields with the same meaning in both, by their name in the chat request.
_SAME = {
    **{name: name for name in SAMPLING_FIELDS},
    "model": "model",
    "lora": "lora",
    "max_tokens": "max_completion_tokens",
    "stop_sequences": "stop",
    "stream": "stream",
}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_EFFORTS = {"max": "xhigh"}  # words that the chat has another one for
# Claude Code begins its system message with a line for Anthropic's accounts. The line differs from
# request to request, so that no prompt would be found in the prefix cache.
_LABEL = "x-anthropic-billing-header:"


def to_chat(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The equivalent chat completion request."""
    chat = {to: asked[name] for name, to in _SAME.items() if asked.get(name) is not None}
    if asked["messages"] and asked["messages"][-1]["role"] == "assistant":
        raise error_of(
            reasons.UNSUPPORTED_PARAMETER,
            "the last message must be the user's: an answer whose beginning is given (prefill) is "
            "not offered, as by newer models of Anthropic",
            param="messages",
        )
    chat["messages"] = [*_system(asked.get("system")), *_messages(asked["messages"])]
    if chat.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    if asked.get("tools"):
        chat["tools"] = [_tool(tool) for tool in asked["tools"]]
    if choice := asked.get("tool_choice"):
        chat |= _tool_choice(choice)
    config = asked.get("output_config") or {}
    chat |= _reasoning(asked.get("thinking") or {}, config.get("effort"))
    if given := config.get("format"):
        schema = {"name": "answer", "schema": given["schema"], "strict": True}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    return chat


def _system(given: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    blocks = [{"text": given}] if isinstance(given, str) else given or []
    texts = [_unlabelled(block["text"]) for block in blocks]
    text = "\n\n".join(text for text in texts if text)
    return [{"role": "system", "content": text}] if text else []


def _unlabelled(text: str) -> str:
    return text.partition("\n")[2].lstrip("\n") if text.startswith(_LABEL) else text


def _messages(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in given:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            yield _turn(blocks)
        else:
            yield from _said(message["role"], blocks)


def _turn(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """What the assistant thought, said and called."""
    turn: dict[str, Any] = {"role": "assistant"}
    thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    if thought:
        turn["reasoning_content"] = thought
    parts = [part for block in blocks if (part := _part(block)) is not None]
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    if calls:
        turn["tool_calls"] = calls
    if parts or not calls:
        turn["content"] = _content(parts)
    return turn


def _said(role: str, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What tools gave, and what the user, or the system, says, in order."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "tool_result":
            if parts:
                yield {"role": role, "content": _content(parts)}
            parts = []
            yield _result(block)
        elif (part := _part(block)) is not None:
            parts.append(part)
    if parts:
        yield {"role": role, "content": _content(parts)}


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = _content([part for item in content if (part := _part(item)) is not None])
    return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": block["name"], "arguments": json.dumps(block["input"], ensure_ascii=False)}
    return {"id": block["id"], "type": "function", "function": function}


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Texts alone are one text, which is what most templates expect."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """None for a block that is no text and no image."""
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    if block["type"] != "image":
        return None
    source = block["source"]
    url = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
    return {"type": "image_url", "image_url": {"url": url}}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": tool["name"], "parameters": tool["input_schema"]}
    for name in ("description", "strict"):
        if tool.get(name) is not None:
            function[name] = tool[name]
    return {"type": "function", "function": function}


def _tool_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    kind = choice["type"]
    named = {"type": "function", "function": {"name": choice.get("name")}}
    chat: dict[str, Any] = {"tool_choice": _CHOICES.get(kind, named)}
    if choice.get("disable_parallel_tool_use"):
        chat["parallel_tool_calls"] = False
    return chat


def _reasoning(thinking: Mapping[str, Any], effort: str | None) -> dict[str, Any]:
    kind = thinking.get("type")
    if kind == "disabled":
        return {"reasoning_effort": "none"}
    chat: dict[str, Any] = {}
    if effort is not None or kind is not None:
        effort = effort or "medium"
        chat["reasoning_effort"] = _EFFORTS.get(effort, effort)
    if kind == "enabled":
        chat["reasoning_budget"] = thinking["budget_tokens"]
    return chat
