"""The engine's counters, under MLC-LLM's names."""

from __future__ import annotations

from typing import Any

from codegen.schema.base import AnyObject, Model, field, maybe, measure


class RequestMetrics(Model):
    """Measurements of one request; `usage.extra` has the same."""

    prompt_tokens: int | None = measure("The length of the prompt.", "tokens")
    completion_tokens: int | None = measure("The length of the answers.", "tokens")
    prefill_tokens: int | None = measure(
        "How much of the prompt the model read; the rest was cached.", "tokens"
    )
    decode_tokens: int | None = measure("The tokens that were generated one by one.", "tokens")
    jump_forward_tokens: int | None = measure(
        "The tokens that a grammar forced, without the model.", "tokens"
    )
    prefill_tokens_per_s: float | None = measure(
        "How fast the prompt was read.", "tokens per second"
    )
    decode_tokens_per_s: float | None = measure(
        "How fast the answer was generated.", "tokens per second"
    )
    ttft_s: float | None = measure("From the request to its first token.", "seconds")
    inter_token_latency_s: float | None = measure("The mean time from token to token.", "seconds")
    end_to_end_latency_s: float | None = measure("From the request to its last token.", "seconds")
    drafted_tokens: int | None = measure(
        "The tokens that were guessed ahead, by any kind of draft. Absent if there was none.",
        "tokens",
    )
    accepted_draft_tokens: int | None = measure("Of them those that are in the answer.", "tokens")
    draft_gain: float | None = maybe(
        "How many times as fast the answer was generated as it would have been without drafts, by "
        "the measured times of steps.",
        ge=0,
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
    draft_n: int | None = measure("The tokens that were guessed ahead, if any.", "tokens")
    draft_n_accepted: int | None = measure("Of them those that are in the answer.", "tokens")


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
    return maybe("Where the time went so far, when `timings_per_token` asks for it.")


def timings_per_token() -> Any:
    """The field by which requests ask for `Timings`."""
    return maybe(
        "Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's."
    )


def return_progress() -> Any:
    """The field by which requests ask for `PromptProgress`."""
    return maybe(
        "Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They "
        "have no choices."
    )


def prompt_progress() -> Any:
    """The field of a chunk that has it."""
    return maybe(
        "How much of the prompt was read, in the chunks before the answer, when `return_progress` "
        "asks for it."
    )


class KnownTextMetrics(Model):
    """How often a text that was known ahead saved a step."""

    draft_count: int = field(..., "Tokens of such text that were computed ahead.", ge=0)
    accept_count: int = field(..., "Of them those that the model chose: each saved a step.", ge=0)


class SpecDecodeMetrics(Model):
    """How speculative decoding fares; each list has one number for each drafted position."""

    draft_count: list[int] | None = maybe("How many tokens were drafted.", "tokens")
    accept_count: list[int] | None = maybe("How many were accepted.", "tokens")
    accept_prob: AnyObject | None = maybe(
        "The share of drafts accepted at each position, by `step=i`."
    )
    accept_rate: AnyObject | None = maybe(
        "The share of accepted among those whose predecessor was, by `step=i`."
    )
    accept_len: AnyObject | None = maybe(
        "The mean number of tokens accepted up to each position, by `step=i`."
    )


class EngineMetrics(Model):
    """Counters since the model was loaded or the engine was reset."""

    engine_prefill_time_sum: float | None = measure("The model's time on prompts.", "seconds")
    engine_decode_time_sum: float | None = measure("The model's time on answers.", "seconds")
    engine_jump_forward_time_sum: float | None = measure(
        "The time spent on text that grammars forced.", "seconds"
    )
    prompt_tokens_sum: int | None = measure("The length of all prompts.", "tokens")
    prefill_tokens_sum: int | None = measure("How much of the prompts the model read.", "tokens")
    decode_tokens_sum: int | None = measure("The tokens that were generated one by one.", "tokens")
    jump_forward_tokens_sum: int | None = measure("The tokens that grammars forced.", "tokens")
    completion_tokens_sum: int | None = measure("The length of all answers.", "tokens")
    prefill_tokens_per_s: float | None = measure("How fast prompts are read.", "tokens per second")
    decode_tokens_per_s: float | None = measure(
        "How fast answers are generated.", "tokens per second"
    )
    kv_pages_total: int | None = measure("The pages of the KV cache.", "pages")
    kv_pages_free: int | None = measure("The pages that no sequence holds now.", "pages")
    num_running_sequences: int | None = measure("The sequences that are generated at the moment.")
    num_waiting_sequences: int | None = measure(
        "The sequences that wait for their turn or for pages."
    )
    num_queued_requests: int | None = measure("The requests that no step has taken in yet.")
    num_steps: int | None = measure("How often the model ran.")
    num_preemptions: int | None = measure(
        "How often a sequence had to give back its pages and begin again."
    )
    restored_tokens_sum: int | None = measure(
        "What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from "
        "files of `prefix_cache_dir`.",
        "tokens",
    )
    written_blocks_sum: int | None = measure(
        "The files that were written to `prefix_cache_dir`.", "files"
    )
    prefix_cache_ram_bytes: int | None = measure(
        "The host's memory that keeps what the prefix cache on the device may have to drop.",
        "bytes",
    )
    device_read_bytes_sum: int | None = measure(
        "What came back from the device: tokens, or rows of logits.", "bytes"
    )
    encoded_pictures_sum: int | None = measure(
        "Pictures of which the vision tower made rows.", "pictures"
    )
    engine_encode_time_sum: float | None = measure("The time of the vision tower.", "seconds")
    picture_cache_hits_sum: int | None = measure(
        "Pictures whose rows were kept from an earlier request.", "pictures"
    )
    picture_cache_bytes: int | None = measure("The rows of pictures that are kept.", "bytes")
    num_finished_requests: int | None = measure("Requests that ended well.")
    num_failed_requests: int | None = measure(
        "Requests that ended with an error or were cancelled."
    )
    last_finished_request: RequestMetrics | None = maybe(
        "Measurements of the request that ended last."
    )
    jump_forward: KnownTextMetrics | None = maybe(
        "How often text that a grammar forces saved a step."
    )
    prediction: KnownTextMetrics | None = maybe("How often a request's `prediction` saved a step.")
    prompt_lookup: KnownTextMetrics | None = maybe(
        "How often text that came earlier saved a step. `spec_decode` contains it."
    )
    drafted_tokens_sum: int | None = measure(
        "The tokens that were guessed ahead, by any kind of draft.", "tokens"
    )
    accepted_draft_tokens_sum: int | None = measure(
        "Of them those that are in the answers.", "tokens"
    )
    draft_gain: float | None = maybe(
        "How many times as fast answers were generated as they would have been without drafts, by "
        "the measured times of steps. Absent until steps with drafts and without were measured.",
        ge=0,
    )
    spec_decode: SpecDecodeMetrics | None = maybe("How speculative decoding fares.")
    decode_time_by_batch_size: AnyObject | None = maybe(
        "The time of a decode step by the number of sequences in it.", "seconds"
    )
    draft_time_by_batch_size: AnyObject | None = maybe(
        "The time of a draft by the number of sequences in it.", "seconds"
    )
    verify_time_by_batch_size: AnyObject | None = maybe(
        "The time of a verification by the number of sequences in it.", "seconds"
    )
