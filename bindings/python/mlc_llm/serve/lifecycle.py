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
from collections.abc import Callable, Coroutine
from functools import partial
from types import FrameType
from typing import Any
from urllib.parse import urlunsplit

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.connections import Connection, ConnectionLimits, ConnectionTable
from mlc_llm.serve.errors import response_of
from mlc_llm.serve.interruption import Interruption
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.slot import Lease
from mlc_llm.serve.unix_socket import bound_socket

_log = logging.getLogger("uvicorn.error")
CLOSING_SECONDS = 5  # time for answers and connections to end
# Connections that the system keeps until they are accepted. uvicorn's `backlog` is also how many
# one turn of the event loop accepts, which the file handles limit.
_NUM_WAITING = 2048
_CANCEL_SECONDS = 5  # time for a load to notice that it was cancelled
# Paths that a stopping server, or one with too many requests, still answers.
ALWAYS = {"/", "/health", "/ready", "/metrics"}


class Drain:
    """Counts the running requests, and knows whether new ones are refused. A request runs when its
    body has come."""

    def __init__(self) -> None:
        self.running = 0
        self.begun_at: float | None = None
        self._reading: set[Interruption] = set()

    @property
    def begun(self) -> bool:
        return self.begun_at is not None

    def begin(self) -> None:
        self.begun_at = time.monotonic()

    async def read(self, body: Coroutine[Any, Any, None], seconds: float) -> None:
        """Waits until a body is read. Raises TimeoutError after `seconds`, or when the server
        begins to stop."""
        with Interruption() as interrupt:
            timer = asyncio.get_running_loop().call_later(0 if self.begun else seconds, interrupt)
            self._reading.add(interrupt)
            try:
                await body
            finally:
                timer.cancel()
                self._reading.discard(interrupt)
        if interrupt.happened:
            raise TimeoutError

    def end_reading(self) -> None:
        """Waits for no body any more. Called by the event loop's thread."""
        for interrupt in list(self._reading):
            interrupt()

    def refusal(self) -> MLCError:
        return error_of(reasons.SHUTTING_DOWN, "the server is shutting down")


class DrainMiddleware:
    """Counts the running requests, and releases their models at their end. Refuses new ones when
    draining has begun."""

    def __init__(self, app: ASGIApp, *, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            return await self._app(scope, receive, send)
        if self._drain.begun:
            response = response_of(self._drain.refusal())
            response.headers["Connection"] = "close"
            return await response(scope, receive, send)
        self._drain.running += 1
        scope["leases"] = leases = list[Lease]()
        try:
            await self._app(scope, receive, send)
        finally:
            self._drain.running -= 1
            for lease in leases:
                lease.release()


def listen_config(app: ASGIApp, options: ServeOptions, **places: Any) -> uvicorn.Config:
    """How uvicorn listens: with the limits of `Connection`, and without its own protocols.
    `places`: more settings of uvicorn, such as its port."""
    table = ConnectionTable(
        ConnectionLimits(
            max_connections=options.max_connections,
            head_timeout=options.head_timeout,
            body_timeout=options.body_timeout,
            stalled_timeout=options.stalled_timeout,
        )
    )
    return uvicorn.Config(
        app,
        host=options.host,
        http=partial(Connection, table),  # type: ignore[arg-type]
        ws="none",
        timeout_graceful_shutdown=CLOSING_SECONDS,
        **places,
    )


class Server(uvicorn.Server):
    """uvicorn's server would stop listening at once. This one first gives requests time to end."""

    def __init__(
        self,
        config: uvicorn.Config,
        drain: Drain,
        models: ModelRegistry,
        *,
        drain_seconds: float,
        uds_mode: int | None = None,
        api_prefix: str = "",
    ) -> None:
        super().__init__(config)
        self._api_prefix = api_prefix
        self._uds_mode = uds_mode
        self._remove_socket: Callable[[], None] = lambda: None
        self.failure: BaseException | None = None  # the reason why a model could not be loaded
        self.url = ""  # the address, once it listens
        self._loader = threading.Thread(target=self._load, name="models", daemon=True)
        self._drain = drain
        self._models = models
        self._drain_seconds = drain_seconds
        self._cancelled = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Binds the port or the UNIX socket, then starts to load."""
        if self.config.uds is not None:
            bound, self._remove_socket = bound_socket(self.config.uds, self._uds_mode)
            sockets = [bound]
        await super().startup(sockets=sockets)
        if self.started and not self.should_exit:
            for one in self.servers:
                for listener in one.sockets:
                    with listener.dup() as same:
                        same.listen(_NUM_WAITING)
            self.url = self._bound_url()
            self._loader.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._remove_socket()  # before it is closed, when another server may take the place
        await super().shutdown(sockets=sockets)

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
            if self.config.uds is None:
                _log.info("The chat page is %s%s/", self.url, self._api_prefix)

    def _bound_url(self) -> str:
        if self.config.uds is not None:
            return f"unix:{self.config.uds}"
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return urlunsplit(("https" if self.config.is_ssl else "http", place, "", "", ""))

    def finish_loading(self) -> None:
        """After the server has ended, waits for a load that was cancelled."""
        if self._loader.is_alive():
            self._loader.join(_CANCEL_SECONDS)
        self._models.close()
        loads = self._loader.is_alive() or not self._models.wait_for_loads(_CANCEL_SECONDS)
        if loads:  # a thread downloads or compiles; no file is left half written
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
        self._drain.end_reading()
        if self._drain.running == 0:
            return True
        late = time.monotonic() - begun_at - self._drain_seconds
        if late > 0 and not self._cancelled:
            self._cancelled = True
            await asyncio.to_thread(self._models.close)  # each request ends with an error
        return late > CLOSING_SECONDS  # a client may not read its answer
