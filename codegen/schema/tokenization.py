"""What the tokenizer and the chat template do, asked for by themselves."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from codegen.schema.base import Model, field

TokenId = Annotated[int, Field(ge=0)]


class TokenizeRequest(Model):
    """A text of which the tokens are wanted."""

    text: str = field(..., "The text.")
    add_special_tokens: bool = field(
        False, "Whether the tokens are added that the model expects around a whole text."
    )


class TokenizeResponse(Model):
    """The tokens of a text."""

    tokens: list[TokenId] = field(..., "The token ids.")
    count: int = field(..., "How many there are.", unit="tokens", ge=0)


class DetokenizeRequest(Model):
    """Tokens of which the text is wanted."""

    tokens: list[TokenId] = field(..., "The token ids.")
    skip_special_tokens: bool = field(True, "Whether special tokens leave no text.")


class DetokenizeResponse(Model):
    """The text of tokens."""

    text: str = field(..., "The text; bytes that are no UTF-8 are replaced by U+FFFD.")


class InputTokensResponse(Model):
    """The length of a conversation as the model would read it."""

    input_tokens: int = field(..., "The length of the prompt.", unit="tokens", ge=0)


class RenderResponse(Model):
    """A conversation as the model's chat template writes it."""

    prompt: str = field(..., "The text that the model continues.")
