"""`mlc_llm package`: libraries, weights and config of an app's models, for phones, desktops and
browsers."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    add_options(
        subparsers.add_parser("package", help="package models for an app", description=__doc__)
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--package-config",
        type=Path,
        default=Path("mlc-package-config.json"),
        help="the devices and models (default: %(default)s)",
    )
    parser.add_argument(
        "--device",
        help="the device, in place of those in the file; web: a folder for any web server",
    )
    parser.add_argument(
        "--mlc-llm-source-dir",
        type=Path,
        default=os.environ.get("MLC_LLM_SOURCE_DIR"),
        help="accepted for MLC-LLM's scripts; no source code is needed",
    )
    parser.add_argument(
        "--output", "-o", type=Path, default=Path("dist"), help="folder (default: %(default)s)"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="make nothing; say what the files of the package are and whether they fit together",
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    if args.check:
        return _check(args.output)
    from mlc_llm.package.config import read_config
    from mlc_llm.package.package import package_app
    from mlc_llm.prepare.jit_cache import MakeRules, Policies

    steps = steps_for(args)
    if args.mlc_llm_source_dir is not None:
        steps.note(
            "--mlc-llm-source-dir (MLC_LLM_SOURCE_DIR) is not needed: nothing is built from source"
        )
    start = time.monotonic()
    config = read_config(args.package_config, args.device)
    rules = MakeRules(policies=Policies.from_environment(), steps=steps)
    package_app(config, output=args.output, rules=rules)
    if not args.quiet:
        devices = ", ".join(device.title for device in config.devices)
        seconds = time.monotonic() - start
        print(
            f"Packaged {len(config.models)} models for {devices} in {seconds:.1f} s: {args.output}"
        )


def _check(output: Path) -> None:
    from mlc_llm.package.check import check_package

    report = check_package(output)
    print(*report.lines, sep="\n")
    if report.problems:
        count = len(report.problems)
        raise error_of(
            reasons.PACKAGE_MISMATCH, "\n".join([f"{count} things do not fit:", *report.problems])
        )
    print("Everything fits.")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `mlc-package`."""
    from mlc_llm.cli import main as mlc_llm

    return mlc_llm(["package", *(sys.argv[1:] if arguments is None else arguments)])
