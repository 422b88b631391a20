"""What is WebGPU's own: its two names, drivers, a device that is lost. test_gpu_engine.py has the
engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_engines import (
    LOADING,
    PROMPTS,
    LibraryOf,
    answer,
    compiled,
    leave_samplers_out,
    opened,
    require,
    require_half,
    run_child,
    text,
)

from mlc_llm import _core
from mlc_llm.prepare.model_source import ResolvedModel, resolve_folder


@pytest.fixture(scope="module", autouse=True)
def vulkan_is_here() -> None:
    require("vulkan")


@pytest.fixture(scope="module")
def model(tiny_on: Callable[[str], ResolvedModel]) -> ResolvedModel:
    return tiny_on("vulkan")


def test_16_bit_scales(
    tiny_hf_folder: Path, library_of: LibraryOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scales in 16-bit floats, which the kernels widen; all else of 32 bits: within 0.001."""
    require_half("vulkan")
    leave_samplers_out(monkeypatch)
    folder = resolve_folder(tiny_hf_folder, quantization="q4f16_1", progress=lambda _: None)
    found = []
    for device in ("cpu", "vulkan"):
        engine = opened(compiled(folder, library_of, device=device), device)
        made = answer(engine, PROMPTS[0], logprobs=True, max_tokens=4).choices[0]
        found.append([token.logprob for token in made.logprobs.content])
        engine.terminate()
    assert found[1] == pytest.approx(found[0], abs=1e-3)


def test_webgpu_is_another_name_for_it(model: ResolvedModel) -> None:
    texts = []
    for device in ("vulkan", "webgpu:0"):
        engine = opened(model, device)
        texts.append(text(engine, PROMPTS[0]))
        engine.terminate()
    assert texts[0] == texts[1]


def test_the_list_of_devices_describes_it() -> None:
    listed = {d["name"]: d for d in json.loads(_core.list_devices())}
    found = listed["vulkan:0"]
    assert found["memory_bytes"] > 2**20 and "Vulkan" in found["description"]
    assert isinstance(found["f16"], bool)
    assert listed["webgpu:0"] == {**found, "name": "webgpu:0"}


def test_no_library_and_no_driver_are_reasons_in_one_line(
    model: ResolvedModel, tmp_path: Path
) -> None:
    none = str(tmp_path / "libwgpu.so")
    for environment, reason in (
        ({"MLC_WGPU_LIBRARY": none}, "libwgpu.so"),
        ({"VK_ICD_FILENAMES": none, "VK_DRIVER_FILES": none}, "no Vulkan driver"),
    ):
        missing = run_child(LOADING, model, "vulkan", **environment)
        assert missing.startswith("UnavailableError device 'vulkan'") and reason in missing
        assert len(missing.splitlines()) == 1


LOSING = """
import sys
import tvm_ffi
from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
folder, library, device = sys.argv[1:]

def load():
    return MLCEngine(folder, model_lib=library, device=device)

def answer(engine):
    made = engine.completions.create(
        prompt="a", max_tokens=8, temperature=0, debug_config={"ignore_eos": True}
    )
    return made.choices[0].text

def lose_in_mid_answer(engine):
    ask = dict(prompt="a", stream=True, debug_config={"ignore_eos": True})
    # so many that they do not all end before the loss on a busy machine
    streams = [engine.completions.create(**ask) for _ in range(32)]
    next(streams[0])
    tvm_ffi.get_global_func("mlc.lose.webgpu")(0)
    for chunks in streams:
        list(chunks)

engine = load()
before = answer(engine)
for act in (lose_in_mid_answer, answer):
    try:
        act(engine)
        print("answered")
    except MLCError as error:
        print(type(error).__name__, str(error).splitlines()[0])
engine.terminate()
again = load()
print(answer(again) == before)
again.terminate()
"""


def test_a_device_that_is_lost_is_an_error_and_the_next_load_works(
    model: ResolvedModel,
) -> None:
    """In the middle of an answer. The driver's failure ends wgpu-native, not the process."""
    first, second, again = run_child(LOSING, model, "vulkan").splitlines()
    for line in (first, second):
        assert line.startswith("UnavailableError the device webgpu:0") and "was lost" in line
    assert again == "True"
