"""Checks that refuse a request before its route: wrong keys, and bodies that are too large, too
slow or too many."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.body_room import Body, BodyRoom, too_large
from mlc_llm.serve.errors import response_of
from mlc_llm.serve.lifecycle import ALWAYS, Drain

# Probes, the chat page (which asks for the key itself; its files are in PAGE_FILES), and the pages
# that describe the routes.
OPEN_PATHS = {
    "/", "/health", "/ready", "/openapi.json", "/docs",
    "/swagger/swagger-ui-bundle.js", "/swagger/swagger-ui.css", "/swagger/favicon-32x32.png",
}  # fmt: skip
PAGE_FILES = "/page/"


class AccessMiddleware:
    """Requires `Authorization: Bearer KEY`, or Anthropic's `x-api-key: KEY`, with one of the keys.
    The scheme is case-insensitive; the keys are compared in constant time."""

    def __init__(self, app: ASGIApp, *, api_keys: Sequence[str]) -> None:
        self._app = app
        self._expected = [key.encode() for key in api_keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["method"], scope["path"]):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        given = headers.get("authorization", "")
        if not given and "x-api-key" in headers:
            given = f"Bearer {headers['x-api-key']}"
        scheme, _, key = given.partition(" ")
        # Starlette reads headers as Latin-1; a key that is not ASCII comes in UTF-8.
        sent = key.strip().encode("latin-1")
        is_right = any([hmac.compare_digest(sent, known) for known in self._expected])
        if scheme.lower() == "bearer" and is_right:
            return await self._app(scope, receive, send)
        message = "Incorrect API key provided." if given else "You didn't provide an API key."
        error = error_of(
            reasons.INVALID_API_KEY, f"{message} Send it as 'Authorization: Bearer KEY'."
        )
        await response_of(error)(scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    return method == "OPTIONS" or path in OPEN_PATHS or path.startswith(PAGE_FILES)


class BodyMiddleware:
    """Reads a request's body before its route runs, within the limits. It counts the requests, so
    that some connections stay free for those who ask how the server is."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        drain: Drain,
        max_bytes: int,
        max_total_bytes: int,
        max_requests: int,
        timeout: float,
    ) -> None:
        self._app = app
        self._drain = drain
        self._room = BodyRoom(max_total_bytes)
        self._max_bytes = max_bytes
        self._requests_left = max_requests
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            return await self._app(scope, receive, send)
        if self._requests_left <= 0:
            error = error_of(reasons.SERVER_BUSY, "the server has too many connections")
            return await _closing(response_of(error))(scope, receive, send)
        body = Body(self._room)
        self._requests_left -= 1
        try:
            refusal = await self._read(body, scope, receive)
            if refusal is not None:
                return await refusal(scope, receive, send)
            scope["body"] = body
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._requests_left += 1
            body.release()

    async def _read(self, body: Body, scope: Scope, receive: Receive) -> Response | None:
        """Returns the answer to a body that is refused."""
        announced = Headers(scope=scope).get("content-length", "0")
        try:
            if announced.isdecimal() and int(announced) > self._max_bytes:
                raise too_large(self._max_bytes)
            await self._drain.read(body.read(receive, self._max_bytes), self._timeout)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it, but a log may count it
        except TimeoutError:
            if self._drain.begun:
                return _closing(response_of(self._drain.refusal()))
            words = f"the request's body took longer than the server's limit of {self._timeout:g} s"
            return _closing(response_of(error_of(reasons.BODY_TIMEOUT, words)))
        except MLCError as error:
            return response_of(error)
        return None


def _replay(body: Body, receive: Receive) -> Receive:
    """A `receive` that first gives the whole body."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body.data, "more_body": False}

    return replayed


def _closing(response: Response) -> Response:
    response.headers["Connection"] = "close"
    return response
