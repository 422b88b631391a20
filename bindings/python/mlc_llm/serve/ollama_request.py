"""Translates requests in Ollama's form into the equivalent ones of the core."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons

_UNBOUNDED = 2**31 - 1  # up to the end of the context
_DEFAULT_LENGTH = 4096  # of a chat; a completion's is 16 in OpenAI's API
# Options with the same meaning in the core's requests, by their name there.
_SAME = {
    **{name: name for name in ("temperature", "top_k", "top_p", "min_p", "seed", "stop")},
    **{name: name for name in ("presence_penalty", "frequency_penalty")},
    "repeat_penalty": "repetition_penalty",
}
# Options that are offered with these values only; then they change nothing.
_ONLY = {"typical_p": 1, "tfs_z": 1, "mirostat": 0, "penalize_newline": True}
_EFFORTS = ("low", "medium", "high")
_TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
# How the bytes of an image's file begin, in base64.
_IMAGES = {"iVBOR": "png", "/9j/": "jpeg", "R0lG": "gif", "UklG": "webp"}


def plain_name(name: str | None) -> str | None:
    """A model's name without the tag that Ollama's clients put behind it."""
    return None if name is None else name.removesuffix(":latest")


def chat_request(asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The route and the request for `/api/chat`."""
    chat = _generation(asked)
    chat["messages"] = list(_messages(asked["messages"]))
    if asked.get("tools"):
        chat["tools"] = asked["tools"]
    return "chat.completions", chat


