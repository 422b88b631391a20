"""A reader of GGUF headers and tensor rows with checked bounds.

GGUF v2/v3: magic, version, tensor count, key count; then keys (name, type, value); then tensors
(name, dimensions, type, offset); then aligned data. Every count and length is checked against the
remaining bytes before memory is allocated, so a damaged file gives CorruptFileError. The `gguf`
package has the dequantizers and block sizes; its own reader trusts the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from mlc_llm.compiler.convert.safetensors_file import read_exactly
from mlc_llm.compiler.convert.source import (
    Array,
    TensorInfo,
    checked_rows,
    cut_off,
    shared_bytes,
)
from mlc_llm.errors import CorruptFileError, MLCError, UnsupportedError, error_of
from mlc_llm.errors import reasons_gen as reasons

MAX_KEYS = 65_536
MAX_TENSORS = 1_000_000
MAX_DIMENSIONS = 4
MAX_ARRAY_DEPTH = 2
MAX_ELEMENTS = 1 << 23  # of all arrays together; the largest vocabularies have a tenth of that
MAX_STRING_BYTES = 1 << 26

# A matrix with one output. Some versions of llama.cpp's converter write it as a vector.
_ONE_OUTPUT = "ffn_gate_inp_shexp.weight"
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_PLAIN = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


@dataclass(frozen=True)
class _Stored:
    info: TensorInfo
    kind: GGMLQuantizationType
    offset: int  # from the file's beginning
    row_bytes: int

    def place(self) -> tuple[int, int, str]:
        end = self.offset + math.prod(self.info.shape[:-1]) * self.row_bytes
        return self.offset, end, self.info.name


class GGUFFile:
    """The metadata and tensors of one `.gguf` file. Shapes are row-major, as in all our code."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata: dict[str, Any] = {}
        self._stored: dict[str, _Stored] = {}
        self._end = 0  # the end of the last tensor
        with path.open("rb", buffering=1 << 20) as file:
            self._size = path.stat().st_size
            if self._size < 24:
                raise cut_off(path, self._size, 24) if self._size else self._bad("file", "is empty")
            self._parse(_Cursor(path, file, self._size))

    def tensors(self) -> dict[str, TensorInfo]:
        return {name: stored.info for name, stored in self._stored.items()}

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop), dequantized to float32 (float16 and float64 stay unchanged)."""
        stored = self._stored[name]
        start, stop = checked_rows(stored.info, start, stop)
        shape = stored.info.shape
        if len(shape) == 1:
            return self._read_rows(stored, 0, 1)[0, start:stop]
        each = math.prod(shape[1:-1])  # stored rows in one row of the first axis
        rows = self._read_rows(stored, start * each, (stop - start) * each)
        return rows.reshape((stop - start, *shape[1:]))

    def read_blocks(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) as they are stored: uint8 (rows, ..., bytes of a row)."""
        stored = self._stored[name]
        start, stop = checked_rows(stored.info, start, stop)
        shape = stored.info.shape
        each = math.prod(shape[1:-1])  # stored rows in one row of the first axis
        raw = self._read_raw(stored, start * each, (stop - start) * each)
        return raw.reshape(stop - start, *shape[1:-1], stored.row_bytes)

    def _read_raw(self, stored: _Stored, first: int, rows: int) -> Array:
        raw = np.empty((rows, stored.row_bytes), np.uint8)
        with self.path.open("rb", buffering=0) as file:
            file.seek(stored.offset + first * stored.row_bytes)
            read_exactly(file, raw.reshape(-1).data, self.path)
        return raw

    def _read_rows(self, stored: _Stored, first: int, rows: int) -> Array:
        raw = self._read_raw(stored, first, rows)
        plain = _PLAIN.get(stored.kind.name)
        if plain is not None:
            return raw.view(plain)
        try:
            with np.errstate(all="ignore"):  # damaged scales; the converter checks for infinities
                return dequantize(raw, stored.kind)
        except NotImplementedError:
            raise UnsupportedError(
                f"{self.path}: tensor {stored.info.name} has type {stored.kind.name}, which "
                "cannot be read; use a file in another quantization (Q8_0, Q4_K_M, F16, ...)",
                param=stored.info.name,
            ) from None

    def _parse(self, cursor: _Cursor) -> None:
        if cursor.take(4, "magic") != b"GGUF":
            raise self._bad("magic", "is not 'GGUF': this is not a GGUF file")
        version = cursor.scalar("I", "version")
        if version not in (2, 3):
            raise UnsupportedError(
                f"{self.path}: GGUF version {version}; versions 2 and 3 are read", param="version"
            )
        tensor_count = cursor.count(MAX_TENSORS, 24, "tensor_count")
        key_count = cursor.count(MAX_KEYS, 12, "metadata_kv_count")
        for _ in range(key_count):
            key = cursor.string("metadata key")
            if key in self.metadata:
                raise self._bad(key, "appears twice")
            self.metadata[key] = cursor.value(cursor.scalar("I", key), key)
        entries = [self._tensor_entry(cursor) for _ in range(tensor_count)]
        alignment = self.metadata.get("general.alignment", 32)
        if type(alignment) is not int or not 0 < alignment <= 1 << 20 or alignment & alignment - 1:
            raise self._bad("general.alignment", "must be a power of two")
        data_start = -(-cursor.offset // alignment) * alignment
        for name, shape, kind, offset in entries:
            self._add(name, shape, kind, data_start + offset)
        if self._end > self._size:
            raise cut_off(self.path, self._size, self._end)
        if problem := shared_bytes(self.path, map(_Stored.place, self._stored.values())):
            raise CorruptFileError(f"{problem}; download it again", param=str(self.path))

    def _tensor_entry(self, cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
        name = cursor.string("tensor name")
        dimensions = cursor.scalar("I", name)
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise self._bad(
                name, f"has {dimensions} dimensions; 1 to {MAX_DIMENSIONS} are possible"
            )
        shape = tuple(cursor.scalar("Q", name) for _ in range(dimensions))
        return name, shape[::-1], cursor.scalar("I", name), cursor.scalar("Q", name)

    def _add(self, name: str, shape: tuple[int, ...], kind_id: int, offset: int) -> None:
        if name in self._stored:
            raise self._bad(name, "appears twice")
        try:
            kind = GGMLQuantizationType(kind_id)
            block, block_bytes = GGML_QUANT_SIZES[kind]
        except (ValueError, KeyError):
            raise self._bad(name, f"has the unknown tensor type {kind_id}") from None
        if 0 in shape or shape[-1] % block:
            raise self._bad(
                name, f"has shape {shape}, which is no whole number of {kind.name} blocks"
            )
        if name.endswith(_ONE_OUTPUT) and len(shape) == 1:
            shape = (1, *shape)
        row_bytes = shape[-1] // block * block_bytes
        stored = _Stored(TensorInfo(name, shape, kind.name), kind, offset, row_bytes)
        self._end = max(self._end, stored.place()[1])
        self._stored[name] = stored

    def _bad(self, field: str, problem: str) -> CorruptFileError:
        return CorruptFileError(f"{self.path}: {field!r} {problem}", param=field)


class _Cursor:
    """A position in the header that cannot go behind the file's end."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.offset = 0
        self._path, self._file, self._size = path, file, size
        self._elements_left = MAX_ELEMENTS

    def take(self, length: int, field: str) -> bytes:
        end = self.offset + length
        if end > self._size:
            raise self._too_short(field, end)
        data = self._file.read(length)
        if len(data) < length:  # the file became shorter meanwhile
            raise self._too_short(field, end)
        self.offset = end
        return data

    def scalar(self, code: str, field: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code), field))[0]

    def count(self, limit: int, least_bytes: int, field: str) -> int:
        """Reads a number of items. Each has at least `least_bytes`, and all must fit into the
        rest."""
        count = self.scalar("Q", field)
        if count > limit or count * least_bytes > self._size - self.offset:
            raise self._too_many(field, count)
        return count

    def string(self, field: str) -> str:
        length = self.count(MAX_STRING_BYTES, 1, field)
        try:
            return self.take(length, field).decode("utf-8")
        except UnicodeDecodeError:
            raise CorruptFileError(f"{self._path}: {field!r} is not UTF-8", param=field) from None

    def value(self, kind: int, field: str, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind], field)
        if kind == _STRING:
            return self.string(field)
        if kind != _ARRAY or depth == MAX_ARRAY_DEPTH:
            raise CorruptFileError(
                f"{self._path}: {field!r} has the unknown value type {kind}", param=field
            )
        return self._array(field, depth)

    def _array(self, field: str, depth: int) -> list[Any]:
        kind = self.scalar("I", field)
        code = _SCALARS.get(kind)
        size = struct.calcsize("<" + code) if code else 8
        count = self.count(self._elements_left, size, field)
        self._elements_left -= count
        if code:
            return list(struct.unpack(f"<{count}{code}", self.take(count * size, field)))
        return list(self._values(kind, count, field, depth + 1))

    def _values(self, kind: int, count: int, field: str, depth: int) -> Iterator[Any]:
        return (self.value(kind, field, depth) for _ in range(count))

    def _too_short(self, field: str, needed: int) -> MLCError:
        return error_of(
            reasons.TRUNCATED_FILE,
            f"{self._path}: file ends at byte {self._size} of at least {needed}, inside {field!r}: "
            "it was cut off; download it again",
            param=field,
        )

    def _too_many(self, field: str, count: int) -> CorruptFileError:
        return CorruptFileError(
            f"{self._path}: {field!r} claims a length of {count}, more than can be in this "
            f"file of {self._size} bytes; it is damaged or was cut off",
            param=field,
        )
