"""Typed look-ups in a configuration, whose errors name the field, and the fields that nobody read.

read = ConfigReader(config)
scale = read.number("my_scale", default=1.0)
read.refuse_unread()
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlc_llm.errors import CorruptFileError, UnsupportedError

MOST = 2**24  # of integers that have no smaller limit
LIMITS = {"prefill_chunk_size": 8192, "max_batch_size": 4096}  # of what a library is compiled for


def corrupt(field: str, what: str) -> CorruptFileError:
    """The error of a field whose value cannot be: `corrupt("head_dim", "must be even")`."""
    return CorruptFileError(f"config: {field} {what}", param=field)


def unsupported(field: str, what: str) -> UnsupportedError:
    """The error of a field whose value is not supported here."""
    return UnsupportedError(f"config: {field} {what}", param=field)


@dataclass(frozen=True)
class ConfigReader:
    """Typed look-ups in a configuration. It remembers which fields were read."""

    config: Mapping[str, Any]
    seen: set[str] = field(default_factory=set)
    source: str = "config"  # what errors call it

    def having(self, fields: Mapping[str, Any]) -> ConfigReader:
        """The reader of this config with some fields changed."""
        return replace(self, config={**self.config, **fields})

    def without(self, *names: str) -> ConfigReader:
        """The reader of this config without some fields."""
        return replace(self, config={k: v for k, v in self.config.items() if k not in names})

    def integer(
        self,
        *names: str,
        default: int | None = None,
        minimum: int = 1,
        maximum: int = MOST,
    ) -> int:
        """The first of `names` that is set. The bounds limit the memory that a bad file can use."""
        name, value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise CorruptFileError(
                f"{self.source}: {name} must be an integer from {minimum} to {maximum}", param=name
            )
        return value

    def number(self, *names: str, default: float | None = None) -> float:
        """A positive number."""
        name, value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
            raise CorruptFileError(f"{self.source}: {name} must be a positive number", param=name)
        return float(value)

    def switch(self, name: str, default: float = 0.0) -> float:
        """A positive number; 0 if the field is null, or absent without a default."""
        if name in self.config and not self.config[name]:
            self.seen.add(name)
            return 0.0
        return self.number(name, default=default) if default or name in self.config else 0.0

    def flag(self, name: str, *, default: bool) -> bool:
        self.seen.add(name)
        value = self.config.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise CorruptFileError(f"{self.source}: {name} must be true or false", param=name)
        return value

    def always(self, name: str, value: bool | str) -> None:
        """A field of published configs whose other values are not supported."""
        if isinstance(value, str):
            self.choice(name, of={value: value}, default=value)
            return
        if self.flag(name, default=value) != value:
            raise UnsupportedError(
                f"{self.source}: {name} {str(not value).lower()} is not supported in this family",
                param=name,
            )

    def no_windows(self, *names: str, instead: str) -> None:
        """Refuses windows in a family whose layers have none of this kind. `instead`: what a user
        should know."""
        for name in names:
            if self.integer(name, default=-1, minimum=-1) > 0:
                raise UnsupportedError(
                    f"{self.source}: {name} is not supported in this family{instead}", param=name
                )

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        self.seen.add(name)
        value = self.config.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise CorruptFileError(f"{self.source}: {name} must be an object", param=name)
        return value

    def choice(self, *names: str, of: Mapping[str, str], default: str) -> str:
        """Reads one of the words in `of` and returns its value."""
        name, value = self._find(names, default)
        if not isinstance(value, str) or value not in of:
            raise UnsupportedError(
                f'{self.source}: {name} "{value}" is not supported in this family; available: '
                f"{', '.join(of)}",
                param=name,
            )
        return of[value]

    def words(self, name: str, count: int, of: Sequence[Any]) -> tuple[Any, ...] | None:
        """A list of `count` values that are in `of`; None if it is absent or empty."""
        self.seen.add(name)
        value = self.config.get(name)
        if not value:
            return None
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise CorruptFileError(f"{self.source}: {name} must be a list of {count}", param=name)
        for word in value:
            if word not in of:
                raise UnsupportedError(
                    f'{self.source}: {name} holds "{word}", which is not supported in this family; '
                    f"available: {', '.join(map(str, of))}",
                    param=name,
                )
        return tuple(value)

    def layers(self, name: str, count: int, usual: Sequence[int]) -> tuple[int, ...]:
        """A list of layers; `usual` if it is absent."""
        self.seen.add(name)
        found = self.config.get(name)
        if found is None:
            return tuple(usual)
        is_list = isinstance(found, (list, tuple))
        if not is_list or not all(type(i) is int and 0 <= i < count for i in found):
            raise CorruptFileError(
                f"{self.source}: {name} must be a list of layers, from 0 to {count - 1}", param=name
            )
        return tuple(found)

    def refuse_unread(self) -> None:
        """Refuses each field that was not read and may change the result; the error names it."""
        for name, value in self.config.items():
            is_usual = value is not False if name == "is_causal" else is_off(value)
            if name in self.seen or not may_matter(name) or is_usual:
                continue
            raise UnsupportedError(
                f"{self.source}: {name} is not supported in this family (its value here is "
                f"{str(value)[:60]}), and leaving it out could change every answer",
                param=name,
            )

    def _find(self, names: tuple[str, ...], default: Any) -> tuple[str, Any]:
        self.seen.update(names)
        for name in names:
            if self.config.get(name) is not None:
                return name, self.config[name]
        if default is None:
            raise CorruptFileError(f"{self.source}: {names[0]} is missing", param=names[0])
        return names[0], default


# Words in the names of fields that may change what a model computes.
_TELLING = frozenset(
    "act activation alibi attention attn bias bidirectional capping clip embedding eps expert "
    "experts factor head heads interleaved kv layernorm layers logit logits lora mla mlp moe mtp "
    "multiplier norm pattern qk qkv residual rope rotary scalar scale scaling shared softcap "
    "softcapping sparse ssm state types window".split()
)
_TELLING_NAMES = frozenset(("is_causal", "per_layer_config"))  # and whole names
# Fields with such a word that change nothing: for training, for implementations, and in our own
# configurations.
_HARMLESS = frozenset(
    "attention_dropout attn_dropout attn_pdrop attn_implementation attention_probs_dropout_prob "
    "num_attention_layers output_attentions quantization quantization_config weight_types "
    "use_flash_attn position_embedding_base max_position_embeddings embedding_size "
    "embedding_metadata num_logits_to_keep head_dim_in_config router_aux_loss_coef "
    "output_router_logits".split()
)


def may_matter(name: str) -> bool:
    """Whether a field with this name may change what a model computes."""
    if name in _HARMLESS or name.startswith("_attn"):
        return False
    return name in _TELLING_NAMES or not _TELLING.isdisjoint(re.split(r"[_.]", name))


def is_off(value: Any) -> bool:
    """Whether this value of a field means "off"."""
    if value is None or isinstance(value, (bool, str)):
        return value in (None, False, "")
    return value in (0, 1, [], {}, ())
