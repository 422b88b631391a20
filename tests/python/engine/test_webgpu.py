"""The whole engine on WebGPU (over Vulkan) against the CPU, and its faults.

Lavapipe stands in for a GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_opencl import PROMPTS, answer, compiled, text

from mlc_llm import MLCEngine, _core
from mlc_llm.core_engine import choose_device
from mlc_llm.errors import InvalidRequestError, NotFoundError, ResourceError
from mlc_llm.model_source import ResolvedModel, resolve_model

os.environ.setdefault("LP_NUM_THREADS", "1")
os.environ.setdefault("NODEVICE_SELECT", "1")  # the layer complains where no desktop runs


@pytest.fixture(scope="module", autouse=True)
def vulkan_is_here() -> None:
    try:
        choose_device("vulkan")
    except NotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def gpu_model(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> ResolvedModel:
    """The small model with a library for WebGPU; prompts of more than 32 tokens come in chunks."""
    library = tmp_path_factory.mktemp("webgpu") / "tiny-webgpu.so"
    return compiled(tiny_model, library, device="vulkan", overrides="prefill_chunk_size=32")


@pytest.fixture(scope="module")
def engine(gpu_model: ResolvedModel) -> Iterator[MLCEngine]:
    engine = MLCEngine(gpu_model.folder, model_lib=str(gpu_model.model_lib), device="vulkan")
    yield engine
    engine.terminate()


@pytest.fixture(scope="module")
def cpu_engine(
    tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MLCEngine]:
    model = compiled(tiny_model, tmp_path_factory.mktemp("cpu") / "tiny-cpu.so", device="cpu")
    engine = MLCEngine(model.folder, model_lib=str(model.model_lib), device="cpu")
    yield engine
    engine.terminate()


def test_greedy_answers_are_those_of_the_cpu(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    for prompt in PROMPTS:
        assert text(engine, prompt) == text(cpu_engine, prompt)


def test_logprobs_are_those_of_the_cpu(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    options = {"logprobs": True, "top_logprobs": 3, "max_tokens": 4}
    for ours, theirs in zip(
        answer(engine, PROMPTS[1], **options).choices[0].logprobs.content,
        answer(cpu_engine, PROMPTS[1], **options).choices[0].logprobs.content,
        strict=True,
    ):
        assert ours.token == theirs.token
        assert ours.logprob == pytest.approx(theirs.logprob, abs=1e-3)


def test_a_shared_beginning_is_not_computed_twice(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    prompt = "Once upon a time there was a model that ran on every device. " * 2
    text(engine, prompt)
    again = answer(engine, prompt + "The end.")
    assert again.usage.prompt_tokens_details.cached_tokens >= 64
    assert again.choices[0].message.content == text(cpu_engine, prompt + "The end.")


def test_four_at_once(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    prompts = [f"{p} {i}" for i, p in enumerate([*PROMPTS, "Four"])]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: text(engine, p), prompts))
    assert together == [text(cpu_engine, p) for p in prompts]


def test_16_bit_scales(tiny_hf_folder: Path, tmp_path: Path) -> None:
    """Scales in 16-bit floats, which the kernels widen: log probabilities within 0.001."""
    if not next(d for d in json.loads(_core.list_devices()) if d["name"] == "vulkan:0")["f16"]:
        pytest.skip("this device has no 16-bit floats")
    options = {"quantization": "q4f16_1", "device": "vulkan", "progress": lambda _: None}
    model = resolve_model(tiny_hf_folder, **options)
    found = []
    for chosen, device in (
        (compiled(model, tmp_path / "cpu.so", device="cpu"), "cpu"),
        (model, "vulkan"),
    ):
        engine = MLCEngine(chosen.folder, model_lib=str(chosen.model_lib), device=device)
        made = answer(engine, PROMPTS[0], logprobs=True, max_tokens=4).choices[0]
        found.append([token.logprob for token in made.logprobs.content])
        engine.terminate()
    assert found[1] == pytest.approx(found[0], abs=1e-3)


def test_a_library_for_another_device_is_refused(
    gpu_model: ResolvedModel, tiny_model: ResolvedModel
) -> None:
    for library, device in ((gpu_model.model_lib, "cpu"), (tiny_model.model_lib, "vulkan")):
        with pytest.raises(InvalidRequestError, match="was compiled for") as caught:
            MLCEngine(tiny_model.folder, model_lib=str(library), device=device)
        assert caught.value.param == "model_lib"


def test_webgpu_is_another_name_for_it(gpu_model: ResolvedModel, engine: MLCEngine) -> None:
    other = MLCEngine(gpu_model.folder, model_lib=str(gpu_model.model_lib), device="webgpu:0")
    assert text(other, PROMPTS[0]) == text(engine, PROMPTS[0])
    other.terminate()


def test_a_device_that_is_not_there() -> None:
    for name in ("vulkan:70", "webgpu:70"):
        with pytest.raises(NotFoundError, match=name) as caught:
            choose_device(name)
        assert caught.value.param == "device"


def test_memory_that_does_not_fit_is_an_error_and_the_engine_goes_on(
    gpu_model: ResolvedModel, engine: MLCEngine
) -> None:
    with pytest.raises((ResourceError, InvalidRequestError)):
        MLCEngine(
            gpu_model.folder,
            model_lib=str(gpu_model.model_lib),
            device="vulkan",
            engine_config={"max_total_sequence_length": 2_000_000_000},
        )
    other = MLCEngine(gpu_model.folder, model_lib=str(gpu_model.model_lib), device="vulkan")
    assert text(other, PROMPTS[0]) == text(engine, PROMPTS[0])
    other.terminate()


def test_the_list_of_devices_describes_it() -> None:
    listed = {d["name"]: d for d in json.loads(_core.list_devices())}
    found = listed["vulkan:0"]
    assert found["memory_bytes"] > 2**20 and "Vulkan" in found["description"]
    assert isinstance(found["f16"], bool)
    assert listed["webgpu:0"] == {**found, "name": "webgpu:0"}


CHILD = """
import sys
from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
folder, library = sys.argv[1:]
try:
    MLCEngine(folder, model_lib=library, device="vulkan")
