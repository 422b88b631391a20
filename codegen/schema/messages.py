"""The messages of a conversation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.tools import ChatCompletionMessageToolCall


class ChatCompletionRole(ClosedEnum):
    """Who speaks."""

    SYSTEM = "system", "The instructions that the model follows."
    DEVELOPER = "developer", "The same as `system`, as newer clients call it."
    USER = "user", "The person, or the program, that asks."
    ASSISTANT = "assistant", "The model."
    TOOL = "tool", "A tool that the model called."


class ImageDetail(ClosedEnum):
    """How closely the model looks at an image."""

    AUTO = "auto", "As the model's own configuration says."
    LOW = "low", "At low resolution, in few tokens."
    HIGH = "high", "At high resolution, in more tokens."
    ORIGINAL = "original", "In the image's own size, as far as the model can; else as `high`."


class ImageURL(Model):
    """Where an image is."""

    url: str = field(
        ...,
        "The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients take "
        "the bytes of its file too.",
        min_length=1,
        or_bytes=True,
    )
    detail: ImageDetail | None = maybe("How closely the model looks.")


class ImageSource(OneOf):
    """An image, as an object or as its URL alone."""

    root: Annotated[str, Case("url")] | Annotated[ImageURL, Case("image")]


class ChatCompletionContentPartText(Model):
    """A text within a message."""

    type: Literal["text"] = field(..., "The kind of part.")
    text: str = field(..., "The text.")


class ChatCompletionContentPartImage(Model):
    """An image within a message."""

    type: Literal["image_url"] = field(..., "The kind of part.")
    image_url: ImageSource = field(..., "The image.")


class ChatCompletionContentPart(OneOf):
    """A part of a message."""

    root: Annotated[
        ChatCompletionContentPartText | ChatCompletionContentPartImage,
        Field(discriminator="type"),
    ]


class ChatCompletionMessageContent(OneOf):
    """What a message says: a text, or texts and images in order."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[ChatCompletionContentPart], Field(min_length=1), Case("parts")]
    )


class ChatCompletionMessage(Model):
    """A message of the conversation so far."""

    role: ChatCompletionRole = field(..., "Who speaks.")
    content: ChatCompletionMessageContent | None = maybe(
        "What is said. The assistant may leave it out when it calls tools.",
        required_when=("role", ("system", "developer", "user", "tool")),
    )
    name: str | None = maybe("A name that tells speakers of the same role apart.")
    tool_calls: list[ChatCompletionMessageToolCall] | None = maybe("The assistant's tool calls.")
    tool_call_id: str | None = maybe(
        "The call that a tool's message answers.", required_when=("role", ("tool",))
    )
    reasoning_content: str | None = maybe(
        "What the assistant thought before it spoke; a model's template may use it."
    )
