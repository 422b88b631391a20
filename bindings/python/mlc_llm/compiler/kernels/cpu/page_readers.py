"""How attention reads pages: scores of queries and keys, and values.

A reader serves `slots` rows of one key head. A query head has the number `m * group + g`, where m
is the row's slot. Keys of `Q8` are multiplied as integers: a query becomes codes of 16 bits, whose
error is far below that of a key's 8 bits. `Codes` multiplies bytes, `WordCodes` numbers of 16 bits.
Integer sums are exact, so a score has the same bits in any order of the instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, Q8_ZERO, AttentionShape
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.integer import (
    emit_dots,
    emit_word_dots,
    emit_words,
    multiplies_words,
    quads_at_a_time,
)
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.page_slots import emit_codes, emit_scale
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_fold,
    emit_prefetch,
    emit_sums,
    emit_value,
    fma,
    shuffle,
)

_PARTS = 2  # bytes of a query's code
_MOST_WORDS = 256  # elements whose products of 8 and 16 bits add up to less than 2 ** 31
_LARGEST = 127 << 8 * (_PARTS - 1)  # the high byte must not be over 127 after rounding


def reader_of(
    shape: AttentionShape, q, pages, slots: int, unit: DotUnit, width: int
) -> Floats | Codes:
    if not shape.is_q8:
        return Floats(shape, q, pages, width)
    heads, quads = slots * shape.group, shape.dim // 4
    kind = WordCodes if multiplies_words(unit) and shape.dim <= _MOST_WORDS else Codes
    return kind(
        shape,
        q,
        pages,
        unit,
        T.sblock_alloc_buffer((heads * _PARTS * quads,), "int32"),
        T.sblock_alloc_buffer((heads * _PARTS,), "int32"),
        T.sblock_alloc_buffer((heads,), "float32"),
    )


def emit_ahead(reader: Floats | Codes, part: int, head, number, begin, count: int) -> None:
    """Asks for `count` elements of the keys (part 0) or values (part 1) of a page. They go to the
    second cache: the first one holds what is multiplied now."""
    line = 512 // tvm.DataType(reader.shape.element_dtype).bits
    for place in range(0, count, line):
        emit_prefetch(reader.pages, number, part, head, begin + place, keep=2)


def emit_next(reader: Floats | Codes, part: int, head, number, slot, d, count: int) -> None:
    """Asks for as much of a part of a page as elements [d, d + count) of the values in a slot are.
    Latent rows are both parts, of all heads."""
    parts, heads, size = reader.shape.page_shape
    word = reader.shape.dim // reader.shape.row_elements  # elements of a value in one of the page
    row = reader.shape.row_elements if parts == 2 else size // PAGE_SIZE
    part, head = min(part, parts - 1), head if heads > 1 else 0
    emit_ahead(reader, part, head, number, slot * row + d // word, count // word)


@dataclass(frozen=True)
class Asks:
    """What scores ask for meanwhile: as much of the keys (part 0) or values (part 1) of these pages
    as they read."""

    part: int
    pages: list


@dataclass(frozen=True)
class Floats:
    """Pages of floats."""

    sums = 1  # of a score

    shape: AttentionShape
    q: Any
    pages: Any
    lanes: int  # positions of a score's vector

    def emit_queries(self, head, row, m) -> None:
        """Prepares the queries of a row for the slot m."""

    def emit_dots(self, head, begin, heads: list, vectors: list, asks: Asks):
        """q . k for vectors of positions: numbers of pages, and where in them a vector begins. A
        vector for each query head and vector of positions. Row m is `begin` + m."""
        group, each, lanes = self.shape.group, len(vectors), self.lanes
        sums = emit_sums(len(heads) * each, lanes=lanes)
        with T.serial(self.shape.dim // 4) as quarter:
            for n, (_, slot) in zip(asks.pages, vectors, strict=False):
                share = slot * self.shape.dim + quarter * 4 * lanes
                emit_ahead(self, asks.part, head, n, share, 4 * lanes)
            for i in range(4):
                d = quarter * 4 + i
                places = [(n, at(d * PAGE_SIZE + slot, lanes)) for n, slot in vectors]
                keys = [to_float(self.pages[n, 0, head, place], lanes) for n, place in places]
                keys = [emit_value(key) for key in keys]
                for h, (m, g) in enumerate(heads):
                    query = splat(self.q[begin + m, head * group + g, d], lanes)
                    for total, key in zip(sums[h * each :], keys, strict=False):
                        more = fma(query, key, total[at(0, lanes)], lanes)
                        T.buffer_store(total, more, [at(0, lanes)])
        return lambda h, j: sums[h * each + j][at(0, lanes)]

    def emit_scaled(self, head, number, weights, places: list) -> None:
        """Multiplies weights of a page by the scales of its values."""

    def value(self, head, number, slot, d, lanes: int):
        """Elements [d, d + lanes) of a value, without its scale."""
        place = at(slot * self.shape.dim + d, lanes)
        return to_float(self.pages[number, 1, head, place], lanes)


@dataclass(frozen=True)
class Codes:
    """Pages of codes. The queries have codes, the sums of their codes, and scales."""

    sums = _PARTS  # of a score
    lanes = LANES

    shape: AttentionShape
    q: Any
    pages: Any
    unit: DotUnit
    codes: Any
    offsets: Any
    scales: Any

    def emit_queries(self, head, row, m) -> None:
        group, dim = self.shape.group, self.shape.dim
        with T.serial(group) as g:
            h = emit_value(m * group + g)

            def read(d, g=g):
                return self.q[row, head * group + g, at(d)]

            scale, inverse = emit_scale(read, dim, _LARGEST)
            T.buffer_store(self.scales, scale, [h])
            self._emit_stored(h, [emit_codes(read(d), inverse) for d in range(0, dim, LANES)])

    def _emit_stored(self, h, codes: list) -> None:
        """Stores a query's codes, 16 int32 each, and what the 128 in the codes of keys adds."""
        totals = [emit_value(splat(T.int32(0))) for _ in range(_PARTS)]
        for number, some in enumerate(codes):
            for part, bytes_ in enumerate(_emit_parts(some)):
                totals[part] = emit_value(totals[part] + bytes_)
                words = T.reinterpret("int32x4", T.Cast(f"int8x{LANES}", bytes_))
                T.buffer_store(self.codes, words, [at(self._code(h, part, number * LANES // 4), 4)])
        for part, total in enumerate(totals):
            self._emit_offset(total, h * _PARTS + part)

    def _emit_offset(self, total, place) -> None:
        offset = emit_fold(total, lambda a, b: a + b) * T.int32(-Q8_ZERO[0])
        T.buffer_store(self.offsets, offset, [place])

    def _code(self, h, part: int, quad):
        return (h * _PARTS + part) * (self.shape.dim // 4) + quad

    def emit_dots(self, head, begin, heads: list, vectors: list, asks: Asks):
        numbers = [n for n, _ in vectors]
        sums = self._emit_sums(head, heads, numbers, asks)
        group, each = self.shape.group, len(numbers)
        scales = [self.pages[n, 0, head, at(self.shape.scales_at)] for n in numbers]
        scales = [emit_value(T.reinterpret(f"float32x{LANES}", scale)) for scale in scales]

        def dot(h: int, j: int):
            m, g = heads[h]
            number = m * group + g
            whole = [
                to_float(sums[(h * each + j) * _PARTS + part][at(0)]
                + splat(self.offsets[number * _PARTS + part]))
                for part in range(_PARTS)
            ]  # fmt: skip
            both = fma(whole[0], splat(256.0), whole[1])
            return both * (scales[j] * splat(self.scales[number]))

        return dot

    def _emit_sums(self, head, heads: list, numbers: list, asks: Asks):
        """Sums of products of codes: for each query head, page and part of the query's codes."""
        group, each = self.shape.group, len(numbers)
        sums = emit_sums(len(heads) * each * _PARTS, "int32")
        quads = quads_at_a_time(self.unit, self.shape.dim // 4)
        with T.serial(self.shape.dim // 4 // quads) as step:
            first = emit_value(step * quads)
            for n in asks.pages:
                emit_ahead(self, asks.part, head, n, first * PAGE_SIZE, quads * PAGE_SIZE)
            for j, n in enumerate(numbers):
                keys = [emit_value(self.pages[n, 0, head, at((first + i) * PAGE_SIZE)])
                        for i in range(quads)]  # fmt: skip
                for h, (m, g) in enumerate(heads):
                    for part in range(_PARTS):
                        total = sums[(h * each + j) * _PARTS + part]
                        codes = [self.codes[self._code(m * group + g, part, first + i)]
                                 for i in range(quads)]  # fmt: skip
                        more = emit_dots(self.unit, total[at(0)], keys, codes, weight_bits=8)
                        T.buffer_store(total, more, [at(0)])
        return sums

    def emit_scaled(self, head, number, weights, places: list) -> None:
        scales = self.pages[number, 1, head, at(self.shape.scales_at)]
        scales = emit_value(T.reinterpret(f"float32x{LANES}", scales))
        for place in places:
            T.buffer_store(weights, weights[place] * scales, [place])

    def value(self, head, number, slot, d, lanes: int):
        place = at(slot * self.shape.row_elements + d // 4, lanes // 4)
        codes = T.reinterpret(f"int8x{lanes}", self.pages[number, 1, head, place])
        return to_float(codes, lanes)


class WordCodes(Codes):
    """For processors without products of unsigned and signed bytes that add up to 32 bits. Codes of
    keys and of queries are multiplied as numbers of 16 bits: bytes 0 and 2, then bytes 1 and 3."""

    sums = 1

    def _emit_stored(self, h, codes: list) -> None:
        total = splat(T.int32(0))
        for number, some in enumerate(codes):
            total = emit_value(total + some)
            halves = emit_value(T.Cast(f"int16x{LANES}", some))
            order = [4 * quad + byte for quad in range(LANES // 4) for byte in (0, 2, 1, 3)]
            words = T.reinterpret(f"int32x{LANES // 2}", shuffle([halves], order))
            place = at(self._word(h, number * LANES // 4, 0), LANES // 2)
            T.buffer_store(self.codes, words, [place])
        self._emit_offset(total, h * _PARTS)

    def _word(self, h, quad, pair: int):
        return (h * (self.shape.dim // 4) + quad) * 2 + pair

    def emit_dots(self, head, begin, heads: list, vectors: list, asks: Asks):
        numbers = [n for n, _ in vectors]
        group, each = self.shape.group, len(numbers)
        hs = [m * group + g for m, g in heads]
        sums = emit_sums(len(heads) * each, "int32")
        with T.serial(self.shape.dim // 4) as quad:
            for n in asks.pages:
                emit_ahead(self, asks.part, head, n, quad * PAGE_SIZE, PAGE_SIZE)
            for j, n in enumerate(numbers):
                words = emit_value(self.pages[n, 0, head, at(quad * PAGE_SIZE)])
                keys = emit_words(words)
                for i, h in enumerate(hs):
                    total = sums[i * each + j]
                    codes = [self.codes[self._word(h, quad, pair)] for pair in range(2)]
                    more = emit_word_dots(self.unit, total[at(0)], keys, codes)
                    T.buffer_store(total, more, [at(0)])
        scales = [self.pages[n, 0, head, at(self.shape.scales_at)] for n in numbers]
        scales = [emit_value(T.reinterpret(f"float32x{LANES}", scale)) for scale in scales]

        def dot(i: int, j: int):
            total = sums[i * each + j][at(0)] + splat(self.offsets[hs[i] * _PARTS])
            return to_float(total) * (scales[j] * splat(self.scales[hs[i]]))

        return dot


def _emit_parts(codes) -> list:
    """The bytes of codes, the high part first."""
    high = emit_value(T.shift_right(codes + splat(T.int32(128)), splat(T.int32(8))))
    return [high, emit_value(codes - T.shift_left(high, splat(T.int32(8))))]
