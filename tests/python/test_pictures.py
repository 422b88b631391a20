"""Pictures on their way from Python to the prompt, with the fake model's tower."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path

import pytest

from mlc_llm import AsyncMLCEngine, MLCEngine
from mlc_llm.errors import InvalidRequestError, MLCError

FOLDER = Path(__file__).parents[1] / "fixtures" / "fake-model"
TEMPLATE = (
    "{% for part in messages[-1].content %}{% if part.type == 'image' %}<|endoftext|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}"
)
# PNG files of one pixel, which is black and white.
CAT, DOG = (
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nG" + data + "AAAABJRU5ErkJggg=="
    )
    for data in ("NgAAAAAgABSK+kcQ", "P4DwABAQEAsTj2FA")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake model with a token for pictures, which makes it see."""
    folder = tmp_path_factory.mktemp("pictures") / "model"
    shutil.copytree(FOLDER, folder)
    config = folder / "mlc-chat-config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "image_token_id": 496}))
    tokenizer = folder / "tokenizer_config.json"
    tokenizer.write_text(
        json.dumps({**json.loads(tokenizer.read_text()), "chat_template": TEMPLATE})
    )
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path):
    engine = MLCEngine(folder, device="fake")
    yield engine
    engine.terminate()


def look(*pictures: object) -> list:
    parts = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
    return [{"role": "user", "content": [{"type": "text", "text": "Hello"}, *parts]}]


def answer(engine: MLCEngine, *pictures: object) -> str:
    options = {"seed": 1, "max_tokens": 20, "debug_config": {"ignore_eos": True}}
    result = engine.chat.completions.create(messages=look(*pictures), **options)
    return result.choices[0].message.content


def data_url(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode()


def test_bytes_and_data_urls_are_the_same_picture(engine: MLCEngine) -> None:
    cat = answer(engine, CAT)
    assert answer(engine, data_url(CAT)) == cat
    assert answer(engine, bytearray(CAT)) == cat
    assert answer(engine, DOG) != cat
    assert answer(engine, CAT, data_url(DOG)) == answer(engine, data_url(CAT), DOG)
    assert answer(engine, CAT, DOG) != answer(engine, DOG, CAT)


def test_the_async_engine_sends_bytes_too(folder: Path, engine: MLCEngine) -> None:
    async def ask() -> str:
        other = AsyncMLCEngine(folder, device="fake")
        options = {"seed": 1, "max_tokens": 20, "debug_config": {"ignore_eos": True}}
        result = await other.chat.completions.create(messages=look(CAT), **options)
        other.terminate()
        return result.choices[0].message.content

    assert asyncio.run(ask()) == answer(engine, CAT)


def test_what_cannot_be_read_is_named(engine: MLCEngine) -> None:
    for picture in ("ftp://somewhere/cat.png", "buffer:0", "data:image/png;base64,*"):
        with pytest.raises(MLCError) as refused:
            answer(engine, picture)
        assert refused.value.param == "messages[0].content[1]"
    for file, code in ((CAT[:40], "image_parse_error"), (b"II*\0", "unsupported_image_media_type")):
        with pytest.raises(MLCError) as unread:
            answer(engine, CAT, file)
        assert (unread.value.code, unread.value.param) == (code, "messages[0].content[2]")
    with pytest.raises(InvalidRequestError) as unused:
        engine.chat.completions.create(messages=[{"role": "user", "content": b"Hello"}])
    assert unused.value.param == "buffers[0]"


def test_a_model_without_a_tower_refuses_by_name() -> None:
    engine = MLCEngine(FOLDER, device="fake")
    with pytest.raises(MLCError, match="'fake' reads text only") as refused:
        answer(engine, CAT)
    assert refused.value.param == "messages[0].content[1]"
    engine.terminate()
