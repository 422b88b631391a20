"""Pictures on their way from Python to the prompt, with the fake model's tower."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mlc_llm import AsyncMLCEngine, MLCEngine, picture, pictures
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


def look(*urls: object) -> list:
    parts = [{"type": "image_url", "image_url": {"url": one}} for one in urls]
    return [{"role": "user", "content": [{"type": "text", "text": "Hello"}, *parts]}]


def answer(engine: MLCEngine, *urls: object) -> str:
    options = {"seed": 1, "max_tokens": 20, "debug_config": {"ignore_eos": True}}
    result = engine.chat.completions.create(messages=look(*urls), **options)
    return result.choices[0].message.content


def data_url(file: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(file).decode()


def test_bytes_and_data_urls_are_the_same_picture(engine: MLCEngine) -> None:
    cat = answer(engine, CAT)
    assert answer(engine, data_url(CAT)) == cat
    assert answer(engine, bytearray(CAT)) == cat
    assert answer(engine, DOG) != cat
    assert answer(engine, CAT, data_url(DOG)) == answer(engine, data_url(CAT), DOG)
    assert answer(engine, CAT, DOG) != answer(engine, DOG, CAT)


def test_a_picture_is_a_file_or_an_image_too(engine: MLCEngine, tmp_path: Path) -> None:
    def seen(*parts: Any) -> str:
        messages = [{"role": "user", "content": [{"type": "text", "text": "Hello"}, *parts]}]
        options = {"seed": 1, "max_tokens": 20, "debug_config": {"ignore_eos": True}}
        return (
            engine.chat.completions.create(messages=messages, **options).choices[0].message.content
        )

    path = tmp_path / "a cat.png"
    path.write_bytes(CAT)
    for source in (CAT, memoryview(CAT), path, str(path), data_url(CAT)):
        assert seen(picture(source)) == answer(engine, CAT), source
    assert picture(CAT, detail="low")["image_url"] == {"url": CAT, "detail": "low"}
    image = Image.open(path)
    png = picture(image)["image_url"]["url"]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), np.asarray(image))
    assert seen(picture(image), picture(path)) != seen(picture(path), picture(path))


def test_an_image_of_pillow_keeps_its_pixels_and_how_it_is_turned() -> None:
    image = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3))
    exif = image.getexif()
    exif[274] = 6  # a quarter turn
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", exif=exif)
    turned = Image.open(jpeg)
    for one in (image, turned, image.convert("L"), image.convert("CMYK"), image.convert("P"),
                image.convert("RGBA"), image.convert("F"), image.convert("YCbCr")):  # fmt: skip
        written = Image.open(io.BytesIO(picture(one)["image_url"]["url"]))
        assert written.format == "PNG" and written.size == one.size
        assert written.getexif().get(274) == one.getexif().get(274)
        if one.mode in ("RGB", "L"):
            assert np.array_equal(np.asarray(written), np.asarray(one))


def test_a_picture_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cat.png"
    file.write_bytes(bytes(5))
    monkeypatch.setattr(pictures, "MOST_BYTES", 4)
    for source, code in (
        (tmp_path / "none.png", "file_not_found"), (tmp_path, "invalid_value"),
        ("a\0b", "invalid_value"), (file, "image_file_too_large"), (3, "invalid_type"),
    ):  # fmt: skip
        with pytest.raises(MLCError) as unread:
            picture(source)  # type: ignore[arg-type]
        assert (unread.value.code, unread.value.param) == (code, "source")


def test_the_async_engine_sends_bytes_too(folder: Path, engine: MLCEngine) -> None:
    async def ask() -> str:
        other = AsyncMLCEngine(folder, device="fake")
        options = {"seed": 1, "max_tokens": 20, "debug_config": {"ignore_eos": True}}
        result = await other.chat.completions.create(messages=look(CAT), **options)
        other.terminate()
        return result.choices[0].message.content

    assert asyncio.run(ask()) == answer(engine, CAT)


def test_what_cannot_be_read_is_named(engine: MLCEngine) -> None:
    for url in ("ftp://somewhere/cat.png", "buffer:0", "data:image/png;base64,*"):
        with pytest.raises(MLCError) as refused:
            answer(engine, url)
        assert refused.value.param == "messages[0].content[1]"
    for file, code in ((CAT[:40], "image_parse_error"), (b"II*\0", "unsupported_image_media_type")):
        with pytest.raises(MLCError) as unread:
            answer(engine, CAT, file)
        assert (unread.value.code, unread.value.param) == (code, "messages[0].content[2]")
    with pytest.raises(InvalidRequestError) as unused:
        engine.chat.completions.create(messages=[{"role": "user", "content": b"Hello"}])
    assert unused.value.param == "messages[0].content"


def test_a_model_without_a_tower_refuses_by_name() -> None:
    engine = MLCEngine(FOLDER, device="fake")
    with pytest.raises(MLCError, match="'fake' reads text only") as refused:
        answer(engine, CAT)
    assert refused.value.param == "messages[0].content[1]"
    engine.terminate()
