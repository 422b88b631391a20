"""One model on two devices: two of PoCL, and two of the emulators of CUDA and ROCm with a stand-in
for NCCL and RCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cuda_driver
import pytest
import rocm_driver
import sharded_child
from engine_ways import Model, ask, engine_of
from gpu_engines import leave_samplers_out, require
from test_sharded_engine import EXACTLY, fixture_of
from test_sharded_engine import library as of_cpu

from mlc_llm.compiler import nvrtc, targets
from mlc_llm.compiler.compile import compile_model, read_chat_config

Child = Callable[..., Any]
PROGRAM = str(Path(__file__).with_name("gpu_faults.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    family = getattr(request, "param", "qwen2")
    return fixture_of(family).written(tmp_path_factory.mktemp("sharded_gpus"))


@pytest.fixture(scope="module")
def greedy(folder: Path) -> Path:
    """The answer of one shard on the CPU."""
    with engine_of((folder, of_cpu(folder, 1))) as engine:
        (found,) = ask(engine)
    path = folder / "greedy.json"
    path.write_text(json.dumps(found))
    return path


def library(folder: Path, device: str, count: int = 2) -> Path:
    made = folder / f"{device}{count}.so"
    with pytest.MonkeyPatch.context() as patch:
        leave_samplers_out(patch)
        if device == "cuda":  # C++ for the emulator
            patch.setitem(targets.GPUS, "cuda", replace(targets.GPUS["cuda"], ptx=""))
        options = {"opt": EXACTLY if device == "opencl" else "O3"}
        overrides = f"tensor_parallel_shards={count}"
        config = read_chat_config(folder)
        compile_model(config, output=made, device=device, overrides=overrides, **options)
    return made


@pytest.fixture(scope="module")
def run(greedy: Path) -> Child:
    def run(device: str, model: Model, scratch: Path, *more: Any, **environment: str) -> Any:
        arguments = [device, *model, greedy, scratch, *more]
        done = subprocess.run(
            list(map(str, [sys.executable, sharded_child.__file__, *arguments])),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize(
    "folder", ["qwen2", "kimi_linear", "granitemoehybrid", "rwkv6"], indirect=True
)
def test_two_opencl_devices_answer_as_one_shard(folder: Path, run: Child, tmp_path: Path) -> None:
    require("opencl")
    model = folder, library(folder, "opencl")
    devices = {"POCL_DEVICES": "pthread pthread"}
    assert run("opencl", model, tmp_path, MORE="1", **devices) == {}
    kind, message, param = run("opencl:1", model, tmp_path, **devices)["error"]
    assert (kind, param) == ("UnavailableError", "tensor_parallel_shards")
    assert "2 shards need as many devices from opencl:1 on, and there is no opencl:2" in message


def test_a_device_that_is_lost_between_layers_says_so(
    folder: Path, driver_of: Callable[[str], Path]
) -> None:
    require("opencl")
    driver = str(driver_of("opencl"))
    calls = map(str, range(1, 24, 5))  # reads for the sums, and of results
    arguments = [folder, library(folder, "opencl"), "clEnqueueReadBuffer", *calls]
    done = subprocess.run(
        [sys.executable, PROGRAM, "opencl", "lost_while_answering", *map(str, arguments)],
        env={**os.environ, "POCL_DEVICES": "pthread pthread", "MLC_OPENCL_LIBRARY": driver},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def on_cuda(folder: Path, run: Child, tmp_path_factory: pytest.TempPathFactory) -> Child:
    if not nvrtc.is_installed():
        pytest.skip('NVRTC is not installed: pip install "mlc-llm[cuda]"')
    scratch, model = tmp_path_factory.mktemp("cuda"), (folder, library(folder, "cuda"))
    cuda_driver.build(scratch)
    more = [nvrtc.includes()[0], scratch]

    def on_cuda(**environment: str) -> Any:
        devices = {"LD_LIBRARY_PATH": str(scratch), "EMULATED_DEVICES": "2", **environment}
        return run("cuda", model, scratch, *more, **devices)

    return on_cuda


def test_two_cuda_devices_answer_as_one_shard(on_cuda: Child) -> None:
    check_shards(on_cuda(), "NCCL")


def test_two_rocm_devices_answer_as_one_shard(folder: Path, run: Child, tmp_path: Path) -> None:
    if not nvrtc.is_installed():
        pytest.skip('the emulator needs CUDA\'s headers: pip install "mlc-llm[cuda]"')
    devices = {**rocm_driver.build(tmp_path), "EMULATED_DEVICES": "2", "MLC_JIT_POLICY": "OFF"}
    check_shards(run("rocm", (folder, library(folder, "rocm")), tmp_path, **devices), "RCCL")


def check_shards(found: Any, vendor: str) -> None:
    """Recorded steps have the calls of NCCL too. A call that fails ends the request alone."""
    assert found["replays"] > 20 and found["calls"] > 100
    words = f"{vendor}: ncclAllReduce failed: unhandled system error"
    assert len(found["failures"]) == 3
    for rank, failure in zip((1, 0, 1), found["failures"], strict=True):
        assert failure.startswith("InternalError shard") and words in failure, failure
        assert f"shard {rank}: " in failure


def test_without_recorded_steps_answers_are_the_same(on_cuda: Child) -> None:
    found = on_cuda(EMULATED_NO_GRAPHS="1", MLC_CUBLAS_LIBRARY="/nowhere", MORE="1")
    assert found["replays"] == 0 and found["calls"] > 100


def test_a_missing_nccl_and_a_missing_device_say_what_to_do(on_cuda: Child) -> None:
    kind, message, param = on_cuda(MLC_NCCL_LIBRARY="/nowhere/libnccl.so")["error"]
    assert (kind, param) == ("UnavailableError", "tensor_parallel_shards")
    assert 'pip install "mlc-llm[nccl]"' in message and "/nowhere/libnccl.so" in message
    kind, message, param = on_cuda(EMULATED_DEVICES="1")["error"]
    assert (kind, param) == ("UnavailableError", "tensor_parallel_shards")
    assert "there is no cuda:1" in message
