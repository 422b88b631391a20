"""Runs a request: from an HTTP body to the core's events, and back to an answer or a stream.

The core gets the body unchanged, parses it and validates it. So REST, Python, Swift and Kotlin give
the same message for the same mistake.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mlc_llm import _core
from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.body_room import Body
from mlc_llm.serve.core_request import CoreRequest, Event
from mlc_llm.serve.errors import error_body, error_response
from mlc_llm.serve.interruption import Interruption
from mlc_llm.serve.metrics import RequestTimes
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.slot import Lease

_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_Begin = Callable[[], Awaitable[AsyncIterator[bytes] | Response]]
_QUICK_LOAD = 0.5  # seconds; streams that wait longer for their model begin with its progress
_PROGRESS = 1.0  # seconds between two reports of it
# Clients that end lines as `str.splitlines` does, as httpx's `iter_lines`, end them at these too.
_LINE_ENDS = {end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def cached_tokens(usage: Mapping[str, Any]) -> int:
    """How many tokens of the prompt the prefix cache had, of the core's count."""
    return (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0


def one_line(text: str) -> bytes:
    """JSON, written as a line of a stream."""
    for end, escaped in _LINE_ENDS.items():  # several times as fast as `translate`
        text = text.replace(end, escaped)
    return text.encode("utf-8", "replace")


class AnswerFormat:
    """The form of an answer. This class has the form of OpenAI's completions, which the core
    writes."""

    media_type = "text/event-stream"  # of a stream
    keep_alive = b": keep-alive\n\n"  # what a stream sends when nothing comes for some time

    def model_ready(self) -> None:
        """Called when the model is loaded, before the request runs."""

    def begin(self) -> bytes:
        """The first bytes of a stream."""
        return b""

    def waiting(self, progress: Mapping[str, Any]) -> bytes:
        """A sign of life while the model is loaded, before `begin`; for streams of events a
        comment. `progress`: as `/ready` has it."""
        is_events = self.media_type == AnswerFormat.media_type
        return f": {json.dumps(progress)}\n\n".encode() if is_events else self.keep_alive

    def chunk(self, text: str) -> bytes:
        return b"data: " + one_line(text) + b"\n\n"

    def done(self) -> bytes:
        return b"data: [DONE]\n\n"

    def error(self, text: str) -> bytes:
        """An error after the stream has begun. It is the last event."""
        return self.chunk(json.dumps(error_body(json.loads(text)["error"]), ensure_ascii=False))

    def whole(self, text: str) -> str:
        return text

    def translate_error(self, error: Mapping[str, Any]) -> dict[str, Any]:
        """Translates the core's error object to the names in the client's request."""
        return dict(error)


class RequestHandler:
    """Handles one request: waits for its model, runs it in the core, formats the answer, and
    applies the time limits."""

    def __init__(
        self,
        lease: Lease,
        answer_format: AnswerFormat,
        options: ServeOptions,
        core: CoreRequest | None = None,
    ) -> None:
        """`lease`: whoever took it releases it when the request has ended. `core`: another kind of
        request than the usual one."""
        self._lease = lease
        self._core = core or CoreRequest()
        self._format = answer_format
        self._options = options
        self._times = RequestTimes()
        timeout = options.request_timeout
        self._deadline = None if timeout is None else self._times.begin + timeout

    async def run(self, request: Request, route: str, body: Body, *, stream: bool) -> Response:
        """Runs the request to its end, or to the beginning of its stream. Releases its body."""
        try:
            if stream and not await self._lease.ready(self._at_most(_QUICK_LOAD)):
                return self._stream(partial(self._begin_at_once, route, body))
            await self._wait_for_model(request)
            if stream and self._options.prefill.url is not None:
                return self._stream(partial(self._submit_and_begin, route, body))
            await self._submit_watched(request, route, body)
            return self._stream(self._begin) if stream else await self._whole(request)
        except MLCError as error:
            self._core.end()
            return self._refuse(error.to_dict()["error"])
        except BaseException:
            self._core.end()
            raise

    async def _wait_for_model(self, request: Request) -> None:
        """Waits for the load. Raises ClientDisconnect if the client leaves."""
        if await self._lease.ready(0):
            return
        loaded = asyncio.ensure_future(self._lease.ready())
        if not await done_or_left(request, loaded, self._remaining()):
            raise self._timeout_error()

    async def _submit(self, route: str, body: Body) -> None:
        """Gives the request to its model, which is loaded."""
        served = await self._lease.model()
        self._format.model_ready()
        await self._core.submit_body(served, route, body, self._options, self._remaining())

    async def _submit_watched(self, request: Request, route: str, body: Body) -> None:
        """The same. Raises ClientDisconnect if the client leaves while another server computes its
        prompt."""
        if self._options.prefill.url is None:
            return await self._submit(route, body)
        submitted = asyncio.ensure_future(self._submit(route, body))
        if not await done_or_left(request, submitted, self._remaining()):
            raise self._timeout_error()
        submitted.result()

    async def _submit_and_begin(self, route: str, body: Body) -> AsyncIterator[bytes] | Response:
        """The same for a stream, whose response watches its client. It begins without its request
        when that has taken as long as a stream may be silent."""
        submitted = asyncio.ensure_future(self._submit(route, body))
        try:
            await asyncio.wait({submitted}, timeout=self._at_most(self._options.keep_alive))
        except BaseException:
            submitted.cancel()
            raise
        if not submitted.done() and self._remaining() != 0.0:
            return self._stream_when(submitted)
        try:
            if submitted.cancel():
                raise self._timeout_error()
            submitted.result()
        except MLCError as error:
            return self._refuse(error.to_dict()["error"])
        return await self._begin()

    async def _whole(self, request: Request) -> Response:
        """Waits until the answer comes, the client leaves, or the deadline is over."""
        answer = asyncio.ensure_future(self._core.next_events())
        try:
            if not await done_or_left(request, answer, self._remaining()):
                raise self._timeout_error()
            return self._whole_answer(answer.result()[-1])
        finally:
            self._core.end()

    def _whole_answer(self, event: Event) -> Response:
        kind, text = event
        if kind == _core.EVENT_ERROR:
            return self._refuse(json.loads(text)["error"])
        self._times.finish_whole()
        return Response(self._format.whole(text), media_type="application/json")

    def _refuse(self, error: Mapping[str, Any]) -> Response:
        body = {"error": self._format.translate_error(error)}
        return error_response(body, retry_after=self._options.retry_after)

    def _stream(self, begin: _Begin) -> Response:
        timeout = self._options.stalled_timeout
        return _EventStream(begin, self._core, timeout, self._format.media_type)

    async def _begin(self) -> AsyncIterator[bytes] | Response:
        """Waits for the first event, so that an immediate error gets its own HTTP status."""
        events = await self._core.next_events(self._options.keep_alive)
        if events and events[0][0] == _core.EVENT_ERROR:
            return self._refuse(json.loads(events[0][1])["error"])
        return self._server_sent_events(events)

    async def _begin_at_once(self, route: str, body: Body) -> AsyncIterator[bytes]:
        """The stream begins before its model is loaded. So each error is an event."""
        return self._load_and_stream(route, body)

    async def _load_and_stream(self, route: str, body: Body) -> AsyncIterator[bytes]:
        yield self._format.waiting(self._lease.progress())
        while not await self._lease.ready(self._at_most(_PROGRESS)):
            if self._remaining() == 0.0:
                yield self._format.error(json.dumps(self._timeout_error().to_dict()))
                return
            yield self._format.waiting(self._lease.progress())
        submitted = asyncio.ensure_future(self._submit(route, body))
        async for part in self._stream_when(submitted):
            yield part

    async def _stream_when(self, submitted: asyncio.Future[None]) -> AsyncIterator[bytes]:
        """The stream of a request that is being submitted."""
        try:
            while not submitted.done():
                await asyncio.wait({submitted}, timeout=self._at_most(self._options.keep_alive))
                if not submitted.done():
                    if self._remaining() == 0.0:
                        raise self._timeout_error()
                    yield self._format.waiting({"status": "prompt"})
            submitted.result()
        except MLCError as error:
            translated = self._format.translate_error(error.to_dict()["error"])
            yield self._format.error(json.dumps({"error": translated}))
            return
        finally:
            submitted.cancel()
        events = await self._core.next_events(self._at_most(self._options.keep_alive))
        async for part in self._server_sent_events(events):
            yield part

    async def _server_sent_events(self, events: Sequence[Event]) -> AsyncIterator[bytes]:
        """Sends events when they come, and comments when no event comes for some time."""
        head = self._format.begin()
        while True:
            yield head + (self._write(events) or self._format.keep_alive)
            head = b""
            if events and events[-1][0] != _core.EVENT_CHUNK:
                return
            if self._remaining() == 0.0:
                yield self._format.error(json.dumps(self._timeout_error().to_dict()))
                return
            events = await self._core.next_events(self._at_most(self._options.keep_alive))

    def _write(self, events: Sequence[Event]) -> bytes:
        return b"".join(self._write_event(kind, text) for kind, text in events)

    def _write_event(self, kind: int, text: str) -> bytes:
        if kind == _core.EVENT_DONE:
            self._times.finish_stream()
            return self._format.done()
        if kind == _core.EVENT_ERROR:
            return self._format.error(text)
        self._times.take_chunk()
        return self._format.chunk(text)

    def _remaining(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _at_most(self, seconds: float) -> float:
        """These seconds, or those until the deadline."""
        remaining = self._remaining()
        return seconds if remaining is None else min(seconds, remaining)

    def _timeout_error(self) -> MLCError:
        limit = self._options.request_timeout
        return error_of(
            reasons.TIMEOUT, f"the request took longer than the server's limit of {limit:g} s"
        )


class _EventStream(StreamingResponse):
    """The request ends when this response ends. That includes a client that leaves before the first
    event is written: then the generator has not begun and cannot clean up. The response also ends
    when its client leaves, or does not read for too long (the request stays paused then).

    All that a framework does between a route's end and the response's beginning is done while the
    core computes. Starlette would also run a stream in a group of tasks, whose cost delays the
    first event."""

    def __init__(
        self,
        begin: _Begin,
        core: CoreRequest,
        stalled_timeout: float,
        media_type: str,
    ) -> None:
        """`begin` gives the events, or an answer in their place."""
        super().__init__((), media_type=media_type, headers=_STREAM_HEADERS)
        self._begin = begin
        self._core = core
        self._stalled_timeout = stalled_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.ensure_future(_disconnected(receive))
        try:
            with Interruption() as interrupt:
                self._core.watch(self._stalled_timeout, interrupt)
                left.add_done_callback(interrupt)
                begun = await self._begin()
                if isinstance(begun, Response):
                    return await begun(scope, receive, send)
                self.body_iterator = begun
                await self.stream_response(send)
            # The server closes a connection whose answer is incomplete.
        finally:
            left.cancel()
            self._core.end()


async def done_or_left(
    request: Request, work: asyncio.Future[Any], timeout: float | None = None
) -> bool:
    """Waits for work and cancels what is not done. False if the time was over. Raises
    ClientDisconnect if the client has left. The body must have been read."""
    left = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait({work, left}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and left.done():
            raise ClientDisconnect
        return work.done()
    finally:
        work.cancel()
        left.cancel()


async def _disconnected(receive: Receive) -> None:
    """Returns when the client has left. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
