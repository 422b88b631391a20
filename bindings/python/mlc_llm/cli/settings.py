"""Settings as the command line takes them: "name=value;name=value"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlc_llm.errors import InvalidRequestError


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _stop_strings(text: str) -> list[str]:
    """`stop=` with nothing behind it takes the stop strings back."""
    return [item for item in text.split(",") if item]


_GENERATION: dict[str, Callable[[str], Any]] = {
    "temperature": _number,
    "top_p": _number,
    "top_k": int,
    "min_p": _number,
    "frequency_penalty": _number,
    "presence_penalty": _number,
    "repetition_penalty": _number,
    "max_tokens": int,
    "seed": int,
    "stop": _stop_strings,
}

_ENGINE: dict[str, Callable[[str], Any]] = {
    "max_num_sequence": int,
    "max_total_seq_length": int,
    "prefill_chunk_size": int,
    "max_history_size": int,
    "gpu_memory_utilization": _number,
    "speculative_mode": str,
    "additional_models": lambda text: [text],  # one; its library may follow a comma
    "spec_draft_length": int,
    "spec_tree_width": int,
    "prefix_cache_mode": str,
    "prefix_cache_max_num_recycling_seqs": int,
    "prefill_mode": str,
    "context_window_size": int,
    "sliding_window_size": int,
    "attention_sink_size": int,
    "tensor_parallel_shards": int,
    "pipeline_parallel_stages": int,
    "num_threads": int,
    "kv_cache_bytes": int,
    "memory_limit_bytes": int,
    "max_queued_requests": int,
}


def parse_generation_settings(text: str) -> dict[str, Any]:
    """ "temperature=0.5;stop=a,b" as the arguments of a request."""
    return dict(_parse(text, _GENERATION))


def format_settings(settings: Mapping[str, Any]) -> str:
    """Settings as `parse_generation_settings` reads them."""

    def text(value: Any) -> str:
        return ",".join(value) if isinstance(value, list) else str(value)

    return ";".join(f"{name}={text(value)}" for name, value in settings.items())


def parse_overrides(text: str) -> dict[str, Any]:
    """MLC-LLM's `--overrides` as an engine config."""
    return dict(_parse(text, _ENGINE))


def _parse(text: str, known: dict[str, Callable[[str], Any]]) -> Iterator[tuple[str, Any]]:
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or name not in known:
            raise InvalidRequestError(
                f"'{item}' is no setting; write name=value, separated by ';', with a name of: "
                + ", ".join(known),
                param=name,
            )
        try:
            yield name, known[name](value)
        except ValueError:
            kind = "an integer" if known[name] is int else "a number"
            raise InvalidRequestError(
                f"'{name}' must be {kind}, not '{value}'", param=name
            ) from None
