"""What a model answers to: its name, its aliases, and the path that it was loaded from."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mlc_llm.hub_download import PREFIX
from mlc_llm.serve.errors import RequestError


def same_model(name: str, argument: str) -> bool:
    """Whether a client's `name` is the argument that a model was loaded by, written as MLC-LLM's
    users write it: `HF://org/repo`, `org/repo`, `./dist/model/`, an absolute path.

    Nothing on the disk is looked at: the name is a stranger's.
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
    except (RuntimeError, ValueError):  # no such user's home
        return text


def require_path(text: str | None, param: str) -> None:
    """Refuses what the file system can have under no name."""
    if text is None:
        return
    try:
        os.stat(text)
        return
    except ValueError:
        why = "it holds a NUL character"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return  # it is not there, which the loader says in its own words
        why = "it is longer than a file's name can be"
    raise RequestError(f"Invalid '{param}': {why}.", code="invalid_request", param=param)
