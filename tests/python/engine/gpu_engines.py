"""Engines on GPUs and on what stands in for them: PoCL for OpenCL, lavapipe for Vulkan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine, _core
from mlc_llm.errors import UnavailableError
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model
from mlc_llm.sdk.core_engine import choose_device

# Both would take every core; and a layer of Mesa's complains where no desktop runs.
os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
# Half the time goes into LLVM otherwise: kernels run once here.
os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
os.environ.setdefault("LP_NUM_THREADS", "1")
os.environ.setdefault("NODEVICE_SELECT", "1")

# What names the library that is to stand in for a device's own.
DRIVER_VARIABLES = {"opencl": "MLC_OPENCL_LIBRARY", "vulkan": "MLC_WGPU_LIBRARY"}

# What the whole engine is tested on, where there is one; a test of each skips where there is none.
DEVICES = ["opencl", "vulkan", "cuda", "rocm", "metal"]
COMMON = DEVICES[:4]  # what the families, too, are tested on
LONG = pytest.mark.skipif("not config.getoption('--long', default=False)")
# What the engine does in the same way on each device, and test_gpu_engine.py shows what differs.
ALIKE = [pytest.param(name, marks=LONG if name == "vulkan" else ()) for name in DEVICES]

LibraryOf = Callable[..., Path]  # the fixture `library_of`

PROMPTS = ["Hello", "The quick brown fox jumps over the lazy dog. " * 3, "1 2 3 4 5 6 7 8 9"]


def require(device: str) -> None:
    from mlc_llm.compiler import nvrtc

    try:
        choose_device(device)
    except UnavailableError as error:
        pytest.skip(str(error))
    if device == "cuda" and not nvrtc.is_installed():
        pytest.skip('NVRTC is not installed: pip install "mlc-llm[cuda]"')


def require_half(device: str) -> None:
    """16-bit floats in its kernels."""
    listed = {d["name"]: d for d in json.loads(_core.list_devices())}
    if not listed[f"{device}:0"]["f16"]:
        pytest.skip("this device has no 16-bit floats")


def compiled(
    folder: Path, library_of: LibraryOf, *, device: str, overrides: str | None = None
) -> ResolvedModel:
    """The model of a folder with a library that computes in floats, as GPUs do."""
    options = {"opt": "activation_bits=32", "overrides": overrides}
    library = library_of(folder, device=device, **options)
    return resolve_model(folder, device=device, model_lib=library, progress=lambda _: None)


def leave_samplers_out(patch: pytest.MonkeyPatch) -> None:
    """Libraries compile in a fifth of the time; tokens are then chosen on the host."""
    from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling

    patch.setattr(gpu_sampling, "build", lambda nn, columns: None)
    patch.setattr(gpu_sampling, "SAMPLER_VERSION", 0)


def opened(model: ResolvedModel, device: str) -> MLCEngine:
    return MLCEngine(model.folder, model_lib=str(model.model_lib), device=device)


def answer(engine: MLCEngine, prompt: str, **options: Any) -> Any:
    return engine.chat.completions.create(
        messages=[{"role": "user", "content": prompt}],
        **{"temperature": 0, "max_tokens": 24, "debug_config": {"ignore_eos": True}, **options},
    )


def text(engine: MLCEngine, prompt: str, **options: Any) -> str:
    return answer(engine, prompt, **options).choices[0].message.content


# Loads a model; an error is written, in a line.
LOADING = """
import sys
from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
folder, library, device = sys.argv[1:]
try:
    MLCEngine(folder, model_lib=library, device=device)
except MLCError as error:
    print(type(error).__name__, error)
"""

# Generates, and fails if a signal is handled otherwise than before.
KEEPING_HANDLERS = r"""
import re, sys
from mlc_llm import MLCEngine
folder, library, device = sys.argv[1:]

def handled():
    masks = re.findall(r"Sig(?:Ign|Cgt):\s*(\w+)", open("/proc/self/status").read())
    return [int(mask, 16) & 0x7fffffff for mask in masks]

before = handled()
engine = MLCEngine(folder, model_lib=library, device=device)
engine.completions.create(prompt="a", max_tokens=2)
engine.terminate()
assert handled() == before, (before, handled())
"""


def run_child(code: str, model: ResolvedModel, device: str, **environment: str) -> str:
    """What the program writes, in a process of its own that has to end well."""
    made = subprocess.run(
        [sys.executable, "-c", code, str(model.folder), str(model.model_lib), device],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout
