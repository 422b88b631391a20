"""The command `mlc_llm`: one module for each subcommand, with `register(subparsers)` and
`run(args)`.

Only the module of the called command is imported, so that help and completion are fast. One of the
modules is named `list`. It hides Python's own `list` here after it is imported.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import mlc_llm
from mlc_llm.errors import MLCError

# The same words as each module's own help.
COMMANDS = {
    "chat": "chat with a model",
    "serve": "serve models over HTTP",
    "launch": "start a coding tool with a model of this machine",
    "list": "list the models that are kept here",
    "pull": "download and prepare a model",
    "show": "show a model's config, template and memory plan",
    "rm": "remove kept models",
    "convert_weight": "convert and quantize weights",
    "convert_adapter": "convert a LoRA adapter for requests",
    "gen_config": "write the config of a model folder",
    "compile": "compile a model library",
    "package": "package models for an app",
    "bench": "measure a server under load, or kernels",
    "doctor": "what this machine has and what a model would take",
    "completion": "print a shell's completion script",
}


def parser_of(command: str | None) -> argparse.ArgumentParser:
    """The parser. It has only the options of one command."""
    parser = argparse.ArgumentParser(
        prog="mlc_llm", description="Run, prepare and compile language models on this device."
    )
    parser.add_argument("--version", action=_Version)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        if name == command:
            importlib.import_module(f"mlc_llm.cli.{name}").register(subparsers)
        else:
            subparsers.add_parser(name, help=text)
    return parser


class _Version(argparse.Action):
    """Prints the version. It is looked up only when it is needed, because that takes time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, help="show the version and exit", **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"mlc_llm {mlc_llm.__version__}")
        parser.exit()


def named(arguments: Sequence[str]) -> list[str]:
    """Replaces the command by its own name, in which `-` and `_` mean the same."""
    first = arguments[0].replace("-", "_") if arguments and arguments[0][:1] != "-" else ""
    return [first, *arguments[1:]] if first in COMMANDS else [*arguments]


def _complete(words: Sequence[str]) -> int:
    """Completion scripts call this. It prints the possible next words."""
    from mlc_llm.cli.completion import candidates

    print(*candidates([*words]), sep="\n")
    return 0


def _fail(message: str) -> int:
    try:
        _flush()
    except OSError:  # the message may be about standard output
        _drop_output()
    print(f"Error: {message}", file=sys.stderr)
    return 1


def _flush() -> None:
    if sys.stdout is not None:  # it is None when its descriptor was closed
        sys.stdout.flush()


def _take_any_text() -> None:
    """Makes a terminal show a question mark for a character that it cannot show."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _drop_output() -> None:
    """Nobody reads standard output any more. The text in its buffer must not cause an error at
    exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def describe(error: OSError) -> str:
    """What went wrong, and with which file if the system says that."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _parse(arguments: list[str]) -> argparse.Namespace:
    """argparse alone finds a command's `rest` only where no option stands before the `--`, and
    `words` only side by side."""
    parser = parser_of(arguments[0])
    at = arguments.index("--") if arguments[0] == "launch" and "--" in arguments else None
    args, left = parser.parse_known_args(arguments[:at])
    if "words" in args and not any(word.startswith("-") for word in left):
        args.words = [*args.words, *left]
    elif left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if at is not None:
        args.rest += arguments[at + 1 :]
    return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status. Errors are one message, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else [*arguments]
    _take_any_text()
    # Mesa's Vulkan layer for desktops complains on standard error if there is no desktop.
    os.environ.setdefault("NODEVICE_SELECT", "1")
    try:
        if arguments[:1] == ["complete"]:
            return _complete(arguments[1:])
        if not arguments:
            parser_of(None).print_help(sys.stderr)
            return 2
        arguments = named(arguments)
        args = _parse(arguments)
        args.run(args)
        _flush()
        return 0
    except MLCError as error:
        return _fail(error.message)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        return _fail(describe(error))
    except Exception as error:  # our own error: print the traceback for a developer
        if os.environ.get("MLC_LLM_DEBUG"):
            raise
        return _fail(
            f"internal error: {type(error).__name__}: {error}. Please report it, with what "
            "MLC_LLM_DEBUG=1 shows."
        )
