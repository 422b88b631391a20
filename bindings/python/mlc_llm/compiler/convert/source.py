"""What a converter needs of a model, whatever file format it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.errors import CorruptFileError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as its file announces it; `dtype` is the file's own name for its element type."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class BlockReader(Protocol):
    """A file whose quantized tensors can be read as they are."""

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) as they lie in the file, uint8 (rows, bytes of a row)."""


class ModelSource(Protocol):
    """A model in somebody's format. Tensors have the names of `format`; the config is always
    that of Hugging Face.

    Nothing is read before it is asked for, and reading never keeps what it read.
    """

    @property
    def format(self) -> FileFormat: ...

    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by name."""

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) of a tensor's first axis, as a float array of the caller's own."""

    def blocks(self) -> BlockReader | None:
        """Of a `.gguf` file; None where tensors are plain floats."""

    def quantized_by(self) -> str | None:
        """The method that quantized weights which `read` gives as floats: "gptq", ..."""

    def hf_config(self) -> dict[str, Any]:
        """The content of `config.json`."""

    def generation_config(self) -> dict[str, Any]:
        """The content of `generation_config.json`, or {}."""

    def tokenizer_files(self) -> dict[str, bytes]:
        """The tokenizer's files by name; `tokenizer.json` among them."""


def checked_rows(info: TensorInfo, start: int, stop: int | None) -> tuple[int, int]:
    """The row range [start, stop) of a tensor; only our own code can get it wrong."""
    rows = info.shape[0] if info.shape else 1
    stop = rows if stop is None else stop
    assert 0 <= start <= stop <= rows, (info, start, stop)
    return start, stop


def cut_off(path: object, end: int, needed: int) -> CorruptFileError:
    """The error for a file that is shorter than its own header says."""
    return CorruptFileError(
        f"{path}: file ends at byte {end} of {needed}: it was cut off; download it again",
        param=str(path),
        code="truncated_file",
    )
