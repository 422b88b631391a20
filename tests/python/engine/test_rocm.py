"""AMD's GPUs without one: the whole engine runs over our HIP plugin with stand-ins for the driver
and the compiler, and LLVM takes the kernels for AMD's processors."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda_emulated
import engine_ways
import numpy as np
import pytest
import rocm_driver
import rocm_emulated
from devtools.zig import zig_program
from gpu_engines import LibraryOf, leave_samplers_out

from mlc_llm import MLCEngine
from mlc_llm.compiler import nvrtc
from mlc_llm.errors import UnavailableError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.sdk.core_engine import choose_device

Run = Callable[..., Any]
GROUP_MEMORY = 64 << 10  # of a work-group, on every AMD GPU


def test_no_driver_is_a_reason_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        choose_device("rocm")
    except UnavailableError as error:
        assert error.param == "device" and len(str(error).splitlines()) == 1
        assert "no AMD ROCm" in str(error) or "no AMD GPU" in str(error)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process with the emulators."""
    if platform.system() != "Linux":
        pytest.skip("the emulator stands in for Linux's driver")
    if not nvrtc.is_installed():
        pytest.skip('the emulator needs CUDA\'s headers: pip install "mlc-llm[cuda]"')
    return rocm_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def library(tiny_model: ResolvedModel, library_of: LibraryOf) -> Path:
    options = {"opt": "O3", "overrides": "prefill_chunk_size=32"}
    with pytest.MonkeyPatch.context() as patch:
        leave_samplers_out(patch)  # test_library_kernels.py runs those
        return library_of(tiny_model.folder, device="rocm", **options)


