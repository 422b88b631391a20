"""Stages of layers, which MLC-LLM has beside shards of each layer. There are none here."""

from __future__ import annotations

from mlc_llm.errors import InvalidRequestError, UnsupportedError

NAME = "pipeline_parallel_stages"


def check_stages(count: int | None, *, place: str = NAME) -> None:
    """`place`: what the error names."""
    if count is None or count == 1:
        return
    if count < 1:
        raise InvalidRequestError(f"{place} must be 1, not {count}", param=place)
    raise UnsupportedError(
        f"{place} {count}: there are no stages of layers; devices share each layer: use "
        f"tensor_parallel_shards {count} (--tensor-parallel-shards), and leave {NAME} out",
        param=place,
    )
