"""Tiny models look at pictures of four shapes, and at two in a message with text between: the ids
of the prompt and 16 greedy tokens are those of other programs
(`tests/fixtures/towers/answers_shapes.py`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlc_core_parts
import pytest

from mlc_llm import MLCEngine, picture
from mlc_llm.prepare.model_source import resolve_model

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_pictures  # noqa: E402
from test_picture_answers import png  # noqa: E402
from test_qwen_pictures import answer  # noqa: E402

import picture_shapes  # noqa: E402  isort: skip
import processed_pictures  # noqa: E402  isort: skip
import tower_models  # noqa: E402  isort: skip

ANSWERS = {
    path.stem: json.loads(path.read_text())["chats"]
    for path in sorted((TESTS.parent / "fixtures/towers/answers").glob("*.json"))
}
# Chats of Qwen's models have other pictures, and MiniCPM-V has two forms: they have tests of their
# own.
CASES = [name for name, chats in ANSWERS.items() if "shapes" in chats[0] and name != "minicpmv"]
# Each layout; test_picture_answers.py has cropped pictures.
USUAL = ("gemma3", "gemma4", "internvl_chat", "llava_next", "mistral3", "phi3_v", "smolvlm")


@dataclass(frozen=True)
class Model:
    case: str
    folder: Path
    engine: MLCEngine

    def prompt(self, chat: dict[str, Any]) -> str:
        """With the rows and texts that the core puts in the places of pictures."""
        config = json.loads((self.folder / "mlc-chat-config.json").read_text())["pictures"]
        word, shown = tower_models.row_word(self.case), []
        for shape in chat["shapes"]:
            pieces = mlc_core_parts.picture_pieces(json.dumps(config), *shape)
            shown.append("".join(text or word * count for text, count in pieces))
        return tower_models.prompt(self.case, chat["texts"], shown)

    def message(self, chat: dict[str, Any]) -> Any:
        parts: list[Any] = []
        for text, shape in zip(chat["texts"], chat["shapes"], strict=True):
            parts += [{"type": "text", "text": text}, picture(png(picture_shapes.drawn(*shape)))]
        return {"role": "user", "content": parts}


@pytest.fixture(scope="module", params=CASES)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    if request.param not in USUAL and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    folder = tmp_path_factory.mktemp("chats") / request.param
    tiny_pictures.write_hf_folder(folder, request.param)
    settings = json.dumps(processed_pictures.processor(request.param))
    (folder / "preprocessor_config.json").write_text(settings)
    found = resolve_model(str(folder), quantization="q0f32")
    with MLCEngine(found.folder) as engine:
        yield Model(request.param, Path(found.folder), engine)


def test_other_programs_say_the_same(model: Model) -> None:
    tokenizer = mlc_core_parts.Tokenizer((model.folder / "tokenizer.json").read_text())
    for chat in ANSWERS[model.case]:
        assert tokenizer.encode(model.prompt(chat)) == chat["ids"]
        asked = model.message(chat)
        assert model.engine.input_tokens([asked]) == len(chat["ids"])
        (made,) = answer(model.engine, asked, len(chat["tokens"]))
        assert [token for token, _ in made] == [
            tower_models.bytes_of(token) for token in chat["tokens"]
        ]


def test_recorded_chats_have_four_shapes_and_two_pictures() -> None:
    for name, chats in ANSWERS.items():
        sizes = [chat.get("shapes") or chat["sizes"] for chat in chats]
        assert [len(one) for one in sizes] == [1, 1, 1, 1, 2], name
        square, wide, tall, tiny = ([*one[0]] for one in sizes[:4])
        assert square[0] == square[1] and wide[0] > 2 * wide[1] and tall[1] > 2 * tall[0], name
        assert tiny[0] < 13 > tiny[1], name
        assert all(len(chat["tokens"]) == 16 for chat in chats), name
