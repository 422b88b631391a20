"""The request of chat completions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema import metrics, queueing
from codegen.schema.adapters import Lora, lora
from codegen.schema.base import AnyJson, AnyObject, Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.messages import ChatCompletionContentPartText, ChatCompletionMessage
from codegen.schema.response_format import ResponseFormat
from codegen.schema.sampling import SamplingFields, logit_processor
from codegen.schema.tools import ChatCompletionTool, ToolChoice


class Stop(OneOf):
    """Texts at which the answer ends, before them."""

    root: (
        Annotated[str, Field(min_length=1), Case("text")]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=16), Case("texts")]
    )


class StreamOptions(Model):
    """What a stream carries beside the answer."""

    include_usage: bool | None = maybe(
        "Whether a last chunk, with no choices, carries the usage of the whole request."
    )


class ReasoningEffort(ClosedEnum):
    """How long a reasoning model thinks before it answers."""

    NONE = "none", "Not at all."
    MINIMAL = "minimal", "As little as it can."
    LOW = "low", "A little."
    MEDIUM = "medium", "As it was trained to."
    HIGH = "high", "Long."
    XHIGH = "xhigh", "Longer."


class ChatCompletionPredictionText(OneOf):
    """A predicted text, whole or in parts."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[ChatCompletionContentPartText], Field(min_length=1), Case("parts")]
    )


class ChatCompletionPrediction(Model):
    """A text that the answer probably resembles, such as a file before a small change."""

    type: Literal["content"] = field(..., "The kind of prediction.")
    content: ChatCompletionPredictionText = field(..., "The text.")


class SpecialRequest(ClosedEnum):
    """A request that is no conversation."""

    QUERY_ENGINE_METRICS = "query_engine_metrics", "Gives the engine's metrics in `usage.extra`."


class GrammarExecutionMode(ClosedEnum):
    """How a grammar is followed."""

    CONSTRAINT = "constraint", "Every token is sampled under the grammar's mask."
    JUMP_FORWARD = "jump_forward", "Text that the grammar forces is appended without the model."


class DebugConfig(Model):
    """Switches for tests and measurements."""

    ignore_eos: bool = field(False, "Whether the answer goes on over the end-of-text token.")
    pinned_system_prompt: bool = field(
        False,
        "Whether the whole pages of the prompt stay in the prefix cache until the engine is reset.",
    )
    special_request: SpecialRequest | None = maybe("Asks for something else than an answer.")
    grammar_execution_mode: GrammarExecutionMode = field(
        GrammarExecutionMode.JUMP_FORWARD, "How a grammar is followed."
    )


class ChatCompletionRequest(SamplingFields):
    """A conversation, and how the model is to continue it."""

    shared_before = "logprobs"

    messages: list[ChatCompletionMessage] = field(
        ..., "The conversation so far, oldest first.", min_length=1
    )
    model: str | None = maybe("The model to answer. Absent: the engine's own.")
    stream: bool = field(False, "Whether the answer comes in chunks while it is generated.")
    stream_options: StreamOptions | None = maybe("Options of the stream.")
    max_tokens: int | None = maybe(
        "The longest answer. Absent: 4,096. The end of the context may come first.", "tokens", ge=1
    )
    max_completion_tokens: int | None = maybe(
        "The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`.",
        "tokens",
        ge=1,
    )
    n: int = field(1, "How many answers are generated, each on its own.", ge=1, le=128)
    logprobs: bool = field(False, "Whether the chosen tokens' log probabilities are returned.")
    top_logprobs: int | None = maybe(
        "How many of the likeliest tokens are returned at each position; needs `logprobs`. "
        "Absent: 0.",
        "tokens",
        ge=0,
        le=20,
    )
    stop: Stop | None = maybe("Texts at which the answer ends, before them.")
    tools: list[ChatCompletionTool] | None = maybe(
        "The tools that the model may call.", max_length=128
    )
    tool_choice: ToolChoice | None = maybe(
        "Which tools are called. Absent: `auto` with tools, `none` without."
    )
    parallel_tool_calls: bool = field(True, "Whether one answer may hold several tool calls.")
    response_format: ResponseFormat | None = maybe(
        "The shape that the answer must have. Absent: any text."
    )
    reasoning_effort: ReasoningEffort | None = maybe(
        "How long a reasoning model thinks before it answers."
    )
    reasoning_budget: int | None = maybe(
        "The longest that a reasoning model thinks; at the limit its thoughts are ended and the "
        "answer goes on. Absent: no limit. An extension of this engine.",
        "tokens",
        ge=0,
        le=2147483647,
    )
    chat_template_kwargs: AnyObject | None = maybe(
        "Further variables for the model's chat template, such as `enable_thinking`."
    )
    logit_processor: str | None = logit_processor()
    lora: Lora | None = lora()
    user: str | None = maybe("A label of the end user; it has no effect on the answer.")
    priority: int | None = queueing.priority(
        "Requests of higher priority are served first and may take the place of running ones of "
        "lower priority. Each level is worth ten seconds of waiting, so that nobody waits for "
        "ever."
    )
    timeout_ms: int | None = queueing.timeout_ms()
    usage_extra: bool | None = maybe(
        "Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent: "
        "it does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of this "
        "engine."
    )
    timings_per_token: bool | None = metrics.timings_per_token()
    return_progress: bool | None = metrics.return_progress()
    debug_config: DebugConfig | None = maybe(
        "Switches for tests and measurements; a server takes them in debug mode only."
    )
    metadata: dict[str, str] | None = maybe("Labels of the caller's own; they have no effect.")
    store: bool | None = maybe("Asks a service to keep the answer; this engine keeps none.")
    service_tier: str | None = maybe("A service's price class; it has no effect.")
    modalities: list[str] | None = maybe(
        "The kinds of output that are asked for; only `text` is offered."
    )
    audio: AnyJson | None = maybe("How spoken output sounds; spoken output is not offered.")
    prediction: ChatCompletionPrediction | None = maybe(
        "A text that the answer will resemble. It makes the answer faster where the two agree, "
        "and never changes it."
    )
    web_search_options: AnyJson | None = maybe("A search of the web; not offered.")
    functions: AnyJson | None = maybe("The older form of `tools`; use that.")
    function_call: AnyJson | None = maybe("The older form of `tool_choice`; use that.")
