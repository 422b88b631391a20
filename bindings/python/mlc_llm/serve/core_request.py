"""A request on its way through a core: its events in order, and its end whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from mlc_llm import _core
from mlc_llm.core_engine import CoreEngine

Event = tuple[int, str]


class CoreRequest:
    """Events come on a thread of the core's and are taken in the event loop.

    The loop is woken once for all events that wait: a server that is behind catches up in one go.
    """

    def __init__(self, engine: CoreEngine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._waking = False  # the loop has been told, and has not looked yet
        self._waiter: asyncio.Future[bool] | None = None
        self._id: int | None = None
        self._ended = False

    async def submit(self, route: str, body: bytes) -> None:
        """Off the event loop: rendering and tokenizing a long prompt takes time."""
        submitted = self._loop.run_in_executor(
            None, self._engine.submit_json, route, body, self._take
        )
        try:
            self._id = await asyncio.shield(submitted)
        except asyncio.CancelledError:  # the thread goes on and will have submitted it
            submitted.add_done_callback(self._abort_submitted)
            raise

    async def next_events(self, timeout: float | None = None) -> list[Event]:
        """All events that wait, at least one; none when none came in time."""
        deadline = None if timeout is None else self._loop.time() + timeout
        while not self._events and await self._wait(deadline):
            pass  # woken for an event that was taken before
        events = []
        while self._events:
            events.append(self._events.popleft())
        if events:
            self._ended = events[-1][0] != _core.EVENT_CHUNK
        return events

    def end(self) -> None:
        """Aborts what has not ended; the pages come free within a step."""
        if self._id is not None and not self._ended:
            self._ended = True
            self._engine.abort(self._id)

    async def _wait(self, deadline: float | None) -> bool:
        """Until the loop is woken; false at the deadline."""
        self._waiter = self._loop.create_future()
        timer = None
        if deadline is not None:
            timer = self._loop.call_at(deadline, self._end_wait, False)
        try:
            return await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _end_wait(self, woken: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(woken)

    def _take(self, kind: int, text: str) -> None:
        """On the core's thread."""
        self._events.append((kind, text))
        if not self._waking:
            self._waking = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._waking = False  # before looking: what comes from here on wakes again
        self._end_wait(True)

    def _abort_submitted(self, done: asyncio.Future[int]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._engine.abort(done.result())
