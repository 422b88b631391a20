"""Connections: how many there are, and how long a client may take to send a request.

uvicorn accepts and parses, and has no limit for the time of a request. `Connection` adds that. A
request has a head (the request line and the headers), a body, and an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_MOST_CONNECTIONS = 1024
_MOST_HANDLES = 1 << 16
_OTHER_HANDLES = 32  # for what is opened later: models, threads, files of the page
_ACCEPT_LAG = 4  # so many turns of the event loop accept connections before the first one counts
_MAX_SILENT_BYTES = 1 << 16  # of a head, or between two pieces of a body
_MAX_PIPELINED = 16
_TIME_TO_ASK = 1.0  # seconds in which a connection's first request, or the next one, may come
_GRACE_SECONDS = 5.0  # for the application to end a request by itself


@dataclass(frozen=True)
class ConnectionLimits:
    """Times are in seconds."""

    max_connections: int
    head_timeout: float
    body_timeout: float
    stalled_timeout: float  # for a client that does not read


def limit_connections(wanted: int | None) -> tuple[int, int]:
    """The most connections, and the backlog. By default half of the free file handles, so that
    connections are accepted, and some answered, also when all are taken."""
    free = _free_handles()
    most = min(_MOST_CONNECTIONS, free // 2) if wanted is None else wanted
    return most, max(1, min(2048, (free - most) // 2 // _ACCEPT_LAG))


def _free_handles() -> int:
    return max(16, _raise_handle_limit() - _count_handles() - _OTHER_HANDLES)


def _raise_handle_limit() -> int:
    """Raises this process's limit of file handles as far as it may. Returns the limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MOST_HANDLES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_HANDLES if hard == resource.RLIM_INFINITY else min(hard, _MOST_HANDLES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return most if soft == resource.RLIM_INFINITY else soft
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def _count_handles() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return _OTHER_HANDLES


class ConnectionTable:
    """The open connections. When there are too many, it closes the one that has had no request for
    the longest time. So a new client is always accepted. While handles are left, clients that come
    at the same time may first ask: those for whom there is no room are told so."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        most = limits.max_connections
        self._most_open = most + min(_MOST_CONNECTIONS, max(0, _free_handles() - most) // 2)
        self._num_open = 0
        self._idle: dict[Connection, float] = {}  # since when, the oldest first

    def open(self, connection: Connection) -> None:
        self._num_open += 1
        if self._num_open > self.limits.max_connections and self._idle:
            oldest, since = next(iter(self._idle.items()))
            if self._num_open > self._most_open or time.monotonic() > since + _TIME_TO_ASK:
                oldest.drop()
        self._idle[connection] = time.monotonic()

    def close(self, connection: Connection) -> None:
        self._num_open -= 1
        self._idle.pop(connection, None)

    def set_idle(self, connection: Connection, idle: bool) -> None:
        self._idle.pop(connection, None)
        if idle:
            self._idle[connection] = time.monotonic()


class _OneWrite:
    """A transport that sends at once what is written in one turn of the event loop: an answer's
    head goes with its body, or with its first event. Each packet wakes the client, which may then
    take this thread's place on a busy processor."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        if len(self._parts) > 1:  # what the head waited for
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _without_chunks(cycle: RequestResponseCycle) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Sends to a client of HTTP/1.0, which knows no chunks: where the answer's length is not known,
    the connection's end is the answer's."""
    is_sized = False

    async def send(message: Any) -> None:
        nonlocal is_sized
        if message["type"] == "http.response.start":
            is_sized = any(name.lower() == b"content-length" for name, _ in message["headers"])
            cycle.chunked_encoding = None if is_sized else False
        elif not is_sized:
            cycle.expected_content_length = len(message.get("body", b""))
        await RequestResponseCycle.send(cycle, message)

    return send


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits for the time and the size of what precedes an answer."""

    def __init__(self, table: ConnectionTable, **given: Any) -> None:
        super().__init__(**given)
        self.access_log = False  # RequestLogMiddleware logs
        self._table = table
        self._timer: asyncio.TimerHandle | None = None
        self._in_message = False
        self._silent_bytes = 0  # received since the last head, piece of a body or end of a request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_OneWrite(transport))  # type: ignore[arg-type]
        self._table.open(self)
        self._restart_timer(self._table.limits.head_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._table.close(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and not self._in_message:
            self._restart_timer(self._table.limits.head_timeout)  # the next request begins
        self._silent_bytes += len(data)
        super().data_received(data)
        if self._silent_bytes > _MAX_SILENT_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._in_message = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise ValueError("too many requests at once")  # the parser refuses the data
        self._silent_bytes = 0
        self._restart_timer(self._table.limits.body_timeout + _GRACE_SECONDS)
        self._table.set_idle(self, False)
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            self.cycle.send = _without_chunks(self.cycle)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._silent_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._silent_bytes = 0
        self._in_message = False
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline:
            self._table.set_idle(self, True)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._restart_timer(self._table.limits.stalled_timeout + _GRACE_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_timer()

    def drop(self) -> None:
        """Closes the connection at once."""
        self._table.set_idle(self, False)
        self.transport.abort()

    def _restart_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
