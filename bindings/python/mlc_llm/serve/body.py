"""Request bodies: the facts that a route needs before the core, or a schema, checks the body.

One parser decides what a body says: the core's. Nothing here reads JSON in another way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from mlc_llm import _core
from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.sdk.core_engine import call_core
from mlc_llm.serve.body_room import Body

_LARGE = 1 << 16  # bytes of a body that another thread reads
_MAX_NAME = 4096  # in characters; the maximum length of a path
_JSON = "application/json"
_UNTOLD = {"application/x-www-form-urlencoded", "text/plain", "application/octet-stream"}
_ROUTING = ["model", "stream", "debug_config"]


def require_json(request: Request, *, assumed: bool = True) -> None:
    """Checks that the content type is JSON, and that it is not compressed. With `assumed` also the
    types that programs such as curl send if they were not told one: then the body itself must be
    JSON."""
    given = request.headers.get("content-type", _JSON)
    kind = given.partition(";")[0].strip().lower()
    if kind != _JSON and not (assumed and kind in _UNTOLD):
        raise error_of(
            reasons.UNSUPPORTED_CONTENT_TYPE,
            f"Unsupported content type: '{given[:100]}'. This API method only accepts "
            "'application/json' requests. Set the header 'Content-Type: application/json'.",
        )
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise error_of(
            reasons.UNSUPPORTED_CONTENT_TYPE,
            f"Unsupported content encoding: '{encoding[:100]}'. Send the body as it is, without "
            "the header 'Content-Encoding'.",
        )


def body_of(request: Request) -> Body:
    """The body, which the server has read already."""
    body: Body = request.scope["body"]
    return body


async def peek(body: Body) -> dict[str, Any]:
    """The members that routing needs, as the core reads them. The core refuses a body that is no
    object."""
    async with body.parsing():
        if len(body.data) < _LARGE:
            return _members(body.data)
        return await asyncio.to_thread(_members, body.data)


def _members(body: bytes) -> dict[str, Any]:
    members: dict[str, Any] = call_core(_core.read_members, body, _ROUTING)
    return members


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises MLCError for anything else."""
    parsed = call_core(_core.read_json, body)
    if not isinstance(parsed, dict):
        raise error_of(
            reasons.INVALID_TYPE, "Invalid type for the request body: expected an object."
        )
    return parsed


def model_name(fields: Mapping[str, Any]) -> str | None:
    """The `model` of a request; None if there is none. Raises MLCError if it cannot be a
    name."""
    name = fields.get("model")
    if not isinstance(name, str):
        return None  # absent, or wrong: the core refuses it
    require_name(name)
    return name


def require_name(name: str) -> None:
    """Refuses a text that cannot be a model's name."""
    if len(name) > _MAX_NAME:
        raise error_of(
            reasons.STRING_ABOVE_MAX_LENGTH,
            f"Invalid 'model': string too long. Expected a string with maximum length {_MAX_NAME}, "
            f"but got a string with length {len(name)} instead.",
            param="model",
        )
