"""`mlc_llm convert_adapter`: makes the file of a LoRA adapter that requests can choose."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.errors import InvalidRequestError


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "convert_adapter", help="convert a LoRA adapter for requests", description=__doc__
    )
    parser.add_argument("model", help="the model: its -MLC folder, or as for `mlc_llm chat`")
    parser.add_argument(
        "adapter", type=Path, help="the adapter: PEFT's or mlx-lm's folder, or a GGUF file"
    )
    parser.add_argument("--quantization", help="of a model that is converted first")
    parser.add_argument(
        "--output", "-o", type=Path, required=True, help="the file; it ends in .mlc-adapter"
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    from mlc_llm.compiler.compile import read_chat_config
    from mlc_llm.compiler.convert.adapters import open_adapter, write_run_time
    from mlc_llm.prepare.adapter import SUFFIX
    from mlc_llm.prepare.model_source import resolve_folder

    if args.output.suffix != SUFFIX:
        raise InvalidRequestError(f"{args.output}: the file ends in {SUFFIX}", param="output")
    steps = steps_for(args)
    folder = resolve_folder(
        args.model, quantization=args.quantization, device="cpu", progress=steps
    )
    adapter = open_adapter(args.adapter)
    for note in adapter.notes:
        steps.note(note)
    rank = write_run_time(adapter, read_chat_config(folder), args.output)
    if not args.quiet:
        print(f"Wrote {args.output}, of rank {rank}")