def generate_request(asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same for `/api/generate`: a chat of one question, or a text that goes on."""
    if asked.get("raw") or asked.get("suffix"):
        return "completions", _completion(asked)
    chat = _generation(asked)
    system = asked.get("system")
    chat["messages"] = [{"role": "system", "content": system}] if system else []
    question = {"role": "user", "content": _content(asked.get("prompt"), asked.get("images"), "")}
    chat["messages"].append(question)
    return "chat.completions", chat


def embed_request(asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same for `/api/embed` and `/api/embeddings`."""
    fields = {"input": asked.get("input", asked.get("prompt"))}
    if asked.get("dimensions") is not None:
        fields["dimensions"] = asked["dimensions"]
    return "embeddings", fields


def asks_nothing(asked: Mapping[str, Any], questions: Collection[str]) -> bool:
    """Whether the model is only to be loaded. `questions`: the fields that ask it something."""
    return not any(asked.get(name) for name in questions)


def streams(asked: Mapping[str, Any]) -> bool:
    return asked.get("stream") is not False


def keep_alive(asked: Mapping[str, Any]) -> float | None:
    """How long the model stays loaded in seconds, below 0 for ever; None if nothing is said."""
    given = asked.get("keep_alive")
    if given is None or isinstance(given, int | float):
        return given
    text = given.strip()
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-")
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return sign * float(text)
    parts = _TIME.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise _fault("keep_alive", f"'{given[:40]}' is no time; '5m', '1h30m' and 300 are")
    return sign * sum(float(number) * _TIME_UNITS[unit] for number, unit in parts)


def _generation(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What chats and questions have in common."""
    chat = _sampling(asked)
    length = chat.pop("max_tokens")
    if length is not None:
        chat["max_completion_tokens"] = length
    chat |= {"usage_extra": True, **_format(asked)}
    think = asked.get("think")
    if isinstance(think, str) and think not in _EFFORTS:
        raise _fault("think", "must be true, false, 'low', 'medium' or 'high'")
    if think is not None:
        words = {True: "medium", False: "none"}
        chat["reasoning_effort"] = think if isinstance(think, str) else words[think]
    if asked.get("logprobs"):
        chat["logprobs"] = True
    if asked.get("top_logprobs") is not None:
        chat["top_logprobs"] = asked["top_logprobs"]
    return chat


def _completion(asked: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"prompt": asked.get("prompt") or "", **_sampling(asked), **_format(asked)}
    fields["timings_per_token"] = not streams(asked)  # a stream's usage has the times
    if fields["max_tokens"] is None:
        fields["max_tokens"] = _DEFAULT_LENGTH
    if asked.get("suffix"):
        fields["suffix"] = asked["suffix"]
    if asked.get("logprobs"):
        fields["logprobs"] = asked.get("top_logprobs") or 0
    for name in ("images", "system"):
        if asked.get(name):
            raise _refused(name, "goes with a chat template: leave 'raw' and 'suffix' out")
    return fields


def _sampling(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options, and how the answer is sent. `max_tokens` is None if nothing is said."""
    options = {name: v for name, v in (asked.get("options") or {}).items() if v is not None}
    for name, value in _ONLY.items():
        if options.get(name, value) != value:
            raise _refused(f"options.{name}", f"is offered as {json.dumps(value)} only")
    if options.get("repeat_penalty") is not None:
        last = options.get("repeat_last_n", -1)
        if last == 0:
            del options["repeat_penalty"]
        elif last > 0:
            raise _refused("options.repeat_last_n", "is offered as -1 (the whole context) or 0")
    fields = {to: options[name] for name, to in _SAME.items() if name in options}
    if fields.get("stop") in ("", []):
        del fields["stop"]
    length = options.get("num_predict")
    fields["max_tokens"] = _UNBOUNDED if length is not None and length < 1 else length
    if asked.get("lora") is not None:
        fields["lora"] = asked["lora"]
    if streams(asked):
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    return fields


def _format(asked: Mapping[str, Any]) -> dict[str, Any]:
    given = asked.get("format")
    if given is None or given == "":
        return {}
    if given == "json":
        return {"response_format": {"type": "json_object"}}
    if isinstance(given, str):
        raise _fault("format", "must be 'json' or a JSON Schema")
    schema = {"name": "answer", "schema": given, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _messages(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The chat's messages. Ollama's calls and results need no ids, so they get some."""
    waiting: list[tuple[str, str]] = []  # the id and the name of calls without a result
    count = 0
    for place, item in enumerate(given):
        content = _content(item.get("content"), item.get("images"), f"messages[{place}].")
        message = {"role": item["role"], "content": content}
        if item["role"] == "assistant":
            if item.get("thinking"):
                message["reasoning_content"] = item["thinking"]
            calls = []
            for call in item.get("tool_calls") or ():
                calls.append(_call(call, f"call_{count}"))
                waiting.append((calls[-1]["id"], call["function"]["name"]))
                count += 1
            if calls:
                message["tool_calls"] = calls
        if item["role"] == "tool":
            message["tool_call_id"] = item.get("tool_call_id") or _answered(item, waiting)
        yield message


def _answered(item: Mapping[str, Any], waiting: list[tuple[str, str]]) -> str:
    """The oldest call of the tool that gave this, or the oldest of all."""
    named = (call for call in waiting if call[1] == item.get("tool_name"))
    call = next(named, None) or next(iter(waiting), None)
    if call is None:
        return "call"
    waiting.remove(call)
    return call[0]


def _call(call: Mapping[str, Any], other_id: str) -> dict[str, Any]:
    function = call["function"]
    arguments = json.dumps(function["arguments"], ensure_ascii=False)
    said = {"name": function["name"], "arguments": arguments}
    return {"id": call.get("id") or other_id, "type": "function", "function": said}


def _content(text: str | None, images: list[str] | None, place: str) -> str | list[dict[str, Any]]:
    """`place`: before the name of a field, where it is in the request."""
    parts = [
        {"type": "image_url", "image_url": {"url": _image(data, f"{place}images[{at}]")}}
        for at, data in enumerate(images or ())
    ]
    if not parts:
        return text or ""
    return [*parts, {"type": "text", "text": text}] if text else parts


def _image(data: str, param: str) -> str:
    try:
        is_base64 = bool(base64.b64decode(data, validate=True))
    except ValueError:
        is_base64 = False
    if not is_base64:
        raise _fault(param, "must be the bytes of a picture's file in base64")
    kind = next((kind for begin, kind in _IMAGES.items() if data.startswith(begin)), "png")
    return f"data:image/{kind};base64,{data}"


def _fault(param: str, why: str) -> MLCError:
    return error_of(reasons.INVALID_VALUE, f"Invalid value for '{param}': {why}.", param=param)


def _refused(param: str, why: str) -> MLCError:
    return error_of(reasons.UNSUPPORTED_PARAMETER, f"'{param}' {why}.", param=param)
