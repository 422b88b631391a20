"""Tools that a model may call, and its calls."""

from __future__ import annotations

from typing import Annotated, Literal

from codegen.schema.base import AnyObject, Case, ClosedEnum, Model, OneOf, OpenEnum, field, maybe


class FunctionDefinition(Model):
    """A function that the model may call."""

    name: str = field(..., "The function's name, by which the model calls it.", min_length=1)
    description: str | None = maybe("What the function does; the model chooses by it when to call.")
    parameters: AnyObject | None = maybe(
        "A JSON Schema object for the arguments. Absent: the function takes none."
    )
    strict: bool | None = maybe(
        "Whether the arguments are held to the schema while they are generated."
    )


class ChatCompletionTool(Model):
    """A tool that the model may call."""

    type: Literal["function"] = field(..., "The kind of tool; only functions exist.")
    function: FunctionDefinition = field(..., "The function.")


class ToolChoiceMode(ClosedEnum):
    """How free the model is in calling tools."""

    NONE = "none", "Calls no tool."
    AUTO = "auto", "Answers or calls tools, as it sees fit."
    REQUIRED = "required", "Calls at least one tool."


class NamedFunction(Model):
    """A function by its name."""

    name: str = field(..., "The function's name.", min_length=1)


class ChatCompletionNamedToolChoice(Model):
    """The one tool that the model must call."""

    type: Literal["function"] = field(..., "The kind of tool; only functions exist.")
    function: NamedFunction = field(..., "The function to call.")


class ToolChoice(OneOf):
    """Which tools the model may or must call."""

    root: (
        Annotated[ToolChoiceMode, Case("mode")]
        | Annotated[ChatCompletionNamedToolChoice, Case("named")]
    )


class FunctionCall(Model):
    """A function call that the model made."""

    name: str = field(..., "The name of the function to call.")
    arguments: str = field(
        ...,
        "The arguments as JSON text, as the model wrote it; it may be invalid or name arguments "
        "that the function does not have.",
    )


class ChatCompletionMessageToolCall(Model):
    """A tool call that the model made."""

    id: str = field(..., "The call's id, which the tool's answer repeats as `tool_call_id`.")
    type: Literal["function"] = field(..., "The kind of tool; only functions exist.")
    function: FunctionCall = field(..., "The function and its arguments.")


class ToolType(OpenEnum):
    """The kind of a tool."""

    FUNCTION = "function", "A function."


class ChoiceDeltaFunctionCall(Model):
    """A piece of a function call."""

    name: str | None = maybe("The function's name, in the call's first piece.")
    arguments: str | None = maybe("The next piece of the arguments' JSON text.")


class ChoiceDeltaToolCall(Model):
    """A piece of a tool call."""

    index: int = field(..., "Which of the message's calls this piece belongs to.", ge=0)
    id: str | None = maybe("The call's id, in its first piece.")
    type: ToolType | None = maybe("The kind of tool, in the call's first piece.")
    function: ChoiceDeltaFunctionCall | None = maybe("The function's piece.")
