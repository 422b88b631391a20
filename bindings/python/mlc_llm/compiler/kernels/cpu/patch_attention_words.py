"""Attention of patches in whole numbers: words of 16 bits, for towers with weights of 8 bits.

Half of the vectors of float32 hold as many words, and CPUs without AVX-512 multiply words in as
many vectors as floats. A query has one scale, and so has a key; a place of the values has one in a
run of keys. Sums of 32 bits cannot overflow: the numbers are small enough for a whole head, and
weights times values become floats after `TOGETHER` keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.panels import Panel, Tile
from mlc_llm.compiler.kernels.cpu.patch_attention import BLOCK, RUN, Head, Place, Scratch, memory
from mlc_llm.compiler.kernels.cpu.vector import (
    absolute,
    at,
    emit_floats,
    emit_max,
    emit_rounded,
    emit_value,
    fma,
)

TOGETHER = 64  # keys whose products are added as whole numbers
WEIGHT = 2**15 - 1  # the largest one
LARGEST = 2**31 - 1  # of a sum
VALUE = LARGEST // (TOGETHER * WEIGHT)
HALF = LANES // 2
_LEAST = 1e-30  # of what scales are made of


@dataclass(frozen=True)
class WordScratch(Scratch):
    """Queries, keys and values are pairs of words."""

    weights: Any  # [rows of a tile, pairs of keys of a run]
    turned: Any  # [dim, 16]: the keys of 16 rows
    query_scales: Any  # [rows]
    key_scales: Any  # [keys of a run]
    value_scales: Any  # [padded dim]


@dataclass(frozen=True)
class WordHead(Head):
    unit: DotUnit = "portable"

    @property
    def largest(self) -> int:
        """Of the numbers of queries and keys."""
        return int((LARGEST / self.dim) ** 0.5)

    @property
    def pairs(self) -> int:
        """Of a query in memory."""
        return self.vectors * HALF

    def scratch(self) -> WordScratch:
        pairs, vectors = self.dim // 2, self.tile.w_rows
        return WordScratch(
            queries=memory(BLOCK, self.pairs, dtype="int32"),
            keys=Panel(memory(RUN, pairs, dtype="int32"), pairs, vectors, self.unit),
            values=Panel(
                memory(RUN // 2, self.padded, dtype="int32"), RUN // 2, vectors, self.unit
            ),
            scores=memory(self.tile.x_rows, RUN),
            sums=memory(BLOCK, self.padded),
            state=memory(2, BLOCK),
            weights=memory(self.tile.x_rows, RUN // 2, dtype="int32"),
            turned=memory(self.dim, LANES),
            query_scales=memory(BLOCK),
            key_scales=memory(RUN),
            value_scales=memory(self.padded),
        )

    def _emit_query(self, to: WordScratch, source, row) -> None:
        values = [emit_value(self._emit_vector(0, source, i)) for i in range(self.vectors)]
        most = emit_max(reduce(T.max, map(absolute, values)))
        largest = emit_value(T.max(most, T.float32(_LEAST)))
        scale = largest * T.float32(self.factor / self.largest)
        T.buffer_store(to.query_scales, scale, [row])
        inverse = splat(emit_value(T.float32(self.largest) / largest))
        for i, value in enumerate(values):
            _store_words(to.queries, value * inverse, row * self.pairs + i * HALF)

    def _emit_lanes(self, to: WordScratch, vector, rows: list) -> None:
        largest = emit_floats(1)
        T.buffer_store(largest, splat(_LEAST), [at(0)])

        def store(d, lanes) -> None:
            T.buffer_store(to.turned, lanes, [at(d * LANES)])
            T.buffer_store(largest, T.max(largest[at(0)], absolute(lanes)), [at(0)])

        self._emit_turned(rows, store)
        scale = largest[at(0)] * splat(1 / self.largest)
        T.buffer_store(to.key_scales, scale, [at(vector * LANES)])
        inverse = emit_value(splat(float(self.largest)) / largest[at(0)])
        with T.serial(self.dim // 2) as pair:
            both = [to.turned[at((2 * pair + i) * LANES)] * inverse for i in range(2)]
            T.buffer_store(to.keys.buffer, _pair(*both), [to.keys.place(vector, pair)])

    def _emit_values(self, to: WordScratch, first, count) -> None:
        """Behind an odd number of keys is the last one again, with a weight of 0."""
        for vector in range(self.vectors):
            largest = emit_floats(1)
            T.buffer_store(largest, splat(_LEAST), [at(0)])
            with T.serial(count) as key:
                size = absolute(emit_value(self._emit_vector(2, first + key, vector)))
                T.buffer_store(largest, T.max(largest[at(0)], size), [at(0)])
            scale = largest[at(0)] * splat(1 / (VALUE * WEIGHT))
            T.buffer_store(to.value_scales, scale, [at(vector * LANES)])
            inverse = emit_value(splat(float(VALUE)) / largest[at(0)])
            with T.serial(-(-count // 2)) as pair:
                keys = [emit_value(first + T.min(2 * pair + i, count - 1)) for i in range(2)]
                both = [self._emit_vector(2, key, vector) * inverse for key in keys]
                T.buffer_store(to.values.buffer, _pair(*both), [to.values.place(vector, pair)])

    def _emit_scores(self, to: WordScratch, row, rows: int, block, score: Callable) -> None:
        width = self.tile.w_rows * LANES

        def load(i: int, pair):
            return to.queries[(row + i) * self.pairs + pair]

        def scaled(i: int, j: int, sums) -> None:
            keys = to.key_scales[at(block * width + j * LANES)]
            score(i, j, emit_value(to_float(sums) * (splat(to.query_scales[row + i]) * keys)))

        to.keys.emit_products(rows, block, self.dim // 2, load, Tile.clear, scaled)

    def _store_weights(self, to: WordScratch, i: int, vector, weights) -> None:
        _store_words(to.weights, weights * splat(float(WEIGHT)), i * (RUN // 2) + vector * HALF)

    def _emit_added(
        self, to: WordScratch, rows: int, block: int, count, place: Place, vectors: int
    ) -> None:
        most, pairs = TOGETHER // 2, emit_value(-(-count // 2))

        def load(i: int, pair):
            return to.weights[i * (RUN // 2) + pair]

        def add(i: int, j: int, sums) -> None:
            scale = to.value_scales[at((block * self.tile.w_rows + j) * LANES)]
            total = fma(to_float(sums), scale, to.sums[place(i, j)])
            T.buffer_store(to.sums, total, [place(i, j)])

        with T.serial(-(-pairs // most)) as part:
            first = emit_value(part * most)
            some = emit_value(T.min(most, pairs - first))
            to.values.emit_products(rows, block, some, load, Tile.clear, add, vectors, first)


def _pair(low, high):
    """Two vectors of numbers as words of one."""
    lower = T.bitwise_and(emit_rounded(low), splat(T.int32(0xFFFF)))
    return T.bitwise_or(lower, T.shift_left(emit_rounded(high), splat(T.int32(16))))


def _store_words(buffer, values, base) -> None:
    """16 numbers as 8 pairs."""
    words = T.Cast(f"int16x{LANES}", emit_rounded(values))
    T.buffer_store(buffer, T.reinterpret(f"int32x{HALF}", words), [at(base, HALF)])
