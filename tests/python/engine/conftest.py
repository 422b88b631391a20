"""Libraries that files of these tests share: each takes seconds to compile, and more to load."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from gpu_engines import LibraryOf, compiled

from mlc_llm.prepare.model_source import ResolvedModel

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="session")
def tiny_on(tiny_model: ResolvedModel, library_of: LibraryOf) -> Callable[[str], ResolvedModel]:
    """`tiny_on(device)`: the small model with a library for it that computes in floats; prompts of
    more than 32 tokens come in chunks."""

    @cache
    def on(device: str) -> ResolvedModel:
        overrides = "prefill_chunk_size=32"
        return compiled(tiny_model.folder, library_of, device=device, overrides=overrides)

    return on


def driver_sources(device: str) -> list[str | Path]:
    """What fails on command, and the library behind it."""
    if device == "opencl":
        return [FIXTURES / "opencl-faults/opencl_faults.cc", "-l:libOpenCL.so.1"]
    package = importlib.util.find_spec("wgpu")
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "resources"
    places = [f"-isystem{folder}", f"-L{folder}", f"-Wl,-rpath,{folder}"]
    return [
        FIXTURES / "webgpu-faults/webgpu_faults.cc",
        *places,
        "-l:libwgpu_native-release.so",
    ]


@pytest.fixture(scope="session")
def driver_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The failing driver of a device."""

    @cache
    def make(device: str) -> Path:
        driver = tmp_path_factory.mktemp(device) / "libfaults.so"
        command = ["g++", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Werror"]
        command += ["-Wl,--no-as-needed", *map(str, driver_sources(device)), "-ldl"]
        subprocess.run([*command, "-o", str(driver)], check=True)
        return driver

    return make
