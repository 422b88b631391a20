"""Errors in the form of OpenAI's REST API: a status and the error object, never encoded twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse
from starlette.responses import Response

from mlc_llm.errors import MLCError

# For codes that are more precise than the type.
_STATUS_BY_CODE = {
    "invalid_api_key": 401,
    "admin_disabled": 403,
    "host_not_allowed": 403,
    "origin_not_allowed": 403,
    "model_not_found": 404,
    "unknown_url": 404,
    "method_not_supported": 405,
    "timeout": 504,  # the server's limit
    "deadline_exceeded": 408,  # the request's own limit
    "body_timeout": 408,
    "model_exists": 409,
    "body_too_large": 413,
    "queue_full": 429,
    "request_cancelled": 499,
    "device_lost": 503,
    "kv_cache_exhausted": 503,
    "model_loading": 503,
    "model_not_loaded": 503,
    "model_unloaded": 503,
    "server_busy": 503,
    "shutting_down": 503,
    "unavailable": 503,
}
_STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "not_found_error": 404,
    "rate_limit_error": 429,
}


class RequestError(MLCError):
    """A request that the server itself refuses."""

    type = "invalid_request_error"

    def __init__(self, message: str, *, code: str, param: str | None = None) -> None:
        super().__init__(message, param=param, code=code)
        if _STATUS_BY_CODE.get(code, 400) >= 500:
            self.type = "server_error"


def status_of(error: Mapping[str, Any]) -> int:
    """The HTTP status of an OpenAI error object."""
    by_code = _STATUS_BY_CODE.get(str(error.get("code")))
    return by_code or _STATUS_BY_TYPE.get(str(error.get("type")), 500)


def error_response(
    body: Mapping[str, Mapping[str, Any]],
    *,
    retry_after: int = 1,
    beside: Mapping[str, Any] | None = None,
) -> Response:
    """`body` is {"error": {"message", "type", "param", "code"}}. `beside`: members next to
    `error`."""
    error = {name: readable(value) for name, value in body["error"].items()}
    status = status_of(error)
    if error.get("code") == "invalid_request":
        error["code"] = None  # OpenAI's API has no code for an error that needs a sentence
    headers = {"Retry-After": str(retry_after)} if status in (429, 503) else None
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    if status == 408:
        headers = {"X-Should-Retry": "false"}  # otherwise OpenAI's clients would retry
    content = {**(beside or {}), **error_body(error)}
    return JSONResponse(content, status_code=status, headers=headers)


def error_body(error: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAI's `error`, and the members that MLC-LLM's clients read: `object`, `message`, a
    number."""
    code = status_of(error)
    return {"object": "error", "message": error["message"], "code": code, "error": dict(error)}


def readable(value: Any) -> Any:
    """Makes a text that can be sent. It may quote the caller's text with halves of surrogate
    pairs."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "replace").decode()


def response_of(error: MLCError, *, retry_after: int = 1) -> Response:
    return error_response(error.to_dict(), retry_after=retry_after)
