"""The responses of chat completions, whole and in chunks."""

from __future__ import annotations

from typing import Literal

from codegen.schema import metrics
from codegen.schema.base import Model, OpenEnum, field, maybe, measure
from codegen.schema.messages import ChatCompletionRole
from codegen.schema.metrics import PromptProgress, RequestMetrics, Timings
from codegen.schema.response_format import SchemaWarning
from codegen.schema.tools import ChatCompletionMessageToolCall, ChoiceDeltaToolCall


class FinishReason(OpenEnum):
    """Why an answer ended."""

    STOP = "stop", "The model ended it, or a stop text was reached."
    LENGTH = "length", "`max_tokens`, its default or the context's end was reached."
    TOOL_CALLS = "tool_calls", "The model called tools and waits for their answers."
    CONTENT_FILTER = "content_filter", "A filter held back the rest."
    ERROR = "error", "The engine failed; the error follows."


class TopLogprob(Model):
    """One of the likeliest tokens at a position."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability; -9999 when it is too small to tell.")
    bytes: list[int] | None = maybe(
        "The UTF-8 bytes of the token, which may be a part of a character.", always=True
    )


class ChatCompletionTokenLogprob(Model):
    """A token of the answer and the likeliest ones in its place."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability; -9999 when it is too small to tell.")
    bytes: list[int] | None = maybe(
        "The UTF-8 bytes of the token, which may be a part of a character.", always=True
    )
    top_logprobs: list[TopLogprob] = field(..., "The likeliest tokens here, likeliest first.")


class ChoiceLogprobs(Model):
    """The log probabilities of an answer."""

    content: list[ChatCompletionTokenLogprob] | None = maybe(
        "One entry for each token of the content.", always=True
    )
    refusal: list[ChatCompletionTokenLogprob] | None = maybe(
        "One entry for each token of a refusal.", always=True
    )


class ChatCompletionResponseMessage(Model):
    """The model's answer."""

    names = {"python": "ChatCompletionMessage"}

    role: Literal["assistant"] = field(..., "Always the assistant.")
    content: str | None = maybe(
        "The answer's text; null when it consists of tool calls.", always=True
    )
    refusal: str | None = maybe("Why the model refused to answer.", always=True)
    reasoning_content: str | None = maybe("What the model thought before it answered.")
    tool_calls: list[ChatCompletionMessageToolCall] | None = maybe(
        "The tools that the model calls."
    )


class ChatCompletionChoice(Model):
    """One of the answers."""

    names = {"python": "Choice"}

    index: int = field(..., "Which of the `n` answers this is, from 0.", ge=0)
    message: ChatCompletionResponseMessage = field(..., "The answer.")
    logprobs: ChoiceLogprobs | None = maybe(
        "The log probabilities, when they were asked for.", always=True
    )
    finish_reason: FinishReason = field(..., "Why the answer ended.")
    stop_reason: str | None = maybe(
        "The stop text that ended the answer, as vLLM gives it; absent if none did."
    )


class PromptTokensDetails(Model):
    """What the prompt's tokens were."""

    cached_tokens: int | None = measure("How many were found in the prefix cache.", "tokens")


class CompletionTokensDetails(Model):
    """What the answer's tokens were."""

    reasoning_tokens: int | None = measure("How many the model spent thinking.", "tokens")
    accepted_prediction_tokens: int | None = measure(
        "How many came from the request's `prediction`. Absent without one.", "tokens"
    )
    rejected_prediction_tokens: int | None = measure(
        "How many of the `prediction` were tried and differ from the answer. Absent without one.",
        "tokens",
    )


class CompletionUsageExtra(RequestMetrics):
    """Measurements of a request, under MLC-LLM's names."""


class CompletionUsage(Model):
    """What a request cost."""

    prompt_tokens: int = field(..., "The length of the prompt.", unit="tokens", ge=0)
    completion_tokens: int = field(
        ..., "The length of all the answers together.", unit="tokens", ge=0
    )
    total_tokens: int = field(..., "The sum of the two.", unit="tokens", ge=0)
    prompt_tokens_details: PromptTokensDetails | None = maybe("What the prompt's tokens were.")
    completion_tokens_details: CompletionTokensDetails | None = maybe(
        "What the answer's tokens were."
    )
    extra: CompletionUsageExtra | None = maybe(
        "Measurements of this request, when they were asked for."
    )


class ChatCompletion(Model):
    """The answers to a request."""

    id: str = field(..., "The request's id.")
    object: Literal["chat.completion"] = field(..., "The kind of object.")
    created: int = field(..., "When it was made.", unit="seconds since 1970, UTC", ge=0)
    model: str = field(..., "The model that answered.")
    choices: list[ChatCompletionChoice] = field(..., "The `n` answers.")
    usage: CompletionUsage | None = maybe("What the request cost.")
    timings: Timings | None = metrics.timings()
    warnings: list[SchemaWarning] | None = maybe(
        "What schemas of the request say and the answer was not held to."
    )
    system_fingerprint: str | None = maybe(
        "Names the configuration that answered; equal ones answer a seed equally."
    )


class ChatCompletionChunkDelta(Model):
    """What a chunk adds to an answer."""

    names = {"python": "ChoiceDelta"}

    role: ChatCompletionRole | None = maybe("Who speaks, in an answer's first chunk.")
    content: str | None = maybe(
        "The next piece of the text; whole characters only. Never absent in an answer's last "
        "chunk, where it may be empty, unless the engine's `openai_last_chunk` is set."
    )
    reasoning_content: str | None = maybe("The next piece of what the model thinks.")
    refusal: str | None = maybe("The next piece of a refusal.")
    tool_calls: list[ChoiceDeltaToolCall] | None = maybe("The next pieces of tool calls.")


class ChatCompletionChunkChoice(Model):
    """A piece of one of the answers."""

    names = {"python": "ChunkChoice"}

    index: int = field(..., "Which of the `n` answers this belongs to, from 0.", ge=0)
    delta: ChatCompletionChunkDelta = field(..., "What is added.")
    logprobs: ChoiceLogprobs | None = maybe(
        "The log probabilities of the tokens that are added.", always=True
    )
    finish_reason: FinishReason | None = maybe(
        "Why the answer ended; null until its last chunk.", always=True
    )
    stop_reason: str | None = maybe(
        "The stop text that ended the answer, as vLLM gives it; absent if none did."
    )


class ChatCompletionChunk(Model):
    """A piece of the answers to a request."""

    id: str = field(..., "The request's id, the same in all its chunks.")
    object: Literal["chat.completion.chunk"] = field(..., "The kind of object.")
    created: int = field(
        ...,
        "When the request began; the same in all chunks.",
        unit="seconds since 1970, UTC",
        ge=0,
    )
    model: str = field(..., "The model that answers.")
    choices: list[ChatCompletionChunkChoice] = field(
        ..., "Pieces of the answers; empty in the chunk that carries the usage."
    )
    usage: CompletionUsage | None = maybe(
        "What the request cost, in the last chunk, when `include_usage` asks for it."
    )
    timings: Timings | None = metrics.timings()
    prompt_progress: PromptProgress | None = metrics.prompt_progress()
    warnings: list[SchemaWarning] | None = maybe(
        "What schemas of the request say and the answer is not held to; in the first chunk."
    )
    system_fingerprint: str | None = maybe(
        "Names the configuration that answers; equal ones answer a seed equally."
    )
