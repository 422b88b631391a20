"""Checks that refuse a request before its route: wrong keys, and bodies that are too large."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.errors import response_of

# Probes, the chat page (which asks for the key itself; its files are in PAGE_FILES), and the pages
# that describe the routes.
OPEN_PATHS = {
    "/", "/health", "/ready", "/openapi.json", "/docs",
    "/swagger/swagger-ui-bundle.js", "/swagger/swagger-ui.css", "/swagger/favicon-32x32.png",
}  # fmt: skip
PAGE_FILES = "/page/"


class AccessMiddleware:
    """Requires `Authorization: Bearer KEY`. The scheme is case-insensitive; the key is compared in
    constant time."""

    def __init__(self, app: ASGIApp, *, api_key: str) -> None:
        self._app = app
        self._expected = api_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["method"], scope["path"]):
            return await self._app(scope, receive, send)
        given = Headers(scope=scope).get("authorization", "")
        scheme, _, key = given.partition(" ")
        is_right = hmac.compare_digest(key.strip().encode("utf-8", "replace"), self._expected)
        if scheme.lower() == "bearer" and is_right:
            return await self._app(scope, receive, send)
        message = "Incorrect API key provided." if given else "You didn't provide an API key."
        error = error_of(
            reasons.INVALID_API_KEY, f"{message} Send it as 'Authorization: Bearer KEY'."
        )
        await response_of(error)(scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    return method == "OPTIONS" or path in OPEN_PATHS or path.startswith(PAGE_FILES)


class BodyLimitMiddleware:
    """Refuses a body over the limit, by its Content-Length or when too many bytes have come."""

    def __init__(self, app: ASGIApp, *, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > self._max_bytes:
            return await response_of(self._error())(scope, receive, send)
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise self._error()  # the application's error handler turns it into an answer
            return message

        await self._app(scope, counted, send)

    def _error(self) -> MLCError:
        return error_of(
            reasons.BODY_TOO_LARGE, f"the request's body is larger than {self._max_bytes} bytes"
        )
