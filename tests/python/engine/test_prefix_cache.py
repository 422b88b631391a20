"""What a chat finds of its last turn, and that it answers as if it had found nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_models
from real_requests import ask_at_once, greedy_requests

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model


def engine_of(model: ResolvedModel, **config: Any) -> MLCEngine:
    return MLCEngine(
        model.folder, model_lib=model.model_lib, device="cpu", engine_config=config or None
    )


def talk(engine: MLCEngine, *, turns: int, max_tokens: int) -> tuple[list[str], list[int]]:
    """A greedy chat: what was said, and how many tokens of each prompt were found."""
    messages: list[dict[str, str]] = []
    texts, cached = [], []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Tell me a story, part {turn + 1}."})
        completion = engine.chat.completions.create(
            messages=messages,
            temperature=0,
            max_tokens=max_tokens,
            debug_config={"ignore_eos": True},
        )
        usage = completion.usage
        assert usage is not None and usage.prompt_tokens_details is not None
        cached.append(usage.prompt_tokens_details.cached_tokens or 0)
        texts.append(completion.choices[0].message.content or "")
        messages.append({"role": "assistant", "content": texts[-1]})
    return texts, cached


def test_a_chat_finds_its_last_turn(default_model: ResolvedModel) -> None:
    with engine_of(default_model) as engine:
        texts, cached = talk(engine, turns=3, max_tokens=24)
        engine.reset()
        again = talk(engine, turns=1, max_tokens=24)
    with engine_of(default_model, prefix_cache_mode="disable") as engine:
        cold, nothing = talk(engine, turns=3, max_tokens=24)
    assert texts == cold
    assert nothing == [0, 0, 0]
    assert cached[0] == 0 and cached[1] > 24 and cached[2] > cached[1] + 24
    assert again == (texts[:1], [0])


def test_sequences_behind_two_prefixes_answer_as_without_them(
    default_model: ResolvedModel,
) -> None:
    """So many decode at once that rows whose pages are shared attend to them side by side."""
    count = 18
    requests = greedy_requests(count, max_tokens=8)
    for i, request in enumerate(requests):
        rules = " ".join(f"Rule {k} of list {i % 2}: stay on the subject." for k in range(16))
        request["messages"].insert(0, {"role": "system", "content": rules})
    with engine_of(default_model, max_num_sequence=count) as engine:
        ask_at_once(engine, requests[:2])  # now the prefixes are there
        shared = ask_at_once(engine, requests, at_once=count)
    with engine_of(default_model, max_num_sequence=count, prefix_cache_mode="disable") as engine:
        alone = ask_at_once(engine, requests, at_once=count)
    assert all(answer.ended and answer.tokens[0] for answer in alone)
    assert shared == alone


@pytest.fixture(scope="module")
def sliding_model(tiny_hf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ResolvedModel:
    """The random two-layer model with a window of 40 tokens and 4 sinks."""
    folder = tmp_path_factory.mktemp("sliding") / "model"
    weights = tiny_models.random_weights()
    tiny_models.write_hf_folder(folder, weights, sliding_window=40, attention_sink_size=4)
    return resolve_model(folder, quantization="q4f32_1", progress=lambda _: None)


def test_a_window_slides_past_the_context(sliding_model: ResolvedModel) -> None:
    with engine_of(sliding_model, max_total_seq_length=160) as engine:
        texts, cached = talk(engine, turns=2, max_tokens=400)
    with engine_of(sliding_model, prefix_cache_mode="disable") as engine:
        cold, _ = talk(engine, turns=2, max_tokens=400)
    assert texts == cold
    assert len(cached) == 2
