"""`mlc_llm compile`: compiles a model library from a model's configuration."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.settings import add_library_options
from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.prepare import linker
from mlc_llm.prepare.progress import Steps, Update

_STATIC = (".tar", ".a")  # archives, which are not linked here


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("compile", help="compile a model library", description=__doc__)
    parser.add_argument(
        "model",
        help="-MLC folder or its mlc-chat-config.json; or a model that is converted first: its "
        "folder, a .gguf file, HF://org/repo, or 'default'",
    )
    parser.add_argument("--quantization", help="scheme (default: what the config says)")
    parser.add_argument(
        "--model-type", default="auto", help="model family (default: what the config says)"
    )
    parser.add_argument(
        "--device",
        default="auto",
        help="auto, cpu, a GPU (opencl, opencl:adreno, metal, cuda, rocm, android, ...), windows "
        "or a CPU's preset; several presets (x86-64-v2,x86-64-v4) make one library, which uses the "
        "fastest code that the CPU can run",
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
        help="the library: .so (.dll for Windows), or .tar or .a for a static one, which a program "
        "links",
    )
    parser.add_argument(
        "--overrides", help='such as "context_window_size=4096;prefill_chunk_size=1024"'
    )
    add_library_options(parser)
    parser.add_argument(
        "--lora",
        action="store_true",
        help="let requests choose LoRA adapters (the engine's setting is lora_ranks)",
    )
    parser.add_argument(
        "--passes", type=Path, metavar="FILE.py", help="a Python file that changes the passes"
    )
    parser.add_argument(
        "--dump",
        "--debug-dump",
        type=Path,
        metavar="FOLDER",
        help="folder for the module after each pass, their times, and the kernels' code",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="compare each layer with NumPy, and name the first one that differs (CPUs)",
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    steps = steps_for(args)
    if args.output.suffix not in _STATIC:
        linker.require(steps)  # checked before a conversion starts
    folder = folder_of(args.model, args.quantization, args.device, steps)
    if args.debug:
        _prepare_check(args, folder)
    start = time.monotonic()
    with steps.step(f"Compiling {args.model} for {args.device}") as update:
        _compile(args, folder, steps, update)
    if not args.quiet:
        size = args.output.stat().st_size / 1024**2
        print(f"Compiled {args.output} ({size:.1f} MB) in {time.monotonic() - start:.1f} s")
    if args.debug:
        _check(args, folder)


def folder_of(model: str, quantization: str | None, device: str, steps: Steps) -> Path:
    """The -MLC folder, or the config file in it. A model in another format is converted."""
    from mlc_llm.prepare.local_model import CHAT_CONFIG
    from mlc_llm.prepare.model_source import resolve_folder

    path = Path(model)
    if path.name == CHAT_CONFIG or (path / CHAT_CONFIG).is_file():
        return path
    if path.suffix == ".json" or path.is_dir() and not (path / "config.json").is_file():
        return path  # the compiler's error says what is missing
    return resolve_folder(model, quantization=quantization, device=device, progress=steps)


def _overrides(args: argparse.Namespace) -> str | None:
    given: str | None = args.overrides
    if args.tensor_parallel_shards is None:
        return given
    from mlc_llm.compiler.options import parse_overrides

    count = args.tensor_parallel_shards
    other = parse_overrides(given).get("tensor_parallel_shards", count)
    if other != count:
        raise InvalidRequestError(
            f"--tensor-parallel-shards is {count}, and --overrides says {other}; give one of them",
            param="tensor_parallel_shards",
        )
    return f"{given or ''};tensor_parallel_shards={count}"


def _compile(args: argparse.Namespace, folder: Path, steps: Steps, update: Update) -> None:
    from mlc_llm.compiler.compile import compile_model, read_chat_config
    from mlc_llm.compiler.jit import SHARES

    def report(phase: str) -> None:
        if phase in SHARES:
            update(SHARES[phase])
            steps.detail(f"compile: {phase}")
        else:
            steps.note(f"compile: {phase}")

    compile_model(
        read_chat_config(folder),
        output=args.output,
        host=args.host,
        system_lib_prefix=args.system_lib_prefix,
        passes=args.passes,
        dump=args.dump,
        progress=report,
        **_library_options(args),
    )


def _library_options(args: argparse.Namespace) -> dict[str, Any]:
    """What the content of the library depends on, beside the config and the passes."""
    return {
        "quantization": args.quantization,
        "model_type": None if args.model_type == "auto" else args.model_type,
        "device": args.device,
        "opt": args.opt,
        "overrides": _overrides(args),
        "kv_cache_dtype": args.kv_cache_dtype,
        "adapters": args.lora,
        "layer_states": args.debug,
    }


def _prepare_check(args: argparse.Namespace, folder: Path) -> None:
    """Refuses what cannot be compared, before the work."""
    from mlc_llm.compiler import targets
    from mlc_llm.compiler.layer_check import check_that_it_can

    if args.output.suffix in _STATIC or len(targets.resolve_all(args.device)) > 1:
        raise InvalidRequestError("--debug is for one device and a shared library", param="debug")
    check_that_it_can(_spec_of(args, folder), folder)


def _check(args: argparse.Namespace, folder: Path) -> None:
    """Prints how far each layer is apart from NumPy's. Raises MLCError if one differs."""
    from mlc_llm.compiler.layer_check import check_layers

    first = None
    for found in check_layers(_spec_of(args, folder), folder, args.output):
        first = first or (found if found.differs else None)
        mark = "  differs" if found.differs else ""
        print(f"{found.layer:12} {found.apart:10.2e}{mark}")
    if first is not None:
        raise MLCError(
            f"{first.layer} differs from NumPy's by {first.apart:.1%} of what it adds to its rows; "
            "look at its kernels in the folder of --dump"
        )


def _spec_of(args: argparse.Namespace, folder: Path) -> Any:
    from mlc_llm.compiler.compile import library_spec, read_chat_config

    return library_spec(read_chat_config(folder), **_library_options(args))
