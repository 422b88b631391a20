# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""What a helper has in common in all languages: its types, its events, its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageToolCall,
)

MAX_TOOL_CALLS: int = 16
"""How many calls a loop makes unless it is told; then the model must answer without."""


ToolOutcome: TypeAlias = Literal[
    "returned",
    "failed",
    "denied",
    "refused",
]
"""What became of a call."""


@dataclass(frozen=True)
class ToolResult:
    """What a call came to."""

    call: ChatCompletionMessageToolCall
    """The call."""

    content: str
    """What the model reads of it."""

    outcome: ToolOutcome
    """What became of it."""


@dataclass(frozen=True)
class ToolRun:
    """How a loop of tool calls ended."""

    completion: ChatCompletion
    """The last answer."""

    content: str | None
    """The last answer's text."""

    messages: list[dict[str, Any]]
    """The whole conversation, the last answer included: to be continued with the next request."""

    num_calls: int
    """The calls that the model made, the denied and failed ones too."""

    limit_reached: bool
    """Whether there would have been more."""


@dataclass(frozen=True)
class ToolRunChunk:
    """A chunk of an answer, as it came."""

    chunk: ChatCompletionChunk
    type: Literal["chunk"] = "chunk"


@dataclass(frozen=True)
class ToolRunText:
    """The next piece of an answer's text."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True)
class ToolRunCall:
    """The model calls a tool. All calls of an answer are told, then approved, then made."""

    call: ChatCompletionMessageToolCall
    type: Literal["call"] = "call"


@dataclass(frozen=True)
class ToolRunResult:
    """A call has come to its end. Results come in the order of the calls."""

    result: ToolResult
    type: Literal["result"] = "result"


@dataclass(frozen=True)
class ToolRunEnd:
    """The last event: how it ended."""

    run: ToolRun
    type: Literal["end"] = "end"


ToolRunEvent: TypeAlias = ToolRunChunk | ToolRunText | ToolRunCall | ToolRunResult | ToolRunEnd
"""What happens while the model's tool calls are run, in its order."""


class ToolsTexts:
    """The texts."""

    DENIED = "error: the call was denied"
    """What the model reads in place of a result."""

    LIMIT = "error: the call was not made: the limit of calls is reached; answer without it"
    """What the model reads in place of a result."""

    @staticmethod
    def no_such(*, name: str, names: str) -> str:
        """What the model reads in place of a result."""
        return f"error: there is no tool {name}; there are: {names}"

    @staticmethod
    def unfit(*, why: str) -> str:
        """What the model reads in place of a result."""
        return f"error: the arguments do not fit: {why}"

    @staticmethod
    def failed(*, why: str) -> str:
        """What the model reads in place of a result."""
        return f"error: {why}"

    NAMES = "at least one tool is needed, each of another name"
    """What whoever begins a loop wrongly is told."""

    TOO_FEW = "max_calls must be at least 1"
    """What whoever begins a loop wrongly is told."""

    ONE_ANSWER = "a loop of tool calls follows one answer: leave n out"
    """What whoever begins a loop wrongly is told."""
