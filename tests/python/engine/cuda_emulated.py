"""Answers of a model on CUDA, in a process whose driver is the emulator of tests/fixtures.

    python cuda_emulated.py FOLDER LIBRARY INCLUDES KERNELS

The library holds CUDA C++, which is compiled for the processor here. The folder KERNELS keeps what
was compiled for the next process. Writes one JSON object.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tvm_ffi

from mlc_llm import MLCEngine, _core
from mlc_llm.errors import MLCError

HEADER = Path(__file__).parents[2] / "fixtures/cuda-emulator/cuda_emulator.h"
PROMPTS = ["Hello", "The quick brown fox jumps over the lazy dog. " * 3, "1 2 3 4 5 6 7 8 9"]
SHARED = "Once upon a time there was a model that ran on every device. " * 2


def register_compiler(includes: str, kept: Path) -> None:
    """As TVM's Python does it with NVIDIA's: the emulator wants a library's path for an image."""

    @tvm_ffi.register_global_func("tvm_callback_cuda_compile", override=True)
    def compile_for_the_processor(source: str, *_: Any) -> bytes:
        kernels = set(re.findall(r"__global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(", source))
        entries = "\n".join(f"EMULATED_ENTRY({kernel})" for kernel in sorted(kernels))
        text = f"{source}\n{entries}\n"
        name = kept / hashlib.sha256(text.encode()).hexdigest()[:24]
        library = name.with_suffix(".so")
        if library.exists():
            return bytes(library)
        name.with_suffix(".cc").write_text(text)
        options = ["-O1", "-std=c++17", "-w", "-fPIC", "-shared", "-include", str(HEADER)]
        headers = [f"-I{includes}", f"-I{includes}/cccl"]
        command = ["g++", *options, *headers, str(name.with_suffix(".cc"))]
        unfinished = name.with_suffix(".tmp")
        subprocess.run([*command, "-o", str(unfinished)], check=True)
        unfinished.replace(library)
        return bytes(library)


def answer(engine: MLCEngine, prompt: str) -> Any:
    return engine.chat.completions.create(
        messages=[{"role": "user", "content": prompt}],
        temperature=0,
        max_tokens=12,
        debug_config={"ignore_eos": True},
    )


def text(engine: MLCEngine, prompt: str) -> str:
    return answer(engine, prompt).choices[0].message.content


def answers(engine: MLCEngine) -> dict[str, Any]:
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda i: text(engine, f"{PROMPTS[i % 3]} {i}"), range(4)))
    text(engine, SHARED)
    again = answer(engine, SHARED + "The end.")
    return {
        "alone": [text(engine, prompt) for prompt in PROMPTS],
        "together": together,
        "again": again.choices[0].message.content,
        "cached": again.usage.prompt_tokens_details.cached_tokens,
    }


def gemm_calls() -> int:
    """Of cuBLAS's stand-in, which is there unless MLC_CUBLAS_LIBRARY keeps it away."""
    if "MLC_CUBLAS_LIBRARY" in os.environ:
        return 0
    return int(ctypes.CDLL("libcublas.so.13").emulated_gemm_calls())


def main() -> None:
    folder, library, includes, kernels = sys.argv[1:]
    register_compiler(includes, Path(kernels))
    found: dict[str, Any] = {"devices": json.loads(_core.list_devices())}
    try:
        with MLCEngine(folder, model_lib=library, device="cuda") as engine:
            found |= answers(engine)
        found["gemm_calls"] = gemm_calls()
        found["replays"] = ctypes.CDLL("libcudart.so.13").emulated_replays()
        ctypes.CDLL("libcudart.so.13").emulated_limit(ctypes.c_size_t(100_000))
        MLCEngine(folder, model_lib=library, device="cuda")
    except MLCError as error:
        found["error"] = [type(error).__name__, str(error)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
