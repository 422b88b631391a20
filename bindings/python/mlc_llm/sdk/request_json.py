"""A request as the core takes it: JSON, and beside it the bytes of its pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons

_PICTURES = (".image_url", ".image_url.url")  # the fields that take bytes
_BYTES = bytes | bytearray | memoryview
_FAULTS = (TypeError, ValueError, RecursionError)


def encode(request: Mapping[str, Any]) -> tuple[bytes, list[bytes]]:
    """The request as JSON, and the bytes in it: an image's `url` may be the bytes of its file."""
    buffers: list[bytes] = []
    try:
        body = _write(request, buffers)
    except _FAULTS as error:
        raise _first_fault(request, error) from None
    if buffers:
        _check_places(request)
    return body, buffers


def _write(value: object, buffers: list[bytes]) -> bytes:
    def plain(value: object) -> object:
        if isinstance(value, _BYTES):
            buffers.append(bytes(cast("bytes", value)))
            return f"buffer:{len(buffers) - 1}"
        return _plain(value)

    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain).encode()


def _plain(value: object) -> object:
    """Messages may be response objects of this package, as in `messages.append(choice.message)`.
    NumPy's numbers and arrays are Python's."""
    if (dump := getattr(value, "model_dump", None)) is not None:  # pydantic's method
        return dump(exclude_none=True)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return cast("Any", value).tolist()
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """What is in a value, each with its place."""
    if not isinstance(value, dict | list | tuple):
        try:
            value = _plain(value)
        except _FAULTS:
            return ()
    if isinstance(value, dict):
        named = cast("dict[object, Any]", value)
        return [(f".{name}", member) for name, member in named.items()]
    if isinstance(value, list | tuple):
        return [(f"[{i}]", member) for i, member in enumerate(cast("Sequence[Any]", value))]
    return ()


def _first_fault(request: Mapping[str, Any], error: Exception) -> MLCError:
    """Names the innermost value that cannot be written. What is too deep has its field's name."""
    path, value = "", cast("object", request)
    while not (path and _is_deep(error)):
        for place, member in _members(value):
            try:
                _write(member, [])
            except _FAULTS as its_error:
                path, value, error = path + place, member, its_error
                break
        else:
            break
    return _fault(path, error)


def _check_places(request: Mapping[str, Any]) -> None:
    """Bytes are right where a picture is."""
    found: list[tuple[str, object]] = [("", request)]
    for path, value in found:  # which grows
        if isinstance(value, _BYTES) and not path.endswith(_PICTURES):
            raise _fault(path, TypeError("bytes are for an image's 'url'"))
        found += [(path + place, member) for place, member in _members(value)]


def _is_deep(error: Exception) -> bool:
    return isinstance(error, RecursionError) or "Circular" in str(error)  # json's word


def _fault(path: str, error: Exception) -> MLCError:
    # Only `extra_body` gives names that are not the protocol's.
    name = path[1:].encode(errors="replace").decode() or "extra_body"
    reason, what, why = reasons.INVALID_JSON, "value", str(error)
    if isinstance(error, TypeError):
        reason, what = reasons.INVALID_TYPE, "type"
    elif _is_deep(error):
        why = "it is nested too deeply, or holds itself"
    elif isinstance(error, UnicodeEncodeError):
        why = "it is not valid Unicode (half a surrogate pair): was it bytes that are not UTF-8?"
    return error_of(reason, f"Invalid {what} for '{name}': {why}", param=name)
