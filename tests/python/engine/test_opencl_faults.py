"""A driver that fails: typed errors, the process lives, and a new load works.

The scenarios are in `opencl_faults.py`; each runs in a process of its own, whose driver is PoCL
behind a library that fails on command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_engines import require

from mlc_llm.model_source import ResolvedModel

FIXTURE = Path(__file__).parents[2] / "fixtures/opencl-faults/opencl_faults.cc"
LONG = "not config.getoption('--long', default=False)"


@pytest.fixture(scope="module", autouse=True)
def opencl_is_here() -> None:
    require("opencl")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that fails on command."""
    library = tmp_path_factory.mktemp("driver") / "libfaults.so"
    command = ["g++", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Werror", FIXTURE, "-o", library]
    subprocess.run([*command, "-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl"], check=True)
    return library


@pytest.fixture
def run(tiny_on: Callable[[str], ResolvedModel], driver: Path, tmp_path: Path):
    """Runs a scenario. What hangs fails here too."""
    model = tiny_on("opencl")

    def run(scenario: str, *arguments: object, **environment: str) -> None:
        program = Path(__file__).with_name("opencl_faults.py")
        command = [sys.executable, program, scenario, model.folder, model.model_lib, *arguments]
        done = subprocess.run(
            list(map(str, command)),
            env={**os.environ, "MLC_OPENCL_LIBRARY": str(driver), **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        ("clEnqueueNDRangeKernel", [1, 20, 150]),  # in the prompt, in an answer
        ("clEnqueueReadBuffer", [1, 4]),
        ("clEnqueueWriteBuffer", [2, 30]),
        ("clFinish", [5]),
    ],
)
def test_a_driver_that_is_lost_while_answering(run, function: str, calls: list[int]) -> None:
    run("lost_while_answering", function, *calls)


@pytest.mark.skipif(LONG)
@pytest.mark.parametrize(
    "function", ["clEnqueueNDRangeKernel", "clEnqueueWriteBuffer", "clEnqueueReadBuffer"]
)
def test_a_driver_that_is_lost_at_any_call(run, function: str) -> None:
    run("lost_while_answering", function, *range(1, 400, 7))


def test_a_device_that_does_not_come_back(run) -> None:
    run("gone")


@pytest.mark.parametrize(
    ("function", "call"),
    [("clEnqueueWriteBuffer", 5), ("clCreateBuffer", 12), ("clBuildProgram", 1)],
)
def test_a_driver_that_is_lost_while_loading(run, function: str, call: int) -> None:
    run("lost_while_loading", function, call)


@pytest.mark.parametrize(
    ("function", "code", "call"),
    [
        ("clCreateBuffer", -4, 1),  # CL_MEM_OBJECT_ALLOCATION_FAILURE
        ("clCreateBuffer", -61, 3),  # CL_INVALID_BUFFER_SIZE
        ("clEnqueueNDRangeKernel", -5, 1),  # CL_OUT_OF_RESOURCES, and the device goes on
        ("clEnqueueNDRangeKernel", -6, 40),  # CL_OUT_OF_HOST_MEMORY
    ],
)
def test_memory_that_runs_out_in_a_step(run, function: str, code: int, call: int) -> None:
    run("no_memory_while_answering", function, code, call)


@pytest.mark.parametrize("call", [2, 20])  # in the weights, in the pages
def test_memory_that_runs_out_while_loading(run, call: int) -> None:
    run("no_memory_while_loading", call)


def test_a_user_may_limit_the_memory(run) -> None:
    run("a_limit_of_memory", MLC_GPU_MEMORY_MB="1")
