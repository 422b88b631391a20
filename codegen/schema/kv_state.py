"""The state of a conversation, kept in a file: the keys and values of its tokens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from codegen.schema.base import AnyObject, Model, field
from codegen.schema.messages import ChatCompletionMessage
from codegen.schema.tokenization import TokenId


class KVSaveRequest(Model):
    """A conversation whose state is to be saved: `messages` or `prompt_tokens`."""

    path: str = field(
        ..., "The file to write, on the engine's machine; an older one is replaced.", min_length=1
    )
    messages: Annotated[list[ChatCompletionMessage], Field(min_length=1)] | None = field(
        None, "The conversation, as a request would send it. Absent: `prompt_tokens` is given."
    )
    chat_template_kwargs: AnyObject | None = field(
        None, "Further variables for the model's chat template, as the request would send them."
    )
    prompt_tokens: Annotated[list[TokenId], Field(min_length=1)] | None = field(
        None, "The prompt's token ids. Absent: `messages` is given.", unit="tokens"
    )


class KVSaveResponse(Model):
    """What was saved."""

    tokens: int = field(..., "How many tokens the state is of.", unit="tokens", ge=0)
    bytes: int = field(..., "The file's size.", unit="bytes", ge=0)


class KVLoadRequest(Model):
    """A saved state that requests are to find."""

    path: str = field(..., "The file to read, on the engine's machine.", min_length=1)


class KVLoadResponse(Model):
    """What was loaded."""

    tokens: int = field(
        ..., "How many tokens a request that begins like the saved one finds.", unit="tokens", ge=0
    )
