"""The engine's counters, under MLC-LLM's names."""

from __future__ import annotations

from typing import Any

from codegen.schema.base import AnyObject, Model, field


class RequestMetrics(Model):
    """Measurements of one request; `usage.extra` has the same."""

    prompt_tokens: int | None = field(None, "The length of the prompt.", unit="tokens", ge=0)
    completion_tokens: int | None = field(None, "The length of the answers.", unit="tokens", ge=0)
    prefill_tokens: int | None = field(
        None, "How much of the prompt the model read; the rest was cached.", unit="tokens", ge=0
    )
    decode_tokens: int | None = field(
        None, "The tokens that were generated one by one.", unit="tokens", ge=0
    )
    jump_forward_tokens: int | None = field(
        None, "The tokens that a grammar forced, without the model.", unit="tokens", ge=0
    )
    prefill_tokens_per_s: float | None = field(
        None, "How fast the prompt was read.", unit="tokens per second", ge=0
    )
    decode_tokens_per_s: float | None = field(
        None, "How fast the answer was generated.", unit="tokens per second", ge=0
    )
    ttft_s: float | None = field(None, "From the request to its first token.", unit="seconds", ge=0)
    inter_token_latency_s: float | None = field(
        None, "The mean time from token to token.", unit="seconds", ge=0
    )
    end_to_end_latency_s: float | None = field(
        None, "From the request to its last token.", unit="seconds", ge=0
    )


class Timings(Model):
    """Where the time of a request went so far, under llama.cpp's names."""

    cache_n: int = field(..., "How much of the prompt was cached.", unit="tokens", ge=0)
    prompt_n: int = field(..., "How much of the prompt the model read.", unit="tokens", ge=0)
    prompt_ms: float = field(..., "How long that took.", unit="milliseconds", ge=0)
    prompt_per_token_ms: float = field(..., "The same for each token.", unit="milliseconds", ge=0)
    prompt_per_second: float = field(
        ..., "How fast the prompt was read.", unit="tokens per second", ge=0
    )
    predicted_n: int = field(..., "The tokens that were generated.", unit="tokens", ge=0)
    predicted_ms: float = field(
        ..., "From the first of them to the last.", unit="milliseconds", ge=0
    )
    predicted_per_token_ms: float = field(
        ..., "The mean time from token to token.", unit="milliseconds", ge=0
    )
    predicted_per_second: float = field(
        ..., "How fast they were generated.", unit="tokens per second", ge=0
    )


class PromptProgress(Model):
    """How much of a prompt was read so far, under llama.cpp's names."""

    total: int = field(..., "The length of the prompt.", unit="tokens", ge=0)
    cache: int = field(..., "How much of it was cached.", unit="tokens", ge=0)
    processed: int = field(
        ..., "How much of it is done, with what was cached.", unit="tokens", ge=0
    )
    time_ms: float = field(..., "How long it took so far.", unit="milliseconds", ge=0)


def timings() -> Any:
    """The field of an answer that has them."""
    return field(None, "Where the time went so far, when `timings_per_token` asks for it.")


def timings_per_token() -> Any:
    """The field by which requests ask for `Timings`."""
    return field(
        None,
        "Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's.",
    )


def return_progress() -> Any:
    """The field by which requests ask for `PromptProgress`."""
    return field(
        None,
        "Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They "
        "have no choices.",
    )


def prompt_progress() -> Any:
    """The field of a chunk that has it."""
    return field(
        None,
        "How much of the prompt was read, in the chunks before the answer, when `return_progress` "
        "asks for it.",
    )


class KnownTextMetrics(Model):
    """How often a text that was known ahead saved a step."""

    draft_count: int = field(..., "Tokens of such text that were computed ahead.", ge=0)
    accept_count: int = field(..., "Of them those that the model chose: each saved a step.", ge=0)


class SpecDecodeMetrics(Model):
    """How speculative decoding fares; each list has one number for each drafted position."""

    draft_count: list[int] | None = field(None, "How many tokens were drafted.", unit="tokens")
    accept_count: list[int] | None = field(None, "How many were accepted.", unit="tokens")
    accept_prob: AnyObject | None = field(
        None, "The share of drafts accepted at each position, by `step=i`."
    )
    accept_rate: AnyObject | None = field(
        None, "The share of accepted among those whose predecessor was, by `step=i`."
    )
    accept_len: AnyObject | None = field(
        None, "The mean number of tokens accepted up to each position, by `step=i`."
    )


