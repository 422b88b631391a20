"""What the server answers in Anthropic's form: a message, and the events of its stream."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import AnyObject, Model, OneOf, OpenEnum, field, maybe


class AnthropicOutputText(Model):
    """A text of the answer."""

    type: Literal["text"] = field(..., "The kind of block.")
    text: str = field(..., "The text.")


class AnthropicOutputThinking(Model):
    """What the model thought before it answered."""

    type: Literal["thinking"] = field(..., "The kind of block.")
    thinking: str = field(..., "The thought.")
    signature: str = field(..., "Always empty: thoughts are not sealed.")


class AnthropicOutputToolUse(Model):
    """A call of a tool."""

    type: Literal["tool_use"] = field(..., "The kind of block.")
    id: str = field(..., "The call's id.")
    name: str = field(..., "The tool's name.")
    input: AnyObject = field(
        ...,
        "The arguments. If they are no JSON object, as in an answer that was cut off, "
        "`INVALID_JSON` is their text.",
    )


class AnthropicOutputBlock(OneOf):
    """A thought, a text or a call."""

    root: Annotated[
        AnthropicOutputText | AnthropicOutputThinking | AnthropicOutputToolUse,
        Field(discriminator="type"),
    ]


class AnthropicStopReason(OpenEnum):
    """Why an answer ended."""

    END_TURN = "end_turn", "The model ended it."
    MAX_TOKENS = "max_tokens", "`max_tokens` or the context's end was reached."
    STOP_SEQUENCE = "stop_sequence", "One of the `stop_sequences` was reached."
    TOOL_USE = "tool_use", "The model called tools and waits for their results."


class AnthropicUsage(Model):
    """What a request cost. The prompt's length is the sum of the three kinds of input tokens."""

    input_tokens: int = field(
        ..., "Tokens of the prompt that were not in the prefix cache.", unit="tokens", ge=0
    )
    output_tokens: int = field(..., "The length of the answer.", unit="tokens", ge=0)
    cache_creation_input_tokens: int = field(
        ..., "Always 0: writing to the cache is free.", unit="tokens", ge=0
    )
    cache_read_input_tokens: int = field(
        ..., "Tokens of the prompt that were in the prefix cache.", unit="tokens", ge=0
    )


class AnthropicMessage(Model):
    """The answer."""

    id: str = field(..., "The answer's id.")
    type: Literal["message"] = field(..., "The kind of object.")
    role: Literal["assistant"] = field(..., "Who speaks.")
    model: str = field(..., "The model that answered.")
    content: list[AnthropicOutputBlock] = field(..., "What the model gave, in order.")
    stop_reason: AnthropicStopReason | None = maybe(
        "Why it ended; null while it is generated.", always=True
    )
    stop_sequence: str | None = maybe("The one that was reached.", always=True)
    usage: AnthropicUsage = field(
        ..., "What it cost; zeros at the beginning of a stream, which tells it at the end."
    )


class AnthropicError(Model):
    """What is wrong."""

    type: str = field(..., "The class of the error, such as `invalid_request_error`.")
    message: str = field(..., "What is wrong and what to do about it.")


class AnthropicMessageStartEvent(Model):
    """The answer begins."""

    type: Literal["message_start"] = field(..., "The kind of event.")
    message: AnthropicMessage = field(..., "The answer, without content.")


class AnthropicBlockStartEvent(Model):
    """A block begins."""

    type: Literal["content_block_start"] = field(..., "The kind of event.")
    index: int = field(..., "The block's place in the content.", ge=0)
    content_block: AnthropicOutputBlock = field(..., "The block, empty.")


class AnthropicTextDelta(Model):
    """The next piece of a text."""

    type: Literal["text_delta"] = field(..., "The kind of delta.")
    text: str = field(..., "The piece.")


class AnthropicThinkingDelta(Model):
    """The next piece of a thought."""

    type: Literal["thinking_delta"] = field(..., "The kind of delta.")
    thinking: str = field(..., "The piece.")


class AnthropicSignatureDelta(Model):
    """The end of a thought."""

    type: Literal["signature_delta"] = field(..., "The kind of delta.")
    signature: str = field(..., "Always empty.")


class AnthropicInputJSONDelta(Model):
    """The next piece of a call's arguments."""

    type: Literal["input_json_delta"] = field(..., "The kind of delta.")
    partial_json: str = field(..., "The piece of their JSON text.")


class AnthropicDelta(OneOf):
    """What a block gets."""

    root: Annotated[
        AnthropicTextDelta
        | AnthropicThinkingDelta
        | AnthropicSignatureDelta
        | AnthropicInputJSONDelta,
        Field(discriminator="type"),
    ]


class AnthropicBlockDeltaEvent(Model):
    """The next piece of a block."""

    type: Literal["content_block_delta"] = field(..., "The kind of event.")
    index: int = field(..., "The block's place in the content.", ge=0)
    delta: AnthropicDelta = field(..., "The piece.")


class AnthropicBlockStopEvent(Model):
    """A block is whole."""

    type: Literal["content_block_stop"] = field(..., "The kind of event.")
    index: int = field(..., "The block's place in the content.", ge=0)


class AnthropicMessageDelta(Model):
    """What is known at the end of the answer."""

    stop_reason: AnthropicStopReason | None = maybe("Why it ended.", always=True)
    stop_sequence: str | None = maybe("The one that was reached.", always=True)


class AnthropicMessageDeltaEvent(Model):
    """The answer is whole; this is what it cost."""

    type: Literal["message_delta"] = field(..., "The kind of event.")
    delta: AnthropicMessageDelta = field(..., "Why it ended.")
    usage: AnthropicUsage = field(..., "What it cost.")


class AnthropicMessageStopEvent(Model):
    """The stream ends."""

    type: Literal["message_stop"] = field(..., "The kind of event.")


class AnthropicPingEvent(Model):
    """The answer still takes time."""

    type: Literal["ping"] = field(..., "The kind of event.")


class AnthropicErrorEvent(Model):
    """An error ended the stream."""

    type: Literal["error"] = field(..., "The kind of event.")
    error: AnthropicError = field(..., "What went wrong.")


class AnthropicStreamEvent(OneOf):
    """An event of a streamed answer."""

    root: Annotated[
        AnthropicMessageStartEvent
        | AnthropicBlockStartEvent
        | AnthropicBlockDeltaEvent
        | AnthropicBlockStopEvent
        | AnthropicMessageDeltaEvent
        | AnthropicMessageStopEvent
        | AnthropicPingEvent
        | AnthropicErrorEvent,
        Field(discriminator="type"),
    ]
