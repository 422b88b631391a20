"""Towers: rows of pictures against NumPy and against programs that are not ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

from tower_fixtures import NAMES, Array, embedded, load, tower_numpy  # noqa: E402

TOLERANCE = 1e-3  # of the largest value
COUNTS = 0.01  # a switch that changes less than this proves nothing
EIGHT_BITS = 0.2  # of the root mean square: drawn weights make small differences large
ALWAYS = ("smolvlm",)


def apart(made: Array, expected: Array) -> float:
    return float(np.abs(made - expected).max() / np.abs(expected).max())


def far(made: Array, expected: Array) -> float:
    return float(np.sqrt(((made - expected) ** 2).mean() / (expected**2).mean()))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_computes_what_the_references_compute(name: str) -> None:
    fixture = load(name)
    made = tower_numpy.rows(fixture.config, fixture.weights, fixture.pixels)
    assert apart(made, fixture.rows) < TOLERANCE
    assert len(fixture.content["references"]) > 1


@pytest.mark.parametrize("name", NAMES)
def test_every_switch_of_the_fixture_moves_the_rows(name: str) -> None:
    fixture = load(name)
    for switch in tower_numpy.switches(fixture.config):
        made = tower_numpy.rows(fixture.config, fixture.weights, fixture.pixels, [switch])
        assert apart(made, fixture.rows) > COUNTS, switch


@pytest.mark.parametrize("name", [name for name in NAMES if "tokens" in load(name).content])
def test_numpy_answers_as_transformers(name: str) -> None:
    """Two pictures with text between, and the rows on which the references agree."""
    fixture = load(name)
    rows = tower_numpy.rows(fixture.config, fixture.weights, fixture.pixels)
    ids = fixture.answered(fixture.content["prompt"], rows, len(fixture.content["tokens"]))
    assert ids == fixture.content["tokens"]
    other = fixture.answered(fixture.content["prompt"], rows[::-1], len(ids))
    assert other != ids, "the rows count"


def test_every_tensor_of_the_files_is_read() -> None:
    for name in NAMES:
        fixture = load(name)
        read = sum(value.size for value in fixture.params().values())
        unused = tower_numpy.unused(fixture.config, fixture.weights)
        # of a patch's frames, of which a picture is each one, the sum is stored
        sizes = {
            k: v.size // (fixture.tower.frames if v.ndim == 5 else 1)
            for k, v in fixture.weights.items()
        }
        assert read == sum(size for k, size in sizes.items() if k not in unused), name


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_tower_gives_the_references_rows(name: str, request: Any) -> None:
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each tower; run with --long")
    fixture = load(name)
    runner = fixture.runner()
    inputs = fixture.inputs(fixture.pixels)
    made = embedded(runner, inputs)
    size = fixture.rows.shape[1]
    assert apart(made[:, :size], fixture.rows) < TOLERANCE
    token = runner.call("embed", tokens=np.array([0], np.int32), params=runner.params)
    behind = token["embeddings"].numpy()[:, size:]  # what layers get of a token besides
    assert np.array_equal(made[:, size:], behind.repeat(len(made), 0)[:, : made.shape[1] - size])
    alone = embedded(runner, fixture.inputs(fixture.pixels[1:]))
    assert np.array_equal(alone, made[len(made) - len(alone) :]), "views change each other"
    chosen = embedded(runner, {**inputs, "first_patches": inputs["first_patches"][::-3]})
    assert np.array_equal(chosen, made[::-3])
    tower = runner.metadata["tower"]
    assert (tower["width"], tower["function"]) == (made.shape[1], "image_embed")
    assert tower["max_patches"] >= fixture.tower.view_patches
    logits = runner.forward([("a", [3, 5, 7])])
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_8_bits_are_close(name: str, request: Any) -> None:
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each tower; run with --long")
    fixture = load(name)
    runner = fixture.runner(tower="q8f32_1")
    names = {p["name"] for p in runner.metadata["params"]}
    assert any(one.startswith("vision_tower") and one.endswith("q_weight") for one in names)
    made = embedded(runner, fixture.inputs(fixture.pixels))[:, : fixture.rows.shape[1]]
    assert far(made, fixture.rows) < EIGHT_BITS
    alone = embedded(runner, fixture.inputs(fixture.pixels[1:]))[:, : made.shape[1]]
    assert np.array_equal(alone, made[len(made) - len(alone) :]), "views change each other"


def test_float16_weights_are_close() -> None:
    fixture = load("smolvlm")
    runner = fixture.runner("q4f16_1")
    kinds = {p["dtype"] for p in runner.metadata["params"] if p["name"].startswith("vision_tower")}
    assert kinds == {"float16"}
    assert apart(embedded(runner, fixture.inputs(fixture.pixels)), fixture.rows) < 5e-3
