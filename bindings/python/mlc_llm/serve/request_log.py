"""Request ids, and the server's log: a line for each answer, as text or JSON.

A client may send an id of its own in `X-Request-Id`; otherwise the server makes one. Every answer
has it in the same header, and every line that is logged for the request has it too.
"""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.utils import get_client_addr, get_path_with_query_string

if TYPE_CHECKING:
    from uvicorn._types import HTTPScope

_HEADER = "x-request-id"
_HEADERS = (_HEADER.encode(), b"request-id")  # the second one is read by Anthropic's package
_IN_SCOPE = "mlc_llm.request_id"
_VALID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
_REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
_ACCESS = logging.getLogger("uvicorn.access")


def id_header(scope: Scope) -> dict[str, str]:
    """The header for an answer that does not pass the middleware."""
    return {_HEADER: scope[_IN_SCOPE]} if _IN_SCOPE in scope else {}


class RequestLogMiddleware:
    """Gives each request its id, and logs it when its answer has ended. uvicorn would log it before
    the answer's first byte is sent, and delay that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = Headers(scope=scope).get(_HEADER, "")
        request_id = given if _VALID.fullmatch(given) else f"req_{uuid.uuid4().hex}"
        headers = [(name, request_id.encode()) for name in _HEADERS]
        scope[_IN_SCOPE] = request_id
        status = 499  # for a client that left before its answer began

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        token = _REQUEST_ID.set(request_id)
        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            status = 500
            raise
        finally:
            _log(scope, status)
            _REQUEST_ID.reset(token)


def _log(scope: Scope, status: int) -> None:
    asked = cast("HTTPScope", scope)
    client, path = get_client_addr(asked), get_path_with_query_string(asked)
    line = '%s - "%s %s HTTP/%s" %d'  # uvicorn's formatter takes these arguments
    _ACCESS.info(line, client, scope["method"], path, scope["http_version"], status)


class JsonFormatter(logging.Formatter):
    """A line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{_utc(record.created)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name == _ACCESS.name and isinstance(record.args, tuple):
            client, method, path, _, status = record.args
            line |= {"client": client, "method": method, "path": path, "status": status}
        else:
            line["message"] = record.getMessage()
        if (request_id := _REQUEST_ID.get()) is not None:
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def log_config(form: str) -> dict[str, Any]:
    """For uvicorn. `form`: `text`, as uvicorn writes, or `json`: all its loggers write lines of
    JSON to standard error."""
    if form == "text":
        return LOGGING_CONFIG
    logger = {"handlers": ["all"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "mlc_llm.serve.request_log.JsonFormatter"}},
        "handlers": {"all": {"class": "logging.StreamHandler", "formatter": "json"}},
        "loggers": {name: dict(logger) for name in ("uvicorn", "mlc_llm")},
    }
