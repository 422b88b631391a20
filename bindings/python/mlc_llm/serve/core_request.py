"""A request on its way through a core: its events in order, and its end whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable

from mlc_llm import _core
from mlc_llm.core_engine import CoreEngine

Event = tuple[int, str]
MAX_WAITING = 1 << 17  # characters of events that wait; past it the request is paused


class CoreRequest:
    """Events come on a thread of the core's and are taken in the event loop.

    The loop is woken once for all events that wait: a server that is behind catches up in one go.
    When too much waits because the client does not read, the core pauses the request, whose pages
    others may then take, until next_events has taken what waits.
    """

    def __init__(self, engine: CoreEngine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._waking = False  # the loop has been told, and has not looked yet
        self._waiter: asyncio.Future[bool] | None = None
        self._id: int | None = None
        self._ended = False
        self._lock = threading.Lock()  # of the next two
        self._num_waiting = 0  # characters
        self._paused = False
        self._patience = 0.0  # seconds for which it may stay paused; 0: for ever
        self._on_stalled: Callable[[], object] | None = None
        self._stalled_timer: asyncio.TimerHandle | None = None
        self.stalled = False  # its client did not read for too long

    async def submit(self, route: str, body: bytes) -> None:
        """Off the event loop: rendering and tokenizing a long prompt takes time."""
        submitted = self._loop.run_in_executor(
            None, self._engine.submit_json, route, body, self._take
        )
        try:
            self._id = await asyncio.shield(submitted)
            self._count(0)  # events may have come before its id was known
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
        self._count(-sum(len(text) for _, text in events))
        if events:
            self._ended = events[-1][0] != _core.EVENT_CHUNK
        return events

    def watch(self, patience: float, on_stalled: Callable[[], object]) -> None:
        """Once it was paused for `patience` seconds it is aborted and `on_stalled` called."""
        self._patience, self._on_stalled = patience, on_stalled

    def end(self) -> None:
        """Aborts what has not ended; the pages come free within a step."""
        self._patience = 0.0
        self._stop_timer()
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
        self._count(len(text))
        if not self._waking:
            self._waking = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._waking = False  # before looking: what comes from here on wakes again
        self._end_wait(True)

    def _count(self, characters: int) -> None:
        """Counts what waits; pauses the request at the bound, lets it go on once nothing waits."""
        with self._lock:
            self._num_waiting += characters
            paused = self._num_waiting > (0 if self._paused else MAX_WAITING)
            if paused == self._paused or self._id is None:
                return
            self._paused = paused
            self._engine.pause_request(self._id, paused)  # under the lock: in this order
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._time_pause)

    def _time_pause(self) -> None:
        self._stop_timer()
        if self._paused and self._patience > 0:
            self._stalled_timer = self._loop.call_later(self._patience, self._end_stalled)

    def _stop_timer(self) -> None:
        if self._stalled_timer is not None:
            self._stalled_timer.cancel()
            self._stalled_timer = None

    def _end_stalled(self) -> None:
        self.stalled = True
        self.end()
        if self._on_stalled is not None:
            self._on_stalled()

    def _abort_submitted(self, done: asyncio.Future[int]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._engine.abort(done.result())
