"""Priorities, time limits, measurements and the trace, through the binding on the fake device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_llm import MLCEngine
from mlc_llm.errors import DeadlineExceededError

FOLDER = Path(__file__).parents[2] / "fixtures" / "fake-model"
HELLO = [{"role": "user", "content": "Hello"}]
ENDLESS = {"ignore_eos": True}


@pytest.fixture(scope="module", params=["hybrid", "chunked"])
def engine(request: pytest.FixtureRequest):
    config = {"enable_tracing": True, "prefill_mode": request.param}
    with MLCEngine(FOLDER, device="fake", engine_config=config) as engine:
        yield engine


def test_a_missed_deadline_is_an_error_of_its_own(engine: MLCEngine) -> None:
    with pytest.raises(DeadlineExceededError) as caught:
        engine.chat.completions.create(
            messages=HELLO, timeout_ms=1, max_tokens=30000, debug_config=ENDLESS
        )
    assert caught.value.code == "deadline_exceeded"


def test_measurements_come_on_request(engine: MLCEngine) -> None:
    options = {"messages": HELLO, "max_tokens": 5, "debug_config": ENDLESS}
    assert engine.chat.completions.create(**options).usage.extra is None
    extra = engine.chat.completions.create(**options, usage_extra=True, priority=3).usage.extra
    assert extra["completion_tokens"] == 5
    assert 0 < extra["ttft_s"] <= extra["end_to_end_latency_s"]
    assert extra["inter_token_latency_s"] > 0
    usage_chunk = list(
        engine.chat.completions.create(
            **options, usage_extra=True, stream=True, stream_options={"include_usage": True}
        )
    )[-1]
    assert usage_chunk.usage.extra["decode_tokens"] == 4


def test_the_trace_shows_each_request(engine: MLCEngine) -> None:
    engine.chat.completions.create(messages=HELLO, max_tokens=5, debug_config=ENDLESS)
    events = json.loads(engine._core.call("trace", {}))["traceEvents"]
    names = {event["name"] for event in events}
    assert {"queued", "prefill", "decode", "step", "finish", "thread_name"} <= names
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["pid"] in (1, 2) for event in spans)
