"""From an HTTP body to a core's events and back: whole answers and server-sent events.

The body goes to the core as it came; the core parses and validates it, so that REST, Python, Swift
and Kotlin give the same message for the same mistake.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mlc_llm import _core
from mlc_llm.core_engine import CoreEngine
from mlc_llm.errors import MLCError
from mlc_llm.serve.core_request import CoreRequest, Event
from mlc_llm.serve.errors import RequestError, error_body, error_response
from mlc_llm.serve.metrics import RequestTimes
from mlc_llm.serve.options import ServeOptions

_SSE_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_KEEP_ALIVE = b": keep-alive\n\n"


class Shape:
    """How a core's answer goes out: here as OpenAI's completions, which the core writes itself."""

    def begin(self) -> bytes:
        """What a stream begins with."""
        return b""

    def chunk(self, text: str) -> bytes:
        return b"data: " + text.encode() + b"\n\n"

    def done(self) -> bytes:
        return b"data: [DONE]\n\n"

    def error(self, text: str) -> bytes:
        """An error once the stream has begun; nothing follows it."""
        return self.chunk(json.dumps(error_body(json.loads(text)["error"]), ensure_ascii=False))

    def whole(self, text: str) -> str:
        return text

    def fault(self, error: Mapping[str, Any]) -> dict[str, Any]:
        """An error object of the core's, in the words of the request."""
        return dict(error)


class Answering:
    """One request: its way through the core, its shape, its times and limits."""

    def __init__(self, engine: CoreEngine, shape: Shape, options: ServeOptions) -> None:
        self._core = CoreRequest(engine)
        self._shape = shape
        self._options = options
        self._times = RequestTimes()
        timeout = options.request_timeout
        self._deadline = None if timeout is None else self._times.begin + timeout

    async def run(self, request: Request, route: str, body: bytes, *, stream: bool) -> Response:
        """Runs the request to its end, or begins to stream it."""
        try:
            await self._core.submit(route, body)
            return await (self._begin_stream() if stream else self._whole(request))
        except MLCError as error:
            self._core.end()
            return self._refuse(error.to_dict()["error"])
        except BaseException:
            self._core.end()
            raise

    async def _whole(self, request: Request) -> Response:
        """Waits for the answer, the client's leaving or the deadline, whichever is first."""
        answer = asyncio.ensure_future(self._core.next_events())
        left = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait(
                {answer, left}, timeout=self._remaining(), return_when=asyncio.FIRST_COMPLETED
            )
            if answer.done():
                return self._whole_answer(answer.result()[-1])
            if left.done():
                return Response(status_code=499)  # nobody reads it
            raise self._timeout_error()
        finally:
            answer.cancel()
            left.cancel()
            self._core.end()

    def _whole_answer(self, event: Event) -> Response:
        kind, text = event
        if kind == _core.EVENT_ERROR:
            return self._refuse(json.loads(text)["error"])
        self._times.finish_whole()
        return Response(self._shape.whole(text), media_type="application/json")

    def _refuse(self, error: Mapping[str, Any]) -> Response:
        fault = {"error": self._shape.fault(error)}
        return error_response(fault, retry_after=self._options.retry_after)

    async def _begin_stream(self) -> Response:
        """Waits for the first event, so that what fails at once fails with its status."""
        events = await self._core.next_events(self._options.keep_alive)
        if events and events[0][0] == _core.EVENT_ERROR:
            return self._refuse(json.loads(events[0][1])["error"])
        stream = self._server_sent_events(events)
        return _EventStream(stream, self._core, self._options.stalled_timeout)

    async def _server_sent_events(self, events: Sequence[Event]) -> AsyncIterator[bytes]:
        """Events as they come, comments while it is silent."""
        head = self._shape.begin()
        while True:
            yield head + (self._write(events) or _KEEP_ALIVE)
            head = b""
            if events and events[-1][0] != _core.EVENT_CHUNK:
                return
            remaining = self._remaining()
            if remaining == 0.0:
                yield self._shape.error(json.dumps(self._timeout_error().to_dict()))
                return
            wait = self._options.keep_alive
            events = await self._core.next_events(
                wait if remaining is None else min(wait, remaining)
            )

    def _write(self, events: Sequence[Event]) -> bytes:
        return b"".join(self._write_event(kind, text) for kind, text in events)

    def _write_event(self, kind: int, text: str) -> bytes:
        if kind == _core.EVENT_DONE:
            self._times.finish_stream()
            return self._shape.done()
        if kind == _core.EVENT_ERROR:
            return self._shape.error(text)
        self._times.take_chunk()
        return self._shape.chunk(text)

    def _remaining(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _timeout_error(self) -> RequestError:
        limit = self._options.request_timeout
        error = RequestError(
            f"the request took longer than the server's limit of {limit:g} s", code="timeout"
        )
        error.type = "server_error"
        return error


class _EventStream(StreamingResponse):
    """Ends the request with itself, even when the client leaves before the first event is written:
    the generator would not have begun then, and could not clean up. Ends itself when its client
    reads nothing for so long that the request stays paused."""

    def __init__(
        self, events: AsyncIterator[bytes], core: CoreRequest, stalled_timeout: float
    ) -> None:
        super().__init__(events, media_type="text/event-stream", headers=_SSE_HEADERS)
        self._core = core
        self._stalled_timeout = stalled_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._core.watch(self._stalled_timeout, task.cancel)
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            if not self._core.stalled:
                raise
            task.uncancel()  # the server closes a connection whose answer is not complete
        finally:
            self._core.end()


async def _disconnected(request: Request) -> None:
    """Returns when the client has left; its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
