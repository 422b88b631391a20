"""Errors in the form of OpenAI's REST API: a status and the error object, never encoded twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse
from starlette.responses import Response

from mlc_llm.errors import MLCError, error_from_json
from mlc_llm.errors.reasons_gen import BY_WORD, Reason


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
    return JSONResponse(content, status_code=reason.http, headers=headers)


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
