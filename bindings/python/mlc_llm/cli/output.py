"""The options -v and -q, and the `Steps` for them."""

from __future__ import annotations

import argparse

from mlc_llm.prepare.progress import TerminalSteps


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Adds -v and -q."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-v", "--verbose", action="store_true", help="show devices and cached files")
    group.add_argument("-q", "--quiet", action="store_true", help="show neither progress nor notes")


def steps_for(args: argparse.Namespace) -> TerminalSteps:
    """The `Steps` that report what a command does."""
    return TerminalSteps(verbose=args.verbose, quiet=args.quiet)
