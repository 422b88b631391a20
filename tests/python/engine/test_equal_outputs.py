"""Greedy answers of the default model are equal token by token, and their logprobs bit by bit, in
any batch, chunking, pool, with and without prefix cache and speculative decoding.

A twentieth of the combinations runs in CI; `--long` runs them all.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from real_requests import Answer, ask, ask_at_once, greedy_requests

from mlc_llm import MLCEngine
from mlc_llm.errors import UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

ROOMY, TIGHT = 16384, 448  # tokens of KV cache; a tight one makes the engine preempt
DRAFTS: dict[str, dict[str, Any]] = {
    "off": {},
    "lookup": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4},
    "lookup-adaptive": {"speculative_mode": "prompt_lookup"},
    "draft": {"speculative_mode": "small_draft", "spec_draft_length": 3},
    "lookup-tree": {
        "speculative_mode": "prompt_lookup",
        "spec_draft_length": 4,
        "spec_tree_width": 4,
    },
    "draft-tree": {
        "speculative_mode": "small_draft",
        "spec_draft_length": 3,
        "spec_tree_width": 2,
    },
}
CHUNKS = (16, 64, 256, 1024)
# batch, chunk, pool, prefix cache, drafts
CASES = [
    (1, 1024, ROOMY, "disable", "lookup"),
    (4, 16, ROOMY, "disable", "off"),
    (16, 256, TIGHT, "disable", "off"),
    (16, 64, TIGHT, "radix", "off"),
    (4, 64, ROOMY, "radix", "draft"),
    (16, 16, TIGHT, "disable", "lookup"),
    (16, 1024, TIGHT, "radix", "lookup-adaptive"),
    (1, 64, ROOMY, "radix", "draft-tree"),
    (16, 64, TIGHT, "radix", "lookup-tree"),
]
ALL_CASES = list(
    itertools.product((1, 4, 16), CHUNKS, (ROOMY, TIGHT), ("disable", "radix"), DRAFTS)
)


def cases(config: pytest.Config) -> list[tuple[int, int, int, str, str]]:
    return ALL_CASES if config.getoption("--long") else CASES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        chosen = cases(metafunc.config)
        metafunc.parametrize("case", chosen, ids=["-".join(map(str, case)) for case in chosen])


@pytest.fixture(scope="module")
def draft_model() -> ResolvedModel:
    """The same model in the types of its own file, as README's commands compile it too: it agrees
    often, not always."""
    return resolve_model(None, progress=lambda _: None)


@pytest.fixture(scope="module")
def requests_(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    long = request.config.getoption("--long")
    return greedy_requests(16 if long else 6, max_tokens=48 if long else 32)


@pytest.fixture(scope="module")
def expected(default_model: ResolvedModel, requests_: list[dict[str, Any]]) -> list[Answer]:
    """Each request alone, its prompt in one chunk."""
    options = {"prefix_cache_mode": "disable", "max_num_sequence": 1}
    with MLCEngine(
        default_model.folder, model_lib=default_model.model_lib, engine_config=options
    ) as engine:
        answers = [ask(engine, request) for request in requests_]
    assert all(answer.ended and answer.tokens[0] for answer in answers)
    return answers


@pytest.fixture(scope="module")
def preemptions() -> list[int]:
    """How many there were in each engine that is made to preempt."""
    return []


def open_engine(model: ResolvedModel, options: dict[str, Any]) -> MLCEngine:
    try:
        return MLCEngine(model.folder, model_lib=model.model_lib, engine_config=options)
    except UnsupportedError as error:
        pytest.skip(error.message)


def test_answers_are_equal(
    case: tuple[int, int, int, str, str],
    default_model: ResolvedModel,
    draft_model: ResolvedModel,
    requests_: list[dict[str, Any]],
    expected: list[Answer],
    preemptions: list[int],
) -> None:
    batch, chunk, pool, cache, drafts = case
    options = {
        "max_num_sequence": batch,
        "prefill_chunk_size": chunk,
        "max_total_seq_length": pool,
        "prefix_cache_mode": cache,
        **DRAFTS[drafts],
    }
    if drafts.startswith("draft"):
        options["additional_models"] = [f"{draft_model.folder},{draft_model.model_lib}"]
    with open_engine(default_model, options) as engine:
        for _ in range(2 if cache == "radix" else 1):  # the second time out of the cache
            answers = ask_at_once(engine, requests_)
            for request, answer, alone in zip(requests_, answers, expected, strict=True):
                assert answer == alone, request
        metrics = engine.metrics()
    if pool == TIGHT and batch == 16:
        preemptions.append(metrics["num_preemptions"])
    if drafts in ("lookup", "draft", "lookup-tree", "draft-tree"):
        assert metrics["spec_decode"]["accept_count"][1] > 0


def test_tight_pools_made_engines_preempt(preemptions: list[int]) -> None:
    if not preemptions:
        pytest.skip("no such engine was chosen")
    assert sum(preemptions) > 0
