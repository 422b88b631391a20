"""The members that MLC-LLM's programs expect in an answer."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from mlc_llm.types_gen import ChatCompletion, ChatCompletionChunk, Completion

_Answer = TypeVar("_Answer", bound=BaseModel)


def as_mlc_llm(answer: _Answer, request_id: str | None) -> _Answer:
    """Sets the answer's id to the id that the request was given, and a role in each chunk of a
    chat."""
    if isinstance(answer, ChatCompletionChunk):
        for choice in answer.choices:
            if choice.delta.role is None:
                choice.delta.role = "assistant"
    if request_id is not None and isinstance(
        answer, (ChatCompletion, ChatCompletionChunk, Completion)
    ):
        answer.id = request_id
    return answer
