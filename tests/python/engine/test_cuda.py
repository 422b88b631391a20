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

import cuda_bench_emulated
import cuda_driver
import cuda_emulated
import picture_chats
import pytest
import test_gpu_pictures
from gpu_engines import LibraryOf

from mlc_llm import MLCEngine
from mlc_llm.compiler import nvrtc, targets
from mlc_llm.errors import InternalError, UnavailableError, UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.sdk.core_engine import choose_device

pytestmark = pytest.mark.skipif(
    not nvrtc.is_installed(), reason='NVRTC is not installed: pip install "mlc-llm[cuda]"'
)

# After the devices are listed, TVM's CUDA runtime is loaded. It compiles for a GPU that is there at
# once, and would take the PTX for C++.
COMPILING = """
import sys, tvm_ffi
from pathlib import Path
from mlc_llm import _core
from mlc_llm.compiler.compile import compile_model, read_chat_config

_core.list_devices()
print(tvm_ffi.get_global_func("ffi.Module.create.cuda", allow_missing=True) is not None)
library = Path(sys.argv[2])
options = {"opt": "O3", "overrides": "prefill_chunk_size=32"}
compile_model(read_chat_config(Path(sys.argv[1])), output=library, device="cuda", **options)
print(b".target sm_75" in library.read_bytes())
print(tvm_ffi.get_global_func("ffi.Module.create.cuda", allow_missing=True) is not None)
"""


@pytest.fixture(scope="module")
def source_library(tiny_model: ResolvedModel, library_of: LibraryOf) -> Path:
    """With CUDA C++ as TVM writes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(targets.GPUS, "cuda", replace(targets.GPUS["cuda"], ptx=""))
        options = {"opt": "O3", "overrides": "prefill_chunk_size=32"}
        return library_of(tiny_model.folder, device="cuda", **options)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the emulator, and of what stands in for cuBLAS."""
    if platform.system() != "Linux":
        pytest.skip("the emulator stands in for Linux's driver")
    driver = tmp_path_factory.mktemp("driver")
    cuda_driver.build(driver)
    return driver


@pytest.fixture(scope="module")
def run(
    driver: Path, tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """A program over the emulator with a library: the JSON that it writes. The programs share the
    kernels that they compile."""
    kernels = tmp_path_factory.mktemp("kernels")

    def run(
        library: Path, program: Any = cuda_emulated, folder: Path | None = None, **environment: str
    ) -> Any:
        model = folder or tiny_model.folder
        arguments = [model, library, nvrtc.includes()[0], kernels]
        done = subprocess.run(
            list(map(str, [sys.executable, program.__file__, *arguments])),
            env={**os.environ, "LD_LIBRARY_PATH": str(driver), **environment},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout.splitlines()[-1]), "stderr": done.stderr.splitlines()}

    return run


@pytest.fixture(scope="module")
def emulated(run: Callable[..., Any], source_library: Path) -> Any:
    """With neither cuBLAS nor graphs."""
    return run(source_library, MLC_CUBLAS_LIBRARY="/nowhere", EMULATED_NO_GRAPHS="1")


@pytest.fixture(scope="module")
def with_everything(run: Callable[..., Any], source_library: Path) -> Any:
    return run(source_library)


@pytest.fixture(scope="module")
def expected(tiny_on: Callable[[str], ResolvedModel]) -> Any:
    model = tiny_on("cpu")
    with MLCEngine(model.folder, model_lib=str(model.model_lib), device="cpu") as engine:
        return cuda_emulated.answers(engine)


def test_the_device_is_described(emulated: Any) -> None:
    (cuda,) = (device for device in emulated["devices"] if device["name"].startswith("cuda"))
    assert cuda["found"] and cuda["f16"] and "Emulated GPU" in cuda["description"]
    assert cuda["memory_bytes"] == 2 << 30
    assert 'no cuBLAS: pip install "mlc-llm[cublas]"' in cuda["description"]


@pytest.mark.parametrize("which", ["alone", "together", "again"])
def test_greedy_answers_are_those_of_the_cpu(emulated: Any, expected: Any, which: str) -> None:
    assert emulated[which] == expected[which]


