"""`mlc_llm list`: lists the models that are kept on this machine, with their libraries."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

_DAY = 86400
_UNITS = (
    *((365 * _DAY, "year"), (30 * _DAY, "month"), (_DAY, "day")),
    *((3600, "hour"), (60, "minute")),
)


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "list", help="list the models that are kept here", description=__doc__
    )
    parser.add_argument(
        "--suggested", action="store_true", help="list models to take, and whether they fit here"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    if args.suggested:
        return _list_suggested(as_json=args.json)
    from mlc_llm.prepare.jit_cache import home
    from mlc_llm.prepare.kept import kept_models

    models = kept_models()
    if args.json:
        rows = [
            {
                "name": model.name,
                "quantization": model.quantization,
                "size_bytes": model.size,
                "last_use": int(model.last_use),
                "paths": [str(path) for path in model.paths],
            }
            for model in models
        ]
        print(json.dumps(rows, indent=2))
        return
    if not models:
        print(f"No models are kept in {home()}; `mlc_llm pull HF://org/repo` gets one.")
        return
    table = [("NAME", "QUANTIZATION", "SIZE", "LAST USE")]
    table += [
        (model.name, model.quantization, megabytes(model.size), _ago(model.last_use))
        for model in models
    ]
    _print(table)


def _list_suggested(*, as_json: bool) -> None:
    from mlc_llm.prepare import suggested_models

    available = suggested_models.available_bytes()
    rows = [(model, model.memory_bytes <= available) for model in suggested_models.SUGGESTED]
    if as_json:
        columns = ("model", "memory_gb", "parameter_bytes", "memory_bytes")
        found = [{name: getattr(m, name) for name in columns} | {"fits": fit} for m, fit in rows]
        print(json.dumps(found, indent=2))
        return
    table = [("FOR", "DOWNLOAD", "MEMORY", "FITS HERE", "COMMAND")]
    table += [
        (
            f"{model.memory_gb} GB",
            megabytes(model.parameter_bytes),
            megabytes(model.memory_bytes),
            "yes" if fits else "no",
            model.command,
        )
        for model, fits in rows
    ]
    _print(table)
    print(
        f"Memory: the weights and {suggested_models.CONTEXT} tokens of context; "
        f"{megabytes(available)} are free here. `mlc_llm doctor MODEL` has the whole plan."
    )


def _print(table: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def megabytes(size: int) -> str:
    """A size in a form for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _ago(moment: float) -> str:
    seconds = time.time() - moment
    for length, unit in _UNITS:
        if (count := int(seconds // length)) >= 1:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"
