"""The device "fake": a model folder without weights answers from a script."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlc_llm
from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import DeadlineExceededError, InvalidRequestError, NotFoundError
from mlc_llm.sdk.completions_gen import AsyncEmbeddings, ChatCompletions

FOLDER = Path(__file__).parents[2] / "fixtures" / "fake-model"
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def engine():
    engine = MLCEngine(FOLDER, device="fake")
    yield engine
    engine.terminate()


def answer(engine: MLCEngine, **options: object) -> str:
    result = engine.chat.completions.create(messages=HELLO, max_tokens=400, **options)
    return result.choices[0].message.content


def test_the_same_seed_gives_the_same_text_of_whole_characters(engine: MLCEngine) -> None:
    texts = [answer(engine, seed=seed, debug_config={"ignore_eos": True}) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert "語" in texts[0] and any(ord(c) > 0x1F000 for c in texts[0])
    # max_tokens may cut the last character.
    assert not any("\N{REPLACEMENT CHARACTER}" in text[:-1] for text in texts)


def test_answers_end_by_themselves(engine: MLCEngine) -> None:
    result = engine.chat.completions.create(messages=HELLO, seed=3, max_tokens=2000)
    assert result.choices[0].finish_reason == "stop"


def test_a_long_stream_keeps_its_order(engine: MLCEngine) -> None:
    options = {"seed": 5, "max_tokens": 3000, "debug_config": {"ignore_eos": True}}
    whole = engine.chat.completions.create(messages=HELLO, **options)
    chunks = engine.chat.completions.create(messages=HELLO, stream=True, **options)
    pieces = [c.choices[0].delta.content or "" for c in chunks if c.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert len(pieces) > 2000


def test_an_answer_without_a_limit_has_one(engine: MLCEngine) -> None:
    result = engine.chat.completions.create(
        messages=HELLO, seed=5, debug_config={"ignore_eos": True}
    )
    assert result.choices[0].finish_reason == "length"
    assert result.usage.completion_tokens == 4096


def endless(engine: MLCEngine):
    """A million tokens, which take seconds."""
    options = {"n": 32, "max_tokens": 30_000, "debug_config": {"ignore_eos": True}}
    return engine.chat.completions.create(messages=HELLO, stream=True, **options)


def wait_until_idle(engine: MLCEngine) -> None:
    deadline = time.monotonic() + 60
    while engine.metrics()["num_running_sequences"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["close", "with", "drop"])
def test_leaving_a_stream(engine: MLCEngine, how: str) -> None:
    """A `break` alone does not end it: a second loop goes on."""
    num_finished = engine.metrics()["num_finished_requests"]
    stream = endless(engine)
    first = next(iter(stream))
    for chunk in stream:
        assert chunk.id == first.id
        break
    assert next(stream).id == first.id
    if how == "close":
        stream.close()
        assert list(stream) == []
    elif how == "with":
        with stream:
            pass
    del stream
    wait_until_idle(engine)
    assert engine.metrics()["num_finished_requests"] == num_finished


@pytest.mark.parametrize("how", ["close", "with", "drop"])
def test_leaving_a_stream_of_the_async_engine(how: str) -> None:
    async def leave() -> None:
        engine = AsyncMLCEngine(FOLDER, device="fake")
        stream = await engine.chat.completions.create(
            messages=HELLO, stream=True, debug_config={"ignore_eos": True}
        )
        async for _ in stream:
            break
        assert (await anext(stream)).choices
        if how == "close":
            await stream.close()
        elif how == "with":
            async with stream:
                pass
        del stream
        while (await engine.metrics())["num_running_sequences"]:
            await asyncio.sleep(0.01)
        await engine.close()

    asyncio.run(asyncio.wait_for(leave(), 60))


@pytest.mark.parametrize("name", ["gpt-4", "HF://org/other", "/fake-model"])
def test_another_model_is_refused_as_the_server_does(engine: MLCEngine, name: str) -> None:
    for stream in (False, True):
        with pytest.raises(NotFoundError, match=f"'{name}' does not exist; there is: ") as caught:
            engine.chat.completions.create(messages=HELLO, model=name, stream=stream)
        assert (caught.value.param, caught.value.code) == ("model", "model_not_found")


@pytest.mark.parametrize("name", [None, "", "fake-model", str(FOLDER), f"{FOLDER}/"])
def test_the_names_of_the_model(engine: MLCEngine, name: str | None) -> None:
    answer = engine.chat.completions.create(messages=HELLO, model=name, max_tokens=1)
    assert answer.model == engine.model


def test_its_name_is_in_its_repr(engine: MLCEngine) -> None:
    assert repr(engine).startswith("MLCEngine('fake-model'") and "device='fake" in repr(engine)


def test_a_timeout_in_seconds(engine: MLCEngine) -> None:
    """Errors name it as it was given."""
    endless_request = {"messages": HELLO, "debug_config": {"ignore_eos": True}}
    for stream in (False, True):
        for name, limit in (("timeout", 0.001), ("timeout_ms", 1)):
            with pytest.raises(DeadlineExceededError, match=f"the request's {name}$") as caught:
                list(
                    engine.chat.completions.create(
                        **endless_request, stream=stream, **{name: limit}
                    )
                )
            assert caught.value.param == name
    with pytest.raises(DeadlineExceededError):
        engine.completions.create(
            prompt="x", max_tokens=30000, debug_config={"ignore_eos": True}, timeout=0.001
        )
    for wrong in (0, -1, float("nan"), float("inf"), 1e8, "30", [1]):
        with pytest.raises(InvalidRequestError, match="'timeout' must be a number of seconds"):
            engine.chat.completions.create(messages=HELLO, timeout=wrong)


def test_the_package_lists_its_names() -> None:
    """For the Tab key of an interactive Python."""
    assert {"MLCEngine", "AsyncMLCEngine", "plan", "__version__"} <= {*dir(mlc_llm)}


@pytest.mark.parametrize("wrong", [{"device": 3}, {"engine_config": [1]}])
def test_arguments_of_another_type_are_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidRequestError, match=f"{name} must be") as caught:
        MLCEngine(FOLDER, **({"device": "fake"} | wrong))
    assert caught.value.param == name


def test_settings_are_pythons_paths_and_numpys_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in ("~/kept", tmp_path / "kept"):
        config = {"prefix_cache_dir": folder, "max_num_sequence": np.int64(2)}
        with MLCEngine(FOLDER, device="fake", engine_config=config) as engine:
            answer(engine)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    with pytest.raises(InvalidRequestError) as caught:
        MLCEngine(FOLDER, device="fake", engine_config={"max_num_sequence": {2}})
    assert caught.value.param == "max_num_sequence"


def test_create_describes_its_fields() -> None:
    for create in (ChatCompletions.create, AsyncEmbeddings.create):
        text = str(create.__doc__)
        assert "timeout_ms: The answer must be complete" in text
        given = inspect.signature(create).parameters.values()
        named = [one.name for one in given if one.kind is one.KEYWORD_ONLY]
        assert "timeout" in named and all(f"        {name}: " in text for name in named)
    assert "temperature: How far" in str(ChatCompletions.create.__doc__)


def test_it_writes_nothing_to_standard_error() -> None:
    program = (
        "import logging, sys\n"
        "from mlc_llm import MLCEngine\n"
        "if len(sys.argv) > 2: logging.basicConfig(level='INFO')\n"
        "MLCEngine(sys.argv[1], device='fake').terminate()\n"
    )
    for options, told in (((), False), (("log",), True)):
        command = [sys.executable, "-c", program, str(FOLDER), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert ("INFO:mlc_llm:Loading fake-model" in done.stderr) == told
        assert told or done.stderr == ""


def test_it_needs_a_model_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        MLCEngine(tmp_path / "nothing", device="fake")
