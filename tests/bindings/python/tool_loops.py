"""Runs the vectors of the kind `tools`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mlc_llm import MLCError
from mlc_llm.sdk.chat_helpers import HelpedChatCompletions
from mlc_llm.tools import ToolRunEvent
from mlc_llm.types_gen import ChatCompletionChunk


def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather of a city."""
    if city == "Nowhere":
        raise LookupError("no such city")
    return {"city": city, "days": days}


def noon() -> str:
    return "at 12"


class Script(HelpedChatCompletions):
    """Gives the answers, and keeps what it was asked."""

    def __init__(self, answers: list[list[Any]]) -> None:
        self.answers, self.asked = list(answers), list[dict[str, Any]]()

    def _create(self, request: dict[str, Any], stream: bool) -> Any:
        self.asked.append(copy.deepcopy(request))
        return self._chunks(self.answers.pop(0))

    @contextmanager
    def _chunks(self, chunks: list[Any]) -> Iterator[Iterator[ChatCompletionChunk]]:
        yield (ChatCompletionChunk.model_validate(chunk) for chunk in chunks)


def run_case(
    case: dict[str, Any],
    check: Callable[[str, Any, Any], None],
    check_error: Callable[[MLCError, dict[str, Any]], None],
) -> None:
    tools = {"weather": weather, "noon": noon}
    options: dict[str, Any] = {"tools": [tools[name] for name in case.get("tools", tools)]}
    if "max_calls" in case:
        options["max_calls"] = case["max_calls"]
    if "deny" in case:
        options["approve"] = lambda call: call.function.name not in case["deny"]
    script = Script(case["answers"])
    try:
        with script.stream_tools(**case["request"], **options) as stream:
            events = list(stream)
    except MLCError as error:
        if "error" not in case:
            raise
        return check_error(error, case)
    assert "error" not in case, "it began"
    names = case.get("tools", list(tools))
    for request, expected in zip(script.asked, case["asked"], strict=True):
        asked = {"messages": request["messages"], "tool_choice": request.get("tool_choice")}
        check("asked", _cut(asked, expected), expected)
        check("tools", [tool["function"]["name"] for tool in request["tools"]], names)
        check("usage", request["stream_options"], {"include_usage": True})
    chunks = sum(event.type == "chunk" for event in events)
    check("chunks", chunks, sum(len(answer) for answer in case["answers"]))
    told = [_told(event) for event in events if event.type != "chunk"]
    check("events", _cut(told, case["events"]), case["events"])


def _told(event: ToolRunEvent) -> dict[str, Any]:
    kind = {"type": event.type}
    if event.type == "text":
        return {**kind, "text": event.text}
    if event.type == "call":
        return {**kind, "name": event.call.function.name}
    if event.type == "result":
        return {**kind, "outcome": event.result.outcome, "content": event.result.content}
    assert event.type == "end"
    run = event.run
    ends = {"content": run.content, "num_calls": run.num_calls, "limit_reached": run.limit_reached}
    assert run.completion.usage is not None
    return {**kind, **ends, "messages": run.messages, "usage": run.completion.usage.to_dict()}


def _cut(got: Any, expected: Any) -> Any:
    """`got` where the expectation leaves its end open, with a `*` for that."""
    if isinstance(expected, str) and expected.endswith("*") and isinstance(got, str):
        return expected if got.startswith(expected[:-1]) else got
    if isinstance(got, dict) and isinstance(expected, dict):
        return {key: _cut(value, expected.get(key)) for key, value in got.items()}
    if isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        return [_cut(a, b) for a, b in zip(got, expected, strict=True)]
    return got
