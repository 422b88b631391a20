"""Inputs of a step that only some libraries take, each with a layer that reads it: against NumPy,
in TVM's virtual machine and in the core."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import mlc_core_parts  # noqa: E402
import quick_code  # noqa: E402
import toy_reference  # noqa: E402
from test_mixed_layers import written  # noqa: E402
from toy_family import FAMILY, MLP, NORM, ToyConfig  # noqa: E402
from vm_runner import Runner  # noqa: E402

from mlc_llm.compiler import reference  # noqa: E402
from mlc_llm.compiler.layers import Ahead, AttentionSpec, Window  # noqa: E402
from mlc_llm.compiler.library import build_module  # noqa: E402
from mlc_llm.compiler.spec import LayerSpec, RopeSpec  # noqa: E402
from mlc_llm.compiler.spec.part import LayerPart  # noqa: E402
from mlc_llm.errors import InvalidRequestError  # noqa: E402

Array = np.ndarray[Any, Any]
RNG = np.random.RandomState(11)
IDS = [int(i) for i in RNG.randint(3, 300, 40)]
ROWS = len(IDS)
SECTIONS = RopeSpec(dim=64, theta=50.0, axes=(0,) * 8 + (1,) * 12 + (2,) * 12)  # as Qwen2-VL
TURNS = RopeSpec(dim=16, theta=50.0, axes=(0, 1, 2, 0, 1, 2, 0, 0))  # in turns, as Qwen3-VL


def attention(rope: RopeSpec | None, dim: int = 16, **switches: Any) -> AttentionSpec:
    return AttentionSpec(heads=4, kv_heads=2, dim=dim, scale=0.3, rope=rope, **switches)


def toy(*parts: LayerPart) -> ToyConfig:
    return ToyConfig(layers=tuple(LayerSpec((part, MLP), norm=NORM) for part in parts))


def last_seen() -> Array:
    """Two pictures: rows 5 to 13 see each other, and so do rows 20 to 39."""
    seen = np.arange(ROWS)
    seen[5:14], seen[20:] = 13, ROWS - 1
    return seen


def rotary() -> Array:
    """Rows 10 to 29 are a picture of 4 x 5 rows; text goes on behind its largest position."""
    places = np.repeat(np.arange(ROWS)[:, None], 3, axis=1)
    row, column = np.divmod(np.arange(20), 5)
    places[10:30] = np.stack([np.full(20, 10), 10 + row, 10 + column], axis=1)
    places[30:] = 15 + np.arange(ROWS - 30)[:, None]
    return places


OWN_LAYERS = {
    "three axes": (
        toy(attention(SECTIONS, 64), attention(TURNS), attention(RopeSpec(dim=8, theta=9.0))),
        {"rotary": rotary()},
    ),
    "rows that see later ones": (
        toy(
            attention(None, window=Window(7, pinned=2), ahead=Ahead(told=True)),
            attention(RopeSpec(dim=16, theta=50.0), ahead=Ahead(told=True)),
        ),
        {"last_seen": last_seen()},
    ),
}


@pytest.mark.parametrize("name", OWN_LAYERS)
def test_what_a_step_says_of_its_rows_is_what_layers_see(name: str, tmp_path: Path) -> None:
    config, step = OWN_LAYERS[name]
    params = toy_reference.weights(config)
    plain = {key: unset(key) for key in step}
    want, without = (
        reference.logits(FAMILY.decoder(config), params, IDS, step=given) for given in (step, plain)
    )
    assert np.abs(want - without).max() > 0.01 * np.abs(want).max()
    machine = Runner(toy_reference.module(config), params, num_pages=24)
    got = machine.forward([("a", IDS)], **{key: value for key, value in step.items()})
    np.testing.assert_allclose(got, want, atol=2e-5 * np.abs(want).max())

    core = mlc_core_parts.ModelRunner(*map(str, written(config, tmp_path)), 24, 1)
    made = core.step(IDS, {key: value.ravel().tolist() for key, value in step.items()})
    assert np.array_equal(floats(made["logits"], got.shape), got)
    core.reset()  # a step that leaves the inputs out
    left_out = floats(core.step(IDS, {})["logits"], got.shape)
    np.testing.assert_allclose(left_out, without, atol=2e-5 * np.abs(without).max())


def unset(name: str) -> Array:
    places = np.arange(ROWS)
    wide = {"rotary": np.repeat(places[:, None], 3, axis=1), "last_seen": places}
    return wide.get(name, np.full(ROWS, -1))


def floats(raw: bytes, shape: tuple[int, ...]) -> Array:
    return np.frombuffer(raw, np.float32).reshape(shape)


def test_rows_ahead_are_the_same_in_every_part_of_a_long_history(tmp_path: Path) -> None:
    """Few rows at the end of a history of several parts, whose window is cut by their own place."""
    config = ToyConfig(
        layers=(
            LayerSpec(
                (attention(None, window=Window(900), ahead=Ahead(told=True)), MLP), norm=NORM
            ),
        ),
        context_window_size=4096,
    )
    ids = [int(i) for i in RNG.randint(3, 300, 1300)]
    seen = np.arange(len(ids))
    seen[-3:] = len(ids) - 1
    params = toy_reference.weights(config)
    want = reference.logits(FAMILY.decoder(config), params, ids, step={"last_seen": seen})
    machine = Runner(toy_reference.module(config), params, num_pages=100)
    for begin in range(0, len(ids) - 3, 64):
        machine.forward([("a", ids[begin : min(begin + 64, len(ids) - 3)])])
    got = machine.forward([("a", ids[-3:])], last_seen=seen[-3:])
    np.testing.assert_allclose(got, want[-3:], atol=2e-5 * np.abs(want).max())


def test_a_step_gives_logits_and_states_of_chosen_layers(tmp_path: Path) -> None:
    """Both by request, of rows in any order, with the bits of a step that gives one of them."""
    config = toy_reference.CONFIG
    spec = replace(toy_reference.library_spec(), hidden_layers=(0, 3))
    module = quick_code.build(spec, FAMILY)
    params = toy_reference.weights(config)
    machine = Runner(module, params, num_pages=24)
    assert machine.metadata["hidden_layers"] == [0, 3]
    rows = [30, 2, 2, 39]
    both = machine.step([("a", IDS)], hidden_rows=rows)
    want = reference.layer_states(FAMILY.decoder(config), params, IDS, (0, 3))[rows]
    np.testing.assert_allclose(both["layer_states"], want, atol=2e-5 * np.abs(want).max())
    one = machine.step([("b", IDS)], hidden_rows=rows, logit_rows=[])
    assert one["logits"].size == 0
    assert all(np.array_equal(one[key], both[key]) for key in ("hidden_states", "layer_states"))
    assert np.array_equal(machine.step([("c", IDS)])["logits"], both["logits"])

    folder, library = written(config, tmp_path, module)
    core = mlc_core_parts.ModelRunner(str(folder), str(library), 24, 1)
    made = core.step(IDS, {"hidden_rows": rows, "state_source": [-1], "row_indptr": [0, ROWS]})
    for key, value in both.items():
        assert np.array_equal(floats(made[key], value.shape), value), key


@pytest.mark.parametrize("layers", [(3, 0), (1, 1), (4,), (-1,)])
def test_layers_that_there_are_not_are_refused(layers: tuple[int, ...]) -> None:
    spec = replace(toy_reference.library_spec(), hidden_layers=layers)
    with pytest.raises(InvalidRequestError, match="hidden_layers") as refused:
        build_module(spec, FAMILY)
    assert refused.value.param == "hidden_layers"


def test_a_step_with_more_than_the_library_takes_is_refused(tmp_path: Path) -> None:
    config = toy(attention(None))
    core = mlc_core_parts.ModelRunner(*map(str, written(config, tmp_path)), 24, 1)
    with pytest.raises(Exception, match="takes no input 'rotary' of a step"):
        core.step(IDS, {"rotary": rotary().ravel().tolist()})
