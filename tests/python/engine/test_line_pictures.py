"""What a model says of pictures whose tiles become lines of rows with learned rows between: NumPy's
tower and decoder, the rows in the order of the references, give the engine's log
probabilities."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import mlc_core_parts
import numpy as np
import pytest
import test_picture_answers
from test_picture_answers import TOP, Array, tiny_pictures, tower_numpy

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

import picture_shapes  # isort: skip
import tower_phi3_v  # isort: skip

FOLDER = Path(__file__).parents[2] / "fixtures/towers"
ALWAYS, TOKENS = "llava_next", {"llava_next": 16, "phi3_v": 4}  # Phi's pictures have 1,346 rows
WIDE, TALL, TINY = picture_shapes.SHAPES[1:]


class Model(test_picture_answers.Model):
    def views(self, picture: Array) -> Array:
        """The pixels of square views as the core has them, which tests/python/media judges."""
        height, width = picture.shape[:2]
        config = json.loads((self.folder / "mlc-chat-config.json").read_text())["pictures"]
        given = (width, height, picture.tobytes())
        values, _ = mlc_core_parts.picture_patches(json.dumps(config), given)
        side, merge, columns = config["patch_size"], config["merge"], config["columns"]
        lines = columns // merge
        blocks = np.frombuffer(values, np.float32).reshape(
            -1, lines, lines, merge, merge, 3, side, side
        )
        return blocks.transpose(0, 5, 1, 3, 6, 2, 4, 7).reshape(-1, 3, *2 * [columns * side])

    def picture_rows(self, picture: Array) -> Array:
        height, width = picture.shape[:2]
        weights, views = tiny_pictures.weights(self.config), self.views(picture)
        rows = tower_numpy.rows(self.config, weights, views)
        learned = len(tower_numpy.rows(self.config, weights, views[:0]))
        order = np.array(self.order(width, height))
        return rows[np.where(order < 0, len(rows) - learned - 1 - order, order)]

    def order(self, width: int, height: int) -> list[int]:
        if self.case == "phi3_v":
            blank = np.zeros((height, width, 3), np.uint8)
            return tower_phi3_v.order(*tower_phi3_v.processed(tower_phi3_v.PROCESSOR, blank)[1])
        fixture = json.loads((FOLDER / f"{self.case}.json").read_text())
        sizes = {(one["width"], one["height"]): one for one in fixture["pictures"]}
        found: list[int] = np.frombuffer(
            base64.b64decode(sizes[width, height]["order"]), "<i2"
        ).tolist()
        return found

    def expanded(self, rows: int) -> str:
        return rows * "*"


@pytest.fixture(scope="module", params=["llava_next", "phi3_v"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Model]:
    if request.param != ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    folder = tmp_path_factory.mktemp("lines") / request.param
    tiny_pictures.write_hf_folder(folder, request.param)
    resolved = resolve_model(str(folder), quantization="q0f32")
    with MLCEngine(resolved.folder) as engine:
        yield Model(request.param, Path(resolved.folder), engine, detail="auto")


@pytest.mark.parametrize("shapes", [[WIDE], [TALL], [TINY, WIDE]])
def test_numpy_says_the_same(model: Model, shapes: list[tuple[int, int]]) -> None:
    pictures = [picture_shapes.drawn(*shape) for shape in shapes]
    want = np.sort(model.logprobs(pictures))[::-1][:TOP]
    np.testing.assert_allclose(model.answer(pictures), want, atol=2e-3)
    if len(shapes) > 1:
        count = TOKENS[model.case]
        greedy = model.greedy(pictures, count)
        np.testing.assert_allclose(model.answer(pictures, count), greedy, atol=2e-3)
    other = np.sort(model.logprobs([255 - picture for picture in pictures]))[::-1][:TOP]
    assert np.abs(other - want).max() > 0.05, "the picture counts"
