"""A request in the core: its events in order. It always ends, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable

from mlc_llm import _core
from mlc_llm.sdk.core_engine import CoreEngine

Event = tuple[int, str]
MAX_WAITING = 1 << 17  # most characters of events that wait; above it the request is paused


class CoreRequest:
    """Events come from a thread of the core, and the event loop takes them.

    The loop is woken once for all waiting events, so a slow server can take all of them at once.
    When the client does not read and too many events wait, the core pauses the request. Other
    requests may then take its pages. It continues when next_events has taken the waiting events.
    """

    def __init__(self) -> None:
        self._engine: CoreEngine | None = None  # once it is submitted
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._waking = False  # the loop was woken, but has not looked yet
        self._waiter: asyncio.Future[bool] | None = None
        self._id: int | None = None
        self._ended = False
        self._lock = threading.Lock()  # protects the next two
        self._num_waiting = 0  # in characters
        self._paused = False
        self._patience = 0.0  # maximum seconds of a pause; 0: no limit
        self._on_stalled: Callable[[], object] | None = None
        self._stalled_timer: asyncio.TimerHandle | None = None

    async def submit(self, engine: CoreEngine, route: str, body: bytes) -> None:
        """Submits on another thread, because rendering and tokenizing a long prompt takes time."""
        self._engine = engine
        submitted = self._loop.run_in_executor(None, engine.submit_json, route, body, self._take)
        try:
            self._id = await asyncio.shield(submitted)
            self._count(0)  # events may have come before the id was known
        except asyncio.CancelledError:  # the thread continues and will submit the request
            submitted.add_done_callback(self._abort_submitted)
            raise

    async def next_events(self, timeout: float | None = None) -> list[Event]:
        """All waiting events, at least one. Empty if none came before the timeout."""
        deadline = None if timeout is None else self._loop.time() + timeout
        while not self._events and await self._wait(deadline):
            pass  # woken for an event that was taken already
        events = []
        while self._events:
            events.append(self._events.popleft())
        self._count(-sum(len(text) for _, text in events))
        if events:
            self._ended = events[-1][0] != _core.EVENT_CHUNK
        return events

    def watch(self, patience: float, on_stalled: Callable[[], object]) -> None:
        """After a pause of `patience` seconds, aborts the request and calls `on_stalled`."""
        self._patience, self._on_stalled = patience, on_stalled

    def end(self) -> None:
        """Aborts the request if it has not ended. Its pages become free within a step."""
        self._patience = 0.0
        self._stop_timer()
        if self._engine is not None and self._id is not None and not self._ended:
            self._ended = True
            self._engine.abort(self._id)

    async def _wait(self, deadline: float | None) -> bool:
        """Waits until the loop is woken. Returns False at the deadline."""
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
        """Called on the core's thread."""
        self._events.append((kind, text))
        self._count(len(text))
        if not self._waking:
            self._waking = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        # set before the events are read, so that later events wake the loop again
        self._waking = False
        self._end_wait(True)

    def _count(self, characters: int) -> None:
        """Counts the waiting characters. Pauses the request above the limit; resumes it when none
        wait."""
        with self._lock:
            self._num_waiting += characters
            paused = self._num_waiting > (0 if self._paused else MAX_WAITING)
            if paused == self._paused or self._id is None or self._engine is None:
                return
            self._paused = paused
            self._engine.pause_request(self._id, paused)  # with the lock, to keep the order
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
        self.end()
        if self._on_stalled is not None:
            self._on_stalled()

    def _abort_submitted(self, done: asyncio.Future[int]) -> None:
        if self._engine is not None and not done.cancelled() and done.exception() is None:
            self._engine.abort(done.result())
