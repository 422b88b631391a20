"""What an app does with an engine beside asking it: pause, trim, warm, cool, give folders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlc_llm import AsyncMLCEngine, MLCEngine, set_directories
from mlc_llm.errors import InvalidRequestError, UnavailableError, error_from_core

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
ENDLESS = {"ignore_eos": True}


@pytest.fixture
def engine() -> Iterator[MLCEngine]:
    with MLCEngine(FAKE, device="fake", engine_config={"num_threads": 4}) as made:
        yield made


def answer(engine: MLCEngine, count: int = 20) -> str:
    made = engine.completions.create(prompt="Hello", max_tokens=count, seed=1, debug_config=ENDLESS)
    return made.choices[0].text


def test_a_paused_engine_keeps_its_place(engine: MLCEngine) -> None:
    expected = answer(engine)
    engine.reset()
    stream = engine.completions.create(
        prompt="Hello", max_tokens=20, seed=1, stream=True, debug_config=ENDLESS
    )
    text = next(stream).choices[0].text
    engine.pause()
    trimmed = engine.trim_memory("all")  # answered while it is paused
    assert trimmed.pages > 0 and trimmed.page_bytes > 0
    engine.resume()
    text += "".join(choice.text for chunk in stream for choice in chunk.choices)
    assert text == expected


def test_trimming_says_what_went_back(engine: MLCEngine) -> None:
    expected = answer(engine)
    assert engine.trim_memory().pages == 0
    pages = engine.trim_memory("pages")
    assert pages.pages > 0 and pages.page_bytes > 0
    with pytest.raises(InvalidRequestError, match="level"):
        engine.trim_memory("more")  # type: ignore[arg-type]
    assert answer(engine) == expected


def test_a_warm_engine_answers_the_same(engine: MLCEngine) -> None:
    expected = answer(engine)
    assert engine.prewarm().weight_bytes >= 0
    assert answer(engine) == expected


def test_a_hot_device_lowers_threads_and_batch(engine: MLCEngine) -> None:
    expected = answer(engine)
    cool = engine.set_thermal_state("nominal")
    assert cool.num_threads == 4 and cool.max_num_sequence > 1
    for state, threads in (("fair", 4), ("serious", 2), ("critical", 1)):
        limits = engine.set_thermal_state(state)  # type: ignore[arg-type]
        assert limits.num_threads == threads
        assert limits.prefill_chunk_size < cool.prefill_chunk_size
        assert answer(engine) == expected
    assert limits.max_num_sequence == 1
    assert engine.set_thermal_state("nominal") == cool


def test_the_async_engine_has_them_too() -> None:
    async def run() -> None:
        async with AsyncMLCEngine(FAKE, device="fake") as engine:
            engine.pause()
            assert (await engine.trim_memory("pages")).pages > 0
            engine.resume()
            await engine.prewarm()
            assert (await engine.set_thermal_state("critical")).num_threads == 1

    asyncio.run(run())


def test_a_closed_engine_says_so() -> None:
    engine = MLCEngine(FAKE, device="fake")
    engine.close()
    for act in (engine.pause, engine.resume, engine.prewarm, engine.trim_memory):
        with pytest.raises(UnavailableError):
            act()


def test_folders_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    try:
        set_directories(cache=tmp_path / "cache", libraries=[tmp_path])
        assert (tmp_path / "cache").is_dir()
        for name in ("cache", "temporary"):
            with pytest.raises(InvalidRequestError) as caught:
                set_directories(**{name: tmp_path / "file" / "x"})
            assert caught.value.param == name
    finally:
        set_directories()


def test_a_library_that_is_not_there_is_said_where_it_was_looked_for(tmp_path: Path) -> None:
    import json

    from mlc_llm import _core

    engine = _core.Engine("{}")
    model = {"model": str(FAKE), "model_lib": "llama-3.2_q4", "device": "cpu"}
    with pytest.raises(_core.CoreError) as caught:
        engine.load(json.dumps(model))
    error = error_from_core(caught.value)
    assert error.param == "model_lib"
    assert "system://llama-3.2_q4" in error.message and "libllama-3.2_q4" in error.message
