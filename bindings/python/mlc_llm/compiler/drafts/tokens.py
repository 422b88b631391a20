"""The tokens for which the output layer of a draft has rows, if it has none for the others.

A token without a row is never drafted, and the layer costs less (FR-Spec, arXiv 2502.14856). The
ids of most tokenizers are in the order in which their pieces were merged, the most frequent first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlc_llm.errors import CorruptFileError, InvalidRequestError

if TYPE_CHECKING:
    from mlc_llm.compiler.spec.decoder import DecoderSpec

_BLOCK = 16  # rows that every scheme can cut off


def tokens_of(given: Mapping[str, Any]) -> tuple[int, ...]:
    """Of the field `draft` of an mlc-chat-config.json; (): all of the vocabulary."""
    tokens = given.get("tokens", [])
    if not isinstance(tokens, list) or not all(type(t) is int and t >= 0 for t in tokens):
        raise CorruptFileError("config: draft.tokens must be a list of token ids", param="draft")
    return tuple(tokens)


def check_tokens(tokens: tuple[int, ...], vocab_size: int) -> None:
    """Refuses those that a model does not have."""
    if tokens and max(tokens) >= vocab_size:
        raise InvalidRequestError(
            f"the draft guesses token {max(tokens)}, and the model has {vocab_size} tokens: it was "
            "trained for another model",
            param="draft",
        )


def with_first_tokens(spec: DecoderSpec, count: int) -> DecoderSpec:
    """A decoder whose draft reads only so many rows of the model's head, if it uses that; 0:
    all."""
    rows = -(-count // _BLOCK) * _BLOCK
    if spec.draft is None or not 0 < rows < spec.vocab_size or spec.head_bias:
        return spec
    return replace(spec, draft=spec.draft.with_head_of(rows))