@pytest.mark.parametrize("which", ["alone", "together", "again"])
def test_the_same_library_uses_cublas_and_graphs_where_they_are(
    with_everything: Any, expected: Any, which: str
) -> None:
    assert with_everything["gemm_calls"] > 0 and with_everything["replays"] > 20
    (cuda,) = (d for d in with_everything["devices"] if d["name"].startswith("cuda"))
    assert "; cuBLAS)" in cuda["description"]
    assert with_everything[which] == expected[which]


def test_where_launches_cannot_be_recorded_they_are_made(emulated: Any) -> None:
    assert emulated["gemm_calls"] == emulated["replays"] == 0
    said = [line for line in emulated["stderr"] if "launched kernel by kernel" in line]
    assert said and said[0].startswith("mlc_llm: ")


def test_a_shared_beginning_is_not_computed_twice(emulated: Any) -> None:
    assert emulated["cached"] >= 64


def test_device_memory_that_runs_out_is_an_error(emulated: Any) -> None:
    assert emulated["error"][0] == "ResourceError", emulated["error"]


def test_the_benchmark_tells_what_a_gpu_is_judged_by(
    run: Callable[..., Any], source_library: Path, request: pytest.FixtureRequest
) -> None:
    """`./dev bench gpu --device cuda` on a small model; the emulator's figures mean nothing."""
    if not request.config.getoption("--long"):
        pytest.skip("takes 20 s: --long")
    found = run(source_library, cuda_bench_emulated)
    summary = found["summary"]
    assert found["library"] == "cuBLAS" and found["limits"]["matrix_per_s"] > 0
    for words in (
        ["decode of 1:", "copy bandwidth (goal 60%)", "outside kernels"],
        ["decode of 4:", "tokens/s", "outside kernels"],
        ["prefill of 32:", "of the matrix rate"],
    ):
        (line,) = (line for line in summary if words[0] in line)
        assert all(word in line for word in words), line
    products = [row for row in found["kernels"] if row["kernel"].startswith("linear")]
    assert products and all(row["library_seconds"] > 0 for row in products)


@pytest.mark.parametrize("case", ["smolvlm", "qwen2_5_vl"])
def test_answers_about_pictures_are_those_of_the_cpu(
    case: str,
    run: Callable[..., Any],
    library_of: LibraryOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles a model's kernels for the emulator: --long")
    monkeypatch.setitem(targets.GPUS, "cuda", replace(targets.GPUS["cuda"], ptx=""))
    folder = test_gpu_pictures.prepared(case, tmp_path, monkeypatch)
    found = run(library_of(folder, device="cuda", opt="O3"), picture_chats, folder)
    expected = picture_chats.answers(folder, library_of(folder, device="cpu"), "cpu")
    picture_chats.check(found["answers"], expected)


def test_the_driver_gets_the_ptx_that_is_compiled_beside_a_loaded_runtime(
    run: Callable[..., Any], driver: Path, tiny_model: ResolvedModel, tmp_path: Path
) -> None:
    """The emulator runs none, and says how many kernels it has got."""
    library = tmp_path / "cuda.so"
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, str(tiny_model.folder), str(library)],
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True", "True"]
    error, message = run(library)["error"]
    assert error == "InternalError" and "kernels of PTX" in message
    assert int(message.split(" kernels of PTX")[0].split()[-1]) > 10


def test_our_plugin_drives_devices_that_tvms_python_knows(driver: Path) -> None:
    """`import tvm` registers TVM's CUDA runtime, which does not accept PTX for kernels."""
    code = "import tvm; from mlc_llm import _core; print(_core.list_devices())"
    listed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    (cuda,) = (d for d in json.loads(listed.splitlines()[-1]) if d["name"].startswith("cuda"))
    assert "Emulated GPU" in cuda["description"]


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
    except UnavailableError as error:
        assert error.param == "device" and len(str(error).splitlines()) == 1
        assert "no NVIDIA driver" in str(error) or "no device" in str(error)
