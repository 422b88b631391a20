"""The whole engine on each kind of GPU against the CPU, and the faults that all kinds have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from gpu_engines import (
    DEVICES,
    KEEPING_HANDLERS,
    PROMPTS,
    LibraryOf,
    answer,
    compiled,
    opened,
    require,
    run_child,
    text,
)

from mlc_llm import MLCEngine
from mlc_llm.errors import InvalidRequestError, UnavailableError
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model
from mlc_llm.sdk.core_engine import choose_device


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return request.param


@pytest.fixture(scope="module")
def model(device: str, tiny_on: Callable[[str], ResolvedModel]) -> ResolvedModel:
    return tiny_on(device)


@pytest.fixture(scope="module")
def engine(model: ResolvedModel, device: str) -> Iterator[MLCEngine]:
    engine = opened(model, device)
    yield engine
    engine.terminate()


@pytest.fixture(scope="module")
def cpu_engine(tiny_on: Callable[[str], ResolvedModel]) -> Iterator[MLCEngine]:
    engine = opened(tiny_on("cpu"), "cpu")
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


def test_embeddings(engine: MLCEngine, cpu_engine: MLCEngine) -> None:
    vectors = [
        e.embeddings.create(input="a text to embed").data[0].embedding for e in (engine, cpu_engine)
    ]
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-4)


def test_a_library_for_another_device_is_refused(
    device: str, model: ResolvedModel, tiny_model: ResolvedModel
) -> None:
    for library, other in ((model.model_lib, "cpu"), (tiny_model.model_lib, device)):
        with pytest.raises(InvalidRequestError, match="was compiled for") as caught:
            MLCEngine(tiny_model.folder, model_lib=str(library), device=other)
        assert caught.value.param == "model_lib"


def test_a_device_that_is_not_there(device: str) -> None:
    with pytest.raises(UnavailableError, match=f"{device}:70") as caught:
        choose_device(f"{device}:70")
    assert caught.value.param == "device"


def test_drivers_leave_the_process_its_signal_handlers(device: str, model: ResolvedModel) -> None:
    """Their compiler (LLVM) would take Ctrl-C, and a Java machine's faults."""
    run_child(KEEPING_HANDLERS, model, device, MLC_JIT_POLICY="OFF")  # it compiles here


@pytest.mark.skipif("not config.getoption('--long', default=False)")
def test_the_default_model_gives_the_same_64_tokens(
    device: str, default_model: ResolvedModel, library_of: LibraryOf
) -> None:
    cpu = compiled(default_model.folder, library_of, device="cpu")
    gpu = resolve_model(None, device=device, quantization="q4f32_1", progress=lambda _: None)
    texts = []
    for model, name in ((cpu, "cpu"), (gpu, device)):
        engine = opened(model, name)
        texts.append(text(engine, "What is the capital of France?", max_tokens=64))
        engine.terminate()
    assert texts[0] == texts[1]


def test_what_the_device_dropped_comes_back_from_memory(model: ResolvedModel, device: str) -> None:
    sizes = {"max_total_seq_length": 128, "max_num_sequence": 1}
    prompts = [[(i + 1) * step % 200 + 20 for i in range(70)] for step in (3, 7, 11)]

    def ask(engine: MLCEngine, prompt: list[int]) -> tuple[str, int]:
        completion: Any = engine.completions.create(
            prompt=prompt, max_tokens=6, temperature=0, debug_config={"ignore_eos": True}
        )
        found = completion.usage.prompt_tokens_details.cached_tokens or 0
        return completion.choices[0].text, found

    def kept(engine: MLCEngine) -> int:
        return int(engine.metrics()["prefix_cache_ram_bytes"])

    plain = MLCEngine(
        model.folder, model_lib=str(model.model_lib), device=device, engine_config=sizes
    )
    with plain as engine:
        cold = [ask(engine, prompt) for prompt in prompts]
        assert cold[0] == ask(engine, prompts[0]), "the device has no room for it"
    config = {**sizes, "prefix_cache_ram_bytes": 1 << 24}
    with MLCEngine(
        model.folder, model_lib=str(model.model_lib), device=device, engine_config=config
    ) as engine:
        for prompt, (answer, _) in zip(prompts, cold, strict=True):
            before, end = kept(engine), time.monotonic() + 60
            assert ask(engine, prompt) == (answer, 0)
            while kept(engine) == before and time.monotonic() < end:
                time.sleep(0.01)
        assert kept(engine) > 0
        for prompt, (answer, _) in zip(prompts, cold, strict=True):
            assert ask(engine, prompt) == (answer, 69)
