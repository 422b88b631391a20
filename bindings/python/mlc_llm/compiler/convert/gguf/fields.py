"""Typed look-ups in the metadata of a GGUF file, whose errors name the key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.models.config_reader import is_off, may_matter
from mlc_llm.errors import CorruptFileError

MOST_LAYERS = 1024
_END_TOKENS = ("eos_token_id", "eot_token_id", "eom_token_id")
# Metadata that repeats another key or a tensor's shape, or does not change the result. (All
# sections of a rotation have the same position in a text.)
_SAID_ELSEWHERE = frozenset(
    "attention.value_length attention.layer_norm_epsilon rope.scaling.finetuned tensor_data_layout "
    "rope.scaling.attn_factor rope.scaling.original_context_length rope.scaling.factor "
    "rope.dimension_sections n_deepstack_layers".split()
)


class Fields:
    """Typed access to the keys that begin with the file's architecture."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        self._prefix = f"{file.metadata.get('general.architecture')}."
        self._seen: set[str] = set()

    def size(self, key: str, default: int | None = None) -> int:
        value = self._get(key, default)
        if isinstance(value, list) and len(set(value) - {0}) == 1:  # the layers that have any
            value = max(value)
        if type(value) is not int or not 0 < value < 1 << 31:
            raise self._bad(key, "must be a positive whole number", value)
        return value

    def layers(self, key: str) -> int:
        """A number of layers, before anything is made for each of them."""
        count = self.size(key)
        if count > MOST_LAYERS:
            raise self._bad(key, f"must be at most {MOST_LAYERS}", count)
        return count

    def sizes(self, key: str) -> list[int]:
        value, count = self._get(key, None), self.size("block_count")
        values = value if isinstance(value, list) else [value] * count
        if len(values) != count or any(type(v) is not int or not 0 <= v < 1 << 31 for v in values):
            raise self._bad(key, f"must be a whole number for each of {count} layers", value)
        return values

    def flags(self, key: str) -> list[bool]:
        value, count = self._get(key, None), self.size("block_count")
        if not isinstance(value, list) or len(value) != count or set(map(type, value)) != {bool}:
            raise self._bad(key, f"must be true or false for each of {count} layers", value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
            raise self._bad(key, "must be a positive number", value)
        return float(str(np.float32(value)))  # 1e-05, not 9.999999747e-06, as in config.json

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._bad(key, "must be true or false", value)
        return value

    def __contains__(self, key: str) -> bool:
        return self._prefix + key in self._file.metadata

    def raw(self, key: str) -> Any:
        return self._get(key, None)

    def text(self, key: str) -> str | None:
        self._seen.add(key)
        value = self._file.metadata.get(self._prefix + key)
        return value if isinstance(value, str) else None

    def has_tensor(self, name: str) -> bool:
        return name in self._file.tensors()

    def rows(self, tensor: str, axis: int = 0) -> int:
        found = self._file.tensors().get(tensor)
        if found is None:
            raise CorruptFileError(f"{self._file.path}: tensor {tensor!r} is missing", param=tensor)
        return found.shape[axis] if axis < len(found.shape) else 1

    def row_lengths(self, tensor: str, first: int, count: int) -> list[float]:
        """The lengths of some rows of a matrix."""
        found = self._file.tensors().get(tensor)
        if found is None or len(found.shape) != 2 or found.shape[0] < first + count:
            raise CorruptFileError(
                f"{self._file.path}: tensor {tensor!r} must be a matrix of at least "
                f"{first + count} rows",
                param=tensor,
            )
        rows = self._file.read(tensor, first, first + count).astype(np.float64)
        return [float(length) for length in np.sqrt((rows * rows).sum(-1))]

    def values(self, tensor: str) -> list[float]:
        """The content of a small tensor."""
        return [float(value) for value in self._file.read(tensor)]

    def unread(self) -> dict[str, Any]:
        """The fields that were not read and may change the result."""
        metadata = self._file.metadata
        own = {k.removeprefix(self._prefix): v for k, v in metadata.items()
               if k.startswith(self._prefix)}  # fmt: skip
        left = own.keys() - self._seen - _SAID_ELSEWHERE
        if own.get("attention.causal") is True:
            left -= {"attention.causal"}
        return {key: own[key] for key in left if may_matter(key) and not is_off(own[key])}

    def token(self, name: str) -> int | None:
        value = self._file.metadata.get(f"tokenizer.ggml.{name}")
        return value if type(value) is int and 0 <= value < 1 << 31 else None

    def end_tokens(self) -> list[int]:
        ids = [self.token(name) for name in _END_TOKENS]
        return list(dict.fromkeys(token for token in ids if token is not None))

    def _get(self, key: str, default: Any) -> Any:
        self._seen.add(key)
        name = self._prefix + key
        value = self._file.metadata.get(name, default)
        if value is None:
            raise CorruptFileError(f"{self._file.path}: {name!r} is missing", param=name)
        return value

    def _bad(self, key: str, problem: str, value: Any) -> CorruptFileError:
        name = self._prefix + key
        return CorruptFileError(
            f"{self._file.path}: {name!r} {problem}, not {value!r:.80}", param=name
        )
