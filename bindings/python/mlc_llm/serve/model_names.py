"""The texts that name a model, its path or an adapter."""

from __future__ import annotations

import errno
import os

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons


def require_path(text: str | None, param: str) -> None:
    """Refuses a text that cannot be a path in the file system."""
    if text is None:
        return
    try:
        os.stat(text)
        return
    except ValueError:
        why = "it holds a NUL character"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return  # it does not exist; the loader's own error says so
        why = "it is longer than a file's name can be"
    raise error_of(reasons.INVALID_REQUEST, f"Invalid '{param}': {why}.", param=param)


def name_and_path(text: str) -> tuple[str, str] | None:
    """Of `NAME=PATH`; None if it is written otherwise."""
    name, _, path = text.partition("=")
    return (name, path) if name and path else None
