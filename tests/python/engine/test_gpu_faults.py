"""A driver that fails: typed errors, the process lives, and a new load works.

The scenarios are in `gpu_faults.py`; each runs in a process of its own, whose driver is PoCL or
wgpu-native behind a library that fails on command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_engines import DRIVER_VARIABLES, LONG, require

from mlc_llm.prepare.model_source import ResolvedModel

Run = Callable[..., None]

# What clCreateBuffer and clEnqueueNDRangeKernel answer; what wgpu reports.
NO_OBJECT, BAD_SIZE, NO_RESOURCES, NO_HOST_MEMORY = -4, -61, -5, -6
OUT_OF_MEMORY = 3


@pytest.fixture
def run(tiny_on: Callable[[str], ResolvedModel], driver_of: Callable[[str], Path]) -> Run:
    """Runs a scenario. What hangs fails here too."""

    def run(device: str, scenario: str, *arguments: object, **environment: str) -> None:
        require(device)
        driver, model = driver_of(device), tiny_on(device)
        program = Path(__file__).with_name("gpu_faults.py")
        command = [sys.executable, program, device, scenario, model.folder, model.model_lib]
        done = subprocess.run(
            list(map(str, [*command, *arguments])),
            env={**os.environ, DRIVER_VARIABLES[device]: str(driver), **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize(
    ("device", "function", "calls"),
    [
        ("opencl", "clEnqueueNDRangeKernel", [1, 150]),  # in the prompt, in an answer
        ("opencl", "clEnqueueReadBuffer", [4]),
        ("opencl", "clEnqueueWriteBuffer", [30]),
        ("opencl", "clFinish", [5]),
        ("vulkan", "wgpuQueueSubmit", [1, 2, 30]),  # in the model, in the choice, in turn
        pytest.param("vulkan", "wgpuQueueWriteBuffer", [40], marks=LONG),
        ("vulkan", "wgpuBufferMapAsync", [2]),
        pytest.param("vulkan", "wgpuBufferGetConstMappedRange", [2], marks=LONG),
    ],
)
def test_a_driver_that_is_lost_while_answering(
    run: Run, device: str, function: str, calls: list[int]
) -> None:
    run(device, "lost_while_answering", function, *calls)


@LONG
@pytest.mark.parametrize(
    ("device", "function", "most", "step"),
    [
        ("opencl", "clEnqueueNDRangeKernel", 400, 7),
        ("opencl", "clEnqueueWriteBuffer", 400, 7),
        ("opencl", "clEnqueueReadBuffer", 400, 7),
        ("vulkan", "wgpuQueueSubmit", 60, 1),
        ("vulkan", "wgpuQueueWriteBuffer", 300, 11),
        ("vulkan", "wgpuDeviceCreateBuffer", 60, 2),
        ("vulkan", "wgpuDevicePoll", 40, 3),
        ("vulkan", "wgpuBufferMapAsync", 40, 3),
    ],
)
def test_a_driver_that_is_lost_at_any_call(
    run: Run, device: str, function: str, most: int, step: int
) -> None:
    run(device, "lost_while_answering", function, *range(1, most, step))


@pytest.mark.parametrize(
    ("device", "function"), [("opencl", "clEnqueueReadBuffer"), ("vulkan", "wgpuQueueSubmit")]
)
def test_a_device_that_does_not_come_back(run: Run, device: str, function: str) -> None:
    run(device, "gone", function)


@pytest.mark.parametrize(
    ("device", "function", "call"),
    [
        ("opencl", "clEnqueueWriteBuffer", 5),
        ("opencl", "clCreateBuffer", 12),
        ("opencl", "clBuildProgram", 1),
        pytest.param("vulkan", "wgpuQueueWriteBuffer", 5, marks=LONG),
        pytest.param("vulkan", "wgpuDeviceCreateBuffer", 12, marks=LONG),
        ("vulkan", "wgpuDeviceCreateComputePipeline", 9),
    ],
)
def test_a_driver_that_is_lost_while_loading(
    run: Run, device: str, function: str, call: int
) -> None:
    run(device, "lost_while_loading", function, call)


@pytest.mark.parametrize(
    ("device", "function", "code", "call"),
    [
        ("opencl", "clCreateBuffer", NO_OBJECT, 1),
        ("opencl", "clCreateBuffer", BAD_SIZE, 3),
        ("opencl", "clEnqueueNDRangeKernel", NO_RESOURCES, 1),  # and the device goes on
        ("opencl", "clEnqueueNDRangeKernel", NO_HOST_MEMORY, 40),
        ("vulkan", "wgpuDeviceCreateBuffer", OUT_OF_MEMORY, 1),
        pytest.param("vulkan", "wgpuQueueSubmit", OUT_OF_MEMORY, 2, marks=LONG),
    ],
)
def test_memory_that_runs_out_in_a_step(
    run: Run, device: str, function: str, code: int, call: int
) -> None:
    run(device, "no_memory_while_answering", function, code, call)


@pytest.mark.parametrize("call", [2, 20])  # in the weights, in the pages
@pytest.mark.parametrize(
    ("device", "function", "code"),
    [
        ("opencl", "clCreateBuffer", NO_OBJECT),
        ("vulkan", "wgpuDeviceCreateBuffer", OUT_OF_MEMORY),
    ],
)
def test_memory_that_runs_out_while_loading(
    run: Run, device: str, function: str, code: int, call: int
) -> None:
    run(device, "no_memory_while_loading", function, code, call)


@pytest.mark.parametrize("device", ["opencl", "vulkan"])
def test_a_user_may_limit_the_memory(run: Run, device: str) -> None:
    run(device, "a_limit_of_memory", MLC_GPU_MEMORY_MB="1")


def test_a_tensor_that_is_too_large_for_the_device(run: Run) -> None:
    run("vulkan", "a_tensor_that_is_too_large", FAULT_LARGEST_BINDING="9000")
