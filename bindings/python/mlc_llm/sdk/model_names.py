"""The names of a model: its name, and the argument with which it was loaded."""

from __future__ import annotations

import os

from mlc_llm.prepare.hub_download import PREFIX


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
        return os.path.abspath(os.path.expanduser(text))
    except ValueError:  # a byte 0
        return text
