"""Fields of requests that wait in the engine's queue."""

from __future__ import annotations

from typing import Any

from codegen.schema.base import maybe


def priority(
    description: str = "Requests of higher priority are served first, as in chats.",
) -> Any:
    """A field `priority`."""
    words = f"{description} Absent: 0. An extension of this engine."
    return maybe(words, ge=-100, le=100)


def timeout_ms() -> Any:
    """A field `timeout_ms`."""
    return maybe(
        "The answer must be complete this long after the request came in; else it ends with the "
        "error `deadline_exceeded`. Absent: no limit. An extension of this engine.",
        "milliseconds",
        ge=1,
        le=2147483647,
    )
