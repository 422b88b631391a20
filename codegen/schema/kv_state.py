"""The state of a conversation, kept in a file: the keys and values of its tokens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from codegen.schema.base import AnyObject, Model, field, maybe
from codegen.schema.chat_request import ChatCompletionRequest
from codegen.schema.completions import CompletionRequest
from codegen.schema.messages import ChatCompletionMessage
from codegen.schema.tokenization import TokenId


class KVSaveRequest(Model):
    """A conversation whose state is to be saved: `messages` or `prompt_tokens`."""

    path: str = field(
        ..., "The file to write, on the engine's machine; an older one is replaced.", min_length=1
    )
    messages: Annotated[list[ChatCompletionMessage], Field(min_length=1)] | None = maybe(
        "The conversation, as a request would send it. Absent: `prompt_tokens` is given."
    )
    chat_template_kwargs: AnyObject | None = maybe(
        "Further variables for the model's chat template, as the request would send them."
    )
    prompt_tokens: Annotated[list[TokenId], Field(min_length=1)] | None = maybe(
        "The prompt's token ids. Absent: `messages` is given.", unit="tokens"
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


class KVHeldRequest(Model):
    """A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing is
    computed."""

    chat: ChatCompletionRequest | None = maybe(
        "A chat, as it would be sent. Absent: `completion` is given."
    )
    completion: CompletionRequest | None = maybe(
        "A text to continue, as it would be sent. Absent: `chat` is given."
    )


class KVHeldPrompt(Model):
    """A prompt, and how much of it the prefix cache holds."""

    tokens: list[TokenId] = field(..., "The prompt's token ids.")
    held: int = field(..., "How many of the first ones are held.", unit="tokens", ge=0)


class KVHeldResponse(Model):
    """The prompts of a request that a state of `kv.save` can stand for."""

    prompts: list[KVHeldPrompt] = field(
        ...,
        "Those that consist of tokens alone, in their order: prompts with pictures are left out, "
        "and so are requests that choose an adapter or want the prompt's `logprobs`.",
    )
