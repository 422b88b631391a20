"""Environment variables for the options of a command: one for each, named after it."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Collection

_NO = {"", "0", "false", "no", "off"}


def take_environment(parser: argparse.ArgumentParser, prefix: str) -> None:
    """Makes `PREFIX_SOME_OPTION` the default of `--some-option`. A switch is on for every value but
    0, false, no, off and the empty one; values of an option with several are separated as in a
    shell. A wrong value is refused like a wrong argument."""
    for action in parser._actions:
        text = os.environ.get(variable_of(action, prefix))
        if text is None or action.dest == "help":
            continue
        if isinstance(action, argparse._StoreTrueAction):
            action.default = text.lower() not in _NO
        elif action.nargs == "+":
            action.default = shlex.split(text)
        else:
            action.default = text  # the parser converts it like an argument
            if action.choices is not None:
                action.type = _one_of(list(action.choices))


def variable_of(action: argparse.Action, prefix: str) -> str:
    return f"{prefix}_{action.dest.upper()}"


def _one_of(choices: Collection[str]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if text not in choices:
            known = ", ".join(map(repr, choices))
            raise argparse.ArgumentTypeError(f"invalid choice: '{text}' (choose from {known})")
        return text

    return checked
