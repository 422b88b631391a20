"""The interface of a model for the converter, for any file format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.errors import CorruptFileError, error_of
from mlc_llm.errors import reasons_gen as reasons

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as its file describes it. `dtype` is the file's own name of its element type.

    `is_turned`: it is (..., out, in), where the model without quantization has (..., in, out).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    is_turned: bool = False


def wrong_tensor(name: str, what: str) -> CorruptFileError:
    """The error of a file whose tensor cannot be: `wrong_tensor("q.weight", "is missing")`."""
    return CorruptFileError(f"tensor {name} {what}", param=name)


class BlockReader(Protocol):
    """A file whose quantized tensors can be read unchanged."""

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) as they are stored in the file: uint8 (rows, bytes of a row)."""


class ModelSource(Protocol):
    """A model in some format. Tensors have the names of `format`; the config always has Hugging
    Face's form.

    Data is read only when it is requested, and is not kept.
    """

    @property
    def format(self) -> FileFormat: ...

    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by name."""

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) of a tensor's first axis, as a new float array."""

    def blocks(self) -> BlockReader | None:
        """For a `.gguf` file; None if tensors are plain floats."""

    def quantized_by(self) -> str | None:
        """The method that quantized weights which `read` gives as floats: "gptq", ..."""

    def text_part_of(self) -> str | None:
        """The `model_type` of a repository that also takes pictures, of which only the text is
        read."""

    def has_weights(self) -> bool:
        """Whether `tensors` can be asked: a folder may have the config alone."""

    def picture_config(self) -> dict[str, Any]:
        """The content of `preprocessor_config.json`, or {}."""

    def has_float8(self, name: str) -> bool:
        """Whether that weight is 8-bit floats with scales for blocks of 128 x 128."""

    def all_float8(self) -> bool:
        """Whether all quantized weights are such floats."""

    def float8_part(self, name: str) -> Float8Part:
        """Such a weight, unchanged."""

    def hf_config(self) -> dict[str, Any]:
        """The content of `config.json`."""

    def generation_config(self) -> dict[str, Any]:
        """The content of `generation_config.json`, or {}."""

    def tokenizer_files(self) -> dict[str, bytes]:
        """The tokenizer's files by name. `tokenizer.json` is one of them."""


def checked_rows(info: TensorInfo, start: int, stop: int | None) -> tuple[int, int]:
    """The row range [start, stop) of a tensor. Only our own code can make it wrong."""
    rows = info.shape[0] if info.shape else 1
    stop = rows if stop is None else stop
    assert 0 <= start <= stop <= rows, (info, start, stop)
    return start, stop


def shared_bytes(path: object, places: Iterable[tuple[int, int, str]]) -> str:
    """What is wrong with tensors of one file that share bytes: an offset is damaged. "" if none do.
    `places`: begin, end and name of each."""
    for (_, end, name), (begin, _, other) in pairwise(sorted(places, key=lambda place: place[:2])):
        if begin < end:
            return f"{path}: tensors {name} and {other} share bytes: it is damaged"
    return ""


def cut_off(path: object, end: int, needed: int) -> CorruptFileError:
    """The error for a file that is shorter than its header says."""
    return error_of(
        reasons.TRUNCATED_FILE,
        f"{path}: file ends at byte {end} of {needed}: it was cut off; download it again",
        param=str(path),
    )
