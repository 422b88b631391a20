"""Metal elsewhere than on Apple's systems: why there is none, and what its plugin does with a
stand-in for TVM's Metal runtime."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.errors import InvalidRequestError, UnavailableError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.sdk.core_engine import choose_device

STAND_IN = Path(__file__).parents[2] / "fixtures" / "metal-stand-in" / "metal_stand_in.cc"
pytestmark = pytest.mark.skipif(platform.system() == "Darwin", reason="a Mac has Metal")

# Lists the devices, then loads each library in turn: the errors.
PROGRAM = """
import json, sys
from mlc_llm import MLCEngine, _core
from mlc_llm.sdk.core_engine import choose_device
from mlc_llm.errors import MLCError

folder, *libraries = sys.argv[1:]
listed = [d for d in json.loads(_core.list_devices()) if d["name"].startswith("metal")]
errors = []
for library in libraries:
    try:
        MLCEngine(folder, model_lib=library, device="metal")
    except MLCError as error:
        errors.append([type(error).__name__, error.param, str(error)])
print(json.dumps({"listed": listed, "chosen": choose_device("metal"), "errors": errors}))
"""


def test_without_an_apple_system_the_reason_is_one_line() -> None:
    with pytest.raises(UnavailableError, match="Metal needs macOS or iOS") as caught:
        choose_device("metal")
    assert caught.value.param == "device" and len(str(caught.value).splitlines()) == 1


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-in."""
    tvm = pytest.importorskip("tvm")
    import tvm_ffi

    folder = tmp_path_factory.mktemp("metal")
    packages = [Path(p.__file__).parent for p in (tvm, tvm_ffi)]
    includes = [f"-I{package}/include" for package in packages]
    libraries = [f"-L{package}/lib" for package in packages]
    command = ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", *includes, str(STAND_IN), *libraries]
    command += ["-ltvm_runtime", "-ltvm_ffi", "-o", str(folder / "libtvm_runtime_metal.so")]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def found(tiny_model: ResolvedModel, runtime: Path) -> Any:
    """What a process with the stand-in says."""
    libraries = [tiny_model.model_lib, runtime / "metal.so"]
    compile_model(read_chat_config(tiny_model.folder), output=libraries[1], device="metal")
    command = [sys.executable, "-c", PROGRAM, str(tiny_model.folder), *map(str, libraries)]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(runtime)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_device_is_listed_with_what_metal_does_not_tell(found: Any) -> None:
    (metal,) = found["listed"]
    assert found["chosen"] == metal["name"] == "metal:0"
    assert metal["found"] and metal["f16"] and not metal["is_processor"]
    assert metal["max_group_size"] == 512 and metal["local_memory_bytes"] == 32 << 10
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert metal["memory_bytes"] == memory  # which the GPU shares


def test_a_library_for_another_device_is_refused(found: Any) -> None:
    error, param, message = found["errors"][0]
    assert (error, param) == ("InvalidRequestError", "model_lib")
    assert "compiled for the device 'cpu'" in message and "--device metal" in message


def test_kernels_that_nothing_here_can_load_are_an_error(found: Any) -> None:
    error, param, message = found["errors"][1]
    assert (error, param) == ("InvalidRequestError", "model_lib")
    assert "metal.so" in message


@pytest.mark.usefixtures("found")
def test_a_metal_library_on_another_device_is_refused(
    tiny_model: ResolvedModel, runtime: Path
) -> None:
    with pytest.raises(InvalidRequestError, match="was compiled for") as caught:
        MLCEngine(tiny_model.folder, model_lib=runtime / "metal.so", device="cpu")
    assert caught.value.param == "model_lib"
