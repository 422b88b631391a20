"""Errors of the HTTP routes: a status, and OpenAI's error object or that of the route's own API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi.responses import JSONResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mlc_llm.errors import MLCError, error_from_json
from mlc_llm.errors.reasons_gen import BY_WORD, Reason

Shape = Callable[[Mapping[str, Any], Reason], dict[str, Any]]


class _ErrorResponse(JSONResponse):
    """An error in the shape of the API to which the request's path belongs."""

    def __init__(self, error: Mapping[str, Any], reason: Reason, **options: Any) -> None:
        self._error, self._reason = error, reason
        super().__init__(status_code=reason.http, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, shape = shape_of(scope["path"])
        if shape is not None:
            self.body = self.render(shape(self._error, self._reason))
            self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def anthropic_body(error: Mapping[str, Any], reason: Reason) -> dict[str, Any]:
    """Anthropic's `error`; its `type` follows from the status."""
    kind = _ANTHROPIC_TYPES.get(reason.http)
    kind = kind or ("invalid_request_error" if reason.http < 500 else "api_error")
    said = {"type": kind, "message": error["message"]}
    if error.get("param") == "thread":  # the package then sends the whole conversation
        said["details"] = {"error_code": "thread_unsupported_request"}
    return {"type": "error", "error": said}


def ollama_body(error: Mapping[str, Any], _: Reason) -> dict[str, Any]:
    """Ollama's error: only words."""
    return {"error": error["message"]}


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
# The shapes of APIs other than OpenAI's, by the beginning of their paths: the schema of an error,
# and the function that makes it.
SHAPES: dict[str, tuple[str, Shape]] = {
    "/v1/messages": ("AnthropicErrorEvent", anthropic_body),
    "/api/": ("OllamaError", ollama_body),
}


def shape_of(path: str) -> tuple[str, Shape | None]:
    """That of a path. None: OpenAI's, which the response has already."""
    found = (shape for prefix, shape in SHAPES.items() if path.startswith(prefix))
    return next(found, ("ErrorResponse", None))


def reason_of(error: Mapping[str, Any]) -> Reason:
    """The reason of an OpenAI error object; if it has an unknown one, that of its class."""
    return BY_WORD.get(str(error.get("code"))) or error_from_json({"error": error}).reason


def error_response(
    body: Mapping[str, Mapping[str, Any]],
    *,
    retry_after: int = 1,
    beside: Mapping[str, Any] | None = None,
) -> Response:
    """`body` is {"error": {"message", "type", "param", "code"}}. `beside`: members next to
    `error`."""
    error = {name: readable(value) for name, value in body["error"].items()}
    reason = reason_of(error)
    if error.get("code") == reason:
        error["code"] = reason.openai
    headers = {"Retry-After": str(retry_after)} if reason.http in (429, 503) else None
    if reason.http == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    if reason.http == 408:
        headers = {"X-Should-Retry": "false"}  # otherwise OpenAI's clients would retry
    content = {**(beside or {}), **error_body(error)}
    return _ErrorResponse(error, reason, content=content, headers=headers)


def error_body(error: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAI's `error`, and the members that MLC-LLM's clients read: `object`, `message`, a
    number."""
    code = reason_of(error).http
    return {"object": "error", "message": error["message"], "code": code, "error": dict(error)}


def readable(value: Any) -> Any:
    """Makes a text that can be sent. It may quote the caller's text with halves of surrogate
    pairs."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "replace").decode()


def response_of(error: MLCError, *, retry_after: int = 1) -> Response:
    return error_response(error.to_dict(), retry_after=retry_after)
