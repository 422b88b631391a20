"""How a kernel reads rows of a weight matrix as float32, whatever they are stored as.

A reader belongs to a matrix (out, in) in one storage form. It says which tensors hold the matrix
(`stored`) and gives, inside a kernel, the vector of 16 neighbouring inputs of a row. Vectors come
in blocks of `block_vectors`, after which the pattern of bits in words repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    constant,
    emit_value,
    shuffle,
    splat,
    to_float,
)
from mlc_llm.compiler.quantization import Scheme, StoredParam, WeightUse


@dataclass(frozen=True)
class PlainRows:
    """One float tensor (out, in)."""

    stored: tuple[StoredParam, ...]
    block_vectors: int = 2

    @property
    def dtype(self) -> str:
        return self.stored[0].dtype

    def emit_vector(self, buffers, row, block, vector: int):
        base = (block * self.block_vectors + vector) * LANES
        return to_float(buffers[0][row, at(base)])

    def element(self, buffers, row, column):
        return to_float(buffers[0][row, column], 1)


@dataclass(frozen=True)
class QuantizedRows:
    """Packed codes and scales along each row, the layout of `_1` schemes and of embeddings."""

    stored: tuple[StoredParam, ...]
    scheme: Scheme

    @property
    def block_vectors(self) -> int:
        return math.lcm(LANES, self.scheme.group_size) // LANES

    def emit_vector(self, buffers, row, block, vector: int):
        words, scales = buffers
        per_word, group = self.scheme.codes_per_word, self.scheme.group_size
        block_words = self.block_vectors * LANES // per_word
        block_groups = self.block_vectors * LANES // group
        places = [vector * LANES + lane for lane in range(LANES)]
        packed = spread(
            lambda i: words[row, block * block_words + i], [p // per_word for p in places]
        )
        scale = spread(
            lambda i: to_float(scales[row, block * block_groups + i], 1),
            [p // group for p in places],
        )
        shifts = constant([p % per_word * self.scheme.bits for p in places], "uint32")
        return dequantized(self.scheme, packed, shifts, scale)

    def element(self, buffers, row, column):
        words, scales = buffers
        per_word, bits = self.scheme.codes_per_word, self.scheme.bits
        shift = T.Cast("uint32", column % per_word * bits)
        scale = to_float(scales[row, column // self.scheme.group_size], 1)
        return dequantized(self.scheme, words[row, column // per_word], shift, scale, lanes=1)


class Rows(Protocol):
    """A reader. `strips.Strips` is another one."""

    @property
    def stored(self) -> tuple[StoredParam, ...]: ...

    @property
    def block_vectors(self) -> int: ...

    def emit_vector(self, buffers, row, block, vector: int):
        """The weights [(block * block_vectors + vector) * 16, + 16) of a row, as floats."""

    def element(self, buffers, row, column):
        """One weight, as a float."""


def rows_of(scheme: Scheme, name: str, shape: tuple[int, int], use: WeightUse) -> Rows:
    """The reader of a matrix that lies in (out, in) layout."""
    stored = scheme.stored_params(name, shape, use=use)
    if not scheme.quantizes(use):
        return PlainRows(stored)
    return QuantizedRows(stored, scheme)


def dequantized(scheme: Scheme, packed, shifts, scale, *, lanes: int = LANES):
    """(code - qmax) * scale, in float32."""
    mask = splat(T.uint32((1 << scheme.bits) - 1), lanes)
    codes = T.bitwise_and(T.shift_right(packed, shifts), mask)
    signed = T.Cast("int32" if lanes == 1 else f"int32x{lanes}", codes)
    return emit_value((to_float(signed, lanes) - splat(float(scheme.qmax), lanes)) * scale)


def spread(load: Callable, indices: list[int]):
    """A vector whose lane i is `load(indices[i])`; a few broadcasts, blended by lane."""
    kinds = sorted(set(indices))
    vector = splat(load(kinds[0]))
    for kind in kinds[1:]:
        lanes = [LANES + i if indices[i] == kind else i for i in range(LANES)]
        vector = shuffle([vector, splat(load(kind))], lanes)
    return vector
