"""The whole engine on OpenCL against the CPU, and its faults; PoCL stands in for a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine, _core
from mlc_llm.core_engine import choose_device
from mlc_llm.errors import InvalidRequestError, NotFoundError, ResourceError, UnsupportedError
from mlc_llm.model_source import ResolvedModel, resolve_model

os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
PROMPTS = ["Hello", "The quick brown fox jumps over the lazy dog. " * 3, "1 2 3 4 5 6 7 8 9"]


@pytest.fixture(scope="module", autouse=True)
def opencl_is_here() -> None:
    try:
        choose_device("opencl")
    except NotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def gpu_model(tiny_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> ResolvedModel:
    """The small model with a library for OpenCL; prompts of more than 32 tokens come in chunks."""
    library = tmp_path_factory.mktemp("opencl") / "tiny-opencl.so"
    return compiled(tiny_model, library, device="opencl", overrides="prefill_chunk_size=32")


def compiled(
    model: ResolvedModel, library: Path, *, device: str, overrides: str | None = None
) -> ResolvedModel:
    """The model with a library that computes in floats, as GPUs do."""
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    config = read_chat_config(model.folder)
    options = {"opt": "activation_bits=32", "overrides": overrides}
    compile_model(config, output=library, device=device, **options)
    return resolve_model(model.folder, device=device, model_lib=library, progress=lambda _: None)


@pytest.fixture(scope="module")
def engine(gpu_model: ResolvedModel) -> Iterator[MLCEngine]:
    engine = MLCEngine(gpu_model.folder, model_lib=str(gpu_model.model_lib), device="opencl")
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


def answer(engine: MLCEngine, prompt: str, **options: Any) -> Any:
    return engine.chat.completions.create(
        messages=[{"role": "user", "content": prompt}],
        **{"temperature": 0, "max_tokens": 24, "debug_config": {"ignore_eos": True}, **options},
    )


def text(engine: MLCEngine, prompt: str, **options: Any) -> str:
    return answer(engine, prompt, **options).choices[0].message.content


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


def test_embeddings(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    vectors = [
        e.embeddings.create(input="a text to embed").data[0].embedding for e in (engine, cpu_engine)
    ]
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-4)


def test_a_library_for_another_device_is_refused(
    gpu_model: ResolvedModel, tiny_model: ResolvedModel
) -> None:
    for library, device in ((gpu_model.model_lib, "cpu"), (tiny_model.model_lib, "opencl")):
        with pytest.raises(InvalidRequestError, match="was compiled for") as caught:
            MLCEngine(tiny_model.folder, model_lib=str(library), device=device)
        assert caught.value.param == "model_lib"


def test_a_device_without_16_bit_floats_says_so(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    if next(d for d in json.loads(_core.list_devices()) if d["name"] == "opencl:0")["f16"]:
        pytest.skip("this device has them")
    library = tmp_path / "half.so"
    config = read_chat_config(tiny_model.folder)
    compile_model(config, output=library, device="opencl", quantization="q4f16_1")
    with pytest.raises(UnsupportedError, match="q4f32_1"):
        MLCEngine(tiny_model.folder, model_lib=str(library), device="opencl")


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(NotFoundError, match="opencl:7") as caught:
        choose_device("opencl:7")
    assert caught.value.param == "device"


CHILD = """
import sys
from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
folder, library = sys.argv[1:]
try:
    MLCEngine(folder, model_lib=library, device="opencl")
except MLCError as error:
    print(type(error).__name__, error)
"""


def run_child(model: ResolvedModel, **environment: str) -> str:
    made = subprocess.run(
        [sys.executable, "-c", CHILD, str(model.folder), str(model.model_lib)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_no_driver_is_a_reason_in_one_line(gpu_model: ResolvedModel, tmp_path: Path) -> None:
    missing = run_child(gpu_model, MLC_OPENCL_LIBRARY=str(tmp_path / "libOpenCL.so"))
    assert missing.startswith("NotFoundError device 'opencl'") and "libOpenCL.so" in missing
    assert len(missing.splitlines()) == 1


def test_a_damaged_program_cache_costs_time_only(gpu_model: ResolvedModel, tmp_path: Path) -> None:
    for damage in (None, b"", b"MLCCLB01"):
        assert run_child(gpu_model, MLC_LLM_HOME=str(tmp_path)) == ""
        (binary,) = (tmp_path / "opencl").glob("*.bin")
        data = binary.read_bytes()
        assert len(data) > 1000
        if damage is None:  # one bit
            binary.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
        else:
            binary.write_bytes(damage)


def test_device_memory_that_runs_out_is_an_error_and_the_engine_goes_on(
    gpu_model: ResolvedModel, engine: MLCEngine
) -> None:
    """Pages for 10^12 tokens do not fit; the next load works."""
    with pytest.raises((ResourceError, InvalidRequestError)):
        MLCEngine(
            gpu_model.folder,
            model_lib=str(gpu_model.model_lib),
            device="opencl",
            engine_config={"max_total_sequence_length": 2_000_000_000},
        )
    other = MLCEngine(gpu_model.folder, model_lib=str(gpu_model.model_lib), device="opencl")
    assert text(other, PROMPTS[0]) == text(engine, PROMPTS[0])
    other.terminate()


def test_the_list_of_devices_describes_it() -> None:
    found = [d for d in json.loads(_core.list_devices()) if d["name"] == "opencl:0"]
    assert found[0]["memory_bytes"] > 2**20 and found[0]["description"]
    assert isinstance(found[0]["f16"], bool)


@pytest.mark.skipif("not config.getoption('--long', default=False)")
def test_the_default_model_gives_the_same_64_tokens(
    default_model: ResolvedModel, tmp_path: Path
) -> None:
    cpu = compiled(default_model, tmp_path / "cpu.so", device="cpu")
    gpu = resolve_model(None, device="opencl", quantization="q4f32_1", progress=lambda _: None)
    texts = []
    for model, device in ((cpu, "cpu"), (gpu, "opencl")):
        engine = MLCEngine(model.folder, model_lib=str(model.model_lib), device=device)
        texts.append(text(engine, "What is the capital of France?", max_tokens=64))
        engine.terminate()
    assert texts[0] == texts[1]


def test_drivers_leave_the_process_its_signal_handlers(gpu_model: ResolvedModel) -> None:
    """PoCL's compiler would take Ctrl-C, and a Java machine's faults."""
    code = (
        "import re, sys\n"
        "from mlc_llm import MLCEngine\n"
        "def handled():\n"
        "    masks = re.findall(r'Sig(?:Ign|Cgt):\\s*(\\w+)', open('/proc/self/status').read())\n"
        "    return [int(mask, 16) & 0x7fffffff for mask in masks]\n"
        "before = handled()\n"
        "engine = MLCEngine(sys.argv[1], model_lib=sys.argv[2], device='opencl')\n"
        "engine.completions.create(prompt='a', max_tokens=2)\n"
        "engine.terminate()\n"
        "assert handled() == before, (before, handled())\n"
    )
    environment = {**os.environ, "MLC_JIT_POLICY": "OFF"}  # programs are compiled here
    command = [sys.executable, "-c", code, gpu_model.folder, gpu_model.model_lib]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
