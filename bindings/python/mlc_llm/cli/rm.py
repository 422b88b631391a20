"""`mlc_llm rm`: removes kept models and the libraries that were compiled for them.

A name without a quantization means all quantizations of the model; `mlc_llm list` shows the names.
A model in another place (your own folder, an installed package) is never removed.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from mlc_llm.errors import NotFoundError


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("rm", help="remove kept models", description=__doc__)
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="NAME, NAME-QUANTIZATION, HF://org/repo, default"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command. If one of the names is unknown, nothing is removed."""
    from mlc_llm.cli.kept import KeptModel, kept_models
    from mlc_llm.cli.list import megabytes

    kept = kept_models()
    chosen: dict[Path, KeptModel] = {}
    for name in args.models:
        found = [model for model in kept if model.answers_to(_plain(name))]
        if not found:
            raise NotFoundError(
                f"no model '{name}' is kept here; `mlc_llm list` shows the names", param="model"
            )
        chosen |= {model.paths[0]: model for model in found}
    for model in chosen.values():
        _remove(model.paths)
        print(f"Removed {model.name} ({model.quantization}), {megabytes(model.size)}")


def _plain(name: str) -> str:
    from mlc_llm.prepare.embedded_model import NAME
    from mlc_llm.prepare.model_source import DEFAULT_MODEL

    return NAME if name == DEFAULT_MODEL else name.rstrip("/")


def _remove(paths: tuple[Path, ...]) -> None:
    from mlc_llm.prepare.progress import TerminalSteps
    from mlc_llm.prepare.temporary_files import locked

    for path in paths:
        with locked(path, TerminalSteps()):  # waits while a process writes it
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
