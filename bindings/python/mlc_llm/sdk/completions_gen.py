# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The typed `create` of each route; an engine supplies the sender and the streams.

A parameter that is not given is not sent, and one given as None is sent as null, which the engine
takes as not given.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast, overload

from typing_extensions import Self, Unpack

from mlc_llm.errors import InvalidRequestError
from mlc_llm.sdk.timeout import Timeout
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionCreateParams,
    Completion,
    CompletionCreateParams,
    CreateEmbeddingResponse,
    EmbeddingCreateParams,
    RerankCreateParams,
    RerankResponse,
)

if TYPE_CHECKING:
    from mlc_llm.sdk.async_engine import AsyncSender
    from mlc_llm.sdk.engine import Sender

_Item = TypeVar("_Item", covariant=True)


class Stream(Protocol[_Item]):
    """Chunks in order. Closing it, leaving its `with` block or dropping it ends the request; a
    `break` alone does not."""

    def __iter__(self) -> Iterator[_Item]: ...
    def __next__(self) -> _Item: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class AsyncStream(Protocol[_Item]):
    """Chunks in order. Closing it, leaving its `async with` block or dropping it ends the request;
    a `break` alone does not."""

    def __aiter__(self) -> AsyncIterator[_Item]: ...
    async def __anext__(self) -> _Item: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...


def _request(
    known: Mapping[str, object],
    required: set[str],
    params: Mapping[str, Any],
    extra_body: Mapping[str, object] | None,
    timeout: float | None,
) -> dict[str, Any]:
    """The body to send. A misspelt or missing parameter is a TypeError, as in any call."""
    extra: Mapping[str, object] = {} if extra_body is None else extra_body
    if not isinstance(cast("object", extra), Mapping):
        raise _wrong_type("extra_body", "a mapping", extra)
    if timeout is not None:
        params = {"timeout_ms": Timeout.of(timeout), **params}
    unknown = sorted(params.keys() - known.keys())
    if unknown:
        raise TypeError(f"create() got an unexpected keyword argument {unknown[0]!r}")
    missing = sorted(required - params.keys() - extra.keys())
    if missing:
        raise TypeError(f"create() missing required keyword argument {missing[0]!r}")
    return {**params, **extra}


def _named(request_id: object) -> dict[str, str]:
    """The argument of `_create`, if it is given."""
    if request_id is None:
        return {}
    if not isinstance(request_id, str):
        raise _wrong_type("request_id", "a string", request_id)
    return {"request_id": request_id}


def _wrong_type(name: str, expected: str, got: object) -> InvalidRequestError:
    message = (
        f"Invalid type for '{name}': expected {expected}, but got {type(got).__name__} instead."
    )
    return InvalidRequestError(message, param=name)


