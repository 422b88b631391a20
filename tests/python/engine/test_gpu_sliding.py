"""A sliding window with attention sinks through the whole engine, on each kind of GPU."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from gpu_engines import ALIKE, LibraryOf, leave_samplers_out, require

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_folder

Libraries = dict[str, Path]


@pytest.fixture(scope="module", params=ALIKE)
def device(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return request.param


@pytest.fixture(scope="module", params=[4, 0], ids=["sinks", "no_sinks"])
def model(
    request: pytest.FixtureRequest,
    device: str,
    library_of: LibraryOf,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Libraries]:
    """The random two-layer model with a window of 40 tokens; prompts come in chunks of 24."""
    if request.param == 0 and not request.config.getoption("--long"):
        pytest.skip("compiles two more libraries; run with --long")
    folder = tmp_path_factory.mktemp("sliding")
    tiny_models.write_hf_folder(
        folder / "model",
        tiny_models.random_weights(),
        sliding_window=40,
        attention_sink_size=request.param,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(folder / "home"))
        leave_samplers_out(patch)
        found = resolve_folder(folder / "model", quantization="q4f32_1", progress=lambda _: None)
        options = {"opt": "activation_bits=32", "overrides": "prefill_chunk_size=24"}
        libraries = {name: library_of(found, device=name, **options) for name in (device, "cpu")}
    return found, libraries


@pytest.fixture(params=[{}, {"max_total_seq_length": 256}], ids=["ample", "scarce"])
def engines(
    request: pytest.FixtureRequest, model: tuple[Path, Libraries]
) -> Iterator[dict[str, MLCEngine]]:
    """One for each device; with scarce pages, slid ones are given up and requests preempted."""
    found, libraries = model
    config: Any = request.param or None
    engines = {
        name: MLCEngine(found, model_lib=str(library), device=name, engine_config=config)
        for name, library in libraries.items()
    }
    yield engines
    for engine in engines.values():
        engine.terminate()


def answer(engine: MLCEngine, prompt: str, max_tokens: int) -> tuple[str, int]:
    """The text, and how many tokens of the prompt were found."""
    made = engine.completions.create(
        prompt=prompt,
        temperature=0,
        max_tokens=max_tokens,
        debug_config={"ignore_eos": True},
    )
    assert made.usage is not None and made.usage.prompt_tokens_details is not None
    return made.choices[0].text, made.usage.prompt_tokens_details.cached_tokens or 0


def turns(engine: MLCEngine) -> list[tuple[str, int]]:
    """Prompts that begin alike, the first longer than the window; then one long answer. (A random
    model's answers are no UTF-8, so that a turn cannot quote the last one.)"""
    prompt, answers = "Tell me a story, and then another. " * 3, []
    for more in (" And then? " * 4, " And the end? " * 6, ""):
        answers.append(answer(engine, prompt, 6 if more else 90))
        prompt += more
    return answers


def test_answers_past_the_window_are_those_of_the_cpu(
    device: str, engines: dict[str, MLCEngine]
) -> None:
    ours, theirs = turns(engines[device]), turns(engines["cpu"])
    assert ours == theirs
    found = [cached for _, cached in ours]
    assert found[0] == 0 and found[1] > 90 and found[2] > found[1] + 30  # prefixes are reused


def test_four_chats_at_once(device: str, engines: dict[str, MLCEngine]) -> None:
    prompts = [f"Number {i}: " + "one two three four " * (3 * i) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: answer(engines[device], p, 50)[0], prompts))
    assert together == [answer(engines["cpu"], prompt, 50)[0] for prompt in prompts]
