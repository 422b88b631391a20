"""The OpenAPI document: FastAPI's routes, with the protocol's generated schemas for their
bodies."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mlc_llm.serve.errors import shape_of
from mlc_llm.serve.limits import OPEN_PATHS
from mlc_llm.serve.schemas import reachable, reference, references_in

JSON = "application/json"
STREAM = "text/event-stream"
LINES = "application/x-ndjson"
_METHODS = ("get", "post", "delete")
# Errors of every route, and errors of the routes that run a model.
_ERRORS = {
    "403": "The request came from a page of another site, or by a name that is not allowed.",
    "404": "There is no such model or route.",
    "503": "Not now: no model is loaded, too many requests run, or the server is shutting down. "
    "`Retry-After` says when.",
}
_BODY_ERRORS = {
    "403": "The request came from a page of another site, or by a name that is not allowed.",
    "400": "The request is at fault; `param` says where.",
    "408": "The body took too long, or the answer was not complete within `timeout_ms`.",
    "409": "It cannot be done as things stand.",
    "413": "The body is too large.",
    "429": "The queue is full. `Retry-After` says when to try again.",
    "504": "The request took longer than the server allows.",
}


def exchange(request: str, response: str, **streams: str) -> dict[str, Any]:
    """The arguments of a route with a body: the schemas of what it takes and, as `gives`, gives."""
    return {"openapi_extra": takes(request), "responses": gives(response, **streams)}


def takes(request: str) -> dict[str, Any]:
    content = {JSON: {"schema": reference(request)}}
    return {"requestBody": {"required": True, "content": content}}


def gives(
    name: str, *, events: str | None = None, lines: str | None = None, media_type: str = JSON
) -> dict[Any, Any]:
    """`responses` of a route. `events`: the schema of the `data:` lines of its stream. `lines`: the
    schema of the lines of JSON of its stream."""
    content: dict[str, Any] = {media_type: {"schema": reference(name)}}
    if lines is not None:
        either = {"anyOf": [reference(lines), reference("OllamaError")]}
        content[LINES] = {"itemSchema": either}
    if events is not None:
        content[STREAM] = {"itemSchema": _event(events)}
    return {200: {"description": "The answer.", "content": content}}


def _event(name: str) -> dict[str, Any]:
    """A server-sent event in the form of OpenAPI 3.2."""
    is_openai = name in ("ChatCompletionChunk", "Completion")
    either = {"anyOf": [reference(name), reference("ErrorResponse")]}
    schema = either if is_openai else reference(name)
    data: dict[str, Any] = {"type": "string", "contentMediaType": JSON, "contentSchema": schema}
    words = f"A {name}."
    if is_openai:
        words += " An error may take its place and is then the last one."
        data = {"anyOf": [{"const": "[DONE]"}, data]}
        words += " The last one is `[DONE]`."
    data["description"] = words
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def gives_text(media_type: str) -> dict[Any, Any]:
    content = {media_type: {"schema": {"type": "string"}}}
    return {200: {"description": "The answer.", "content": content}}


def document(app: FastAPI, *, with_key: bool) -> dict[str, Any]:
    """The document of `app`. `with_key`: whether clients must send a key."""
    out = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    for path, operations in out["paths"].items():
        for method in _METHODS:
            if method in operations:
                needs_key = with_key and path not in OPEN_PATHS
                _complete(operations[method], shape_of(path)[0], with_key=needs_key)
    components = out["components"] = {"schemas": {}}
    if with_key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    components["schemas"] = reachable(set(references_in(out["paths"])))
    return out


def _complete(operation: dict[str, Any], error: str, *, with_key: bool) -> None:
    """Adds the errors of all routes; `error` is their schema. A wrong parameter gives 400 here, not
    FastAPI's 422."""
    responses = operation["responses"]
    responses.pop("422", None)
    errors = dict(_ERRORS)
    if "requestBody" in operation:
        errors |= _BODY_ERRORS
    if with_key:
        errors["401"] = "The key is missing or wrong."
        operation["security"] = [{"key": []}]
    for status, description in errors.items():
        content = {JSON: {"schema": reference(error)}}
        responses[status] = {"description": description, "content": content}
    operation["responses"] = dict(sorted(responses.items()))