@pytest.fixture(scope="module")
def run(
    driver: dict[str, str],
    library: Path,
    tiny_model: ResolvedModel,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """A program over the emulator: the JSON that it writes. The programs share a cache."""
    kept = {"MLC_LLM_HOME": str(tmp_path_factory.mktemp("home"))}
    kept["PYTHONPATH"] = os.pathsep.join(sys.path)

    def run(*code: str, **environment: str) -> Any:
        program = [*code] if code else [rocm_emulated.__file__]
        done = subprocess.run(
            [sys.executable, *program, str(tiny_model.folder), str(library)],
            env={**os.environ, **driver, **kept, **environment},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def emulated(run: Run) -> Any:
    return run()


@pytest.fixture(scope="module")
def expected(tiny_on: Callable[[str], ResolvedModel]) -> Any:
    model = tiny_on("cpu")
    with MLCEngine(model.folder, model_lib=str(model.model_lib), device="cpu") as engine:
        return {**cuda_emulated.answers(engine), "logprobs": engine_ways.ask(engine)}


def test_the_device_is_described(emulated: Any) -> None:
    (rocm,) = (device for device in emulated["devices"] if device["name"].startswith("rocm"))
    assert rocm["found"] and rocm["f16"] and rocm["description"] == "Emulated Radeon (gfx1100)"
    assert rocm["memory_bytes"] == 2 << 30 and rocm["local_memory_bytes"] == 64 << 10
    assert rocm["max_group_size"] == 1024


@pytest.mark.parametrize("which", ["alone", "together", "again"])
def test_greedy_answers_are_those_of_the_cpu(emulated: Any, expected: Any, which: str) -> None:
    assert emulated[which] == expected[which]


def test_logprobs_are_those_of_the_cpu(emulated: Any, expected: Any) -> None:
    np.testing.assert_allclose(emulated["logprobs"], expected["logprobs"], atol=1e-3)


def test_a_shared_beginning_is_not_computed_twice(emulated: Any) -> None:
    assert emulated["cached"] >= 64


def test_decode_steps_are_recorded_and_replayed(emulated: Any) -> None:
    assert emulated["replays"] > 20


def test_a_launch_that_fails_ends_its_request_alone(emulated: Any) -> None:
    error, next_answer = emulated["launch"]
    assert error.startswith("InternalError") and "an error of the emulator" in error
    assert next_answer == "the same answer"


LISTED = """
import json
from mlc_llm import _core
print(json.dumps([d for d in json.loads(_core.list_devices()) if d["name"].startswith("rocm")]))
"""

LOADED = """
import ctypes, json, os, sys
from rocm_emulated import loading_error
memory = int(os.environ.get("MEMORY", 2 << 30))
error = loading_error(*sys.argv[1:], memory)
compiler = ctypes.CDLL(os.environ["MLC_HIP_LIBRARY"].replace("amdhip64", "hiprtc"))
print(json.dumps([*error, compiler.emulated_compilations()]))
"""


def test_without_a_device_the_reason_is_the_drivers(run: Run) -> None:
    (rocm,) = run("-c", LISTED, EMULATED_DEVICES="0")
    assert not rocm["found"]
    assert rocm["reason"].endswith("(no ROCm-capable device is detected)")


def test_a_device_that_cannot_be_described_hides_no_other(run: Run) -> None:
    """The others keep their numbers, which are those of HIP and of RCCL."""
    broken, other = run("-c", LISTED, EMULATED_DEVICES="2", EMULATED_BROKEN_DEVICE="0")
    assert (broken["name"], broken["found"]) == ("rocm:0", False)
    assert broken["reason"] == "hipGetDeviceProperties: invalid device ordinal"
    assert (other["name"], other["found"]) == ("rocm:1", True)


def test_the_driver_is_found_in_the_folder_of_rocm(
    run: Run, driver: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "lib" / "libamdhip64.so.7"
    place.parent.mkdir()
    place.write_text("no library")
    (rocm,) = run("-c", LISTED, MLC_HIP_LIBRARY=str(place))
    assert rocm["reason"] == f"MLC_HIP_LIBRARY: {place}: file too short"
    there = {"MLC_HIP_LIBRARY": "", "ROCM_PATH": str(tmp_path)}
    for name in ("libamdhip64.so.6", "libhiprtc.so.6"):
        (place.parent / name).symlink_to(Path(driver["MLC_HIP_LIBRARY"]).with_name(name))
    (rocm,) = run("-c", LISTED, **there)
    assert rocm["found"], rocm


REPLAYED = """
import ctypes, json, os
import tvm_ffi
from mlc_llm import _core
_core.list_devices()
driver = ctypes.CDLL(os.environ["MLC_HIP_LIBRARY"])
replay = tvm_ffi.get_global_func("mlc.rocm.record")(1, tvm_ffi.convert(lambda: None))
driver.hipSetDevice(0)
replay()
print(json.dumps(driver.emulated_replays()))
"""


def test_a_recorded_step_is_replayed_on_its_device(run: Run) -> None:
    """Though the thread has used another one since."""
    assert run("-c", REPLAYED, EMULATED_DEVICES="2") == 1


def test_compiled_kernels_are_kept(run: Run, emulated: Any) -> None:
    assert emulated["compilations"] == 1
    assert run("-c", LOADED) == ["no error", 0]


def test_device_memory_that_runs_out_is_an_error(run: Run, emulated: Any) -> None:
    error, message, _ = run("-c", LOADED, MEMORY="100000")
    assert error == "ResourceError" and "Emulated Radeon (rocm:0) has no room for" in message


def test_what_the_compiler_refuses_is_an_error_with_its_log(run: Run) -> None:
    command = "g++ -fsyntax-only -include /nowhere/missing.h"
    error, message, _ = run("-c", LOADED, MLC_JIT_POLICY="OFF", EMULATED_COMPILER=command)
    assert "refused the model library's kernels for gfx1100" in message and "missing.h" in message
    assert error == "InternalError"


@pytest.fixture(scope="module")
def source(tiny_model: ResolvedModel, library_of: LibraryOf, tmp_path_factory: Any) -> Path:
    """The kernels of a library with 16-bit floats, and of the sampler."""
    pytest.importorskip("ziglang")
    built = library_of(tiny_model.folder, device="rocm", opt="O3", quantization="q4f16_1")
    data = built.read_bytes()
    begin = data.index(b"typedef _Float16 mlc_half;")
    length = int.from_bytes(data[begin - 8 : begin], "little")
    path = tmp_path_factory.mktemp("source") / "kernels.hip"
    path.write_bytes(data[begin : begin + length])
    return path


@pytest.mark.parametrize("architecture", ["gfx1100", "gfx90a", "gfx942"])
def test_llvm_makes_code_for_amds_processors(architecture: str, source: Path) -> None:
    """With waves of 32 and of 64, and nothing in registers goes through memory. Clang is the PyPI
    package ziglang's."""
    made = source.with_name(f"{architecture}.s")
    options = ["-x", "hip", "--cuda-device-only", f"--offload-arch={architecture}", "-S"]
    options += ["-nogpulib", "-nogpuinc", "-include", rocm_driver.HIP / "amdgpu.h"]
    options += ["-O3", "-std=c++17", "-fno-hip-fp32-correctly-rounded-divide-sqrt"]
    command = [zig_program(), "clang", *options, source, "-o", made]
    subprocess.run(list(map(str, command)), check=True, timeout=300)
    assembly = made.read_text()

    def numbers(name: str) -> list[int]:
        return [int(number) for number in re.findall(rf"\.{name}: +(\d+)$", assembly, re.MULTILINE)]

    assert len(numbers("vgpr_count")) == source.read_text().count("__global__") // 2 > 20
    assert not any(numbers("private_segment_fixed_size") + numbers("vgpr_spill_count"))
    assert max(numbers("group_segment_fixed_size")) <= GROUP_MEMORY
    assert set(numbers("wavefront_size")) == {32 if architecture == "gfx1100" else 64}
