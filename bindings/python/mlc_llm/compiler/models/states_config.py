"""What the configs of families share whose layers all have states instead of attention."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.declared import flag, integer, read_declared

_CONTEXT = 1 << 20  # tokens; a state has the same size behind any number of them


@dataclass(frozen=True, kw_only=True)
class StatesConfig:
    """A family declares its own fields (`declared.py`). Its `check` says what they must not be."""

    hidden_size: int = integer()
    num_hidden_layers: int = integer(maximum=1024)
    vocab_size: int = integer()
    tie_word_embeddings: bool = flag(default=False)
    context_window_size: int

    sliding_window_size = -1  # there are no windows
    attention_sink_size = 0
    # Its names. In some families `max_position_embeddings` is only the length of training texts.
    context_names: ClassVar[tuple[str, ...]] = ("context_window_size",)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> StatesConfig:
        """Reads a Hugging Face config.json or the `model_config` of an mlc-chat-config.json."""
        read = ConfigReader(config)
        made = cls(**cls.fields(read))
        made.check(read)
        read.seen.add("attention_sink_size")
        read.no_windows("sliding_window_size", instead=", which has no attention")
        read.refuse_unread()
        return made

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        """The arguments of `cls`."""
        context = read.integer(*cls.context_names, default=_CONTEXT)
        return read_declared(cls, read, {"context_window_size": context})

    def check(self, read: ConfigReader) -> None:
        """Refuses fields that do not fit together."""

    def to_dict(self) -> dict[str, Any]:
        """The `model_config` of an mlc-chat-config.json; `from_dict` reads it back."""
        return {own.name: getattr(self, own.name) for own in dataclasses.fields(self)}
