"""How a server ends: it refuses new requests, finishes those it has, and cancels what takes longer.

The first SIGTERM or Ctrl-C begins that; a second one ends the server at once.
"""

from __future__ import annotations

import asyncio
import os
import time
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from mlc_llm.serve.errors import RequestError, response_of
from mlc_llm.serve.registry import ModelRegistry

# What a server that is ending still answers.
_ALWAYS = {"/", "/health", "/ready", "/metrics"}


class Drain:
    """How many requests are being answered, and whether new ones are refused."""

    def __init__(self) -> None:
        self.running = 0
        self.begun_at: float | None = None

    @property
    def begun(self) -> bool:
        return self.begun_at is not None

    def begin(self) -> None:
        self.begun_at = time.monotonic()

    def refusal(self) -> RequestError:
        return RequestError("the server is shutting down", code="shutting_down")


class DrainMiddleware:
    """Counts the requests that are being answered; refuses new ones once draining has begun."""

    def __init__(self, app: ASGIApp, *, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            return await self._app(scope, receive, send)
        if self._drain.begun:
            response = response_of(self._drain.refusal())
            response.headers["Connection"] = "close"
            return await response(scope, receive, send)
        self._drain.running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._drain.running -= 1


class Server(uvicorn.Server):
    """uvicorn's, which would stop listening at once, with a time in which requests end."""

    def __init__(
        self, config: uvicorn.Config, drain: Drain, models: ModelRegistry, *, drain_seconds: float
    ) -> None:
        super().__init__(config)
        self._drain = drain
        self._models = models
        self._drain_seconds = drain_seconds
        self._cancelled = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._drain.begun:
            os._exit(128 + sig)  # nothing is written that could be left half done
        else:
            self._drain.begin()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        ends = await super().on_tick(counter)
        begun_at = self._drain.begun_at
        if begun_at is None or ends:
            return ends
        if self._drain.running == 0:
            return True
        if time.monotonic() - begun_at > self._drain_seconds and not self._cancelled:
            self._cancelled = True
            await asyncio.to_thread(self._models.close)  # each request ends with an error
        return False
