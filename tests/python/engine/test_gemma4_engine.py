"""An engine over a tiny Gemma 4, judged by NumPy: embeddings with the inputs of all layers behind
them, windows, and layers that read the pages of earlier ones.

Answers are the same in chunks, from found prefixes, with drafts that are taken back, and behind a
saved state.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_models
from engine_ways import (
    MAX_TOKENS,
    PROMPT,
    Model,
    check_a_chat,
    check_a_saved_state,
    check_a_way,
    engine_of,
    prompt_ids,
)
from fixture_models import FixtureModel
from test_experts_engine import ENGINES, compiled

from mlc_llm import plan

TINY = FixtureModel(
    "gemma4_text",
    num_hidden_layers=4,
    layer_types=["sliding_attention", "full_attention"] * 2,
    vocab_size_per_layer_input=len(tiny_models.tokens()),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The folder in q0f32, and its library."""
    folder = TINY.written(tmp_path_factory.mktemp("gemma4"))
    return folder, compiled(folder, "cpu")


@pytest.fixture(scope="module")
def greedy() -> list[float]:
    return TINY.greedy(prompt_ids(PROMPT), MAX_TOKENS)


def test_a_chat_is_what_numpy_says(model: Model, greedy: list[float]) -> None:
    check_a_chat(model, greedy, atol=2e-3)


def test_the_table_of_layer_inputs_stays_in_its_file(model: Model) -> None:
    folder, library = model
    planned = plan(folder, model_lib=library, device="cpu")
    on_disk = sum(f.stat().st_size for f in folder.glob("params_shard_*.bin"))
    assert planned.table_bytes == 4 * len(tiny_models.tokens()) * 4 * 16  # layers * width
    assert planned.parameter_bytes <= on_disk - planned.table_bytes
    assert any("stay in the model's files" in line for line in planned.summary)
    with engine_of(model) as engine:
        assert engine.prewarm().weight_bytes == planned.parameter_bytes


@pytest.mark.parametrize("name", ENGINES)
def test_every_way_through_the_engine_gives_the_same(name: str, model: Model) -> None:
    check_a_way(model, ENGINES[name])


def test_a_saved_state_holds_the_pages(model: Model, greedy: list[float], tmp_path: Path) -> None:
    check_a_saved_state(model, greedy, 2e-3, tmp_path)
