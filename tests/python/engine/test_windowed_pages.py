"""An engine over layers of which some have a window, and their own block table: answers are
NumPy's, and the same bits as with one table for all layers, in every way through the engine."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_ways import (
    PROMPT,
    TREES,
    WAYS,
    Model,
    check_a_chat,
    check_a_saved_state,
    check_preemption,
    engine_of,
    prompt_ids,
)
from test_mixed_layers import ask, continued, written

import toy_reference  # isort: skip
from toy_family import FAMILY, LAYERS, ToyConfig  # isort: skip

TOYS = {
    "plain": ToyConfig(layers=(LAYERS[0], LAYERS[2], LAYERS[0])),
    "q8": ToyConfig(layers=(LAYERS[0], LAYERS[2], LAYERS[0])),
    "states": ToyConfig(layers=LAYERS[:3]),
}
ALL_WAYS = {"default": {}, **WAYS, "trees": TREES, "few pages": {"max_total_seq_length": 224}}
LONG = PROMPT + "a sky. "


def library(name: str) -> Any:
    import quick_code

    spec = toy_reference.library_spec(TOYS[name])
    spec = replace(spec, kv_cache_dtype="q8") if name == "q8" else spec
    return quick_code.build(spec, FAMILY)


@pytest.fixture(scope="module", params=TOYS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "plain" and not request.config.getoption("--long"):
        pytest.skip("the others have its layers; run with --long")
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return written(TOYS[name], tmp_path_factory.mktemp("two"), library(name))


@pytest.fixture(scope="module")
def one_table(name: str, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The same with a library whose layers share one block table, as older ones do."""
    from mlc_llm.compiler import library as built
    from mlc_llm.compiler.nn import builder, pages

    with pytest.MonkeyPatch.context() as patch:
        for module in (built, builder, pages):
            patch.setattr(module, "table_of", lambda *_: "")
        return written(TOYS[name], tmp_path_factory.mktemp("one"), library(name))


@pytest.fixture(scope="module")
def answers(one_table: Model) -> list[Any]:
    """The logprobs of greedy answers."""
    with engine_of(one_table) as engine:
        return [ask(engine, text) for text in (PROMPT, LONG)]


def test_answers_are_what_numpy_says(name: str, model: Model, answers: list[Any]) -> None:
    if name != "q8":
        greedy = continued(prompt_ids(PROMPT), TOYS[name])[1]
        check_a_chat(model, greedy, 1e-4, ask)
    with engine_of(model) as engine:
        assert ask(engine) == answers[0]


@pytest.mark.parametrize("way", ALL_WAYS)
def test_every_way_gives_the_bits_of_one_table(
    name: str, way: str, model: Model, answers: list[Any]
) -> None:
    if name == "states" and way == "trees":
        pytest.skip("states do not branch")
    with engine_of(model, **ALL_WAYS[way]) as engine:
        assert ask(engine) == answers[0]
        assert ask(engine, LONG) == answers[1]  # behind the prefix that both have
        assert ask(engine, n=2) == answers[0] * 2


def test_preempted_chats_go_on(model: Model, answers: list[Any]) -> None:
    assert check_preemption(model, ask)[0] == answers[0]


def test_a_saved_state_holds_the_pages_of_both_tables(
    model: Model, answers: list[Any], tmp_path: Path
) -> None:
    check_a_saved_state(model, answers[0][0], 0, tmp_path, ask)


def test_pages_of_windows_are_few(model: Model, one_table: Model) -> None:
    """In a file of a saved conversation, which holds the pages that the cache holds."""
    messages: Any = [{"role": "user", "content": PROMPT}]
    sizes = []
    for one in (model, one_table):
        with engine_of(one) as engine:
            engine.save_kv(messages, one[0] / "chat.kv")
        sizes.append((one[0] / "chat.kv").stat().st_size)
    assert sizes[0] < sizes[1]


def test_a_turn_of_an_agent_computes_what_is_new(model: Model) -> None:
    """Templates drop the thoughts of old turns, so all behind the last prompt is new. Of the rest
    at most a page, of 16 tokens, is computed again: where a window or a state is kept."""
    rng = random.Random(1)
    prompt, known = prompt_ids(PROMPT)[:64], 0
    with engine_of(model) as engine:
        for turn in range(10):
            made: Any = engine.completions.create(
                prompt=prompt, max_tokens=8, temperature=0, debug_config={"ignore_eos": True}
            )
            cached = made.usage.prompt_tokens_details.cached_tokens or 0
            assert cached >= known - 16 and (turn == 0) == (cached == 0)
            known = len(prompt)
            prompt = prompt + [rng.choice(prompt) for _ in range(rng.randint(3, 18))]
