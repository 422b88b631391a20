"""Reads text and JSON files of a model's folder. Errors name the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlc_llm.errors import CorruptFileError, NotFoundError

MAX_JSON_BYTES = 200_000_000


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object from a file."""
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise CorruptFileError(f"{path}: far too large for a JSON file", param=path.name)
        return parse_json(path.read_bytes(), path)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"{path}: no such file", param=str(path)) from None
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}", param=str(path)) from None


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """Parses a JSON object from bytes. `path` is only for the error."""
    value = json_value(data, path)
    if not isinstance(value, dict):
        raise CorruptFileError(f"{path}: must hold a JSON object", param=path.name)
    return value


def json_value(data: bytes, path: Path) -> Any:
    """Parses any JSON. `path` is only for the error."""
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: not valid JSON: {error}", param=path.name) from None


def read_utf8(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"{path}: not UTF-8: {error}", param=path.name) from None
