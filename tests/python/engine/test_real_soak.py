"""Random requests in a pool too small for them, a third of them aborted: each gets what it gets
alone. 300 with `--long`, 16 in CI."""

from __future__ import annotations

import random

import pytest
from real_requests import ask, ask_at_once, random_request

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel

POOL = 160  # tokens; eight sequences would take over five hundred


@pytest.mark.parametrize("drafting", ["disable", "prompt_lookup"])
def test_every_request_gets_what_it_gets_alone(
    drafting: str, default_model: ResolvedModel, request: pytest.FixtureRequest
) -> None:
    long = request.config.getoption("--long")
    count = 150 if long else 8
    rng = random.Random(f"soak {drafting}")
    requests = [random_request(rng) for _ in range(count)]
    aborts = [rng.randrange(1, 20) if rng.random() < 0.3 else None for _ in requests]
    model = {"model_lib": default_model.model_lib}
    options = {
        "max_num_sequence": 8,
        "max_total_seq_length": POOL,
        "prefill_chunk_size": 64,
        "speculative_mode": drafting,
    }
    with MLCEngine(default_model.folder, engine_config=options, **model) as engine:
        answers = ask_at_once(engine, requests, aborts, at_once=12)
        metrics = engine.metrics()
    assert not long or metrics["num_preemptions"] > 0  # a few requests may happen to fit
    with MLCEngine(default_model.folder, mode="interactive", **model) as engine:
        alone = [ask(engine, request) for request in requests]
    for number, (answer, whole) in enumerate(zip(answers, alone, strict=True)):
        assert whole.ended and not answer.error, (number, answer.error)
        if answer.ended:
            assert answer == whole, (number, requests[number])
            continue
        assert aborts[number] is not None
        for choice, text in answer.texts.items():
            assert whole.texts[choice].startswith(text), (number, requests[number])
