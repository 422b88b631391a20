"""What Gemma 3 says of a long picture and of tiles of it: NumPy's tower and decoder give the
engine's log probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from test_line_pictures import Model
from test_picture_answers import EXPANDED, TOP, Array, png, tiny_pictures, tower_numpy

from mlc_llm import MLCEngine, picture
from mlc_llm.prepare.model_source import resolve_model

import pan_and_scan  # isort: skip
import picture_shapes  # isort: skip

SQUARE, WIDE, TALL, _ = picture_shapes.SHAPES
ONE = EXPANDED["gemma3"]
FOUR = (
    f"Here is the original image {ONE}"
    f" and here are some crops to help you see better {ONE} {ONE} {ONE}"
)


class Gemma(Model):
    def picture_rows(self, picture: Array) -> Array:
        weights = tiny_pictures.weights(self.config)
        return tower_numpy.rows(self.config, weights, self.views(picture))

    def expanded(self, rows: int) -> str:
        return {ONE.count("*"): ONE, FOUR.count("*"): FOUR}[rows]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gemma]:
    folder = tmp_path_factory.mktemp("pan_and_scan") / "gemma3"
    tiny_pictures.write_hf_folder(folder, "gemma3")
    (folder / "preprocessor_config.json").write_text(json.dumps(pan_and_scan.PROCESSOR))
    resolved = resolve_model(str(folder), quantization="q0f32")
    with MLCEngine(resolved.folder) as engine:
        yield Gemma("gemma3", Path(resolved.folder), engine, detail="auto")


@pytest.mark.parametrize("shapes", [[WIDE], [TALL, SQUARE]])
def test_numpy_says_the_same(model: Gemma, shapes: list[tuple[int, int]]) -> None:
    pictures = [picture_shapes.drawn(*shape) for shape in shapes]
    want = np.sort(model.logprobs(pictures))[::-1][:TOP]
    np.testing.assert_allclose(model.answer(pictures), want, atol=2e-3)
    pictures[0][-20:, -20:] = 255 - pictures[0][-20:, -20:]
    other = np.sort(model.logprobs(pictures))[::-1][:TOP]
    assert np.abs(other - want).max() > 0.01, "the last tile counts"


def test_low_detail_is_the_whole_picture_alone(model: Gemma) -> None:
    def rows(detail: str) -> int:
        part = picture(png(picture_shapes.drawn(*WIDE)), detail=detail)
        return model.engine.input_tokens([{"role": "user", "content": [part]}])

    assert rows("auto") == rows("high") > rows("low") + 3 * 16
