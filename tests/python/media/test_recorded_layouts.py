"""From a picture to a tower's views and the prompt's text, by a converted repository's settings,
beside what transformers' processors made (`tests/fixtures/towers`)."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import mlc_core_parts
import numpy as np
import pytest
from picture_files import to_core

from mlc_llm.compiler.models import towers
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.spec.tower import TowerSpec

FOLDER = Path(__file__).parents[2] / "fixtures/towers"
sys.path.append(str(FOLDER))

import picture_shapes  # noqa: E402

FIXTURES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
CASES = [
    (name, index)
    for name, fixture in FIXTURES.items()
    for index in range(len(fixture.get("pictures", ())))
]


def settings(fixture: dict[str, Any]) -> tuple[dict[str, Any], TowerSpec]:
    text = text_part(fixture["config"])
    assert text is not None
    spec = towers.spec_of(text, text["hidden_size"])
    assert spec is not None
    return towers.pictures_of(text, fixture["processor"], spec), spec


def seen(pictures: dict[str, Any], values: np.ndarray, sizes: list[list[int]]) -> np.ndarray:
    """The levels of the views from their patches, one view after another: [channel, row, column]
    each, in one line."""
    side, merge = pictures["patch_size"], pictures["merge"]
    is_last = pictures["patch_order"] == "row_column_channel"
    std, mean = np.array(pictures["std"]), np.array(pictures["mean"])
    found, at = [], 0
    for height, width in sizes:
        rows, columns = height // side, width // side
        patches = values[at : (at := at + rows * columns)]
        shape = (side, side, 3) if is_last else (3, side, side)
        x = patches.reshape(rows // merge, columns // merge, merge, merge, *shape)
        x = x if is_last else np.moveaxis(x, 4, -1)
        x = x.transpose(0, 2, 4, 1, 3, 5, 6).reshape(height, width, 3) * std + mean
        found.append((x * 255).transpose(2, 0, 1).reshape(-1))
    assert at == len(values), "patches are left"
    return np.concatenate(found)


@pytest.mark.parametrize(("name", "index"), CASES)
def test_a_picture_becomes_what_transformers_makes_of_it(name: str, index: int) -> None:
    fixture = FIXTURES[name]
    pictures, spec = settings(fixture)
    recorded, config = fixture["pictures"][index], json.dumps(pictures)
    width, height = recorded["width"], recorded["height"]
    pieces = mlc_core_parts.picture_pieces(config, width, height, "auto")
    marker = pictures["marker"]
    text = "".join(text or marker * count for text, count in pieces)
    assert text == recorded["text"]
    drawn = to_core(picture_shapes.drawn(width, height))
    values, _ = mlc_core_parts.picture_patches(config, drawn, "auto")
    values = np.frombuffer(values, np.float32).reshape(-1, spec.patch_dim)
    got = seen(pictures, values, recorded["views"])
    want = np.frombuffer(base64.b64decode(recorded["pixels"]), np.uint8)
    differ = np.abs(got - want)
    assert differ.max() < 1.01
    assert (differ < 0.01).mean() >= 0.99
    order = np.frombuffer(base64.b64decode(recorded.get("order", "")), "<i2")
    assert mlc_core_parts.picture_order(config, width, height) == order.tolist()


def test_four_shapes_are_recorded() -> None:
    recorded = {name for name, _ in CASES}
    others = {"lfm2_vl", "internvl", "internvl_chat", "pixtral", "mistral3", "gemma3", "gemma4"}
    assert recorded >= {*others, "llava_next", "minicpmv"}
    for name in recorded:
        sizes = [(p["width"], p["height"]) for p in FIXTURES[name]["pictures"]]
        assert sizes == list(picture_shapes.SHAPES), name
