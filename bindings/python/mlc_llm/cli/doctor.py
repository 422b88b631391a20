"""`mlc_llm doctor`: shows what this machine has, and how much memory a model would use on it."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlc_llm
from mlc_llm.cli.output import add_output_options, steps_for
from mlc_llm.cli.settings import add_model_options, parse_overrides, size_in_bytes
from mlc_llm.errors import InvalidRequestError, MLCError, NotFoundError
from mlc_llm.sdk.engine_words_gen import MODES

_NO_LINKER = "none: models cannot be compiled here; install g++, or `pip install ziglang`"


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "doctor", help="what this machine has and what a model would take", description=__doc__
    )
    parser.add_argument(
        "model",
        nargs="?",
        help="HF://org/repo, a model folder, a .gguf file, or 'default' for the embedded model",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--mode", choices=MODES, help="this mode alone (default: all)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument(
        "--overrides", default="", help='engine settings, "context_window_size=2048;..."'
    )
    add_model_options(parser)
    parser.add_argument(
        "--device-memory",
        type=size_in_bytes,
        metavar="SIZE",
        help="plan for devices of so much memory, one for each shard, that need not be here; reads "
        "the config of a folder or a .gguf file alone (with --quantization)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command. Raises MLCError if a model is named and it would not load."""
    from mlc_llm import _core

    if args.device_memory is not None:
        return _plan_for_devices(args)
    machine = _machine()
    devices = json.loads(_core.list_devices())
    plans = _plans(args) if args.model else []
    if args.json:
        everything = {
            "machine": machine,
            "devices": devices,
            "plans": [p.model_dump() for p in plans],
        }
        print(json.dumps(everything, indent=2))
    else:
        _print_report(machine, devices, plans)
    if plans and not any(plan.fits for plan in plans):
        raise MLCError(f"{plans[0].model} does not fit: {plans[0].reason}")


def _machine() -> dict[str, Any]:
    from mlc_llm import _core
    from mlc_llm.compiler import targets
    from mlc_llm.prepare import jit_cache, linker

    return {
        "mlc_llm": mlc_llm.__version__,
        "core": _core.version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": targets.num_threads(),
        "home": str(jit_cache.home()),
        "linker": str(linker.find() or _NO_LINKER),
    }


def _plan_for_devices(args: argparse.Namespace) -> None:
    from mlc_llm.compiler.device_plan import device_plan

    config = _config_of(args.model)
    quantization = args.quantization or config.get("quantization")
    if not isinstance(quantization, str):
        raise InvalidRequestError("--device-memory needs a --quantization", param="quantization")
    plan = device_plan(
        config,
        quantization,
        shards=args.tensor_parallel_shards or 1,
        memory_bytes=args.device_memory,
        kv_cache_dtype=args.kv_cache_dtype,
    )
    print(json.dumps(asdict(plan)) if args.json else "\n".join(plan.lines()))


def _config_of(model: str | None) -> Mapping[str, Any]:
    from mlc_llm.compiler.compile import read_chat_config
    from mlc_llm.compiler.convert import open_source
    from mlc_llm.prepare.local_model import DEFAULT_MODEL
    from mlc_llm.prepare.model_source import resolve_source

    path = Path(model or "")
    if model == DEFAULT_MODEL and not path.exists():
        path = resolve_source(model)
    named = [path / name for name in ("mlc-chat-config.json", "config.json")]
    found = next((file for file in (*named, path) if file.is_file()), None)
    if model is None or found is None:
        raise NotFoundError(
            "--device-memory needs a model's folder, its config.json or mlc-chat-config.json, or a "
            ".gguf file",
            param="model",
        )
    is_gguf = found.suffix == ".gguf"
    return open_source(found).hf_config() if is_gguf else read_chat_config(found)


def _plans(args: argparse.Namespace) -> Sequence[Any]:
    from mlc_llm.sdk.planning import plan_modes

    return plan_modes(
        [args.mode] if args.mode else MODES,
        args.model,
        model_lib=args.model_lib,
        device=args.device,
        quantization=args.quantization,
        engine_config=parse_overrides(args.overrides, args),
        log=steps_for(args),
    )


def _device_line(device: dict[str, Any]) -> str:
    if not device["found"]:
        return str(device["reason"])
    if "description" not in device:
        free = device.get("memory_bytes")
        return "found" if free is None else f"found: {free / 2**20:.0f} MB of memory are free"
    memory, largest = (device[name] / 2**20 for name in ("memory_bytes", "max_buffer_bytes"))
    facts = [
        f"{memory:.0f} MB, tensors of {largest:.0f} MB at most",
        "16-bit floats" if device["f16"] else "no 16-bit floats: take a quantization named f32",
        f"work-groups of {device['max_group_size']} with {device['local_memory_bytes']} bytes",
    ]
    if device["is_processor"]:
        facts.append("the CPU itself: auto passes over it")
    return f"found: {device['description']}; {'; '.join(facts)}"


def _print_report(
    machine: dict[str, Any], devices: list[dict[str, Any]], plans: Sequence[Any]
) -> None:
    for name, value in machine.items():
        print(f"{name}: {value}")
    for device in devices:
        print(f"device {device['name']}: {_device_line(device)}")
    for plan in plans:
        print(f"\n{plan.model} ({plan.model_type}, {plan.quantization}) on {plan.device}:")
        for line in plan.summary:
            print(f"  {line}")
        print(
            f"  KV cache: {plan.kv_bytes_per_token} bytes a token. "
            f"Free memory: {plan.available_bytes / 2**20:.3f} MB."
        )
        print("  It fits." if plan.fits else f"  It does not fit: {plan.reason}")