class ChatCompletions:
    """`chat.completions`: `create` describes the parameters."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    @overload
    def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion: ...
    @overload
    def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> Stream[ChatCompletionChunk]: ...
    @overload
    def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | Stream[ChatCompletionChunk]: ...
    def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | Stream[ChatCompletionChunk]:
        """Sends a request; gives the whole answer, or a stream of its chunks.

        messages: The conversation so far, oldest first. Items: at least 1.
        model: The model to answer. Absent: the engine's own.
        stream: Whether the answer comes in chunks while it is generated. Default: false.
        stream_options: Options of the stream.
        max_tokens: The longest answer. Absent: 4,096. The end of the context may come first. Range:
            at least 1. Unit: tokens.
        max_completion_tokens: The newer name of `max_tokens`; it wins when both are given. Absent:
            `max_tokens`. Range: at least 1. Unit: tokens.
        n: How many answers are generated, each on its own. Range: at least 1 and at most 128.
            Default: 1.
        temperature: How far the choice of tokens strays from the likeliest; 0 always takes the
            likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
        top_p: Keeps the likeliest tokens that together reach this probability; 0 keeps the
            likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at most
            1.
        top_k: Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
            default, else 0. Range: at least -1. Unit: tokens.
        min_p: Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
            own default, else 0. Range: at least 0 and at most 1.
        frequency_penalty: Lowers a token's logit by this much for each time it occurs in the
            answer. Absent: the model's own default, else 0. Range: at least -2 and at most 2.
        presence_penalty: Lowers a token's logit by this much once it occurs in the answer. Absent:
            the model's own default, else 0. Range: at least -2 and at most 2.
        repetition_penalty: Divides a positive logit, and multiplies a negative one, of tokens that
            occurred. Absent: the model's own default, else 1. Range: above 0 and at most 10.
        top_n_sigma: Keeps tokens whose logit is at most this many standard deviations below the
            largest; 0 or less keeps all. Absent: the model's own default, else 0. Range: at least
            -1 and at most 1000.
        xtc_probability: How often (of 1) the likeliest tokens are excluded, all but the last one
            that `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
            at least 0 and at most 1.
        xtc_threshold: From which probability on `xtc_probability` counts a token among the
            likeliest; over 0.5 there is no second one. Absent: the model's own default, else 0.1.
            Range: at least 0 and at most 1.
        dry_multiplier: Lowers the logit of a token that would go on with a repetition, in prompt
            and answer: by this much times `dry_base` to the power of what the repetition is longer
            than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0
            and at most 100.
        dry_base: How fast `dry_multiplier` grows with a repetition. Absent: the model's own
            default, else 1.75. Range: at least 1 and at most 100.
        dry_allowed_length: `dry_multiplier` begins at repetitions of this length. Absent: the
            model's own default, else 2. Range: at least 1. Unit: tokens.
        dry_penalty_last_n: Among how many of the last tokens `dry_multiplier` looks for
            repetitions; -1: all, 0: none. Absent: the model's own default, else -1. Range: at least
            -1. Unit: tokens.
        dry_sequence_breakers: A token that contains one of these texts ends repetitions that
            `dry_multiplier` counts, as a special token does. Absent: a line's end, a colon, a
            quotation mark and an asterisk. Length: at least 1. Items: at most 64.
        logit_bias: Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
            most 100.
        seed: Makes the answer repeatable: equal requests with equal seeds get equal answers.
            Absent: a random one.
        logprobs: Whether the chosen tokens' log probabilities are returned. Default: false.
        top_logprobs: How many of the likeliest tokens are returned at each position; needs
            `logprobs`. Absent: 0. Range: at least 0 and at most 20. Unit: tokens.
        stop: Texts at which the answer ends, before them.
        tools: The tools that the model may call. Items: at most 128.
        tool_choice: Which tools are called. Absent: `auto` with tools, `none` without.
        parallel_tool_calls: Whether one answer may hold several tool calls. Default: true.
        response_format: The shape that the answer must have. Absent: any text.
        reasoning_effort: How long a reasoning model thinks before it answers.
        reasoning_budget: The longest that a reasoning model thinks; at the limit its thoughts are
            ended and the answer goes on. Absent: no limit. An extension of this engine. Range: at
            least 0 and at most 2147483647. Unit: tokens.
        chat_template_kwargs: Further variables for the model's chat template, such as
            `enable_thinking`.
        logit_processor: The name of a logit processor that the program has registered with the
            engine: a function that changes the logits before each token. Absent: none. An extension
            of this engine.
        lora: The adapters that change the model for this request. Absent: none. An extension of
            this engine.
        user: A label of the end user; it has no effect on the answer.
        priority: Requests of higher priority are served first and may take the place of running
            ones of lower priority. Each level is worth ten seconds of waiting, so that nobody waits
            for ever. Absent: 0. An extension of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        usage_extra: Whether `usage.extra` carries this request's measurements, such as `ttft_s`.
            Absent: it does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of
            this engine.
        timings_per_token: Whether the answer carries `timings`, and in a stream every chunk, as
            llama.cpp's.
        return_progress: Whether a stream begins with chunks that carry `prompt_progress`, as
            llama.cpp's. They have no choices.
        debug_config: Switches for tests and measurements; a server takes them in debug mode only.
        metadata: Labels of the caller's own; they have no effect.
        store: Asks a service to keep the answer; this engine keeps none.
        service_tier: A service's price class; it has no effect.
        modalities: The kinds of output that are asked for; only `text` is offered.
        audio: How spoken output sounds; spoken output is not offered.
        prediction: A text that the answer will resemble. It makes the answer faster where the two
            agree, and never changes it.
        web_search_options: A search of the web; not offered.
        functions: The older form of `tools`; use that.
        function_call: The older form of `tool_choice`; use that.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        request_id: The answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
        """
        known, required = ChatCompletionCreateParams.__annotations__, {"messages"}
        request = _request(known, required, params, extra_body, timeout)
        request["stream"] = bool(stream)
        return self._create(request, bool(stream), **_named(request_id))

    def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> ChatCompletion | Stream[ChatCompletionChunk]:
        send = self._sender
        if stream:
            return send.stream("chat.completions", ChatCompletionChunk, request, request_id)
        return send.call("chat.completions", ChatCompletion, request, request_id)


class AsyncChatCompletions:
    """`chat.completions`: `create` describes the parameters."""

    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    @overload
    async def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion: ...
    @overload
    async def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> AsyncStream[ChatCompletionChunk]: ...
    @overload
    async def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]: ...
    async def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]:
        """Sends a request; gives the whole answer, or a stream of its chunks.

        messages: The conversation so far, oldest first. Items: at least 1.
        model: The model to answer. Absent: the engine's own.
        stream: Whether the answer comes in chunks while it is generated. Default: false.
        stream_options: Options of the stream.
        max_tokens: The longest answer. Absent: 4,096. The end of the context may come first. Range:
            at least 1. Unit: tokens.
        max_completion_tokens: The newer name of `max_tokens`; it wins when both are given. Absent:
            `max_tokens`. Range: at least 1. Unit: tokens.
        n: How many answers are generated, each on its own. Range: at least 1 and at most 128.
            Default: 1.
        temperature: How far the choice of tokens strays from the likeliest; 0 always takes the
            likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
        top_p: Keeps the likeliest tokens that together reach this probability; 0 keeps the
            likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at most
            1.
        top_k: Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
            default, else 0. Range: at least -1. Unit: tokens.
        min_p: Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
            own default, else 0. Range: at least 0 and at most 1.
        frequency_penalty: Lowers a token's logit by this much for each time it occurs in the
            answer. Absent: the model's own default, else 0. Range: at least -2 and at most 2.
        presence_penalty: Lowers a token's logit by this much once it occurs in the answer. Absent:
            the model's own default, else 0. Range: at least -2 and at most 2.
        repetition_penalty: Divides a positive logit, and multiplies a negative one, of tokens that
            occurred. Absent: the model's own default, else 1. Range: above 0 and at most 10.
        top_n_sigma: Keeps tokens whose logit is at most this many standard deviations below the
            largest; 0 or less keeps all. Absent: the model's own default, else 0. Range: at least
            -1 and at most 1000.
        xtc_probability: How often (of 1) the likeliest tokens are excluded, all but the last one
            that `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
            at least 0 and at most 1.
        xtc_threshold: From which probability on `xtc_probability` counts a token among the
            likeliest; over 0.5 there is no second one. Absent: the model's own default, else 0.1.
            Range: at least 0 and at most 1.
        dry_multiplier: Lowers the logit of a token that would go on with a repetition, in prompt
            and answer: by this much times `dry_base` to the power of what the repetition is longer
            than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0
            and at most 100.
        dry_base: How fast `dry_multiplier` grows with a repetition. Absent: the model's own
            default, else 1.75. Range: at least 1 and at most 100.
        dry_allowed_length: `dry_multiplier` begins at repetitions of this length. Absent: the
            model's own default, else 2. Range: at least 1. Unit: tokens.
        dry_penalty_last_n: Among how many of the last tokens `dry_multiplier` looks for
            repetitions; -1: all, 0: none. Absent: the model's own default, else -1. Range: at least
            -1. Unit: tokens.
        dry_sequence_breakers: A token that contains one of these texts ends repetitions that
            `dry_multiplier` counts, as a special token does. Absent: a line's end, a colon, a
            quotation mark and an asterisk. Length: at least 1. Items: at most 64.
        logit_bias: Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
            most 100.
        seed: Makes the answer repeatable: equal requests with equal seeds get equal answers.
            Absent: a random one.
        logprobs: Whether the chosen tokens' log probabilities are returned. Default: false.
        top_logprobs: How many of the likeliest tokens are returned at each position; needs
            `logprobs`. Absent: 0. Range: at least 0 and at most 20. Unit: tokens.
        stop: Texts at which the answer ends, before them.
        tools: The tools that the model may call. Items: at most 128.
        tool_choice: Which tools are called. Absent: `auto` with tools, `none` without.
        parallel_tool_calls: Whether one answer may hold several tool calls. Default: true.
        response_format: The shape that the answer must have. Absent: any text.
        reasoning_effort: How long a reasoning model thinks before it answers.
        reasoning_budget: The longest that a reasoning model thinks; at the limit its thoughts are
            ended and the answer goes on. Absent: no limit. An extension of this engine. Range: at
            least 0 and at most 2147483647. Unit: tokens.
        chat_template_kwargs: Further variables for the model's chat template, such as
            `enable_thinking`.
        logit_processor: The name of a logit processor that the program has registered with the
            engine: a function that changes the logits before each token. Absent: none. An extension
            of this engine.
        lora: The adapters that change the model for this request. Absent: none. An extension of
            this engine.
        user: A label of the end user; it has no effect on the answer.
        priority: Requests of higher priority are served first and may take the place of running
            ones of lower priority. Each level is worth ten seconds of waiting, so that nobody waits
            for ever. Absent: 0. An extension of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        usage_extra: Whether `usage.extra` carries this request's measurements, such as `ttft_s`.
            Absent: it does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of
            this engine.
        timings_per_token: Whether the answer carries `timings`, and in a stream every chunk, as
            llama.cpp's.
        return_progress: Whether a stream begins with chunks that carry `prompt_progress`, as
            llama.cpp's. They have no choices.
        debug_config: Switches for tests and measurements; a server takes them in debug mode only.
        metadata: Labels of the caller's own; they have no effect.
        store: Asks a service to keep the answer; this engine keeps none.
        service_tier: A service's price class; it has no effect.
        modalities: The kinds of output that are asked for; only `text` is offered.
        audio: How spoken output sounds; spoken output is not offered.
        prediction: A text that the answer will resemble. It makes the answer faster where the two
            agree, and never changes it.
        web_search_options: A search of the web; not offered.
        functions: The older form of `tools`; use that.
        function_call: The older form of `tool_choice`; use that.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        request_id: The answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
        """
        known, required = ChatCompletionCreateParams.__annotations__, {"messages"}
        request = _request(known, required, params, extra_body, timeout)
        request["stream"] = bool(stream)
        return await self._create(request, bool(stream), **_named(request_id))

    async def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]:
        send = self._sender
        if stream:
            return await send.stream("chat.completions", ChatCompletionChunk, request, request_id)
        return await send.call("chat.completions", ChatCompletion, request, request_id)


class Completions:
    """`completions`: `create` describes the parameters."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    @overload
    def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion: ...
    @overload
    def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Stream[Completion]: ...
    @overload
    def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | Stream[Completion]: ...
    def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | Stream[Completion]:
        """Sends a request; gives the whole answer, or a stream of its chunks.

        prompt: What is to be continued.
        model: The model to answer. Absent: the engine's own.
        suffix: The text that follows what is inserted. Absent: the text is only continued.
        echo: Whether the answer begins with the prompt. Default: false.
        best_of: How many answers are generated to return the best `n`. Absent: `n`. Range: at least
            1 and at most 128.
        stream: Whether the answer comes in chunks while it is generated. Default: false.
        stream_options: Options of the stream.
        max_tokens: The longest answer. Range: at least 0. Default: 16. Unit: tokens.
        n: How many answers are generated, each on its own. Range: at least 1 and at most 128.
            Default: 1.
        temperature: How far the choice of tokens strays from the likeliest; 0 always takes the
            likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
        top_p: Keeps the likeliest tokens that together reach this probability; 0 keeps the
            likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at most
            1.
        top_k: Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
            default, else 0. Range: at least -1. Unit: tokens.
        min_p: Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
            own default, else 0. Range: at least 0 and at most 1.
        frequency_penalty: Lowers a token's logit by this much for each time it occurs in the
            answer. Absent: the model's own default, else 0. Range: at least -2 and at most 2.
        presence_penalty: Lowers a token's logit by this much once it occurs in the answer. Absent:
            the model's own default, else 0. Range: at least -2 and at most 2.
        repetition_penalty: Divides a positive logit, and multiplies a negative one, of tokens that
            occurred. Absent: the model's own default, else 1. Range: above 0 and at most 10.
        top_n_sigma: Keeps tokens whose logit is at most this many standard deviations below the
            largest; 0 or less keeps all. Absent: the model's own default, else 0. Range: at least
            -1 and at most 1000.
        xtc_probability: How often (of 1) the likeliest tokens are excluded, all but the last one
            that `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
            at least 0 and at most 1.
        xtc_threshold: From which probability on `xtc_probability` counts a token among the
            likeliest; over 0.5 there is no second one. Absent: the model's own default, else 0.1.
            Range: at least 0 and at most 1.
        dry_multiplier: Lowers the logit of a token that would go on with a repetition, in prompt
            and answer: by this much times `dry_base` to the power of what the repetition is longer
            than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0
            and at most 100.
        dry_base: How fast `dry_multiplier` grows with a repetition. Absent: the model's own
            default, else 1.75. Range: at least 1 and at most 100.
        dry_allowed_length: `dry_multiplier` begins at repetitions of this length. Absent: the
            model's own default, else 2. Range: at least 1. Unit: tokens.
        dry_penalty_last_n: Among how many of the last tokens `dry_multiplier` looks for
            repetitions; -1: all, 0: none. Absent: the model's own default, else -1. Range: at least
            -1. Unit: tokens.
        dry_sequence_breakers: A token that contains one of these texts ends repetitions that
            `dry_multiplier` counts, as a special token does. Absent: a line's end, a colon, a
            quotation mark and an asterisk. Length: at least 1. Items: at most 64.
        logit_bias: Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
            most 100.
        seed: Makes the answer repeatable: equal requests with equal seeds get equal answers.
            Absent: a random one.
        logprobs: How many of the likeliest tokens are returned at each position, beside the chosen
            one. Absent: none. Range: at least 0 and at most 5. Unit: tokens.
        stop: Texts at which the answer ends, before them.
        response_format: The shape that the answer must have. Absent: any text.
        logit_processor: The name of a logit processor that the program has registered with the
            engine: a function that changes the logits before each token. Absent: none. An extension
            of this engine.
        lora: The adapters that change the model for this request. Absent: none. An extension of
            this engine.
        user: A label of the end user; it has no effect on the answer.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        timings_per_token: Whether the answer carries `timings`, and in a stream every chunk, as
            llama.cpp's.
        return_progress: Whether a stream begins with chunks that carry `prompt_progress`, as
            llama.cpp's. They have no choices.
        debug_config: Switches for tests and measurements; a server takes them in debug mode only.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        request_id: The answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
        """
        known, required = CompletionCreateParams.__annotations__, {"prompt"}
        request = _request(known, required, params, extra_body, timeout)
        request["stream"] = bool(stream)
        return self._create(request, bool(stream), **_named(request_id))

    def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> Completion | Stream[Completion]:
        send = self._sender
        if stream:
            return send.stream("completions", Completion, request, request_id)
        return send.call("completions", Completion, request, request_id)


