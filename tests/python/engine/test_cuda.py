"""CUDA without a GPU: NVIDIA's compiler takes the kernels, and the whole engine runs over TVM's
CUDA runtime with the emulator of tests/fixtures/cuda-emulator for a driver."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cuda_emulated
import pytest

from mlc_llm import MLCEngine
from mlc_llm.compiler import nvrtc, targets
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.core_engine import choose_device
from mlc_llm.errors import InternalError, NotFoundError, UnsupportedError
from mlc_llm.model_source import ResolvedModel, resolve_model

EMULATOR = Path(__file__).parents[2] / "fixtures" / "cuda-emulator"
pytestmark = pytest.mark.skipif(
    not nvrtc.is_installed(), reason='NVRTC is not installed: pip install "mlc-llm[cuda]"'
)


def compiled(model: ResolvedModel, library: Path, device: str) -> Path:
    options = {"opt": "activation_bits=32", "overrides": "prefill_chunk_size=32"}
    compile_model(read_chat_config(model.folder), output=library, device=device, **options)
    return library


@pytest.fixture(scope="module")
def ptx_library(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tiny_model, tmp_path_factory.mktemp("cuda") / "ptx.so", "cuda")


@pytest.fixture(scope="module")
def source_library(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With CUDA C++ as TVM writes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(targets.GPUS, "cuda", replace(targets.GPUS["cuda"], ptx=""))
        return compiled(tiny_model, tmp_path_factory.mktemp("cuda") / "source.so", "cuda")


@pytest.fixture(scope="module")
def run(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """`cuda_emulated.py` with a library: what it found."""
    if platform.system() != "Linux":
        pytest.skip("the emulator stands in for Linux's driver")
    driver = tmp_path_factory.mktemp("driver")
    includes = nvrtc.includes()
    emulator = [f"-I{includes[0]}", EMULATOR / "cuda_emulator.cc", "-ldl"]
    options = ["-O2", "-std=c++17", "-Wall", "-Werror", "-U_FORTIFY_SOURCE", "-fPIC", "-shared"]
    names = f"-Wl,--version-script={EMULATOR / 'cudart.map'},-soname=libcudart.so.13"
    subprocess.run(
        ["g++", *options, *emulator, names, "-o", driver / "libcudart.so.13"], check=True
    )
    # The driver's functions are in there too.
    subprocess.run(
        ["g++", "-shared", "-x", "c++", "/dev/null", "-o", driver / "libcuda.so.1"], check=True
    )

    def run(library: Path) -> Any:
        program = Path(cuda_emulated.__file__)
        scratch = tmp_path_factory.mktemp("kernels")
        command = [sys.executable, program, tiny_model.folder, library, includes[0], scratch]
        done = subprocess.run(
            list(map(str, command)),
            env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def emulated(run: Callable[..., Any], source_library: Path) -> Any:
    return run(source_library)


@pytest.fixture(scope="module")
def expected(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Any:
    library = compiled(tiny_model, tmp_path_factory.mktemp("cpu") / "cpu.so", "cpu")
    model = resolve_model(tiny_model.folder, device="cpu", model_lib=library)
    with MLCEngine(model.folder, model_lib=str(library), device="cpu") as engine:
        return cuda_emulated.answers(engine)


def test_the_device_is_described(emulated: Any) -> None:
    (cuda,) = (device for device in emulated["devices"] if device["name"].startswith("cuda"))
    assert cuda["found"] and cuda["f16"] and "Emulated GPU" in cuda["description"]
    assert cuda["memory_bytes"] == 2 << 30


@pytest.mark.parametrize("which", ["alone", "together", "again"])
def test_greedy_answers_are_those_of_the_cpu(emulated: Any, expected: Any, which: str) -> None:
    assert emulated[which] == expected[which]


def test_a_shared_beginning_is_not_computed_twice(emulated: Any) -> None:
    assert emulated["cached"] >= 64


def test_device_memory_that_runs_out_is_an_error(emulated: Any) -> None:
    assert emulated["error"][0] == "ResourceError", emulated["error"]


def test_the_driver_gets_ptx(run: Callable[..., Any], ptx_library: Path) -> None:
    """The emulator runs none, and says how many kernels it has got."""
    error, message = run(ptx_library)["error"]
    assert error == "InternalError" and "kernels of PTX" in message
    assert int(message.split(" kernels of PTX")[0].split()[-1]) > 10


def test_machine_code_of_what_nvidia_sells(
    source_library: Path, request: pytest.FixtureRequest
) -> None:
    long = request.config.getoption("--long")
    data = source_library.read_bytes()
    begin = data.rindex(b"\0", 0, data.index(b"#ifdef __CUDACC_RTC__")) + 1
    length = int.from_bytes(data[begin - 8 : begin], "little")
    source = data[begin : begin + length].decode()
    for architecture in ("sm_75", "sm_80", "sm_89", "sm_90", "sm_120") if long else ("sm_90",):
        assert nvrtc.compile_cuda(source, architecture, "CUBIN").startswith(b"\x7fELF")


def test_what_the_compiler_refuses_is_an_error_with_its_log() -> None:
    with pytest.raises(InternalError, match='identifier "nothing" is undefined'):
        nvrtc.compile_cuda("__global__ void f() { nothing(); }", "compute_75")


def test_without_the_compiler_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_toolkits", lambda: iter(()))
    with pytest.raises(UnsupportedError, match=r"pip install .*cuda"):
        nvrtc.compile_cuda("", "compute_75")


def test_no_driver_is_a_reason_in_one_line() -> None:
    try:
        choose_device("cuda")
    except NotFoundError as error:
        assert error.param == "device" and len(str(error).splitlines()) == 1
        assert "no NVIDIA driver" in str(error) or "no device" in str(error)
