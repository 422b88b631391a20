"""What a loaded model can do, as the chat page needs to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.errors import MLCError, UnsupportedError
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS

# A picture without bytes. A model with a vision tower refuses it as invalid; another one refuses
# every picture as unsupported. Neither generates anything.
_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
_PROBE = {"messages": [{"role": "user", "content": [_PICTURE]}]}


@dataclass(frozen=True)
class Abilities:
    """`context_window_size`: the longest chat in tokens. `defaults`: what the model does where a
    request does not say it, by the names of the page's settings."""

    context_window_size: int
    takes_pictures: bool
    defaults: Mapping[str, float]


def abilities_of(engine: CoreEngine, plan: Mapping[str, Any]) -> Abilities:
    """Asks the core. `plan`: by which the engine was loaded. Raises MLCError if the engine is
    closed."""
    window = min(plan["context_window_size"], plan["max_total_seq_length"])
    config = engine.model.config
    defaults = {name: config.get(name, SAMPLING_NUMBERS[name]) for name in ("temperature", "top_p")}
    return Abilities(window, _takes_pictures(engine), {**defaults, "context": window})


def _takes_pictures(engine: CoreEngine) -> bool:
    try:
        engine.call("chat.completions", _PROBE)
    except UnsupportedError:
        return False
    except MLCError as error:
        return (error.param or "").startswith("messages[0].content")
    raise AssertionError("the core took a picture without bytes")
