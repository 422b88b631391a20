"""A `.gguf` file as a ModelSource: names, config and tokenizer of Hugging Face."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.gguf.config import eos_token_ids, heads_of_rows, hf_config
from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.convert.gguf.names import hf_names
from mlc_llm.compiler.convert.gguf.tokenizer import tokenizer_files
from mlc_llm.compiler.convert.source import Array, TensorInfo
from mlc_llm.errors import CorruptFileError, NotFoundError


class GGUFModel:
    """A `ModelSource` over one `.gguf` file."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise NotFoundError(f"{path}: no such file", param=str(path))
        self._file = GGUFFile(path)
        self._names = hf_names(self._file)  # Hugging Face name -> GGUF name
        stored = self._file.tensors()
        self._tensors = {
            name: TensorInfo(name, stored[source].shape, stored[source].dtype)
            for name, source in self._names.items()
        }

    def tensors(self) -> Mapping[str, TensorInfo]:
        return self._tensors

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        return self._read(self._file.read, name, start, stop)

    def read_blocks(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows as they are stored, uint8 (rows, bytes of a row)."""
        return self._read(self._file.read_blocks, name, start, stop)

    def _read(self, read: Callable[..., Array], name: str, start: int, stop: int | None) -> Array:
        heads = heads_of_rows(self._file, name)
        if heads is None:
            return read(self._names[name], start, stop)
        rows = self._tensors[name].shape[0]
        return self._read_rotary(read, name, heads, start, rows if stop is None else stop)

    def _read_rotary(
        self, read: Callable[..., Array], name: str, heads: int, start: int, stop: int
    ) -> Array:
        """Rows of q or k in the order of Hugging Face: whole heads are read and put in order."""
        rows = self._tensors[name].shape[0]
        if rows % (2 * heads):
            raise CorruptFileError(f"tensor {name} has {rows} rows for {heads} heads", param=name)
        head_rows = rows // heads
        first, last = start // head_rows, -(-stop // head_rows)
        stored = read(self._names[name], first * head_rows, last * head_rows)
        ordered = _split_rotary_halves(stored, last - first)
        return ordered[start - first * head_rows : stop - first * head_rows]

    def hf_config(self) -> dict[str, Any]:
        return hf_config(self._file)

    def generation_config(self) -> dict[str, Any]:
        ids = eos_token_ids(self._file)
        return {"eos_token_id": ids} if ids else {}

    def tokenizer_files(self) -> dict[str, bytes]:
        return tokenizer_files(self._file.metadata, self._file.path)


def _split_rotary_halves(weight: Array, heads: int) -> Array:
    """Undoes llama.cpp's row order for q and k: pairs (x0, y0), (x1, y1) -> halves (x..., y...)."""
    pairs = weight.reshape(heads, -1, 2, *weight.shape[1:])  # (H, D/2, 2, ...)
    return pairs.swapaxes(1, 2).reshape(weight.shape)
