"""The command `mlc_llm`: a module a subcommand, with `register(subparsers)` and `run(args)`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

import mlc_llm
from mlc_llm.errors import MLCError

_COMMANDS = ("chat", "convert_weight", "gen_config", "compile", "doctor", "serve", "bench")
_PLANNED = ("package",)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlc_llm", description="Run, prepare and compile language models on this device."
    )
    parser.add_argument("--version", action="version", version=f"mlc_llm {mlc_llm.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        importlib.import_module(f"mlc_llm.cli.{name}").register(subparsers)
    return parser


def _refuse_planned(arguments: Sequence[str]) -> None:
    command = arguments[0].replace("-", "_") if arguments else ""
    if command in _PLANNED:
        raise MLCError(f"'mlc_llm {command}' is not built yet; see the status table in the README")


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
    """A terminal that cannot show a character shows a question mark; a request says what it is."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _drop_output() -> None:
    """Nobody reads standard output any more: what is buffered must not fail at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status. Errors are one message, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _take_any_text()
    # Mesa's Vulkan layer for desktops complains on standard error where none runs.
    os.environ.setdefault("NODEVICE_SELECT", "1")
    try:
        _refuse_planned(arguments)
        args = _parser().parse_args(arguments)
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
        return _fail(_describe(error))
    except Exception as error:  # ours to fix; the traceback is for whoever does
        if os.environ.get("MLC_LLM_DEBUG"):
            raise
        return _fail(
            f"internal error: {type(error).__name__}: {error}. Please report it, with what "
            "MLC_LLM_DEBUG=1 shows."
        )