except MLCError as error:
    print(type(error).__name__, error)
"""


def run_child(code: str, model: ResolvedModel, **environment: str) -> str:
    made = subprocess.run(
        [sys.executable, "-c", code, str(model.folder), str(model.model_lib)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_no_library_and_no_driver_are_reasons_in_one_line(
    gpu_model: ResolvedModel, tmp_path: Path
) -> None:
    none = str(tmp_path / "libwgpu.so")
    for environment, reason in (
        ({"MLC_WGPU_LIBRARY": none}, "libwgpu.so"),
        ({"VK_ICD_FILENAMES": none, "VK_DRIVER_FILES": none}, "no Vulkan driver"),
    ):
        missing = run_child(CHILD, gpu_model, **environment)
        assert missing.startswith("NotFoundError device 'vulkan'") and reason in missing
        assert len(missing.splitlines()) == 1


LOSING = """
import sys, threading
import tvm_ffi
from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
folder, library = sys.argv[1:]

def load():
    return MLCEngine(folder, model_lib=library, device="vulkan")

def answer(engine, tokens=8):
    made = engine.completions.create(
        prompt="a", max_tokens=tokens, temperature=0, debug_config={"ignore_eos": True}
    )
    return made.choices[0].text

engine = load()
before = answer(engine)
lose = tvm_ffi.get_global_func("mlc.lose.webgpu")
threading.Timer(0.3, lose, [0]).start()
for attempt in range(2):
    try:
        answer(engine, 4000 if attempt == 0 else 1)
        print("answered")
    except MLCError as error:
        print(type(error).__name__, str(error).splitlines()[0])
engine.terminate()
again = load()
print(answer(again) == before)
again.terminate()
"""


def test_a_device_that_is_lost_is_an_error_and_the_next_load_works(
    gpu_model: ResolvedModel,
) -> None:
    """In the middle of an answer. The driver's failure ends wgpu-native, not the process."""
    first, second, again = run_child(LOSING, gpu_model).splitlines()
    for line in (first, second):
        assert line.startswith("UnavailableError the device webgpu:0") and "was lost" in line
    assert again == "True"


def test_drivers_leave_the_process_its_signal_handlers(gpu_model: ResolvedModel) -> None:
    run_child(
        "import re, sys\n"
        "from mlc_llm import MLCEngine\n"
        "def handled():\n"
        "    masks = re.findall(r'Sig(?:Ign|Cgt):\\s*(\\w+)', open('/proc/self/status').read())\n"
        "    return [int(mask, 16) & 0x7fffffff for mask in masks]\n"
        "before = handled()\n"
        "engine = MLCEngine(sys.argv[1], model_lib=sys.argv[2], device='vulkan')\n"
        "engine.completions.create(prompt='a', max_tokens=2)\n"
        "engine.terminate()\n"
        "assert handled() == before, (before, handled())\n",
        gpu_model,
    )


@pytest.mark.skipif("not config.getoption('--long', default=False)")
def test_the_default_model_gives_the_same_64_tokens(
    default_model: ResolvedModel, tmp_path: Path
) -> None:
    cpu = compiled(default_model, tmp_path / "cpu.so", device="cpu")
    gpu = resolve_model(None, device="vulkan", quantization="q4f32_1", progress=lambda _: None)
    texts = []
    for model, device in ((cpu, "cpu"), (gpu, "vulkan")):
        engine = MLCEngine(model.folder, model_lib=str(model.model_lib), device=device)
        texts.append(text(engine, "What is the capital of France?", max_tokens=64))
        engine.terminate()
    assert texts[0] == texts[1]
