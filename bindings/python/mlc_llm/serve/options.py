"""What the server is told on its command line, beside its models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Limits, access and switches. Times are in seconds, sizes in bytes."""

    api_key: str | None = None
    allow_credentials: bool = False
    allow_origins: tuple[str, ...] = ("*",)
    allow_methods: tuple[str, ...] = ("*",)
    allow_headers: tuple[str, ...] = ("*",)
    enable_debug: bool = False
    enable_admin: bool = False
    max_body_bytes: int = 16 << 20
    request_timeout: float | None = None
    keep_alive: float = 10.0  # between comments on a silent stream
    stalled_timeout: float = 60.0  # of a stream that waits for its client to read
    retry_after: int = 1  # told to clients when the queue is full
