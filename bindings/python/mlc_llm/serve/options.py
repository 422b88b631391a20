"""The options of the server's command line, except its models."""

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
    keep_alive: float = 10.0  # time between comments on a silent stream
    stalled_timeout: float = 60.0  # for a stream whose client does not read
    retry_after: int = 1  # sent to clients when the queue is full
