"""The pictures in a request's messages."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any


def parts_with_urls(request: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The picture parts of a chat request that need not be right: their place as errors name it,
    themselves, and their URL."""
    for m, message in enumerate(members(request, "messages")):
        for p, part in enumerate(members(message, "content")):
            source = part.get("image_url") if isinstance(part, dict) else None
            url = source.get("url") if isinstance(source, dict) else source
            if isinstance(url, str):
                yield f"messages[{m}].content[{p}]", part, url


def members(value: Any, name: str) -> list[Any]:
    """The items of a list in an object that may be something else."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def data_url(picture: bytes) -> str:
    """The URL that contains a picture's file. The core detects the kind of picture."""
    return "data:;base64," + base64.b64encode(picture).decode()
