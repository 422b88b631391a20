"""A request in the core: its events in order. It always ends, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlc_llm import _core
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.loop_events import LoopEvents
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.slot import ServedModel

if TYPE_CHECKING:
    from mlc_llm.serve.options import ServeOptions

Event = tuple[int, str]
MAX_WAITING = 1 << 17  # most characters of events that wait; above it the request is paused


class CoreRequest:
    """The core's events of a request. All belongs to the event loop's thread.

    When the client does not read and too many events wait, the core pauses the request. Other
    requests may then take its pages. It continues when next_events has taken the waiting events.
    """

    def __init__(self) -> None:
        self._engine: CoreEngine | None = None  # once it is submitted
        self._loop = asyncio.get_running_loop()
        self._events: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None
        self._id: int | None = None
        self._ended = False
        self._num_waiting = 0  # in characters
        self._paused = False
        self._patience = 0.0  # maximum seconds of a pause; 0: no limit
        self._on_stalled: Callable[[], object] | None = None
        self._stalled_timer: asyncio.TimerHandle | None = None

    async def submit(self, engine: CoreEngine, route: str, body: bytes) -> None:
        """Raises MLCError if the core refuses it."""
        self._engine = engine
        self._id = await LoopEvents.of_running_loop().submit(engine, route, body, self._take)
        if self._ended:
            self._abort()
        self._count(0)  # events may have come before the id was known

    async def submit_body(
        self,
        served: ServedModel,
        route: str,
        body: Body,
        options: ServeOptions,
        seconds: float | None = None,
    ) -> None:
        """Submits a body, with the pictures that it names by address and after another server has
        computed its prompt, and releases it. `seconds`: those that the request has left. Raises
        MLCError if a picture or a state cannot be had, or as submit does."""
        if served.takes_pictures:
            await options.pictures.fetch(body, seconds)
        await options.prefill.bring(served, route, body)
        async with body.parsing():
            await self.submit(served.engine, route, body.data)
        body.release()

    async def next_events(self, timeout: float | None = None) -> list[Event]:
        """All waiting events, at least one. Empty if none came before the timeout."""
        if not self._events:
            await self._wait(timeout)
        events, self._events = self._events, []
        self._count(-self._num_waiting)
        if events:
            self._ended = events[-1][0] != _core.EVENT_CHUNK
        return events

    def watch(self, patience: float, on_stalled: Callable[[], object]) -> None:
        """After a pause of `patience` seconds, aborts the request and calls `on_stalled`."""
        self._patience, self._on_stalled = patience, on_stalled

    def end(self) -> None:
        """Aborts the request if it has not ended, or as soon as it is submitted. Its pages become
        free within a step."""
        self._patience = 0.0
        self._stop_timer()
        if not self._ended:
            self._ended = True
            self._abort()

    def _abort(self) -> None:
        if self._engine is not None and self._id is not None:
            self._engine.abort(self._id)

    async def _wait(self, timeout: float | None) -> None:
        """Waits for an event."""
        self._waiter = self._loop.create_future()
        timer = None if timeout is None else self._loop.call_later(timeout, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, kind: int, text: str) -> None:
        self._events.append((kind, text))
        self._count(len(text))
        self._wake()

    def _count(self, characters: int) -> None:
        """Counts the waiting characters. Pauses the request above the limit; resumes it when none
        wait."""
        self._num_waiting += characters
        paused = self._num_waiting > (0 if self._paused else MAX_WAITING)
        if paused == self._paused or self._id is None or self._engine is None:
            return
        self._paused = paused
        self._engine.pause_request(self._id, paused)
        self._time_pause()

    def _time_pause(self) -> None:
        self._stop_timer()
        if self._paused and self._patience > 0:
            self._stalled_timer = self._loop.call_later(self._patience, self._end_stalled)

    def _stop_timer(self) -> None:
        if self._stalled_timer is not None:
            self._stalled_timer.cancel()
            self._stalled_timer = None

    def _end_stalled(self) -> None:
        self.end()
        if self._on_stalled is not None:
            self._on_stalled()
