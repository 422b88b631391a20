"""`mlc_llm rm`: removes kept models, and the libraries that no other model uses.

A name without a quantization means all quantizations of the model; `mlc_llm list` shows the names.
A model in another place (your own folder, an installed package) is never removed.
"""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("rm", help="remove kept models", description=__doc__)
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="NAME, NAME-QUANTIZATION, HF://org/repo, default"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command. If one of the names is unknown, nothing is removed."""
    from mlc_llm.cli.list import megabytes
    from mlc_llm.prepare.kept import find_kept, remove

    for model in find_kept(args.models):
        size = megabytes(remove(model))
        print(f"Removed {model.name} ({model.quantization}), {size}")