class AsyncCompletions:
    """`completions`: `create` describes the parameters."""

    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    @overload
    async def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion: ...
    @overload
    async def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> AsyncStream[Completion]: ...
    @overload
    async def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | AsyncStream[Completion]: ...
    async def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | AsyncStream[Completion]:
        """Sends a request; gives the whole answer, or a stream of its chunks.

        prompt: What is to be continued.
        model: The model to answer. Absent: the engine's own.
        suffix: The text that follows what is inserted. Absent: the text is only continued.
        echo: Whether the answer begins with the prompt. Default: false.
        best_of: How many answers are generated to return the best `n`. Absent: `n`. Range: at least
            1 and at most 128.
        stream: Whether the answer comes in chunks while it is generated. Default: false.
        stream_options: Options of the stream.
        max_tokens: The longest answer. Range: at least 0. Default: 16. Unit: tokens.
        n: How many answers are generated, each on its own. Range: at least 1 and at most 128.
            Default: 1.
        temperature: How far the choice of tokens strays from the likeliest; 0 always takes the
            likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
        top_p: Keeps the likeliest tokens that together reach this probability; 0 keeps the
            likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at most
            1.
        top_k: Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
            default, else 0. Range: at least -1. Unit: tokens.
        min_p: Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
            own default, else 0. Range: at least 0 and at most 1.
        frequency_penalty: Lowers a token's logit by this much for each time it occurs in the
            answer. Absent: the model's own default, else 0. Range: at least -2 and at most 2.
        presence_penalty: Lowers a token's logit by this much once it occurs in the answer. Absent:
            the model's own default, else 0. Range: at least -2 and at most 2.
        repetition_penalty: Divides a positive logit, and multiplies a negative one, of tokens that
            occurred. Absent: the model's own default, else 1. Range: above 0 and at most 10.
        top_n_sigma: Keeps tokens whose logit is at most this many standard deviations below the
            largest; 0 or less keeps all. Absent: the model's own default, else 0. Range: at least
            -1 and at most 1000.
        xtc_probability: How often (of 1) the likeliest tokens are excluded, all but the last one
            that `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
            at least 0 and at most 1.
        xtc_threshold: From which probability on `xtc_probability` counts a token among the
            likeliest; over 0.5 there is no second one. Absent: the model's own default, else 0.1.
            Range: at least 0 and at most 1.
        dry_multiplier: Lowers the logit of a token that would go on with a repetition, in prompt
            and answer: by this much times `dry_base` to the power of what the repetition is longer
            than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0
            and at most 100.
        dry_base: How fast `dry_multiplier` grows with a repetition. Absent: the model's own
            default, else 1.75. Range: at least 1 and at most 100.
        dry_allowed_length: `dry_multiplier` begins at repetitions of this length. Absent: the
            model's own default, else 2. Range: at least 1. Unit: tokens.
        dry_penalty_last_n: Among how many of the last tokens `dry_multiplier` looks for
            repetitions; -1: all, 0: none. Absent: the model's own default, else -1. Range: at least
            -1. Unit: tokens.
        dry_sequence_breakers: A token that contains one of these texts ends repetitions that
            `dry_multiplier` counts, as a special token does. Absent: a line's end, a colon, a
            quotation mark and an asterisk. Length: at least 1. Items: at most 64.
        logit_bias: Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
            most 100.
        seed: Makes the answer repeatable: equal requests with equal seeds get equal answers.
            Absent: a random one.
        logprobs: How many of the likeliest tokens are returned at each position, beside the chosen
            one. Absent: none. Range: at least 0 and at most 5. Unit: tokens.
        stop: Texts at which the answer ends, before them.
        response_format: The shape that the answer must have. Absent: any text.
        logit_processor: The name of a logit processor that the program has registered with the
            engine: a function that changes the logits before each token. Absent: none. An extension
            of this engine.
        lora: The adapters that change the model for this request. Absent: none. An extension of
            this engine.
        user: A label of the end user; it has no effect on the answer.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        timings_per_token: Whether the answer carries `timings`, and in a stream every chunk, as
            llama.cpp's.
        return_progress: Whether a stream begins with chunks that carry `prompt_progress`, as
            llama.cpp's. They have no choices.
        debug_config: Switches for tests and measurements; a server takes them in debug mode only.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        request_id: The answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
        """
        known, required = CompletionCreateParams.__annotations__, {"prompt"}
        request = _request(known, required, params, extra_body, timeout)
        request["stream"] = bool(stream)
        return await self._create(request, bool(stream), **_named(request_id))

    async def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> Completion | AsyncStream[Completion]:
        send = self._sender
        if stream:
            return await send.stream("completions", Completion, request, request_id)
        return await send.call("completions", Completion, request, request_id)


