"""How a server starts and stops.

It listens, then it loads its models. After the first SIGTERM or Ctrl-C it refuses new requests,
finishes the running ones, and cancels those that take too long. After the second one it stops at
once.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import threading
import time
from types import FrameType
from urllib.parse import urlunsplit

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.errors import response_of
from mlc_llm.serve.registry import ModelRegistry

_log = logging.getLogger("uvicorn.error")
_CANCEL_SECONDS = 5  # time for a load to notice that it was cancelled
# Paths that a stopping server still answers.
_ALWAYS = {"/", "/health", "/ready", "/metrics"}


class Drain:
    """Counts the running requests, and knows whether new ones are refused."""

    def __init__(self) -> None:
        self.running = 0
        self.begun_at: float | None = None

    @property
    def begun(self) -> bool:
        return self.begun_at is not None

    def begin(self) -> None:
        self.begun_at = time.monotonic()

    def refusal(self) -> MLCError:
        return error_of(reasons.SHUTTING_DOWN, "the server is shutting down")


class DrainMiddleware:
    """Counts the running requests. Refuses new ones when draining has begun."""

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
    """uvicorn's server would stop listening at once. This one first gives requests time to end."""

    def __init__(
        self, config: uvicorn.Config, drain: Drain, models: ModelRegistry, *, drain_seconds: float
    ) -> None:
        super().__init__(config)
        self.failure: BaseException | None = None  # the reason why a model could not be loaded
        self.url = ""  # the address, once it listens
        self._loader = threading.Thread(target=self._load, name="models", daemon=True)
        self._drain = drain
        self._models = models
        self._drain_seconds = drain_seconds
        self._cancelled = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Binds the port, then starts to load."""
        await super().startup(sockets=sockets)
        if self.started and not self.should_exit:
            self.url = self._bound_url()
            self._loader.start()

    def _load(self) -> None:
        """Runs on its own thread."""
        try:
            self._models.loading.run()
        except BaseException as error:
            if not self._drain.begun:
                self.failure = error
            self.should_exit = True
            return
        # The objects so far live as long as the server. A full garbage collection over them would
        # delay all answers.
        gc.collect()
        gc.freeze()
        if self._models.loading.ended:
            _log.info("Models are ready on %s", self.url)

    def _bound_url(self) -> str:
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return urlunsplit(("http", place, "", "", ""))

    def finish_loading(self) -> None:
        """After the server has ended, waits for a load that was cancelled."""
        if self._loader.is_alive():
            self._loader.join(_CANCEL_SECONDS)
        if self._loader.is_alive():  # it downloads or compiles; no file is left half written
            os._exit(0)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._drain.begun:
            os._exit(128 + sig)  # nothing is written that could be left incomplete
        else:
            self._drain.begin()
            self._models.loading.cancel()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
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
