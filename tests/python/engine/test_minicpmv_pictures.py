"""The tiny MiniCPM-V looks at pictures in slices: ids and 16 greedy tokens are those of two other
programs (`tests/fixtures/towers/answers_minicpmv.py`), from a repository and from GGUF files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlc_core_parts
import pytest

from mlc_llm import MLCEngine, picture
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.prepare.local_model import projector_beside
from mlc_llm.prepare.model_source import resolve_model

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_pictures  # noqa: E402
from test_picture_answers import png  # noqa: E402
from test_qwen_pictures import answer  # noqa: E402

import picture_shapes  # noqa: E402  isort: skip
import tower_models  # noqa: E402  isort: skip

RECORDED = json.loads((TESTS.parent / "fixtures/towers/answers/minicpmv.json").read_text())


@pytest.fixture(scope="module", params=["repository", "GGUF"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, MLCEngine]]:
    """Both forms with the library of the repository."""
    place = tmp_path_factory.mktemp("slices")
    repository = tiny_pictures.write_hf_folder(place / "minicpmv", "minicpmv")
    found = resolve_model(str(repository), quantization="q0f32")
    folder = place / "model"
    if request.param == "repository":
        shutil.copytree(found.folder, folder)
    else:
        file = tiny_pictures.write_gguf_pair(place / "gguf", "minicpmv")
        source = open_source(file, projector=projector_beside(file))
        convert_model(source, folder, quantization="q0f32")
    config = folder / "mlc-chat-config.json"
    chat = json.loads(config.read_text())
    chat["pictures"]["max_tiles"] = 4  # GGUF files do not say it
    config.write_text(json.dumps(chat))
    with MLCEngine(folder, model_lib=found.model_lib) as engine:
        yield folder, engine


def message(chat: dict[str, Any]) -> Any:
    parts: list[Any] = []
    for text, shape in zip(chat["texts"], chat["shapes"], strict=True):
        parts += [{"type": "text", "text": text}, picture(png(picture_shapes.drawn(*shape)))]
    return {"role": "user", "content": parts}


def test_two_programs_say_the_same(model: tuple[Path, MLCEngine]) -> None:
    folder, engine = model
    tokenizer = mlc_core_parts.Tokenizer((folder / "tokenizer.json").read_text())
    settings = (folder / "mlc-chat-config.json").read_text()
    pictures = json.dumps(json.loads(settings)["pictures"])
    for chat in RECORDED["chats"]:
        shown = [
            "".join(text or "<unk>" * count for text, count in pieces)
            for pieces in (mlc_core_parts.picture_pieces(pictures, *s) for s in chat["shapes"])
        ]
        prompt = tower_models.prompt("minicpmv", chat["texts"], shown)
        assert tokenizer.encode(prompt) == chat["ids"]
        asked = message(chat)
        assert engine.input_tokens([asked]) == len(chat["ids"])
        (made,) = answer(engine, asked, len(chat["tokens"]))
        assert [token for token, _ in made] == [
            tower_models.bytes_of(token) for token in chat["tokens"]
        ]
    assert max(chat["ids"].count(306) for chat in RECORDED["chats"]) >= 4, "pictures are in slices"