class Embeddings:
    """`embeddings`: `create` describes the parameters."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        **params: Unpack[EmbeddingCreateParams],
    ) -> CreateEmbeddingResponse:
        """Sends a request and waits for the answer.

        input: A text, several texts, or their token ids.
        model: The model to use. Absent: the engine's own.
        encoding_format: How the vectors are written. Default: `float`.
        dimensions: How many numbers of each vector are kept. Absent: all that the model gives.
            Range: at least 1.
        user: A label of the end user; it has no effect.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        """
        known, required = EmbeddingCreateParams.__annotations__, {"input"}
        request = _request(known, required, params, extra_body, timeout)
        return self._sender.call("embeddings", CreateEmbeddingResponse, request)


class AsyncEmbeddings:
    """`embeddings`: `create` describes the parameters."""

    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        **params: Unpack[EmbeddingCreateParams],
    ) -> CreateEmbeddingResponse:
        """Sends a request and waits for the answer.

        input: A text, several texts, or their token ids.
        model: The model to use. Absent: the engine's own.
        encoding_format: How the vectors are written. Default: `float`.
        dimensions: How many numbers of each vector are kept. Absent: all that the model gives.
            Range: at least 1.
        user: A label of the end user; it has no effect.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        """
        known, required = EmbeddingCreateParams.__annotations__, {"input"}
        request = _request(known, required, params, extra_body, timeout)
        return await self._sender.call("embeddings", CreateEmbeddingResponse, request)


class Rerank:
    """`rerank`: `create` describes the parameters."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        **params: Unpack[RerankCreateParams],
    ) -> RerankResponse:
        """Sends a request and waits for the answer.

        query: What the documents are judged by. Length: at least 1.
        documents: The documents: texts, or objects with a text. Items: at least 1 and at most
            10000.
        model: The model to use. Absent: the engine's own.
        top_n: How many results are returned, the best first. Absent: one for each document. Range:
            at least 1.
        return_documents: Whether each result holds its document. Default: false.
        max_tokens_per_doc: How many tokens of each document are read at most. Absent: as many as
            fit beside the query. Range: at least 1. Unit: tokens.
        truncate: Whether the end of a document is left out that does not fit beside the query.
            False: such a request is refused. An extension of this engine. Default: true.
        raw_scores: Whether scores are the model's own numbers, of any size, instead of numbers from
            0 to 1. An extension of this engine. Default: false.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        """
        known, required = RerankCreateParams.__annotations__, {"query", "documents"}
        request = _request(known, required, params, extra_body, timeout)
        return self._sender.call("rerank", RerankResponse, request)


