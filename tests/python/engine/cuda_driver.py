"""Builds the CUDA driver and libraries that the emulator of tests/fixtures stands in for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from mlc_llm.compiler import nvrtc

FIXTURES = Path(__file__).parents[2] / "fixtures"
EMULATOR = FIXTURES / "cuda-emulator"


def build(folder: Path) -> None:
    """libcudart.so.13, libcublas.so.13, libnccl.so.2 and libcuda.so.1, for LD_LIBRARY_PATH."""
    headers = f"-I{nvrtc.includes()[0]}"
    options = ["-O2", "-std=c++17", "-Wall", "-Werror", "-U_FORTIFY_SOURCE", "-fPIC", "-shared"]

    def make(name: str, *arguments: Any) -> None:
        subprocess.run(["g++", *options, headers, *arguments, "-o", folder / name], check=True)

    names = f"-Wl,--version-script={EMULATOR / 'cudart.map'},-soname=libcudart.so.13"
    make("libcudart.so.13", *EMULATOR.glob("cuda_*.cc"), "-ldl", names)
    # The driver's functions are in there too.
    make("libcuda.so.1", "-x", "c++", "/dev/null")
    make("libcublas.so.13", EMULATOR / "cublas_emulator.cc")
    make("libnccl.so.2", FIXTURES / "nccl-emulator" / "nccl_emulator.cc")