class EngineMetrics(Model):
    """Counters since the model was loaded or the engine was reset."""

    engine_prefill_time_sum: float | None = field(
        None, "The model's time on prompts.", unit="seconds", ge=0
    )
    engine_decode_time_sum: float | None = field(
        None, "The model's time on answers.", unit="seconds", ge=0
    )
    engine_jump_forward_time_sum: float | None = field(
        None, "The time spent on text that grammars forced.", unit="seconds", ge=0
    )
    prompt_tokens_sum: int | None = field(None, "The length of all prompts.", unit="tokens", ge=0)
    prefill_tokens_sum: int | None = field(
        None, "How much of the prompts the model read.", unit="tokens", ge=0
    )
    decode_tokens_sum: int | None = field(
        None, "The tokens that were generated one by one.", unit="tokens", ge=0
    )
    jump_forward_tokens_sum: int | None = field(
        None, "The tokens that grammars forced.", unit="tokens", ge=0
    )
    completion_tokens_sum: int | None = field(
        None, "The length of all answers.", unit="tokens", ge=0
    )
    prefill_tokens_per_s: float | None = field(
        None, "How fast prompts are read.", unit="tokens per second", ge=0
    )
    decode_tokens_per_s: float | None = field(
        None, "How fast answers are generated.", unit="tokens per second", ge=0
    )
    kv_pages_total: int | None = field(None, "The pages of the KV cache.", unit="pages", ge=0)
    kv_pages_free: int | None = field(
        None, "The pages that no sequence holds now.", unit="pages", ge=0
    )
    num_running_sequences: int | None = field(
        None, "The sequences that are generated at the moment.", ge=0
    )
    num_waiting_sequences: int | None = field(
        None, "The sequences that wait for their turn or for pages.", ge=0
    )
    num_queued_requests: int | None = field(
        None, "The requests that no step has taken in yet.", ge=0
    )
    num_steps: int | None = field(None, "How often the model ran.", ge=0)
    num_preemptions: int | None = field(
        None, "How often a sequence had to give back its pages and begin again.", ge=0
    )
    restored_tokens_sum: int | None = field(
        None, "What the prefix cache got from files of `prefix_cache_dir`.", unit="tokens", ge=0
    )
    written_blocks_sum: int | None = field(
        None, "The files that were written to `prefix_cache_dir`.", unit="files", ge=0
    )
    device_read_bytes_sum: int | None = field(
        None, "What came back from the device: tokens, or rows of logits.", unit="bytes", ge=0
    )
    encoded_pictures_sum: int | None = field(
        None, "Pictures of which the vision tower made rows.", unit="pictures", ge=0
    )
    engine_encode_time_sum: float | None = field(
        None, "The time of the vision tower.", unit="seconds", ge=0
    )
    picture_cache_hits_sum: int | None = field(
        None, "Pictures whose rows were kept from an earlier request.", unit="pictures", ge=0
    )
    picture_cache_bytes: int | None = field(
        None, "The rows of pictures that are kept.", unit="bytes", ge=0
    )
    num_finished_requests: int | None = field(None, "Requests that ended well.", ge=0)
    num_failed_requests: int | None = field(
        None, "Requests that ended with an error or were cancelled.", ge=0
    )
    last_finished_request: RequestMetrics | None = field(
        None, "Measurements of the request that ended last."
    )
    jump_forward: KnownTextMetrics | None = field(
        None, "How often text that a grammar forces saved a step."
    )
    prediction: KnownTextMetrics | None = field(
        None, "How often a request's `prediction` saved a step."
    )
    spec_decode: SpecDecodeMetrics | None = field(None, "How speculative decoding fares.")
    decode_time_by_batch_size: AnyObject | None = field(
        None, "The time of a decode step by the number of sequences in it.", unit="seconds"
    )
    draft_time_by_batch_size: AnyObject | None = field(
        None, "The time of a draft by the number of sequences in it.", unit="seconds"
    )
    verify_time_by_batch_size: AnyObject | None = field(
        None, "The time of a verification by the number of sequences in it.", unit="seconds"
    )
