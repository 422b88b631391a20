"""What a loaded model can do, as the chat page needs to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS


@dataclass(frozen=True)
class Abilities:
    """`context_window_size`: the longest chat in tokens. `defaults`: what the model does where a
    request does not say it, by the names of the page's settings."""

    context_window_size: int
    takes_pictures: bool
    defaults: Mapping[str, float]


def abilities_of(engine: CoreEngine, plan: Mapping[str, Any]) -> Abilities:
    """`plan`: by which the engine was loaded."""
    window = min(plan["context_window_size"], plan["max_total_seq_length"])
    config = engine.model.config
    defaults = {name: config.get(name, SAMPLING_NUMBERS[name]) for name in ("temperature", "top_p")}
    return Abilities(window, "image" in plan["input_modalities"], {**defaults, "context": window})
