"""From an HTTP body to a core's events and back: whole answers and server-sent events.

The body goes to the core as it came; the core parses and validates it, so that REST, Python, Swift
and Kotlin give the same message for the same mistake.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mlc_llm import _core
from mlc_llm.core_engine import CoreEngine
from mlc_llm.errors import MLCError
from mlc_llm.serve.errors import RequestError, response_of, response_of_text
from mlc_llm.serve.metrics import RequestTimes
from mlc_llm.serve.options import ServeOptions

Event = tuple[int, str]
_SSE_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


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
        return self.chunk(text)

    def whole(self, text: str) -> str:
        return text


class CoreRequest:
    """A request on its way through a core: its events in order, and its end whatever happens."""

    def __init__(self, engine: CoreEngine) -> None:
        self._engine = engine
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
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

    async def next_event(self, timeout: float | None = None) -> Event | None:
        """The next event; None when none came in time."""
        try:
            kind, text = await asyncio.wait_for(self._events.get(), timeout)
        except asyncio.TimeoutError:
            return None
        self._ended = kind != _core.EVENT_CHUNK
        return kind, text

    def end(self) -> None:
        """Aborts what has not ended; the pages come free within a step."""
        if self._id is not None and not self._ended:
            self._ended = True
            self._engine.abort(self._id)

    def _take(self, kind: int, text: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._events.put_nowait, (kind, text))

    def _abort_submitted(self, done: asyncio.Future[int]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._engine.abort(done.result())


async def answer(
    request: Request,
    engine: CoreEngine,
    route: str,
    body: bytes,
    options: ServeOptions,
    *,
    stream: bool,
    shape: Shape | None = None,
) -> Response:
    """Runs a request to its end, or begins to stream it; `stream` is what `body` says of it."""
    shape = shape or Shape()
    core = CoreRequest(engine)
    times = RequestTimes()
    deadline = None if options.request_timeout is None else times.begin + options.request_timeout
    try:
        await core.submit(route, body)
        if stream:
            return await _stream(core, shape, times, deadline, options)
        return await _whole(request, core, shape, times, deadline, options)
    except MLCError as error:
        core.end()
        return response_of(error, retry_after=options.retry_after)
    except BaseException:
        core.end()
        raise


def peek(body: bytes) -> dict[str, Any]:
    """The members that routing needs. A body that is no JSON object is the core's to refuse."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _remaining(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _timeout_error(options: ServeOptions) -> RequestError:
    error = RequestError(
        f"the request took longer than the server's limit of {options.request_timeout:g} s",
        code="timeout",
    )
    error.type = "server_error"
    return error


async def _whole(
    request: Request,
    core: CoreRequest,
    shape: Shape,
    times: RequestTimes,
    deadline: float | None,
    options: ServeOptions,
) -> Response:
    """Waits for the answer, the client's leaving or the deadline, whichever is first."""
    answer = asyncio.ensure_future(core.next_event())
    left = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait(
            {answer, left}, timeout=_remaining(deadline), return_when=asyncio.FIRST_COMPLETED
        )
        if answer.done() and (event := answer.result()) is not None:
            kind, text = event
            if kind == _core.EVENT_ERROR:
                return response_of_text(text, retry_after=options.retry_after)
            times.finish_whole()
            return Response(shape.whole(text), media_type="application/json")
        if left.done():
            return Response(status_code=499)  # nobody reads it
        raise _timeout_error(options)
    finally:
        answer.cancel()
        left.cancel()
        core.end()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _stream(
    core: CoreRequest,
    shape: Shape,
    times: RequestTimes,
    deadline: float | None,
    options: ServeOptions,
) -> Response:
    """Waits for the first event, so that what fails at once fails with its status."""
    first = await core.next_event(options.keep_alive)
    if first is not None and first[0] == _core.EVENT_ERROR:
        return response_of_text(first[1], retry_after=options.retry_after)
    events = _server_sent_events(core, shape, first, times, deadline, options)
    return StreamingResponse(events, media_type="text/event-stream", headers=_SSE_HEADERS)


async def _server_sent_events(
    core: CoreRequest,
    shape: Shape,
    event: Event | None,
    times: RequestTimes,
    deadline: float | None,
    options: ServeOptions,
) -> AsyncIterator[bytes]:
    """Events as they come, comments while it is silent."""
    try:
        yield shape.begin()
        while True:
            if event is None:
                yield b": keep-alive\n\n"
            else:
                kind, text = event
                if kind == _core.EVENT_DONE:
                    times.finish_stream()
                    yield shape.done()
                    return
                if kind == _core.EVENT_ERROR:
                    yield shape.error(text)
                    return
                times.take_chunk()
                yield shape.chunk(text)
            remaining = _remaining(deadline)
            if remaining == 0.0:
                yield shape.error(json.dumps(_timeout_error(options).to_dict()))
                return
            wait = options.keep_alive if remaining is None else min(options.keep_alive, remaining)
            event = await core.next_event(wait)
    finally:
        core.end()
