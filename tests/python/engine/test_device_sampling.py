"""Tokens chosen on a GPU are those that the host chooses, and are all that comes back.

A request for logprobs is answered by the host's sampler, from the same logits: the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from gpu_engines import ALIKE, LibraryOf, leave_samplers_out, require

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel

TOKENS = 12
TOKEN_BYTES = 4
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"enum": [1, 22, 333]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
GUIDED = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    "debug_config": {},
    "max_tokens": 40,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "temperature": {"temperature": 1.3, "top_p": 1.0},
    "top_p": {"temperature": 0.9, "top_p": 0.8},
    "top_k": {"temperature": 1.0, "top_p": 0.9, "top_k": 7},
    "min_p": {"temperature": 1.2, "top_p": 1.0, "min_p": 0.3},
    "top_n_sigma": {"temperature": 1.5, "top_p": 1.0, "top_n_sigma": 1.2},
    "xtc": {"temperature": 1.0, "top_p": 0.95, "xtc_probability": 0.6, "xtc_threshold": 0.05},
    "dry": {"temperature": 0.7, "dry_multiplier": 0.8, "dry_allowed_length": 1},
    "penalties": {
        "temperature": 0.8,
        "presence_penalty": 0.7,
        "frequency_penalty": 0.4,
        "repetition_penalty": 1.2,
    },
    "bias": {"temperature": 0.8, "presence_penalty": 0.5, "logit_bias": {"70": 4, "71": -100}},
    "guided": {"temperature": 1.0, **GUIDED},
    "guided, greedy": {"temperature": 0, **GUIDED},
    "choices": {"temperature": 1.0, "n": 3},
}


@pytest.fixture(scope="module", params=ALIKE[:-1])
def device(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return request.param


@pytest.fixture(scope="module")
def library(tiny_model: ResolvedModel, device: str, library_of: LibraryOf) -> str:
    return str(library_of(tiny_model.folder, device=device))


@pytest.fixture(scope="module")
def engine(tiny_model: ResolvedModel, device: str, library: str) -> Iterator[MLCEngine]:
    engine = MLCEngine(tiny_model.folder, model_lib=library, device=device)
    yield engine
    engine.terminate()


def texts(engine: MLCEngine, prompt: str, **options: Any) -> list[str]:
    asked = {"max_tokens": TOKENS, "debug_config": {"ignore_eos": True}, **options}
    answer = engine.chat.completions.create(messages=[{"role": "user", "content": prompt}], **asked)
    return [choice.message.content for choice in answer.choices]


def read_by(engine: MLCEngine, act: Callable[[], Any]) -> tuple[int, int]:
    """(bytes that came back from the device, steps) while `act` ran."""

    def counters() -> list[int]:
        metrics = engine.metrics()
        return [metrics["device_read_bytes_sum"], metrics["num_steps"]]

    before = counters()
    act()
    after = counters()
    return after[0] - before[0], after[1] - before[1]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_same_seed_gives_the_hosts_tokens(
    engine: MLCEngine, name: str, pytestconfig: pytest.Config
) -> None:
    seen = set()
    # the first seeds of top_p give the same tokens
    for seed in range(4 if name == "top_p" or pytestconfig.getoption("--long") else 2):
        options = {**OPTIONS[name], "seed": seed}
        ours = texts(engine, f"Say {name}", **options)
        assert ours == texts(engine, f"Say {name}", **options, logprobs=True), seed
        seen.add(tuple(ours))
    assert len(seen) > 1 or OPTIONS[name]["temperature"] == 0


def all_at_once(engine: MLCEngine, asked: list[dict[str, Any]]) -> list[list[str]]:
    with ThreadPoolExecutor(len(asked)) as pool:
        return list(
            pool.map(lambda i: texts(engine, f"Row {i}", seed=i, **asked[i]), range(len(asked)))
        )


def test_a_batch_with_a_request_for_logprobs(engine: MLCEngine) -> None:
    """Rows of both kinds in one step."""
    asked = [OPTIONS[name] for name in ("greedy", "top_p", "guided", "penalties")]
    alone = [texts(engine, f"Row {i}", seed=i, **options) for i, options in enumerate(asked)]
    for odd in range(4):
        mixed = [{**options, "logprobs": i == odd} for i, options in enumerate(asked)]
        assert all_at_once(engine, mixed) == alone


@pytest.mark.parametrize("name", ["greedy", "top_p", "penalties"])
def test_only_tokens_come_back(engine: MLCEngine, name: str) -> None:
    read, steps = read_by(engine, lambda: texts(engine, "Count", **OPTIONS[name]))
    assert steps >= TOKENS and read == TOKEN_BYTES * steps
    options = {**OPTIONS[name], "logprobs": True}
    read, steps = read_by(engine, lambda: texts(engine, "Count", **options))
    assert read >= 100 * TOKEN_BYTES * steps  # whole rows


@pytest.mark.parametrize("width", [1, 3])
def test_drafts_are_verified_on_the_device(
    tiny_model: ResolvedModel, device: str, library: str, width: int, pytestconfig: pytest.Config
) -> None:
    """Rows of one sequence, each with the mask and the penalties of the drafts before it; where
    they branch, the host chooses."""
    drafting = MLCEngine(
        tiny_model.folder,
        model_lib=library,
        device=device,
        engine_config={
            "speculative_mode": "prompt_lookup",
            "spec_draft_length": 3,
            "spec_tree_width": width,
        },
    )
    prompt = "one two one two one two one two one two"
    for name in ("greedy", "top_p", "penalties", "guided"):
        for seed in range(3 if pytestconfig.getoption("--long") else 1 if name == "greedy" else 2):
            options = {**OPTIONS[name], "seed": seed, "max_tokens": 24}
            ours = texts(drafting, prompt, **options)
            assert ours == texts(drafting, prompt, **options, logprobs=True), (name, seed)
    assert sum(drafting.metrics()["spec_decode"]["draft_count"]) > 0
    drafting.terminate()


def test_a_library_without_samplers_goes_on_as_before(
    tiny_model: ResolvedModel,
    device: str,
    engine: MLCEngine,
    library_of: LibraryOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_samplers_out(monkeypatch)
    library = str(library_of(tiny_model.folder, device=device))
    old = MLCEngine(tiny_model.folder, model_lib=library, device=device)
    for name in ("greedy", "top_p"):
        options = {**OPTIONS[name], "seed": 3}
        assert texts(old, "Old", **options) == texts(engine, "Old", **options)
    read, steps = read_by(old, lambda: texts(old, "Old", temperature=0))
    assert read >= 100 * TOKEN_BYTES * steps
    old.terminate()
