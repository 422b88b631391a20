"""A GPU's kernels beside what the device can do: its own copies, and multiply-adds in registers.

usage: ./dev bench gpu [--device opencl:0] [--models 135M,1B] [--batch 1,4,16,64] [--prefill 512]

For each model the kernels are those of its library, on random weights: what they must read and
write against the bandwidth of the runtime's copy (decode), their operations against the rate of
multiply-adds and, with CUDA, of cuBLAS (prefill), whose products of the same shapes stand beside
ours. For the models of --engine the engine runs too: tokens a second, and the part of a step that
is not kernels. A summary says it in a line a case. Every device that `mlc_llm doctor` lists will
do; figures for a processor behind OpenCL check the benchmark, not a GPU. Everything goes to a JSON
file. By default the models are 135M and 1B, on CUDA 8B, and the engine runs 135M, on CUDA 8B.
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
from gpu_parts.library import LibraryGemm, library_gemm
from gpu_parts.models import MODELS

OUTPUT = Path(__file__).resolve().parents[2] / "build" / "bench-gpu.json"


def main() -> None:
    args = _arguments()
    device = GpuDevice(args.device)
    is_processor = bool(device.facts.get("is_processor"))
    f16 = device.facts.get("f16", True)
    quantization = args.quantization or ("q4f16_1" if f16 else "q4f32_1")
    library = library_gemm(device)
    limits = {
        "copy_bytes_per_s": device.copy_bandwidth(args.seconds),
        "multiply_per_s": device.multiply_rate(args.seconds),
        **({"matrix_per_s": library.rate(args.matrix, args.seconds)} if library else {}),
    }
    launch = device.launch_seconds()
    result: dict[str, Any] = {
        "device": {"name": device.name, **device.facts},
        "date": time.strftime("%Y-%m-%d"),
        "quantization": quantization,
        "opt": args.opt,
        "library": library.name if library else None,
        "limits": limits,
        "launch_s": launch,
        "models": {},
        "engine": {},
    }
    print(f"{device.name}: {device.facts.get('description', device.tvm.device_name)}")
    if is_processor:
        print("This device is a processor: its figures check the benchmark, not a GPU.")
    print(
        f"copy {limits['copy_bytes_per_s'] / 1e9:.1f} GB/s, "
        f"multiply-adds {limits['multiply_per_s'] / 1e9:.0f} GFLOP/s, "
        f"a launch {launch * 1e6:.1f} us of the host, {quantization}"
    )
    if library:
        print(f"matrix rate {limits['matrix_per_s'] / 1e9:.0f} GFLOP/s, by {library.name}")
    for model in args.models:
        result["models"][model] = _measure(
            device, model, quantization, limits, launch, library, args
        )
    for model in args.engine:
        steps = engine.decode_step_seconds(
            device.name,
            model,
            quantization,
            args.batch,
            args.history,
            tokens=args.tokens,
            models=args.json.parent,
            opt=args.opt,
        )
        result["engine"][model] = engine.shares(steps, result["models"][model])
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"\n{report.summary(result)}\n\nwritten to {args.json}")


def _arguments() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(n) for n in text.split(",")]

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--models", type=names, help="default: 135M,1B; on CUDA 8B")
    parser.add_argument("--engine", type=names, help='of --models; "" for none')
    parser.add_argument("--opt", default="O2", help="how kernels are compiled")
    parser.add_argument(
        "--matrix", type=int, default=8192, help="rows of the matrix rate's product"
    )
    parser.add_argument("--quantization", help="default: q4f16_1, or q4f32_1 without 16-bit floats")
    parser.add_argument("--batch", type=numbers, default=[1, 4, 16, 64])
    parser.add_argument("--history", type=int, default=512, help="tokens before a decode step")
    parser.add_argument(
        "--tokens", type=int, default=32, help="of the engine's answers, past the batch's number"
    )
    parser.add_argument("--prefill", type=int, default=512, help="tokens of a prompt; 0: none")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each kernel")
    parser.add_argument("--json", type=Path, default=OUTPUT)
    args = parser.parse_args()
    is_cuda = args.device.partition(":")[0] == "cuda"
    if args.models is None:
        args.models = ["8B"] if is_cuda else ["135M", "1B"]
    if args.engine is None:
        args.engine = [m for m in args.models if m == ("8B" if is_cuda else engine.DEFAULT)]
    if unknown := set(args.models) - set(MODELS):
        parser.error(f"unknown model {unknown.pop()}; there are {', '.join(MODELS)}")
    if foreign := set(args.engine) - set(args.models):
        parser.error(f"--engine: {foreign.pop()} is not in --models")
    return args


def _measure(
    device: GpuDevice,
    model: str,
    quantization: str,
    limits: report.Limits,
    launch: float,
    library: LibraryGemm | None,
    args: Any,
) -> dict[str, Any]:
    kernels = Kernels(device, model, quantization, args.opt)
    cases = {
        f"decode of {batch}": (kernels.decode, Step(batch, 1, args.history)) for batch in args.batch
    }
    if args.prefill:
        cases[f"prefill of {args.prefill}"] = (kernels.prefill, Step(1, args.prefill, 0))
    found = {}
    for name, (calls, step) in cases.items():
        rows = kernels.times(calls, step, args.seconds, library)
        print("\n" + report.table(f"{model}, {name}", rows, limits), flush=True)
        found[name] = {"kernels": rows, **report.total(rows, limits, launch)}
    return found


if __name__ == "__main__":
    main()
