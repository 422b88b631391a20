"""The items of a response's output."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import AnyObject, ClosedEnum, Model, OneOf, field, maybe


class ResponseStatus(ClosedEnum):
    """How far a response or an item is."""

    QUEUED = "queued", "It will be generated."
    IN_PROGRESS = "in_progress", "It is being generated."
    COMPLETED = "completed", "It is whole."
    INCOMPLETE = "incomplete", "It was cut off."
    FAILED = "failed", "An error ended it."
    CANCELLED = "cancelled", "The caller ended it."


class ResponseTopLogprob(Model):
    """A token that was likely."""

    token: str = field(..., "The token's text.")
    bytes: list[int] = field(..., "Its bytes.")
    logprob: float = field(..., "Its log probability.")


class ResponseLogprob(Model):
    """The log probability of a token."""

    token: str = field(..., "The token's text.")
    bytes: list[int] = field(..., "Its bytes.")
    logprob: float = field(..., "Its log probability.")
    top_logprobs: list[ResponseTopLogprob] = field(..., "The likeliest tokens at its place.")


class ResponseOutputText(Model):
    """The text of an answer."""

    type: Literal["output_text"] = field(..., "The kind of part.")
    text: str = field(..., "The text.")
    annotations: list[AnyObject] = field(..., "Always empty.")
    logprobs: list[ResponseLogprob] = field(..., "Its log probabilities, when asked for.")


class ResponseOutputMessage(Model):
    """The model's message."""

    type: Literal["message"] = field(..., "The kind of item.")
    id: str = field(..., "The item's id.")
    status: ResponseStatus = field(..., "How far it is.")
    role: Literal["assistant"] = field(..., "Who speaks.")
    content: list[ResponseOutputText] = field(..., "What is said.")


class ResponseFunctionToolCall(Model):
    """A function call that the model made."""

    type: Literal["function_call"] = field(..., "The kind of item.")
    id: str = field(..., "The item's id.")
    call_id: str = field(..., "The call's id, which `function_call_output` repeats.")
    name: str = field(..., "The function's name.")
    arguments: str = field(..., "The arguments as JSON text.")
    status: ResponseStatus = field(..., "How far it is.")


class ResponseReasoningText(Model):
    """A stretch of thought."""

    type: Literal["reasoning_text"] = field(..., "The kind of part.")
    text: str = field(..., "The text.")


class ResponseReasoningItem(Model):
    """What the model thought before it answered."""

    type: Literal["reasoning"] = field(..., "The kind of item.")
    id: str = field(..., "The item's id.")
    summary: list[AnyObject] = field(..., "Always empty: the thought is given whole.")
    content: list[ResponseReasoningText] = field(..., "The thought.")
    status: ResponseStatus = field(..., "How far it is.")


class ResponseMCPListedTool(Model):
    """A tool of an MCP server."""

    name: str = field(..., "Its name.")
    description: str | None = maybe("What it does.", always=True)
    input_schema: AnyObject = field(..., "The JSON Schema of its arguments.")


class ResponseMCPListTools(Model):
    """The tools of an MCP server that the model may call."""

    type: Literal["mcp_list_tools"] = field(..., "The kind of item.")
    id: str = field(..., "The item's id.")
    server_label: str = field(..., "The server's name in the settings file.")
    tools: list[ResponseMCPListedTool] = field(..., "The tools.")
    error: str | None = maybe("Always null: a server without an answer is an error.")


class ResponseMCPErrorText(Model):
    """A part of what a tool said."""

    type: Literal["text"] = field(..., "The kind of part.")
    text: str = field(..., "The text.")


class ResponseMCPError(Model):
    """Why a call failed."""

    type: Literal["mcp_tool_execution_error"] = field(..., "The kind of error.")
    content: list[ResponseMCPErrorText] = field(..., "What the model is told.")


class ResponseMCPCall(Model):
    """A call that this server made at an MCP server, for the model."""

    type: Literal["mcp_call"] = field(..., "The kind of item.")
    id: str = field(..., "The item's id.")
    server_label: str = field(..., "The server's name in the settings file.")
    name: str = field(..., "The tool's name.")
    arguments: str = field(..., "The arguments as JSON text.")
    output: str | None = maybe("What the tool gave.", always=True)
    error: ResponseMCPError | None = maybe("Why the call failed.", always=True)
    status: ResponseStatus = field(..., "How far it is.")


class ResponseOutputItem(OneOf):
    """A message, a function call, a thought, or what an MCP server was asked."""

    root: Annotated[
        ResponseOutputMessage
        | ResponseFunctionToolCall
        | ResponseReasoningItem
        | ResponseMCPListTools
        | ResponseMCPCall,
        Field(discriminator="type"),
    ]
