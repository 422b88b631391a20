"""The default model's libraries for GPUs: how large, and of how many kernels.

usage: ./dev bench gpu_libraries [--devices metal,cuda]

Compiles each one here, with no GPU, and prints the table of docs/gpu.md: the shared library's size
and the kernels in it (a kernel has several ways, chosen by the rows of a step).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import tvm

from mlc_llm.compiler import library, models
from mlc_llm.compiler.compile import compile_model, library_spec, read_chat_config
from mlc_llm.prepare.model_source import resolve_model

# A device, and the quantization that it would be given.
LIBRARIES = (
    ("opencl", "q4f32_1"),
    ("opencl", "q4f16_1"),
    ("opencl:adreno", "q4f16_0"),
    ("opencl:mali", "q4f16_1"),
    ("metal", "q4f16_1"),
    ("vulkan", "q4f16_1"),
    ("webgpu", "q4f16_1"),
    ("cuda", "q4f16_1"),
    ("rocm", "q4f16_1"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", help="some of them, by name")
    args = parser.parse_args()
    wanted = args.devices.split(",") if args.devices else [device for device, _ in LIBRARIES]
    config = read_chat_config(resolve_model(None, quantization="q4f32_1", progress=print).folder)
    print("| device | quantization | library | kernels | seconds |\n|---|---|---|---|---|")
    for device, quantization in LIBRARIES:
        if device in wanted:
            print(row(config, device, quantization), flush=True)


def row(config: dict[str, Any], device: str, quantization: str) -> str:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.so"
        compile_model(config, output=path, device=device, quantization=quantization)
        size = path.stat().st_size
    seconds = time.perf_counter() - begin
    kernels = num_kernels(config, device, quantization)
    return f"| `{device}` | `{quantization}` | {size / 1000:,.0f} KB | {kernels} | {seconds:.0f} |"


def num_kernels(config: dict[str, Any], device: str, quantization: str) -> int:
    spec = library_spec(config, device=device, quantization=quantization)
    functions = library.build_module(spec, models.get(spec.model_type)).functions
    return sum(isinstance(function, tvm.tirx.PrimFunc) for function in functions.values())


if __name__ == "__main__":
    main()
