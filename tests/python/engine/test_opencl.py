"""What is OpenCL's own: drivers, programs, 16-bit floats. test_gpu_engine.py has the engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_engines import LOADING, leave_samplers_out, require, run_child

from mlc_llm import MLCEngine, _core
from mlc_llm.errors import UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel


@pytest.fixture(scope="module", autouse=True)
def opencl_is_here() -> None:
    require("opencl")


@pytest.fixture(scope="module")
def model(tiny_on: Callable[[str], ResolvedModel]) -> ResolvedModel:
    return tiny_on("opencl")


def test_a_device_without_16_bit_floats_says_so(
    tiny_model: ResolvedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    if next(d for d in json.loads(_core.list_devices()) if d["name"] == "opencl:0")["f16"]:
        pytest.skip("this device has them")
    leave_samplers_out(monkeypatch)
    library = tmp_path / "half.so"
    config = read_chat_config(tiny_model.folder)
    compile_model(config, output=library, device="opencl", quantization="q4f16_1")
    with pytest.raises(UnsupportedError, match="q4f32_1"):
        MLCEngine(tiny_model.folder, model_lib=str(library), device="opencl")


def test_no_driver_is_a_reason_in_one_line(model: ResolvedModel, tmp_path: Path) -> None:
    missing = run_child(LOADING, model, "opencl", MLC_OPENCL_LIBRARY=str(tmp_path / "libOpenCL.so"))
    assert missing.startswith("UnavailableError device 'opencl'") and "libOpenCL.so" in missing
    assert len(missing.splitlines()) == 1


def test_a_damaged_program_cache_costs_time_only(model: ResolvedModel, tmp_path: Path) -> None:
    for damage in (None, b"", b"MLCCLB01"):
        assert run_child(LOADING, model, "opencl", MLC_LLM_HOME=str(tmp_path)) == ""
        (binary,) = (tmp_path / "opencl").glob("*.bin")
        data = binary.read_bytes()
        assert len(data) > 1000
        if damage is None:  # one bit
            binary.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
        else:
            binary.write_bytes(damage)


def test_the_list_of_devices_describes_it() -> None:
    found = [d for d in json.loads(_core.list_devices()) if d["name"] == "opencl:0"]
    assert found[0]["memory_bytes"] > 2**20 and found[0]["description"]
    assert isinstance(found[0]["f16"], bool)
