"""Completions: a text is continued as it is, without a chat template."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema import metrics, queueing
from codegen.schema.adapters import Lora, lora
from codegen.schema.base import Case, Model, OneOf, field, maybe
from codegen.schema.chat_request import DebugConfig, Stop, StreamOptions
from codegen.schema.chat_response import CompletionUsage, FinishReason
from codegen.schema.metrics import PromptProgress, Timings
from codegen.schema.response_format import ResponseFormat, SchemaWarning
from codegen.schema.sampling import SamplingFields, logit_processor
from codegen.schema.tokenization import TokenId


class PromptItem(OneOf):
    """One prompt of several, or one token of a prompt."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[TokenId, Case("token")]
        | Annotated[list[TokenId], Field(min_length=1), Case("tokens")]
    )


class Prompt(OneOf):
    """What is to be continued or embedded: a text, several texts, token ids, or lists of those."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[PromptItem], Field(min_length=1, max_length=2**20), Case("items")]
    )


class CompletionRequest(SamplingFields):
    """A text, and how the model is to continue it."""

    shared_before = "logprobs"

    prompt: Prompt = field(..., "What is to be continued.")
    model: str | None = maybe("The model to answer. Absent: the engine's own.")
    suffix: str | None = maybe(
        "The text that follows what is inserted. Absent: the text is only continued."
    )
    echo: bool = field(False, "Whether the answer begins with the prompt.")
    best_of: int | None = maybe(
        "How many answers are generated to return the best `n`. Absent: `n`.", ge=1, le=128
    )
    stream: bool = field(False, "Whether the answer comes in chunks while it is generated.")
    stream_options: StreamOptions | None = maybe("Options of the stream.")
    max_tokens: int = field(16, "The longest answer.", unit="tokens", ge=0)
    n: int = field(1, "How many answers are generated, each on its own.", ge=1, le=128)
    logprobs: int | None = maybe(
        "How many of the likeliest tokens are returned at each position, beside the chosen one. "
        "Absent: none.",
        "tokens",
        ge=0,
        le=5,
    )
    stop: Stop | None = maybe("Texts at which the answer ends, before them.")
    response_format: ResponseFormat | None = maybe(
        "The shape that the answer must have. Absent: any text."
    )
    logit_processor: str | None = logit_processor()
    lora: Lora | None = lora()
    user: str | None = maybe("A label of the end user; it has no effect on the answer.")
    priority: int | None = queueing.priority()
    timeout_ms: int | None = queueing.timeout_ms()
    timings_per_token: bool | None = metrics.timings_per_token()
    return_progress: bool | None = metrics.return_progress()
    debug_config: DebugConfig | None = maybe(
        "Switches for tests and measurements; a server takes them in debug mode only."
    )


class CompletionLogprobs(Model):
    """The log probabilities of an answer; the lists run side by side."""

    names = {"python": "Logprobs"}

    tokens: list[str] | None = maybe("The tokens' texts.")
    token_logprobs: list[float] | None = maybe("Their log probabilities.")
    top_logprobs: list[dict[str, float]] | None = maybe(
        "At each position from text to log probability, for the likeliest tokens."
    )
    text_offset: list[int] | None = maybe("Where each token begins in the text.", "code points")


class CompletionChoice(Model):
    """One of the answers, or a piece of it."""

    index: int = field(..., "Which of the answers this is, from 0.", ge=0)
    text: str = field(..., "The text, or its next piece.")
    logprobs: CompletionLogprobs | None = maybe(
        "The log probabilities, when they were asked for.", always=True
    )
    finish_reason: FinishReason | None = maybe(
        "Why the answer ended; null until its last chunk.", always=True
    )
    stop_reason: str | None = maybe(
        "The stop text that ended the answer, as vLLM gives it; absent if none did."
    )


class Completion(Model):
    """The continuations of a prompt; a chunk of a stream has the same form."""

    id: str = field(..., "The request's id, the same in all its chunks.")
    object: Literal["text_completion"] = field(..., "The kind of object.")
    created: int = field(..., "When it was made.", unit="seconds since 1970, UTC", ge=0)
    model: str = field(..., "The model that answered.")
    choices: list[CompletionChoice] = field(
        ..., "The answers; empty in the chunk that carries the usage."
    )
    usage: CompletionUsage | None = maybe(
        "What the request cost; in a stream in the last chunk, when it is asked for."
    )
    timings: Timings | None = metrics.timings()
    prompt_progress: PromptProgress | None = metrics.prompt_progress()
    warnings: list[SchemaWarning] | None = maybe(
        "What the schema of the request says and the answer is not held to; in the first chunk of "
        "a stream."
    )
    system_fingerprint: str | None = maybe(
        "Names the configuration that answered; equal ones answer a seed equally."
    )
