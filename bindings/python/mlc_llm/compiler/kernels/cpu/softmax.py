"""The online softmax of attention over pages: the state of rows, block by block.

`UnmaskedRows` and `MaskedRow` say which rows walk a block, and which positions they see. `State`
walks the blocks of one part of a history. `Totals` merges parts. `paged_attention.py` uses all of
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat, to_float
from mlc_llm.compiler.kernels.cpu.integer import DotUnit
from mlc_llm.compiler.kernels.cpu.page_readers import emit_value_ahead, reader_of
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    constant,
    emit_floats,
    emit_max,
    emit_prefetch,
    emit_sum,
    emit_value,
    exp2,
    fma,
    softcap,
)

BLOCK_PAGES = 4
BLOCK = BLOCK_PAGES * PAGE_SIZE


@dataclass(frozen=True)
class Call:
    """The kernel's arguments, by name, and the settings for which it was made."""

    shape: AttentionShape
    scale: float
    registers: int
    heads: int  # query heads, of all rows, that have sums at a time
    unit: DotUnit
    q: Any
    positions: Any
    row_sequence: Any
    page_indptr: Any
    page_indices: Any
    pages: Any
    y: Any
    sinks: Any = None  # learned, of each head
    slopes: Any = None  # of each head, by which its scores fall with the distance
    own: Any = None  # the positions of the rows, if rows with windows see later ones

    def emit_oldest(self, row, position):
        """The first position that the window of a row reaches; `position`: the last one that it
        sees."""
        if self.shape.sliding_window < 0:
            return T.int32(0)
        own = None if self.own is None else self.own[row]
        return emit_value(self.shape.oldest(own, position))

    def emit_first_page(self, row):
        """The index in the block table at which the pages of a row's sequence begin."""
        return emit_value(self.page_indptr[self.row_sequence[row]])


@dataclass(frozen=True)
class UnmaskedRows:
    """Rows of a task, by number, that see every position of a block."""

    rows: Sequence[Any]
    begin: Any  # the first row of the task
    first: Any  # the index of the sequence's first page in the block table

    def seen(self, block):
        """Whether any position of a block is seen; None: all are."""
        return None

    def reached(self, index):
        """Whether a page is seen; None: it is."""
        return None

    def page(self, index):
        """Its index in the block table."""
        return self.first + index

    def filled(self, index):
        """The number of its slots that are seen."""
        return PAGE_SIZE

    def masked(self, score, index):
        return score


@dataclass(frozen=True)
class MaskedRow(UnmaskedRows):
    """One row, and blocks of which it may not see every position."""

    shape: AttentionShape
    position: Any  # the last one that it sees
    oldest: Any  # the first one that its window reaches

    def seen(self, block):
        if self.shape.sliding_window < 0:
            return None
        recent = (block + 1) * BLOCK > self.oldest
        return T.Or(recent, block * BLOCK < self.shape.sinks)

    def reached(self, index):
        page_is_there = index * PAGE_SIZE <= self.position
        if self.shape.sliding_window < 0:
            return page_is_there
        recent = (index + 1) * PAGE_SIZE > self.oldest
        return T.And(page_is_there, T.Or(recent, index * PAGE_SIZE < self.shape.sinks))

    def page(self, index):
        """A page that is not seen is replaced by the row's own page: it exists, and it is
        masked."""
        own = self.position // PAGE_SIZE
        return self.first + T.Select(self.reached(index), index, own)

    def filled(self, index):
        count = T.min(self.position - index * PAGE_SIZE + 1, PAGE_SIZE)
        return T.Select(self.reached(index), count, T.int32(0))

    def masked(self, score, index):
        lane = constant(range(LANES), "int32")
        places = emit_value(lane + splat(index * PAGE_SIZE))
        allowed = places <= splat(self.position)
        if self.shape.sliding_window >= 0:
            recent = places >= splat(self.oldest)
            allowed = T.And(allowed, T.Or(recent, places < splat(T.int32(self.shape.sinks))))
        return T.Select(allowed, score, splat(NEVER))


