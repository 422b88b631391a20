"""The names of a model: its name, its aliases, and the path from which it was loaded."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.hub_download import PREFIX


def same_model(name: str, argument: str) -> bool:
    """Whether a client's `name` means the argument with which a model was loaded. Users of MLC-LLM
    write it as `HF://org/repo`, `org/repo`, `./dist/model/` or an absolute path.

    This does not read the disk, because the name comes from a stranger.
    """
    if name == argument:
        return True
    if argument.startswith(PREFIX):
        return _repository(name) == _repository(argument)
    return _full_path(name) == _full_path(argument)


def _repository(text: str) -> str:
    return text.removeprefix(PREFIX).rstrip("/")


def _full_path(text: str) -> str:
    try:
        return os.path.abspath(Path(text).expanduser())
    except (RuntimeError, ValueError):  # there is no such user
        return text


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
