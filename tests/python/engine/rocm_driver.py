"""Builds the ROCm driver and compiler that the emulators of tests/fixtures stand in for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from mlc_llm.compiler import nvrtc

FIXTURES = Path(__file__).parents[2] / "fixtures"
CUDA, HIP = FIXTURES / "cuda-emulator", FIXTURES / "hip-emulator"


def build(folder: Path) -> dict[str, str]:
    """libamdhip64.so.6, libhiprtc.so.6 and librccl.so.1. Returns the environment of a process with
    them."""
    cuda = nvrtc.includes()[0]
    options = ["-std=c++17", "-fPIC", "-shared", f"-I{cuda}"]

    def make(name: str, *arguments: Any) -> Path:
        strict = ["-O2", "-Wall", "-Werror", "-U_FORTIFY_SOURCE", f"-Wl,-soname={name}"]
        command = ["g++", *options, *strict, *arguments, "-o", folder / name]
        subprocess.run(command, check=True)
        return folder / name

    names = f"-Wl,--version-script={HIP / 'amdhip64.map'}"
    sources = [*CUDA.glob("cuda_*.cc"), HIP / "hip_emulator.cc"]
    driver = make("libamdhip64.so.6", *sources, "-ldl", names)
    make("libhiprtc.so.6", HIP / "hiprtc_emulator.cc")
    rccl = make("librccl.so.1", FIXTURES / "nccl-emulator" / "nccl_emulator.cc")
    header = ["-include", CUDA / "cuda_emulator.h", "-Wl,--no-as-needed", driver]
    compiler = ["g++", *options, "-O1", "-w", *header]
    return {
        "MLC_HIP_LIBRARY": str(driver),
        "MLC_RCCL_LIBRARY": str(rccl),
        "EMULATED_COMPILER": " ".join(map(str, compiler)),
    }
