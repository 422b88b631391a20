"""Pinned prompts: they stay in the prefix cache until the engine is reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"


def cached_after_others(engine: MLCEngine, **options) -> int:
    """How much of a prompt is found again after others have filled the cache."""
    first = [{"role": "user", "content": "ba " * 60}]
    engine.chat.completions.create(messages=first, max_tokens=1, seed=1, **options)
    for i in range(8):
        other = [{"role": "user", "content": f"{i} fo gu " * 60}]
        engine.chat.completions.create(messages=other, max_tokens=1, seed=1)
    again = engine.chat.completions.create(messages=first, max_tokens=1, seed=1)
    return again.usage.prompt_tokens_details.cached_tokens


def test_a_pinned_prompt_stays_in_the_cache() -> None:
    config = {"mode": "local", "max_total_seq_length": 1024}
    engine = MLCEngine(FAKE, device="fake", engine_config=config)
    assert cached_after_others(engine) < 20  # what the template begins with
    pinned = {"debug_config": {"pinned_system_prompt": True}}
    assert cached_after_others(engine, **pinned) > 50
    engine.reset()
    assert cached_after_others(engine) < 20  # what the template begins with
    engine.terminate()


def test_without_a_prefix_cache_a_pinned_prompt_is_refused() -> None:
    engine = MLCEngine(FAKE, device="fake", engine_config={"prefix_cache_mode": "disable"})
    with pytest.raises(MLCError, match="prefix_cache_mode 'radix'") as refused:
        cached_after_others(engine, debug_config={"pinned_system_prompt": True})
    assert refused.value.param == "debug_config.pinned_system_prompt"
    engine.terminate()
