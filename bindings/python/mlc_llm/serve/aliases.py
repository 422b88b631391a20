"""Other spellings of the routes: without or with `/v1`, with `-` for `_`, with a slash at the end,
and HEAD for GET."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

_VERSION = "/v1"
_SLASH_AT_END = re.compile(r"(?<=[^/])/$")
_LISTED = ("/models/", "/responses/")  # routes with a name in their path


class AliasMiddleware:
    """Gives a request the path and the method that its route has. What is sent is not changed: the
    answer to HEAD has no body, as uvicorn sees to."""

    def __init__(self, app: ASGIApp, *, routes: Iterable[object]) -> None:
        self._app = app
        self._paths = {route.path for route in routes if isinstance(route, Route)}
        self._by_plain = {_plain(path).replace("-", "_"): path for path in self._paths}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            scope = cast("Scope", {**scope, "method": method, "path": self._path(scope["path"])})
        await self._app(scope, receive, send)

    def _path(self, path: str) -> str:
        plain = _plain(path)
        known = path if path in self._paths else self._by_plain.get(plain.replace("-", "_"))
        return known or (_VERSION + plain if plain.startswith(_LISTED) else path)


def _plain(path: str) -> str:
    return _SLASH_AT_END.sub("", path).removeprefix(_VERSION)
