"""The events of a streamed response, in the order in which they come."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import Model, OneOf, field
from codegen.schema.response_items import (
    ResponseLogprob,
    ResponseOutputItem,
    ResponseOutputText,
    ResponseReasoningText,
)
from codegen.schema.responses import Response


class _Event(Model):
    sequence_number: int = field(..., "The event's number, from 0.", ge=0)


class _ItemEvent(_Event):
    output_index: int = field(..., "The item's place in `output`.", ge=0)


class _PieceEvent(_ItemEvent):
    item_id: str = field(..., "The item's id.")


class _PartEvent(_PieceEvent):
    content_index: int = field(..., "The part's place in the item.", ge=0)


class ResponseContentPart(OneOf):
    """A part of an item."""

    root: Annotated[ResponseOutputText | ResponseReasoningText, Field(discriminator="type")]


class ResponseCreatedEvent(_Event):
    """The request is taken."""

    type: Literal["response.created"] = field(..., "The kind of event.")
    response: Response = field(..., "The response so far.")


class ResponseInProgressEvent(_Event):
    """The model is at it."""

    type: Literal["response.in_progress"] = field(..., "The kind of event.")
    response: Response = field(..., "The response so far.")


class ResponseOutputItemAddedEvent(_ItemEvent):
    """An item begins."""

    type: Literal["response.output_item.added"] = field(..., "The kind of event.")
    item: ResponseOutputItem = field(..., "The item, empty yet.")


class ResponseContentPartAddedEvent(_PartEvent):
    """A part begins."""

    type: Literal["response.content_part.added"] = field(..., "The kind of event.")
    part: ResponseContentPart = field(..., "The part, empty yet.")


class ResponseReasoningTextDeltaEvent(_PartEvent):
    """The next piece of a thought."""

    type: Literal["response.reasoning_text.delta"] = field(..., "The kind of event.")
    delta: str = field(..., "The piece.")


class ResponseReasoningTextDoneEvent(_PartEvent):
    """A thought is whole."""

    type: Literal["response.reasoning_text.done"] = field(..., "The kind of event.")
    text: str = field(..., "The thought.")


class ResponseTextDeltaEvent(_PartEvent):
    """The next piece of the text."""

    type: Literal["response.output_text.delta"] = field(..., "The kind of event.")
    delta: str = field(..., "The piece.")
    logprobs: list[ResponseLogprob] = field(..., "Its log probabilities, when asked for.")


class ResponseTextDoneEvent(_PartEvent):
    """The text is whole."""

    type: Literal["response.output_text.done"] = field(..., "The kind of event.")
    text: str = field(..., "The text.")
    logprobs: list[ResponseLogprob] = field(..., "Its log probabilities, when asked for.")


class ResponseContentPartDoneEvent(_PartEvent):
    """A part is whole."""

    type: Literal["response.content_part.done"] = field(..., "The kind of event.")
    part: ResponseContentPart = field(..., "The part.")


class ResponseFunctionCallArgumentsDeltaEvent(_PieceEvent):
    """The next piece of a call's arguments."""

    type: Literal["response.function_call_arguments.delta"] = field(..., "The kind of event.")
    delta: str = field(..., "The piece.")


class ResponseFunctionCallArgumentsDoneEvent(_PieceEvent):
    """A call's arguments are whole."""

    type: Literal["response.function_call_arguments.done"] = field(..., "The kind of event.")
    name: str = field(..., "The function's name.")
    arguments: str = field(..., "The arguments as JSON text.")


class ResponseMCPListToolsInProgressEvent(_PieceEvent):
    """An MCP server is asked for its tools."""

    type: Literal["response.mcp_list_tools.in_progress"] = field(..., "The kind of event.")


class ResponseMCPListToolsCompletedEvent(_PieceEvent):
    """The tools are known."""

    type: Literal["response.mcp_list_tools.completed"] = field(..., "The kind of event.")


class ResponseMCPCallInProgressEvent(_PieceEvent):
    """A call at an MCP server begins."""

    type: Literal["response.mcp_call.in_progress"] = field(..., "The kind of event.")


class ResponseMCPCallArgumentsDeltaEvent(_PieceEvent):
    """The next piece of such a call's arguments."""

    type: Literal["response.mcp_call_arguments.delta"] = field(..., "The kind of event.")
    delta: str = field(..., "The piece.")


class ResponseMCPCallArgumentsDoneEvent(_PieceEvent):
    """Such a call's arguments are whole."""

    type: Literal["response.mcp_call_arguments.done"] = field(..., "The kind of event.")
    arguments: str = field(..., "The arguments as JSON text.")


class ResponseMCPCallCompletedEvent(_PieceEvent):
    """The tool gave a result."""

    type: Literal["response.mcp_call.completed"] = field(..., "The kind of event.")


class ResponseMCPCallFailedEvent(_PieceEvent):
    """The call failed; the model is told."""

    type: Literal["response.mcp_call.failed"] = field(..., "The kind of event.")


class ResponseOutputItemDoneEvent(_ItemEvent):
    """An item is whole."""

    type: Literal["response.output_item.done"] = field(..., "The kind of event.")
    item: ResponseOutputItem = field(..., "The item.")


class ResponseCompletedEvent(_Event):
    """The response is whole."""

    type: Literal["response.completed"] = field(..., "The kind of event.")
    response: Response = field(..., "The response.")


class ResponseIncompleteEvent(_Event):
    """The response was cut off."""

    type: Literal["response.incomplete"] = field(..., "The kind of event.")
    response: Response = field(..., "The response.")


class ResponseFailedEvent(_Event):
    """An error ended the response."""

    type: Literal["response.failed"] = field(..., "The kind of event.")
    response: Response = field(..., "The response so far, and the error.")


class ResponseStreamEvent(OneOf):
    """An event of a streamed response."""

    root: Annotated[
        ResponseCreatedEvent
        | ResponseInProgressEvent
        | ResponseOutputItemAddedEvent
        | ResponseContentPartAddedEvent
        | ResponseReasoningTextDeltaEvent
        | ResponseReasoningTextDoneEvent
        | ResponseTextDeltaEvent
        | ResponseTextDoneEvent
        | ResponseContentPartDoneEvent
        | ResponseFunctionCallArgumentsDeltaEvent
        | ResponseFunctionCallArgumentsDoneEvent
        | ResponseMCPListToolsInProgressEvent
        | ResponseMCPListToolsCompletedEvent
        | ResponseMCPCallInProgressEvent
        | ResponseMCPCallArgumentsDeltaEvent
        | ResponseMCPCallArgumentsDoneEvent
        | ResponseMCPCallCompletedEvent
        | ResponseMCPCallFailedEvent
        | ResponseOutputItemDoneEvent
        | ResponseCompletedEvent
        | ResponseIncompleteEvent
        | ResponseFailedEvent,
        Field(discriminator="type"),
    ]
