"""Reads the weights that bitsandbytes quantized, as floats.

4 bits: NAME uint8 [elements / 2, 1], blocks of elements in the order of memory, with absmax for
each block and a quant_map of 16 values. absmax may be quantized itself (nested_absmax,
nested_quant_map).
8 bits: weight int8 [out, in] with SCB [out], which hf_scaled.py reads.
Facts: bitsandbytes-foundation/bitsandbytes (functional.py, QuantState).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.convert.hf_scaled import scaled_weights
from mlc_llm.compiler.convert.source import Array, TensorInfo, wrong_tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.convert.hf_quantized import Repository

_FLOATS = ("F32", "F16", "BF16")


@dataclass(frozen=True)
class _BlockwiseWeight:
    """4 bits per element, the high half of a byte first, and a table of their values."""

    repository: Repository
    info: TensorInfo
    block: int
    nested_block: int  # 0: absmax is not quantized
    nested_offset: float

    def rows(self, start: int, stop: int) -> Array:
        name, read = self.info.name, self.repository.read
        ins = self.info.shape[1]
        first, last = start * ins, stop * ins
        packed = read(name).reshape(-1)[first // 2 : -(-last // 2)]
        codes = np.stack([packed >> 4, packed & 15], axis=-1).reshape(-1)
        codes = codes[first % 2 : first % 2 + last - first]
        values = read(f"{name}.quant_map").astype(np.float32)[codes]
        largest = self._absmax()[np.arange(first, last) // self.block]
        return (values * largest).reshape(stop - start, ins)

    def _absmax(self) -> Array:
        name, read = self.info.name, self.repository.read
        absmax = read(f"{name}.absmax")
        if not self.nested_block:
            return absmax.astype(np.float32)
        table = read(f"{name}.nested_quant_map").astype(np.float32)
        blocks = np.arange(len(absmax)) // self.nested_block
        scales = read(f"{name}.nested_absmax").astype(np.float32)[blocks]
        return table[absmax] * scales + np.float32(self.nested_offset)


def bitsandbytes_weights(repository: Repository) -> list[Any]:
    found = scaled_weights(repository)  # of 8 bits
    for kind in ("nf4", "fp4"):
        for weight in repository.modules(f"quant_state.bitsandbytes__{kind}"):
            found.append(
                _blockwise(repository, weight, f"{weight}.quant_state.bitsandbytes__{kind}")
            )
    return found


def _blockwise(repository: Repository, name: str, state_name: str) -> _BlockwiseWeight:
    try:
        state = json.loads(bytes(repository.read(state_name)))
        outs, ins = (int(n) for n in state["shape"])
        block = int(state["blocksize"])
        nested = int(state.get("nested_blocksize") or 0)
        offset = float(state.get("nested_offset") or 0)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise wrong_tensor(
            state_name, "does not hold a shape of two axes and a blocksize"
        ) from None
    if min(outs, ins, block) <= 0 or nested < 0:
        raise wrong_tensor(state_name, "holds sizes below 1")
    block = min(block, outs * ins)
    blocks = -(-outs * ins // block)
    nested = min(nested, blocks)
    repository.need(name, (-(-outs * ins // 2), 1), "U8")
    repository.need(f"{name}.quant_map", (16,), *_FLOATS)
    repository.need(f"{name}.absmax", (blocks,), *(["U8"] if nested else _FLOATS))
    if nested:
        repository.need(f"{name}.nested_quant_map", (256,), *_FLOATS)
        repository.need(f"{name}.nested_absmax", (-(-blocks // nested),), *_FLOATS)
    info = TensorInfo(name, (outs, ins), "F32")
    return _BlockwiseWeight(repository, info, block, nested, offset)
