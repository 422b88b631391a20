"""Phi-3-vision's pictures beside its authors' processor in Pillow and NumPy
(`tests/fixtures/towers/tower_phi3_v.py`), and the order of its rows."""

from __future__ import annotations

import json

import mlc_core_parts
import numpy as np
import pytest
from picture_files import to_core
from test_recorded_layouts import FIXTURES, picture_shapes, seen, settings

import tower_phi3_v  # isort: skip

FIXTURE = FIXTURES["phi3_v"]
SIDE, TILE = tower_phi3_v.SIDE, tower_phi3_v.TILE


@pytest.mark.parametrize(("width", "height"), [*picture_shapes.SHAPES, (300, 140), (150, 620)])
def test_a_picture_becomes_what_the_authors_make_of_it(width: int, height: int) -> None:
    pictures, spec = settings(FIXTURE)
    drawn = picture_shapes.drawn(width, height)
    views, (rows, columns) = tower_phi3_v.processed(FIXTURE["processor"], drawn)
    config = json.dumps(pictures)
    values, _ = mlc_core_parts.picture_patches(config, to_core(drawn), "auto")
    patches = np.frombuffer(values, np.float32).reshape(-1, spec.patch_dim)
    got = seen(pictures, patches, [[TILE, TILE]] * len(views)).reshape(len(views), 3, TILE, TILE)
    want = np.stack(views).transpose(0, 3, 1, 2)
    tiles, whole = np.abs(got - want)[:-1], np.abs(got - want)[-1]
    assert tiles.max() < 1.01
    assert (tiles < 0.01).mean() >= 0.99
    assert whole.max() < 0.01 or tiles.max() > 0.5  # it is made of the tiles
    count = (rows * columns + 1) * SIDE**2 + 1 + (rows + 1) * SIDE
    assert mlc_core_parts.picture_pieces(config, width, height) == [("", count)]


def test_low_detail_is_one_tile_and_the_whole() -> None:
    pieces = mlc_core_parts.picture_pieces(json.dumps(settings(FIXTURE)[0]), 300, 140, "low")
    assert pieces == [("", 2 * SIDE**2 + 1 + 2 * SIDE)]


def test_rows_are_in_the_authors_order() -> None:
    config, found = json.dumps(settings(FIXTURE)[0]), set()
    for width, height in picture_shapes.SHAPES:
        drawn = picture_shapes.drawn(width, height)
        _, grid = tower_phi3_v.processed(FIXTURE["processor"], drawn)
        assert mlc_core_parts.picture_order(config, width, height) == tower_phi3_v.order(*grid)
        found.add(grid)
    assert len(found) > 2
