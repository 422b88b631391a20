"""The device "fake": a model folder without weights answers from a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm import MLCEngine
from mlc_llm.errors import NotFoundError

FOLDER = Path(__file__).parents[1] / "fixtures" / "fake-model"
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


def test_it_needs_a_model_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        MLCEngine(tmp_path / "nothing", device="fake")
