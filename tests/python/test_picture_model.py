"""A tiny compiled SmolVLM looks at pictures: from a file to an answer."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_pictures
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError
from mlc_llm.prepare.model_source import resolve_model


def png(width: int, height: int, seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tiny_pictures.write_hf_folder(tmp_path_factory.mktemp("pictures") / "smolvlm")
    return Path(resolve_model(str(made), quantization="q4f32_1").folder)


@pytest.fixture(scope="module")
def engine(folder: Path) -> Any:
    with MLCEngine(folder) as engine:
        yield engine


def ask(engine: MLCEngine, *pictures: bytes, detail: str = "auto", text: str = "Hello") -> Any:
    parts = [{"type": "image_url", "image_url": {"url": p, "detail": detail}} for p in pictures]
    return engine.chat.completions.create(
        messages=[{"role": "user", "content": [*parts, {"type": "text", "text": text}]}],  # type: ignore[list-item]
        max_tokens=16, temperature=0.0, debug_config={"ignore_eos": True},
    )  # fmt: skip


def said(answer: Any) -> str:
    return str(answer.choices[0].message.content)


def test_the_answer_depends_on_the_picture(engine: MLCEngine) -> None:
    cat, dog = png(100, 60, 1), png(100, 60, 2)
    first = ask(engine, cat)
    assert said(ask(engine, dog)) != said(first)
    engine.reset()
    assert said(ask(engine, cat)) == said(first), "computed again"
    before = engine.metrics()["encoded_pictures_sum"]
    assert said(ask(engine, cat)) == said(first), "found"
    assert engine.metrics()["encoded_pictures_sum"] == before
    ask(engine, dog, cat)
    assert engine.metrics()["encoded_pictures_sum"] == before + 1, "rows are kept"


def test_rows_are_counted_by_the_size(engine: MLCEngine) -> None:
    """A tile has 4 x 4 rows of 2 x 2 patches; words stand around them."""

    def rows(picture: bytes, detail: str = "auto") -> int:
        return int(ask(engine, picture, detail=detail).usage.prompt_tokens)

    one = rows(png(40, 40, 3), "low")
    tile = 16 + 2  # with two words
    assert rows(png(192, 192, 4)) > one + 16 * tile
    assert rows(png(30, 192, 4)) > one + 4 * tile
    assert rows(png(192, 192, 4), "low") == one


def test_text_alone_needs_no_tower(engine: MLCEngine) -> None:
    before = engine.metrics()["encoded_pictures_sum"]
    assert said(ask(engine, text="<image> Hello")) == said(ask(engine, text="<image> Hello"))
    assert engine.metrics()["encoded_pictures_sum"] == before


def test_a_chat_with_ten_pictures_encodes_each_once(folder: Path) -> None:
    """Each turn shows all pictures again, and the engine keeps no prefix."""
    messages: list[Any] = []
    with MLCEngine(folder, engine_config={"prefix_cache_mode": "disable"}) as engine:
        for number in range(10):
            image = {"url": png(30, 30, number), "detail": "low"}
            part = {"type": "image_url", "image_url": image}
            messages.append({"role": "user", "content": [part]})
            made = engine.chat.completions.create(messages=messages, max_tokens=1, temperature=0.0)
            messages.append({"role": "assistant", "content": said(made)})
            assert engine.metrics()["encoded_pictures_sum"] == number + 1
        assert made.usage.prompt_tokens > 10 * 16


def test_a_damaged_picture_is_named(engine: MLCEngine) -> None:
    with pytest.raises(MLCError) as refused:
        ask(engine, png(50, 50, 1)[:-40])
    assert refused.value.code == "image_parse_error"
