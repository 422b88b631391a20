"""Reads one `.safetensors` file: a length, a JSON header, then raw little-endian tensors.

Every number in the header is checked against the file before it is used. Tensors are read with
plain reads and not mapped, because mapped pages would count as our memory.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.source import (
    Array,
    TensorInfo,
    checked_rows,
    cut_off,
    shared_bytes,
)
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.errors import CorruptFileError, UnsupportedError

MAX_HEADER_BYTES = 100_000_000  # the format's own limit

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
}
_WORDS = "I32"
# Of repositories that are quantized already.
_CODES = {
    "I64": "int64",
    "I32": "int32",
    "I8": "int8",
    "U8": "uint8",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


class SafetensorsFile:
    """The tensors of one file. `read` gives rows in the stored dtype. `prefix`: what stands before
    their names here."""

    def __init__(self, path: Path, prefix: str = "") -> None:
        self.path = path
        self._size = path.stat().st_size
        header, self._data_start = self._read_header()
        self._end = self._data_start  # the end of the last tensor
        self._offsets: dict[str, tuple[int, int]] = {}
        self.tensors: dict[str, TensorInfo] = {}
        for name, entry in header.items():
            if name != "__metadata__":
                self._add(prefix + name, entry)
        if self._end > self._size:
            raise cut_off(self.path, self._size, self._end)
        places = ((*place, name) for name, place in self._offsets.items())
        if problem := shared_bytes(self.path, places):
            raise CorruptFileError(f"{problem}; download it again", param=str(self.path))

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) of a tensor of floats, or of AWQ's words of codes."""
        dtype = self.tensors[name].dtype
        if dtype not in _DTYPES and (dtype != _WORDS or name.endswith(".weight")):
            raise self._not_floats(name)
        return self.read_stored(name, start, stop)

    def read_stored(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) of a tensor, which may be codes of weights."""
        info = self.tensors[name]
        dtype_name = (_DTYPES | _CODES).get(info.dtype)
        if dtype_name is None:
            raise self._not_floats(name)
        start, stop = checked_rows(info, start, stop)
        dtype = numpy_dtype(dtype_name)
        row = math.prod(info.shape[1:])
        begin = self._offsets[name][0] + start * row * dtype.itemsize
        array = np.empty((stop - start) * row, dtype)
        with self.path.open("rb", buffering=0) as file:
            file.seek(begin)
            read_exactly(file, array.view(np.uint8).data, self.path)
        return array.reshape((stop - start, *info.shape[1:]) if info.shape else ())

    def _not_floats(self, name: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.path}: tensor {name} has type {self.tensors[name].dtype}; "
            f"weights must be one of {', '.join(_DTYPES)}",
            param=name,
        )

    def _read_header(self) -> tuple[dict[str, Any], int]:
        with self.path.open("rb") as file:
            prefix = file.read(8)
            if len(prefix) < 8:
                raise cut_off(self.path, self._size, 8)
            (length,) = struct.unpack("<Q", prefix)
            if length > MAX_HEADER_BYTES:
                raise self._corrupt("header", f"claims {length} bytes; is it a safetensors file?")
            if length + 8 > self._size:
                raise cut_off(self.path, self._size, length + 8)
            text = file.read(length)
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._corrupt("header", f"is not valid JSON ({error})") from None
        if not isinstance(header, dict):
            raise self._corrupt("header", "is not a JSON object")
        return header, 8 + length

    def _add(self, name: str, entry: Any) -> None:
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise self._corrupt(name, "needs dtype, shape and data_offsets") from None
        numbers = [begin, end, *shape] if isinstance(shape, list) else [None]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise self._corrupt(name, "has a shape or an offset that is not a whole number")
        if not isinstance(dtype, str):
            raise self._corrupt(name, "has a dtype that is not text")
        if known := (_DTYPES | _CODES).get(dtype):
            expected = math.prod(shape) * numpy_dtype(known).itemsize
            if end - begin != expected:
                raise self._corrupt(
                    name,
                    f"of shape {shape} in {dtype} needs {expected} bytes and has {end - begin}",
                )
        self._end = max(self._end, self._data_start + end)
        self.tensors[name] = TensorInfo(name, tuple(shape), dtype)
        self._offsets[name] = (self._data_start + begin, self._data_start + end)

    def _corrupt(self, field: str, problem: str) -> CorruptFileError:
        return CorruptFileError(f"{self.path}: {field!r} {problem}", param=field)


def read_exactly(file: Any, buffer: memoryview, path: Path) -> None:
    """Fills `buffer` from an unbuffered file, which may return fewer bytes than requested."""
    done = 0
    while done < len(buffer):
        count = file.readinto(buffer[done:])
        if not count:
            raise cut_off(path, file.tell(), file.tell() + len(buffer) - done)
        done += count
