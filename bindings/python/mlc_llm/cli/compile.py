"""`mlc_llm compile`: compiles a model library out of a model's configuration."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("compile", help="compile a model library", description=__doc__)
    parser.add_argument("model", type=Path, help="-MLC folder or its mlc-chat-config.json")
    parser.add_argument("--quantization", help="scheme (default: what the config says)")
    parser.add_argument(
        "--model-type", default="auto", help="model family (default: what the config says)"
    )
    parser.add_argument(
        "--device",
        default="auto",
        help="auto, cpu, a GPU (opencl, opencl:adreno, metal, cuda, iphone, android, ...) or a "
        "processor's preset; several (x86-64-v2,x86-64-v4) make one library "
        "that takes the fastest that runs",
    )
    parser.add_argument(
        "--host",
        default="auto",
        help="LLVM triple of the machine around the device, such as aarch64-linux-android or "
        "arm64-apple-ios (default: this machine, or what the device says)",
    )
    parser.add_argument(
        "--opt",
        default="O2",
        help='O0 to O3, or flags such as "activation_bits=8;cudagraph=0" (default: %(default)s)',
    )
    parser.add_argument(
        "--system-lib-prefix",
        help="how the symbols of a static library begin (default: auto, MODEL_QUANTIZATION_)",
    )
    parser.add_argument(
        "--output",
        "-o",
        type=Path,
        required=True,
        help="the library: .so, or .tar or .a for a static one, which a program links",
    )
    parser.add_argument(
        "--overrides", help='such as "context_window_size=4096;prefill_chunk_size=1024"'
    )
    parser.add_argument(
        "--debug-dump", type=Path, help="folder for the module's text after each phase"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    from mlc_llm.compiler.compile import compile_model, read_chat_config, report

    start = time.monotonic()
    compile_model(
        read_chat_config(args.model),
        output=args.output,
        quantization=args.quantization,
        model_type=None if args.model_type == "auto" else args.model_type,
        device=args.device,
        host=args.host,
        opt=args.opt,
        system_lib_prefix=args.system_lib_prefix,
        overrides=args.overrides,
        debug_dump=args.debug_dump,
        progress=report,
    )
    size = args.output.stat().st_size / 1024**2
    print(f"Compiled {args.output} ({size:.1f} MB) in {time.monotonic() - start:.1f} s")
