"""`/metrics` is Prometheus' text format, with every number of the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.serve import metrics


def numbers_of(engine_metrics: dict[str, Any]) -> dict[tuple[str, str], float]:
    """What a scraper reads: by name and by the label beside the model's."""
    model = SimpleNamespace(
        name="m", engine=SimpleNamespace(metrics=lambda: engine_metrics), loading=False
    )
    models: Any = SimpleNamespace(all=lambda: [model])
    text = metrics.render(models, 0).decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.labels.pop("model", None) == "m":
                (label,) = [f"{k}={v}" for k, v in sample.labels.items()] or [""]
                found[sample.name.removeprefix("mlc_llm_"), label] = sample.value
    return found


def test_steps_and_batch_sizes_are_labels() -> None:
    found = numbers_of({
        "num_steps": 7,
        "spec_decode": {
            "draft_count": [5, 4],
            "accept_prob": {"accept_prob{step=0}": 1.0, "accept_prob{step=1}": 0.5},
            "failure": "lost",
        },
        "verify_time_by_batch_size": {"mean{batch_size=3}": 0.25, "count{batch_size=3}": 8},
        "last_finished_request": {"ttft_s": 0.125},
    })  # fmt: skip
    assert found == {
        ("steps_total", ""): 7,
        ("spec_decode_draft_count_total", "step=0"): 5,
        ("spec_decode_draft_count_total", "step=1"): 4,
        ("spec_decode_accept_prob", "step=0"): 1,
        ("spec_decode_accept_prob", "step=1"): 0.5,
        ("verify_time_by_batch_size_mean", "batch_size=3"): 0.25,
        ("verify_time_by_batch_size_count_total", "batch_size=3"): 8,
        ("last_finished_request_ttft_s", ""): 0.125,
    }


def test_a_drafting_engine_s_metrics(tiny_model: ResolvedModel) -> None:
    options = {"speculative_mode": "prompt_lookup", "spec_draft_length": 2}
    messages: Any = [{"role": "user", "content": "the sea"}]
    with MLCEngine(
        tiny_model.folder, model_lib=tiny_model.model_lib, engine_config=options
    ) as engine:
        engine.chat.completions.create(
            messages=messages,
            temperature=0,
            max_tokens=40,
            logit_bias={"65": 100},  # one token again and again, which is found
            debug_config={"ignore_eos": True},
        )
        found = numbers_of(engine.metrics())
    assert found["decode_tokens_total", ""] > 0
    assert {"step=0", "step=1"} <= {
        label for name, label in found if name == "spec_decode_draft_count_total"
    }
    assert ("spec_decode_accept_rate", "step=1") in found
