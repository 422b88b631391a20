"""Qwen's tiny models look at pictures: ids, positions and greedy answers are transformers', and no
way through the engine changes a bit of them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import engine_ways
import mlc_core_parts
import numpy as np
import pytest
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_pictures  # noqa: E402
import tower_chats  # noqa: E402

ANSWERS = TESTS.parent / "fixtures" / "towers" / "answers"
SIZES = [[36, 24], [24, 48]]  # 12 pixels a row
# The states of Qwen 3.5's layers, the vectors behind rows, and plain rows of three positions.
CASES = ["qwen3_vl", "qwen3_5", "qwen2_5_vl", "qwen2_vl"]
USUAL = ("qwen3_vl", "qwen3_5")  # plain rows of three positions are between the vectors, too


@dataclass(frozen=True)
class Model:
    case: str
    folder: Path
    library: Path

    def engine(self, **options: Any) -> MLCEngine:
        return engine_ways.engine_of((self.folder, self.library), **options)

    @property
    def settings(self) -> str:
        return json.dumps(
            json.loads((self.folder / "mlc-chat-config.json").read_text())["pictures"]
        )


@pytest.fixture(scope="module", params=CASES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    if request.param not in USUAL and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    folder = tmp_path_factory.mktemp("qwen") / request.param
    tiny_pictures.write_hf_folder(folder, request.param)
    found = resolve_model(str(folder), quantization="q0f32")
    return Model(request.param, Path(found.folder), Path(found.model_lib))


def message(sizes: Sequence[Sequence[int]], seed: int, text: str = tower_chats.TEXTS[0]) -> Any:
    texts = [text, *tower_chats.TEXTS[1:]]
    parts: list[Any] = []
    for index, picture in enumerate(tower_chats.drawn_pictures(sizes, seed)):
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "PNG")
        parts.append({"type": "text", "text": texts[index]})
        parts.append({"type": "image_url", "image_url": {"url": file.getvalue()}})
    return {"role": "user", "content": parts}


def answer(engine: MLCEngine, asked: Any, count: int, n: int = 1) -> list[list[Any]]:
    made = engine.chat.completions.create(
        messages=[asked], n=n, max_tokens=count, temperature=0, logprobs=True,
        debug_config={"ignore_eos": True},
    )  # fmt: skip
    choices = []
    for choice in made.choices:
        assert choice.logprobs is not None and choice.logprobs.content is not None
        choices.append([(bytes(t.bytes or []), t.logprob) for t in choice.logprobs.content])
    return choices


def ask(engine: MLCEngine, text: str = engine_ways.PROMPT, n: int = 1) -> list[list[float]]:
    """The log probabilities of an answer to two pictures with text between."""
    choices = answer(engine, message(SIZES, 3, text), engine_ways.MAX_TOKENS, n)
    return [[logprob for _, logprob in choice] for choice in choices]


def test_transformers_says_the_same(model: Model) -> None:
    content = json.loads((ANSWERS / f"{model.case}.json").read_text())
    assert [chat["sizes"] for chat in content["chats"]] == tower_chats.CHATS
    with model.engine() as engine:
        for chat in content["chats"]:
            asked = message(chat["sizes"], chat["seed"])
            assert engine.input_tokens([asked]) == len(chat["ids"])
            (made,) = answer(engine, asked, len(chat["tokens"]))
            assert [token for token, _ in made] == [tower_chats.bytes_of(t) for t in chat["tokens"]]


def test_ids_and_positions_are_transformers(model: Model) -> None:
    """The text around the rows, their number, and where each row stands."""
    tokenizer = mlc_core_parts.Tokenizer((model.folder / "tokenizer.json").read_text())
    start, row, end = "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"
    for chat in json.loads((ANSWERS / f"{model.case}.json").read_text())["chats"]:
        prompt = "<|im_start|>user:"
        for index, (width, height) in enumerate(chat["sizes"]):
            pieces = mlc_core_parts.picture_pieces(model.settings, width, height)
            inner = "".join(row * count or text for text, count in pieces)
            prompt += f"{tower_chats.TEXTS[index]}{start}{inner}{end}"
        ids = tokenizer.encode(prompt + "<end_of_utterance>\nassistant:")
        assert ids == chat["ids"]
        sizes, parts = iter(chat["sizes"]), []
        for is_picture, run in groupby(ids, lambda token: token == tower_chats.WORDS[row]):
            parts.append(tuple(next(sizes)) if is_picture else list(run))
        made = mlc_core_parts.prompt_positions(model.settings, parts)
        assert np.array(made).T.tolist() == chat["positions"]


@pytest.mark.parametrize("way", engine_ways.WAYS)
def test_no_way_changes_the_answer(model: Model, way: str) -> None:
    with model.engine() as engine:
        first = ask(engine)
        assert ask(engine) == first, "from the prefix that is kept"
        assert ask(engine, n=3) == first * 3, "branches share pages"
        assert ask(engine, f"{engine_ways.PROMPT}!") != first
    with model.engine(**engine_ways.WAYS[way]) as engine:
        assert ask(engine) == first
        assert ask(engine, n=2) == first * 2


def test_batches_and_preemption_change_nothing(model: Model) -> None:
    engine_ways.check_preemption((model.folder, model.library), ask, tokens=256)


def test_a_saved_chat_goes_on(model: Model, tmp_path: Path) -> None:
    asked = message(SIZES, 3, engine_ways.PROMPT)
    with model.engine() as engine:
        first = ask(engine)
        saved = engine.save_kv([asked], tmp_path / "chat.kv")
    with model.engine() as engine:
        assert engine.load_kv(tmp_path / "chat.kv").tokens == saved.tokens
        assert ask(engine) == first


def test_the_picture_counts(model: Model) -> None:
    with model.engine() as engine, ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda seed: answer(engine, message(SIZES, seed), 4)[0], range(3)))
        assert len({str(one) for one in made}) == 3
        alone = [answer(engine, message(SIZES, seed), 4)[0] for seed in range(3)]
    assert made == alone
