"""Request bodies: what a route needs to know of them before the core, or a schema, reads them."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from starlette.requests import Request

from mlc_llm.serve.errors import RequestError

_LARGE = 1 << 16  # bytes from which on a body is parsed beside the event loop


def require_json(request: Request) -> None:
    """A body says that it is JSON, or says nothing."""
    given = request.headers.get("content-type", "application/json")
    if given.partition(";")[0].strip().lower() != "application/json":
        raise RequestError(
            f"Unsupported content type: '{given[:100]}'. This API method only accepts "
            "'application/json' requests. Set the header 'Content-Type: application/json'.",
            code="unsupported_content_type",
        )


async def peek(body: bytes) -> dict[str, Any]:
    """The members that routing needs. A body that is no JSON object is the core's to refuse."""
    parsed = await _beside(_parse, body)
    return parsed if isinstance(parsed, dict) else {}


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def parse_object(body: bytes) -> dict[str, Any]:
    """A JSON object; raises RequestError for anything else."""
    try:
        parsed = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(
            f"We could not parse the JSON body of your request: {str(error)[:200]}",
            code="invalid_request",
        ) from None
    if not isinstance(parsed, dict):
        raise RequestError(
            "Invalid type for the request body: expected an object.", code="invalid_type"
        )
    return parsed


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


async def _beside(function: Any, body: bytes) -> Any:
    if len(body) < _LARGE:
        return function(body)
    return await asyncio.to_thread(function, body)
