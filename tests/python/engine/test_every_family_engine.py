"""Every fixture of `tests/fixtures/families` in an engine: the answer is NumPy's, and it is the
same bits in any batch, in chunks, with any number of threads, from found prefixes, as one of
several branches, with drafts that are taken back, after a preemption, and behind a saved state.

With `--long` alone. The normal run has a file for each kind of layer: `test_mixed_layers.py`,
`test_experts_engine.py`, `test_latent_engine.py`, `test_states_engine.py`,
`test_gemma4_engine.py`.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fixture_models  # it finds the folder of `family_fixtures`
import pytest
import tiny_models
from engine_ways import (
    MAX_TOKENS,
    PROMPT,
    TREES,
    WAYS,
    Model,
    ask,
    check_a_chat,
    check_a_saved_state,
    check_a_way,
    check_preemption,
    engine_of,
    prompt_ids,
)
from family_fixtures import NAMES, load
from spec_switches import parts_of
from test_experts_engine import compiled

from mlc_llm.compiler.spec.part import Mixer

ENGINES: dict[str, dict[str, Any]] = {
    **WAYS,
    "trees": TREES,
    "one thread": {"num_threads": 1},
    "three threads": {"num_threads": 3},
}
# Fewer layers than in the fixture, or a context that holds the chat.
CHANGES: dict[str, dict[str, Any]] = {
    "baichuan2_13b": {"num_hidden_layers": 4},
    "baichuan_7b": {"num_hidden_layers": 4},
    "gemma4_text": {"vocab_size_per_layer_input": len(tiny_models.tokens())},
    "gpt2": {"n_positions": 512},
    "gpt_bigcode": {"n_positions": 512},
    "gptj": {"n_positions": 512},
    "mpt": {"max_seq_len": 512},
    "opt": {"max_position_embeddings": 512},
}


@pytest.fixture(scope="module", params=NAMES)
def tiny(request: pytest.FixtureRequest) -> fixture_models.FixtureModel:
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    name = request.param
    norm_mean = 0 if has_plus_one(name) else 1
    return fixture_models.FixtureModel(name, norm_mean, **CHANGES.get(name, {}))


@pytest.fixture(scope="module")
def model(tiny: fixture_models.FixtureModel, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The folder in q0f32, and its library."""
    folder = tiny.written(tmp_path_factory.mktemp("family"))
    return folder, compiled(folder, "cpu")


@pytest.fixture(scope="module")
def greedy(tiny: fixture_models.FixtureModel) -> list[float]:
    return tiny.greedy(prompt_ids(PROMPT), MAX_TOKENS)


def test_a_chat_is_what_numpy_says(model: Model, greedy: list[float]) -> None:
    check_a_chat(model, greedy, atol=5e-3)


@pytest.mark.parametrize("name", ENGINES)
def test_every_way_through_the_engine_gives_the_same(
    name: str, tiny: fixture_models.FixtureModel, model: Model
) -> None:
    mixers = parts_of(tiny.family.decoder(tiny.typed), Mixer)
    if name == "trees" and not all(mixer.sees for mixer in mixers):
        pytest.skip("states do not branch: refused by name")
    check_a_way(model, ENGINES[name])


def test_a_row_is_the_same_in_any_batch(model: Model) -> None:
    texts = [PROMPT[:size] for size in (84, 11, 40, 63)]
    with engine_of(model, prefix_cache_mode="disable") as engine:
        alone = [ask(engine, text) for text in texts]
        with ThreadPoolExecutor(len(texts)) as pool:
            assert list(pool.map(lambda text: ask(engine, text), texts)) == alone


def test_preempted_chats_go_on(model: Model) -> None:
    config = json.loads((model[0] / "mlc-chat-config.json").read_text(encoding="utf-8"))
    if config["sliding_window_size"] > 0:
        pytest.skip("all layers have the window, and free the pages before it: there is room")
    check_preemption(model)


def test_a_saved_state_is_enough(model: Model, greedy: list[float], tmp_path: Path) -> None:
    check_a_saved_state(model, greedy, 5e-3, tmp_path)


def test_the_tables_fit_the_fixtures(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("reads every fixture; run with --long")
    assert set(CHANGES) <= set(NAMES)


def has_plus_one(name: str) -> bool:
    """Whether the family's norms are stored as w, for the weight 1 + w."""
    fixture = load(name)
    return bool(fixture.family.tensors(fixture.typed).norm)
