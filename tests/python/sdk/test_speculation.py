"""Speculative decoding through MLCEngine: what is asked for, refused and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm import MLCEngine, plan
from mlc_llm.cli.settings import parse_overrides
from mlc_llm.errors import InvalidRequestError, UnsupportedError
from mlc_llm.sdk import engine_config
from mlc_llm.types_gen import EngineConfig

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
HELLO = [{"role": "user", "content": "Hello"}]


def answers(config: object) -> tuple[list[str], dict]:
    with MLCEngine(FAKE, device="fake", engine_config=config) as engine:
        texts = [
            engine.chat.completions.create(
                messages=HELLO, seed=seed, temperature=seed % 2, max_tokens=60
            )
            .choices[0]
            .message.content
            for seed in range(4)
        ]
        return texts, engine.metrics()


def test_answers_are_those_without_speculation() -> None:
    plain, metrics = answers(None)
    assert "spec_decode" not in metrics
    for config in (
        EngineConfig(speculative_mode="prompt_lookup", spec_draft_length=4),
        {"speculative_mode": "small_draft", "additional_models": [FAKE], "spec_draft_length": 3},
        {"speculative_mode": "small_draft", "additional_models": [(FAKE, "unused")]},
        EngineConfig(speculative_mode="prompt_lookup", spec_draft_length=4, spec_tree_width=3),
        {
            "speculative_mode": "small_draft",
            "additional_models": [FAKE],
            "spec_draft_length": 3,
            "spec_tree_width": 2,
        },
    ):
        texts, _ = answers(config)
        assert texts == plain


def test_a_prediction_changes_no_answer_and_is_counted(default_model) -> None:
    with MLCEngine(default_model.folder, model_lib=default_model.model_lib) as engine:

        def ask(prediction: object = None) -> object:
            return engine.chat.completions.create(
                messages=HELLO, temperature=0, max_tokens=60, prediction=prediction
            )

        plain = ask()
        text = plain.choices[0].message.content
        assert plain.usage.completion_tokens_details is None
        parts = [{"type": "text", "text": half} for half in (text[:20], text[20:])]
        for content in (text, parts, "5"):
            answer = ask({"type": "content", "content": content})
            details = answer.usage.completion_tokens_details
            assert answer.choices[0].message.content == text
            counted = (details.accepted_prediction_tokens, details.rejected_prediction_tokens)
            if content == "5":
                assert counted == (0, 0)
            else:
                assert 0 < counted[0] < answer.usage.completion_tokens
        assert engine.metrics()["prediction"]["accept_count"] > 0


@pytest.mark.parametrize(
    ("prediction", "param"),
    [
        ({"type": "content"}, "prediction.content"),
        ({"type": "content", "content": []}, "prediction.content"),
        ({"type": "content", "content": [{"type": "image_url"}]}, "prediction.content"),
        ({"type": "tokens", "content": "x"}, "prediction.type"),
        ({"type": "content", "content": "x" * 100_000}, "prediction"),
    ],
)
def test_predictions_that_are_none_are_refused(prediction: dict, param: str) -> None:
    with MLCEngine(FAKE, device="fake") as engine, pytest.raises(InvalidRequestError) as error:
        engine.chat.completions.create(messages=HELLO, prediction=prediction)
    assert error.value.param.startswith(param)


def test_metrics_have_mlc_llm_s_names() -> None:
    config = EngineConfig(
        speculative_mode="small_draft", additional_models=[str(FAKE)], spec_draft_length=3
    )
    _, metrics = answers(config)
    counts = metrics["spec_decode"]
    assert counts["draft_count"][0] == counts["accept_count"][0] > 0
    assert len(counts["draft_count"]) == 4
    assert counts["accept_prob"]["accept_prob{step=1}"] > 0.9  # it drafts for itself
    assert metrics["verify_time_by_batch_size"] and metrics["draft_time_by_batch_size"]


@pytest.mark.parametrize(
    ("config", "param"),
    [
        ({"speculative_mode": "small_draft"}, "speculative_mode"),
        ({"additional_models": ["x"]}, "additional_models"),
        ({"spec_draft_length": 3}, "spec_draft_length"),
        ({"spec_tree_width": 2}, "spec_tree_width"),
        ({"speculative_mode": "prompt_lookup", "spec_tree_width": 17}, "spec_tree_width"),
    ],
)
def test_settings_that_do_not_fit_are_refused(config: dict, param: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        MLCEngine(FAKE, device="fake", engine_config=config)
    assert error.value.param == param


def test_heads_on_hidden_states_must_be_there() -> None:
    for mode in ("eagle", "medusa"):
        with pytest.raises(UnsupportedError, match="small_draft or prompt_lookup"):
            MLCEngine(FAKE, device="fake", engine_config={"speculative_mode": mode})


def test_a_draft_of_another_vocabulary_is_refused(tiny_model) -> None:
    config = {"speculative_mode": "small_draft", "additional_models": [str(FAKE)]}
    with pytest.raises(InvalidRequestError, match="vocabulary"):
        MLCEngine(
            FAKE, device="fake", engine_config={**config, "additional_models": [tiny_model.folder]}
        )


def test_a_plan_counts_the_draft_model(default_model) -> None:
    pair = f"{default_model.folder},{default_model.model_lib}"
    options = {"model_lib": default_model.model_lib, "device": "cpu"}
    alone = plan(default_model.folder, **options)
    both = plan(
        default_model.folder,
        engine_config={"speculative_mode": "small_draft", "additional_models": [pair]},
        **options,
    )
    assert both.parameter_bytes == 2 * alone.parameter_bytes
    assert both.kv_bytes_per_token == 2 * alone.kv_bytes_per_token


def test_overrides_can_say_it() -> None:
    assert parse_overrides("jump_forward=false; gpu_memory_utilization=0.5") == {
        "jump_forward": False,
        "gpu_memory_utilization": 0.5,
    }
    assert parse_overrides("speculative_mode=small_draft;additional_models=m,l.so") == {
        "speculative_mode": "small_draft",
        "additional_models": ["m,l.so"],
    }


def test_only_a_named_mode_is_told_to_the_core() -> None:
    """Where none is named, a model's own part may draft."""
    assert engine_config.EngineConfig().core_settings() == {}
    named = engine_config.EngineConfig(speculative_mode="disable")
    assert named.core_settings() == {"speculative_mode": "disable"}
