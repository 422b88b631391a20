"""Request bodies: the facts that a route needs before the core, or a schema, checks the body."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons

_LARGE = 1 << 16  # a body of at least so many bytes is parsed on another thread
_MAX_NAME = 4096  # in characters; the maximum length of a path
_SURROGATE = re.compile("[\ud800-\udfff]")


def require_json(request: Request) -> None:
    """Checks that the content type, if there is one, is JSON."""
    given = request.headers.get("content-type", "application/json")
    if given.partition(";")[0].strip().lower() != "application/json":
        raise error_of(
            reasons.UNSUPPORTED_CONTENT_TYPE,
            f"Unsupported content type: '{given[:100]}'. This API method only accepts "
            "'application/json' requests. Set the header 'Content-Type: application/json'.",
        )


async def peek(body: bytes) -> dict[str, Any]:
    """The members that routing needs. If the body is not a JSON object, the core refuses it."""
    parsed = await _beside(_parse, body)
    return parsed if isinstance(parsed, dict) else {}


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises MLCError for anything else."""
    try:
        parsed = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise error_of(
            reasons.INVALID_REQUEST,
            f"We could not parse the JSON body of your request: {str(error)[:200]}",
        ) from None
    if not isinstance(parsed, dict):
        raise error_of(
            reasons.INVALID_TYPE, "Invalid type for the request body: expected an object."
        )
    if b"\\ud" in body.lower():
        require_text(parsed)
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
    require_text(name, "model")


def require_text(value: object, path: str = "") -> None:
    """Refuses half of a surrogate pair anywhere in a JSON value, because it is not text."""
    todo = [(value, path)]
    while todo:
        item, at = todo.pop()
        if isinstance(item, str) and _SURROGATE.search(item):
            place = f"'{at}'" if at else "the request body"
            raise error_of(
                reasons.INVALID_REQUEST,
                f"Invalid {place}: half of a surrogate pair is no text. Send valid Unicode.",
                param=at or None,
            )
        if isinstance(item, dict):
            todo += [(key, at) for key in item]
            todo += [(member, f"{at}.{key}" if at else key) for key, member in item.items()]
        elif isinstance(item, list):
            todo += [(member, f"{at}[{index}]") for index, member in enumerate(item)]


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


async def _beside(function: Any, body: bytes) -> Any:
    if len(body) < _LARGE:
        return function(body)
    return await asyncio.to_thread(function, body)
