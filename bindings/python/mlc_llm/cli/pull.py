"""`mlc_llm pull`: downloads a model, converts it and compiles its library in advance.

Afterwards `mlc_llm chat MODEL` needs neither the network nor a compiler.
"""

from __future__ import annotations

import argparse
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("pull", help="download and prepare a model", description=__doc__)
    parser.add_argument(
        "model", help="HF://org/repo, HF://org/repo:revision, a local model, or 'default'"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument("--weights-only", action="store_true", help="compile no library")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    from mlc_llm.prepare.model_source import resolve_folder, resolve_model
    from mlc_llm.sdk.core_engine import choose_device

    steps = steps_for(args)
    device = choose_device(args.device, steps)
    options = {"quantization": args.quantization, "device": device, "progress": steps}
    if args.weights_only:
        folder = resolve_folder(args.model, **options)
    else:
        folder = resolve_model(args.model, **options).folder
    if not args.quiet:
        print(f"{args.model} is ready: {folder}")