class AsyncRerank:
    """`rerank`: `create` describes the parameters."""

    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        **params: Unpack[RerankCreateParams],
    ) -> RerankResponse:
        """Sends a request and waits for the answer.

        query: What the documents are judged by. Length: at least 1.
        documents: The documents: texts, or objects with a text. Items: at least 1 and at most
            10000.
        model: The model to use. Absent: the engine's own.
        top_n: How many results are returned, the best first. Absent: one for each document. Range:
            at least 1.
        return_documents: Whether each result holds its document. Default: false.
        max_tokens_per_doc: How many tokens of each document are read at most. Absent: as many as
            fit beside the query. Range: at least 1. Unit: tokens.
        truncate: Whether the end of a document is left out that does not fit beside the query.
            False: such a request is refused. An extension of this engine. Default: true.
        raw_scores: Whether scores are the model's own numbers, of any size, instead of numbers from
            0 to 1. An extension of this engine. Default: false.
        priority: Requests of higher priority are served first, as in chats. Absent: 0. An extension
            of this engine. Range: at least -100 and at most 100.
        timeout_ms: The answer must be complete this long after the request came in; else it ends
            with the error `deadline_exceeded`. Absent: no limit. An extension of this engine.
            Range: at least 1 and at most 2147483647. Unit: milliseconds.
        extra_body: Further members of the request, which win over the parameters.
        timeout: `timeout_ms` in seconds, as OpenAI's.
        """
        known, required = RerankCreateParams.__annotations__, {"query", "documents"}
        request = _request(known, required, params, extra_body, timeout)
        return await self._sender.call("rerank", RerankResponse, request)
