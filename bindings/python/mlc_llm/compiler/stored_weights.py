"""The weights of an -MLC folder in NumPy, and how the core lays them out for a library.

weights = read_weights(folder)                  # by the names in its files
laid_out(weights[p["name"]], p["shape"], p.get("strips"))      # p: of the metadata's "params"
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.quantization.stored import HALVES, THREES

Array = np.ndarray[Any, Any]


def read_weights(folder: Path) -> dict[str, Array]:
    """All tensors, by name."""
    index = json.loads((folder / "tensor-cache.json").read_text(encoding="utf-8"))
    weights = {}
    for shard in index["records"]:
        data = (folder / shard["dataPath"]).read_bytes()
        for record in shard["records"]:
            raw = data[record["byteOffset"] : record["byteOffset"] + record["nbytes"]]
            weights[record["name"]] = _array(raw, record)
    return weights


def _array(raw: bytes, record: Mapping[str, Any]) -> Array:
    from mlc_llm.compiler.quantization.pack import numpy_dtype

    dtype = numpy_dtype(record["dtype"])
    if dtype == np.float32 and len(raw) == 2 * math.prod(record["shape"]):  # f32-to-bf16
        halves = np.frombuffer(raw, numpy_dtype("bfloat16"))
        return halves.astype(np.float32).reshape(record["shape"])
    return np.frombuffer(raw, dtype).reshape(record["shape"])


def laid_out(array: Array, shape: Sequence[int], strips: Sequence[int] | None) -> Array:
    """A stored tensor as the core lays it out ("strips" in docs/model-library.md)."""
    if strips is None:
        return array
    (outs, axis, *change), (*stack, count, places, lanes) = strips, shape
    array = array.astype(np.float16) if change == [HALVES] else array
    rows = array.reshape(*stack, *((places, outs) if axis else (outs, places)))
    rows = rows.swapaxes(-1, -2) if axis else rows
    rows = _of_bytes(rows) if change == [THREES] else rows
    padded = np.zeros((*stack, count * lanes, places), array.dtype)
    padded[..., :outs, :] = rows
    whole = padded.reshape(*stack, count, lanes, places).swapaxes(-1, -2)
    return np.ascontiguousarray(whole)


def _of_bytes(words: Array) -> Array:
    """Words with ten codes of 3 bits each, four for a group, as `kernels/cpu/threes.py` reads
    them."""
    shifts = np.arange(0, 30, 3, dtype=np.uint32)
    codes = (words[..., None] >> shifts & 7).astype(np.uint8)  # (..., places, 10)
    quads = codes.reshape(*words.shape[:-1], -1, 10, 4)  # (..., groups, quads, bytes)
    first, second, rest = quads[..., :4, :], quads[..., 4:8, :], quads[..., 8:, :]
    upper = np.concatenate([rest & 3, rest >> 2], axis=-2)
    octets = np.ascontiguousarray(first | second << 3 | upper << 6)
    return octets.view("<u4").reshape(words.shape)
