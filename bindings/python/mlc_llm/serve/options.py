"""The options of the server's command line, except its models."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mlc_llm.serve.prefill import RemotePrefill
from mlc_llm.serve.remote_pictures import RemotePictures

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPServer


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Limits, access and switches. Times are in seconds, sizes in bytes."""

    api_keys: tuple[str, ...] = ()  # each one opens the server; none: no key is needed
    allow_credentials: bool = False
    host: str = "127.0.0.1"  # where the server listens
    allow_hosts: tuple[str, ...] = ()  # more names by which clients may call it; "*": any
    allow_origins: tuple[str, ...] = ()  # other sites whose pages may use it; "*": any
    allow_methods: tuple[str, ...] = ("*",)
    allow_headers: tuple[str, ...] = ("*",)
    api_prefix: str = ""  # the path below which all routes lie, without a slash at its end
    mcp_servers: tuple[MCPServer, ...] = ()  # whose tools requests may name
    pictures: RemotePictures = field(default_factory=RemotePictures)  # that are addresses
    prefill: RemotePrefill = field(default_factory=RemotePrefill)  # who computes prompts
    enable_debug: bool = False
    enable_admin: bool = False
    max_body_bytes: int = 16 << 20
    max_total_body_bytes: int = 32 << 20  # of all connections together
    max_connections: int = 1024
    responses_db: Path | None = None  # where responses are kept; None: in memory
    responses_bytes: int = 64 << 20  # of all that are kept
    head_timeout: float = 10.0  # for the request line and the headers
    body_timeout: float = 60.0
    request_timeout: float | None = None
    keep_alive: float = 10.0  # time between comments on a silent stream
    stalled_timeout: float = 60.0  # for a stream whose client does not read
    retry_after: int = 1  # sent to clients when the queue is full