class State:
    """The running softmax of a part for up to `slots` rows and one key head: one for each row and
    query head. A query head of the row in slot m has the number `m * group + g`."""

    def __init__(self, call: Call, head, slots: int) -> None:
        self.shape, self.indices = call.shape, call.page_indices
        self.reader = reader_of(call.shape, call.q, call.pages, slots, call.unit)
        self.head, self.scale, self.sinks = head, call.scale, call.sinks
        self.slopes, self.positions = call.slopes, call.positions
        self.registers, self.heads_each = call.registers, call.heads
        heads = slots * call.shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.decays = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * call.shape.dim,), "float32")
        self.weights = T.sblock_alloc_buffer((heads * BLOCK,), "float32")

    def of_head(self, head) -> State:
        """The same memory for another key head."""
        other = copy(self)
        other.head = head
        return other

    def emit_begin(self, m, count) -> None:
        _emit_nothing_found(self, m * self.shape.group, count * self.shape.group)

    def emit_queries(self, row, m) -> None:
        """Prepares the queries of the row in slot m, before its first part."""
        self.reader.emit_queries(self.head, row, m)

    def emit_result(self, y, row, head, m) -> None:
        """Stores the result of a history of one part."""
        _emit_result(self, y, row, head, m)

    def emit_block(self, rows: UnmaskedRows, block) -> None:
        """Walks a block. A block without any visible position is skipped, since it changes
        nothing."""
        seen = rows.seen(block)
        if seen is None:
            self._emit_seen(rows, block)
            return
        with T.If(seen), T.Then():
            self._emit_seen(rows, block)

    def _emit_seen(self, rows: UnmaskedRows, block) -> None:
        if len(rows.rows) > 1:
            self._emit_prefetch(rows, block)
        self._emit_scores(rows, block)
        group = self.shape.group
        with T.serial(len(rows.rows) * group) as h:
            self._emit_weights(emit_value(rows.rows[0] * group + h))
        self._emit_values(rows, block)

    def _emit_prefetch(self, rows: UnmaskedRows, block) -> None:
        """Asks for the next block's part of this head: pages lie anywhere, so a processor cannot
        guess them. One row, whose blocks are short, asks while it walks (`_later`)."""
        parts, heads, size = self.shape.page_shape
        line = 512 // tvm.DataType(self.shape.element_dtype).bits  # elements
        head = self.head if heads > 1 else 0
        with T.serial(BLOCK_PAGES) as i:
            number = self._later(rows, block * BLOCK_PAGES + i)
            with T.serial(parts) as part, T.serial(size // line) as place:
                emit_prefetch(self.reader.pages, number, part, head, place * line)

    def _later(self, rows: UnmaskedRows, index):
        """The number of the page that is a block behind that one, or of any at the end."""
        place = T.min(rows.page(index + BLOCK_PAGES), T.Cast("int32", self.indices.shape[0]) - 1)
        return emit_value(self.indices[place])

    def _heads(self, rows: UnmaskedRows) -> list[tuple[Any, int]]:
        return [(m, g) for m in rows.rows for g in range(self.shape.group)]

    def _parts(self, heads: list[Any]) -> list[list[Any]]:
        """Divides the heads into parts of about the same size, at most `heads_each` in each."""
        count = -(-len(heads) // self.heads_each)
        each = -(-len(heads) // count)
        return [heads[i : i + each] for i in range(0, len(heads), each)]

    def _emit_scores(self, rows: UnmaskedRows, block) -> None:
        """Computes q . k, in base-2 logarithms, for as many pages at a time as registers allow."""
        heads = self._heads(rows)
        pages = next(n for n in (4, 2, 1) if n == 1 or n * len(heads) <= self.registers)
        with T.serial(BLOCK_PAGES // pages) as part:
            base = emit_value(part * pages)  # index in the block
            indices = [emit_value(block * BLOCK_PAGES + base + i) for i in range(pages)]
            some = rows.reached(indices[0])
            if some is None or self.shape.sliding_window >= 0:
                self._emit_pages(rows, heads, base, indices)
            else:
                with T.If(some):
                    with T.Then():
                        self._emit_pages(rows, heads, base, indices)
                    with T.Else():
                        self._emit_never(heads, base, pages)

    def _emit_never(self, heads: list, base, pages: int) -> None:
        for m, g in heads:
            for i in range(pages):
                T.buffer_store(self.weights, splat(NEVER), [self._weight(m, g, base + i)])

    def _weight(self, m, g: int, page):
        return at((m * self.shape.group + g) * BLOCK + page * PAGE_SIZE)

    def _emit_pages(self, rows: UnmaskedRows, heads: list, base, indices: list) -> None:
        numbers = [emit_value(self.indices[rows.page(index)]) for index in indices]
        later = [self._later(rows, index) for index in indices] if len(rows.rows) == 1 else []
        for some in self._parts(heads):
            dot = self.reader.emit_dots(self.head, rows.begin, some, numbers, later)
            self._emit_part(rows, some, base, indices, dot)
            later = []

    def _emit_part(self, rows: UnmaskedRows, heads: list, base, indices: list, dot) -> None:
        cap, log2e = self.shape.softcap, math.log2(math.e)
        factor = splat(self.scale if cap else self.scale * log2e)
        for h, (m, g) in enumerate(heads):
            for j, index in enumerate(indices):
                score = emit_value(dot(h, j) * factor)
                score = emit_value(softcap(score, cap) * splat(log2e)) if cap else score
                score = score if self.slopes is None else self._fallen(score, rows, m, g, index)
                score = rows.masked(score, index)
                T.buffer_store(self.weights, score, [self._weight(m, g, base + j)])

    def _fallen(self, score, rows: UnmaskedRows, m, g: int, index):
        """The scores of a page, less by the distance of each position."""
        distance = splat(self.positions[rows.begin + m] - index * PAGE_SIZE)
        distance = distance - constant(range(LANES), "int32")
        slope = self.slopes[self.head * self.shape.group + g] * T.float32(-math.log2(math.e))
        return emit_value(fma(to_float(distance), splat(emit_value(slope)), score))

    def _emit_weights(self, h) -> None:
        """Turns a head's scores of the block into weights. The rest of its state follows later."""
        places = [at(h * BLOCK + i * PAGE_SIZE) for i in range(BLOCK_PAGES)]
        scores = [emit_value(self.weights[place]) for place in places]
        old = emit_value(self.maximum[h])
        largest = emit_value(T.max(T.max(scores[0], scores[1]), T.max(scores[2], scores[3])))
        new = emit_value(T.max(old, emit_max(largest)))
        decay = exp2(splat(old) - splat(new))
        total = self.sums[at(h * LANES)] * decay
        for place, score in zip(places, scores, strict=True):
            real = score > splat(NEVER / 2)
            weight = emit_value(T.Select(real, exp2(score - splat(new)), splat(0.0)))
            T.buffer_store(self.weights, weight, [place])
            total = emit_value(total + weight)
        T.buffer_store(self.sums, total, [at(h * LANES)])
        T.buffer_store(self.maximum, new, [h])
        T.buffer_store(self.decays, decay, [at(h * LANES)])

    def _emit_values(self, rows: UnmaskedRows, block) -> None:
        """values = values * decay + weights . v, a few vectors at a time."""
        heads, vectors = self._heads(rows), self.shape.dim // LANES
        fitting = [n for n in range(1, vectors + 1)
                   if vectors % n == 0 and n * len(heads) <= self.registers]  # fmt: skip
        step = max(fitting, default=1)
        self._emit_scaled_weights(rows, heads, block)
        with T.serial(vectors // step) as part:
            base = emit_value(part * step * LANES)
            for some in self._parts(heads):
                asks = len(rows.rows) == 1 and some[0] == heads[0]
                self._emit_vectors(rows, some, block, base, step, asks)

    def _emit_scaled_weights(self, rows: UnmaskedRows, heads: list, block) -> None:
        if not self.shape.is_q8:
            return
        with T.serial(BLOCK_PAGES) as page:
            number = emit_value(self.indices[rows.page(emit_value(block * BLOCK_PAGES + page))])
            places = [self._weight(m, g, page) for m, g in heads]
            self.reader.emit_scaled(self.head, number, self.weights, places)

    def value_at(self, page, slot, d):
        """Elements [d, d + 16) of the value in a slot, without its scale."""
        return self.reader.value(self.head, page, slot, d)

    def _emit_vectors(self, rows, heads: list, block, base, step: int, asks: bool) -> None:
        """Elements [base, base + 16 step) of the values; asks for those of the next block."""
        group, dim = self.shape.group, self.shape.dim
        numbered = [(m * group + g, [at((h * step + i) * LANES) for i in range(step)])
                    for h, (m, g) in enumerate(heads)]  # fmt: skip
        sums = emit_floats(len(heads) * step)
        for h, places in numbered:
            decay = self.decays[at(h * LANES)]
            for i, place in enumerate(places):
                old = self.values[at(h * dim + base + i * LANES)]
                T.buffer_store(sums, old * decay, [place])
        with T.serial(BLOCK_PAGES) as page:
            index = emit_value(block * BLOCK_PAGES + page)
            number = emit_value(self.indices[rows.page(index)])
            later = [self._later(rows, index)] if asks else []
            with T.serial(rows.filled(index)) as slot:
                emit_value_ahead(self.reader, self.head, later, slot, base, step * LANES)
                value = [self.value_at(number, slot, base + i * LANES) for i in range(step)]
                value = [emit_value(v) for v in value]
                for h, places in numbered:
                    weight = splat(self.weights[h * BLOCK + page * PAGE_SIZE + slot])
                    for v, place in zip(value, places, strict=True):
                        T.buffer_store(sums, fma(weight, v, sums[place]), [place])
        for h, places in numbered:
            for i, place in enumerate(places):
                T.buffer_store(self.values, sums[place], [at(h * dim + base + i * LANES)])


class Totals:
    """The merged state of the parts of up to `slots` rows, or rows and key heads."""

    def __init__(self, call: Call, slots: int) -> None:
        shape, self.sinks = call.shape, call.sinks
        self.shape, heads = shape, slots * shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * shape.dim,), "float32")

    def emit_begin(self, count) -> None:
        _emit_nothing_found(self, 0, count * self.shape.group)

    def emit_add(self, state: State, source, target, count) -> None:
        """Merges the parts in `count` slots from `source` on into those from `target` on. The first
        part is copied bit for bit: an empty state decays to 0, and 2 ** 0 is 1."""
        group, dim = self.shape.group, self.shape.dim
        with T.serial(count * group) as g:
            part, h = emit_value(source * group + g), emit_value(target * group + g)
            old, other = emit_value(self.maximum[h]), emit_value(state.maximum[part])
            new = emit_value(T.max(old, other))
            decay, weight = splat(exp2(old - new, 1)), splat(exp2(other - new, 1))

            def add(totals, parts, to, of, decay=decay, weight=weight) -> None:
                T.buffer_store(totals, fma(parts[at(of)], weight, totals[at(to)] * decay), [at(to)])

            T.buffer_store(self.maximum, new, [h])
            add(self.sums, state.sums, h * LANES, part * LANES)
            with T.serial(dim // LANES) as v:
                add(self.values, state.values, h * dim + v * LANES, part * dim + v * LANES)

    def emit_result(self, y, row, head, m) -> None:
        _emit_result(self, y, row, head, m)


def _emit_result(softmax: State | Totals, y, row, head, m) -> None:
    """Stores the values divided by their weights, for the query heads of a slot."""
    group, dim = softmax.shape.group, softmax.shape.dim
    with T.serial(group) as g:
        h = emit_value(m * group + g)
        total = emit_sum(softmax.sums[at(h * LANES)])
        if softmax.sinks is not None:
            sink = to_float(softmax.sinks[head * group + g], 1)
            sink = sink * T.float32(math.log2(math.e)) - softmax.maximum[h]
            total = emit_value(total + exp2(sink, 1))
        with T.serial(dim // LANES) as v:
            value = softmax.values[at(h * dim + v * LANES)] / splat(total)
            T.buffer_store(y, value, [row, at((head * group + g) * dim + v * LANES)])


def _emit_nothing_found(softmax: State | Totals, first, count) -> None:
    """Sets the state before the first position, for `count` query heads."""
    dim = softmax.shape.dim
    with T.serial(count) as i:
        h = emit_value(first + i)
        T.buffer_store(softmax.maximum, T.float32(NEVER), [h])
        T.buffer_store(softmax.sums, splat(0.0), [at(h * LANES)])
        with T.serial(dim // LANES) as v:
            T.buffer_store(softmax.values, splat(0.0), [at(h * dim + v * LANES)])
