"""`--api-prefix`: the server's routes lie below a path, as behind a proxy that keeps the path."""

from __future__ import annotations

import re
from typing import cast

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mlc_llm.errors import InvalidRequestError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.errors import response_of

_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_DOCUMENTS = ("/docs", "/openapi.json")  # they tell a client where the routes are


def plain_prefix(text: str) -> str:
    """The prefix without a slash at its end. Raises InvalidRequestError if it is no path."""
    prefix = text.rstrip("/")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise InvalidRequestError(
            f"--api-prefix: '{text}' is no path such as /llm: letters, digits, '.', '_', '~', '-' "
            "and '/'",
            param="api_prefix",
        )
    return prefix


class PrefixMiddleware:
    """Takes the prefix off a request's path. Other paths are unknown."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path: str = scope["path"]
        if path == self._prefix:  # the page's own addresses are relative to the slash
            return await RedirectResponse(f"{self._prefix}/", 307)(scope, receive, send)
        if not path.startswith(f"{self._prefix}/"):
            message = f"Unknown request URL: {scope['method']} {path}. See {self._prefix}/docs."
            return await response_of(error_of(reasons.UNKNOWN_URL, message))(scope, receive, send)
        inner = path.removeprefix(self._prefix)
        root = self._prefix if inner.removesuffix("/") in _DOCUMENTS else ""
        await self._app(cast("Scope", {**scope, "path": inner, "root_path": root}), receive, send)
