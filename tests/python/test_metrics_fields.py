"""The typed metrics have every field that the core sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlc_llm import MLCEngine
from mlc_llm.types_gen import EngineMetrics

FOLDER = Path(__file__).parents[1] / "fixtures" / "fake-model"
ENDLESS: Any = {
    "messages": [{"role": "user", "content": "a b a b a b"}],
    "debug_config": {"ignore_eos": True},
}


def extras(value: Any, path: str = "") -> list[str]:
    """The paths of what no field has taken."""
    found = [f"{path}{name}" for name in value.model_extra or {}]
    for name in type(value).model_fields:
        member = getattr(value, name)
        if hasattr(member, "model_extra"):
            found += extras(member, f"{path}{name}.")
    return found


def test_the_typed_metrics_have_all_that_is_sent() -> None:
    settings = {"speculative_mode": "prompt_lookup", "spec_draft_length": 2}
    request: Any = {
        "messages": ENDLESS["messages"],
        "max_tokens": 60,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "s", "schema": {"enum": ["abababab", "babababa"]}},
        },
    }
    for config in ({}, settings):
        with MLCEngine(FOLDER, device="fake", engine_config=config) as engine:
            assert extras(EngineMetrics.model_validate(engine.metrics())) == []
            engine.chat.completions.create(**request)
            for seed in range(3):
                engine.chat.completions.create(**ENDLESS, max_tokens=300, seed=seed)
            sent = engine.metrics()
            assert sent["num_finished_requests"] == 4 and sent["last_finished_request"]
            assert extras(EngineMetrics.model_validate(sent)) == []
            assert {"jump_forward", "decode_time_by_batch_size"} <= sent.keys()
    assert {"spec_decode", "verify_time_by_batch_size"} <= sent.keys()
