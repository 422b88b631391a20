"""The loop that runs a model's tool calls: what is the same of it in every language.

None of this crosses the wire to the engine, so it is no part of the schema's hash. How a loop
waits and how functions are described belongs to each language; what it says and gives is here.
"""

from __future__ import annotations

from codegen.rows import Number, Text
from codegen.schema.base import ClosedEnum, EventModel, HelperModel, Model, field, maybe
from codegen.schema.chat_response import ChatCompletion, ChatCompletionChunk
from codegen.schema.messages import ChatCompletionMessage
from codegen.schema.tools import ChatCompletionMessageToolCall

INSTEAD = "What the model reads in place of a result."
WRONG_USE = "What whoever begins a loop wrongly is told."


class ToolOutcome(ClosedEnum):
    """What became of a call."""

    RETURNED = "returned", "The function gave a result."
    FAILED = "failed", "The function failed; the model reads why."
    DENIED = "denied", "It was not approved."
    REFUSED = (
        "refused",
        "There is no such function, its arguments do not fit, or it was one more than the limit.",
    )


class ToolResult(Model):
    """What a call came to."""

    call: ChatCompletionMessageToolCall = field(..., "The call.")
    content: str = field(..., "What the model reads of it.")
    outcome: ToolOutcome = field(..., "What became of it.")


class ToolRun(Model):
    """How a loop of tool calls ended."""

    completion: ChatCompletion = field(..., "The last answer.")
    content: str | None = maybe("The last answer's text.")
    messages: list[ChatCompletionMessage] = field(
        ...,
        "The whole conversation, the last answer included: to be continued with the next request.",
    )
    num_calls: int = field(..., "The calls that the model made, the denied and failed ones too.")
    limit_reached: bool = field(..., "Whether there would have been more.")


TOOLS = HelperModel(
    name="tools",
    types=(ToolOutcome, ToolResult, ToolRun),
    event_name="ToolRunEvent",
    event_description="What happens while the model's tool calls are run, in its order.",
    events=(
        EventModel("chunk", "chunk", ChatCompletionChunk, "A chunk of an answer, as it came."),
        EventModel("text", "text", str, "The next piece of an answer's text."),
        EventModel(
            "call",
            "call",
            ChatCompletionMessageToolCall,
            "The model calls a tool. All calls of an answer are told, then approved, then made.",
        ),
        EventModel(
            "result",
            "result",
            ToolResult,
            "A call has come to its end. Results come in the order of the calls.",
        ),
        EventModel("end", "run", ToolRun, "The last event: how it ended."),
    ),
    numbers=(
        Number(
            "max_tool_calls",
            16,
            "How many calls a loop makes unless it is told; then the model must answer without.",
        ),
    ),
    texts=(
        Text("denied", "error: the call was denied", INSTEAD),
        Text(
            "limit",
            "error: the call was not made: the limit of calls is reached; answer without it",
            INSTEAD,
        ),
        Text(
            "no_such",
            "error: there is no tool {name}; there are: {names}",
            INSTEAD,
        ),
        Text(
            "unfit",
            "error: the arguments do not fit: {why}",
            INSTEAD,
        ),
        Text("failed", "error: {why}", INSTEAD),
        Text(
            "names",
            "at least one tool is needed, each of another name",
            WRONG_USE,
        ),
        Text("too_few", "max_calls must be at least 1", WRONG_USE),
        Text(
            "one_answer",
            "a loop of tool calls follows one answer: leave n out",
            WRONG_USE,
        ),
    ),
)
