"""Requests of an event loop: the core's events come to it without a second thread in Python."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial

from mlc_llm import _core
from mlc_llm.errors import error_from_json
from mlc_llm.sdk.core_engine import CoreEngine, ends_stream

Receive = Callable[[int, str], None]


class _Request:
    """A request from its submission to its last event."""

    def __init__(self, engine: CoreEngine, receive: Receive) -> None:
        self.submitted: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.left = False  # nobody wants it any more
        self.ended = False  # its last event came
        self._engine = engine
        self._receive = receive

    def take(self, kind: int, text: str) -> None:
        if kind == _core.EVENT_SUBMITTED:
            self._know(int(text))
        elif kind == _core.EVENT_REFUSED:
            self.ended = True
            if not self.submitted.done():
                self.submitted.set_exception(error_from_json(json.loads(text)))
        else:
            self.ended = ends_stream(kind)
            if not self.left:
                self._receive(kind, text)

    def leave(self) -> None:
        """Ends it, or will do so once its id is known."""
        self.left = True
        id_ = self.submitted  # it may be known already, and the waiting task not have run since
        if not id_.cancel() and not id_.cancelled() and id_.exception() is None:
            self._engine.abort(id_.result())

    def _know(self, request_id: int) -> None:
        if self.submitted.done():  # cancelled
            self._engine.abort(request_id)
        else:
            self.submitted.set_result(request_id)


class LoopEvents:
    """The requests of one event loop. Everything is called by the loop's thread."""

    _of_loops: dict[asyncio.AbstractEventLoop, LoopEvents] = {}

    @classmethod
    def of_running_loop(cls) -> LoopEvents:
        loop = asyncio.get_running_loop()
        found = cls._of_loops.get(loop)
        if found is None:
            for other in list(cls._of_loops):
                if other.is_closed():
                    cls._of_loops.pop(other, None)
            found = cls._of_loops[loop] = cls(loop)
        return found

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._requests: dict[int, _Request] = {}
        self._next_number = 0
        self._mailbox = _core.EventMailbox()
        if (readable := self._mailbox.fileno()) >= 0:
            loop.add_reader(readable, self._deliver)
        else:
            self._mailbox.wake_by(partial(loop.call_soon_threadsafe, self._deliver))

    async def submit(
        self,
        engine: CoreEngine,
        route: str,
        body: bytes,
        receive: Receive,
        buffers: Sequence[bytes] = (),
    ) -> int:
        """Queues a request and returns its id. `receive` is called with each event; some may come
        before this returns. Raises MLCError if the core refuses the request. If the waiting task is
        cancelled, the request is ended."""
        number, self._next_number = self._next_number, self._next_number + 1
        request = _Request(engine, receive)
        engine.submit_later(route, body, buffers, self._mailbox, number)  # may raise
        self._requests[number] = request
        try:
            return await request.submitted
        except asyncio.CancelledError:
            request.leave()
            raise

    def _deliver(self) -> None:
        for number, kind, text in self._mailbox.take():
            try:
                self._give(number, kind, text)
            except Exception as error:  # of one request; the others get their events
                message = "a request's event could not be given"
                self._loop.call_exception_handler({"message": message, "exception": error})

    def _give(self, number: int, kind: int, text: str) -> None:
        if (request := self._requests.get(number)) is None:
            return  # it has ended, and nobody waited for its id
        try:
            request.take(kind, text)
        finally:
            if request.ended and request.submitted.done():
                del self._requests[number]
