"""A GPU's kernels beside what the device can do: its own copies, and multiply-adds in registers.

usage: ./dev bench gpu [--device opencl:0] [--models 135M,1B] [--batch 1,4,16,64] [--prefill 512]

For each model the kernels are those of its library, on random weights: what they must read and
write against the bandwidth of the runtime's copy (decode), their operations against the rate of
multiply-adds (prefill). For the default model the engine runs too: the part of a step that is not
kernels. Every device that `mlc_llm doctor` lists will do; figures for a processor behind OpenCL
check the benchmark, not a GPU. Everything goes to a JSON file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from gpu_parts import engine, report
from gpu_parts.device import GpuDevice
from gpu_parts.kernels import Kernels, Step
from gpu_parts.models import MODELS

OUTPUT = Path(__file__).resolve().parents[2] / "build" / "bench-gpu.json"


def main() -> None:
    args = _arguments()
    device = GpuDevice(args.device)
    is_processor = bool(device.facts.get("is_processor"))
    f16 = device.facts.get("f16", True)
    quantization = args.quantization or ("q4f16_1" if f16 else "q4f32_1")
    limits = {
        "copy_bytes_per_s": device.copy_bandwidth(args.seconds),
        "multiply_per_s": device.multiply_rate(args.seconds),
    }
    result: dict[str, Any] = {
        "device": {"name": device.name, **device.facts},
        "date": time.strftime("%Y-%m-%d"),
        "quantization": quantization,
        "limits": limits,
        "models": {},
    }
    print(f"{device.name}: {device.facts.get('description', device.tvm.device_name)}")
    if is_processor:
        print("This device is a processor: its figures check the benchmark, not a GPU.")
    print(
        f"copy {limits['copy_bytes_per_s'] / 1e9:.1f} GB/s, "
        f"multiply-adds {limits['multiply_per_s'] / 1e9:.0f} GFLOP/s, {quantization}"
    )
    for model in args.models:
        result["models"][model] = _measure(device, model, quantization, limits, args)
    if not args.no_engine and "135M" in result["models"]:
        steps = engine.decode_step_seconds(device.name, quantization, args.batch, args.history)
        result["engine"] = _engine(steps, result["models"]["135M"])
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {args.json}")


def _arguments() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(n) for n in text.split(",")]

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--models", type=lambda t: t.split(","), default=["135M", "1B"])
    parser.add_argument("--quantization", help="default: q4f16_1, or q4f32_1 without 16-bit floats")
    parser.add_argument("--batch", type=numbers, default=[1, 4, 16, 64])
    parser.add_argument("--history", type=int, default=512, help="tokens before a decode step")
    parser.add_argument("--prefill", type=int, default=512, help="tokens of a prompt; 0: none")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each kernel")
    parser.add_argument("--no-engine", action="store_true")
    parser.add_argument("--json", type=Path, default=OUTPUT)
    args = parser.parse_args()
    if unknown := set(args.models) - set(MODELS):
        parser.error(f"unknown model {unknown.pop()}; there are {', '.join(MODELS)}")
    return args


def _measure(
    device: GpuDevice, model: str, quantization: str, limits: report.Limits, args: Any
) -> dict[str, Any]:
    kernels = Kernels(device, model, quantization)
    cases = {
        f"decode of {batch}": (kernels.decode, Step(batch, 1, args.history)) for batch in args.batch
    }
    if args.prefill:
        cases[f"prefill of {args.prefill}"] = (kernels.prefill, Step(1, args.prefill, 0))
    found = {}
    for name, (calls, step) in cases.items():
        rows = kernels.times(calls, step, args.seconds)
        print("\n" + report.table(f"{model}, {name}", rows, limits), flush=True)
        found[name] = {"kernels": rows, **report.total(rows, limits)}
    return found


def _engine(steps: dict[int, float], kernels: dict[str, Any]) -> dict[str, Any]:
    """How much of a decode step is not kernels."""
    print("\nengine, 135M")
    found = {}
    for batch, seconds in steps.items():
        inside = kernels[f"decode of {batch}"]["seconds"]
        share = max(0.0, 1 - inside / seconds)
        found[str(batch)] = {"seconds": seconds, "outside_kernels": share}
        print(f"  decode of {batch:3d}: {seconds * 1e3:8.2f} ms, {share:4.0%} outside kernels")
    return found


if __name__ == "__main__":
    main()
