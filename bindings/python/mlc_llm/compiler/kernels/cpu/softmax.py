"""The online softmax of attention over pages: the state of rows, block by block.

`State` walks the blocks of one part of a history, for the rows of `attention_rows.py`. `Totals`
merges parts. `paged_attention.py` uses both.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat, to_float
from mlc_llm.compiler.kernels.cpu.attention_rows import BLOCK, BLOCK_PAGES, Call, UnmaskedRows
from mlc_llm.compiler.kernels.cpu.page_readers import emit_ahead, emit_value_ahead, reader_of
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    constant,
    emit_max,
    emit_prefetch,
    emit_sum,
    emit_sums,
    emit_value,
    exp2,
    fma,
    softcap,
)


class State:
    """The running softmax of a part for up to `slots` rows and one key head: one for each row and
    query head. A query head of the row in slot m has the number `m * group + g`."""

    decays: Any  # by the number of a head among those of the rows that walk a block
    weights: Any

    def __init__(self, call: Call, head, slots: int) -> None:
        self.shape, self.indices = call.shape, call.page_indices
        self.reader = reader_of(call.shape, call.q, call.pages, slots, call.unit)
        self.head, self.scale, self.sinks = head, call.scale, call.sinks
        self.slopes, self.positions = call.slopes, call.positions
        self.registers, self.heads_each = call.registers, call.heads
        heads = slots * call.shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * call.shape.dim,), "float32")

    def for_task(self, rows: int) -> State:
        """With memory of a task, in which so many rows walk a block together."""
        other, heads = copy(self), rows * self.shape.group
        other.decays = T.sblock_alloc_buffer((heads * LANES,), "float32")
        other.weights = T.sblock_alloc_buffer((heads * BLOCK,), "float32")
        return other

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
        self._emit_scores(rows, block)
        group = self.shape.group
        with T.serial(len(rows.rows) * group) as h:
            self._emit_keys_ahead(rows, block, h)
            self._emit_weights(emit_value(rows.rows[0] * group + h), h)
        self._emit_values(rows, block)

    def emit_block_ahead(self, rows: UnmaskedRows, block) -> None:
        """Asks for the next block's part of this head: pages lie anywhere, so a processor cannot
        guess them. It goes to the second cache. One row, whose blocks are short, asks for lines
        while it walks (`_emit_pages`, `_emit_keys_ahead`, `_emit_vectors`)."""
        parts, heads, size = self.shape.page_shape
        line = 512 // tvm.DataType(self.shape.element_dtype).bits  # elements
        head = self.head if heads > 1 else 0
        with T.serial(BLOCK_PAGES) as i:
            number = self._later(rows, block * BLOCK_PAGES + i)
            with T.serial(parts) as part, T.serial(size // line) as place:
                emit_prefetch(self.reader.pages, number, part, head, place * line, keep=2)

    def _emit_keys_ahead(self, rows: UnmaskedRows, block, h) -> None:
        """One row's head asks for its share of the keys of every second page of the next block, so
        that memory has work during the exponentials too."""
        parts, _, size = self.shape.page_shape
        if len(rows.rows) > 1 or self._pages_at_a_time(rows) == 1 or parts == 1:
            return
        line = 512 // tvm.DataType(self.shape.element_dtype).bits  # elements
        share = -(-size // (line * self.shape.group)) * line
        for i in range(1, BLOCK_PAGES, 2):
            number = self._later(rows, block * BLOCK_PAGES + i)
            emit_ahead(self.reader, 0, self.head, [number], h * share, share)

    def _later(self, rows: UnmaskedRows, index):
        """The number of the page that is a block behind that one, or of any at the end."""
        place = T.min(rows.page(index + BLOCK_PAGES), T.Cast("int32", self.indices.shape[0]) - 1)
        return emit_value(self.indices[place])

    def _heads(self, rows: UnmaskedRows) -> list[tuple[Any, int]]:
        return [(m, g) for m in rows.rows for g in range(self.shape.group)]

    def _parts(self, heads: list[Any], sums: int = 1) -> list[list[Any]]:
        """Divides heads with that many sums into parts of about the same size, with at most
        `heads_each` in each."""
        count = -(-len(heads) * sums // self.heads_each)
        each = -(-len(heads) // count)
        return [heads[i : i + each] for i in range(0, len(heads), each)]

    def _pages_at_a_time(self, rows: UnmaskedRows) -> int:
        sums = len(rows.rows) * self.shape.group * self.reader.sums
        return next(n for n in (4, 2, 1) if n == 1 or n * sums <= self.registers)

    def _emit_scores(self, rows: UnmaskedRows, block) -> None:
        """Computes q . k, in base-2 logarithms, for as many pages at a time as registers allow."""
        heads, pages = self._heads(rows), self._pages_at_a_time(rows)
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
                        self._emit_never(rows, heads, base, pages)

    def _emit_never(self, rows: UnmaskedRows, heads: list, base, pages: int) -> None:
        for m, g in heads:
            for i in range(pages):
                place = at(self._weight(rows, m, g, base + i))
                T.buffer_store(self.weights, splat(NEVER), [place])

    def _weight(self, rows: UnmaskedRows, m, g: int, page):
        """The place of the weights of a page of the block."""
        return ((m - rows.rows[0]) * self.shape.group + g) * BLOCK + page * PAGE_SIZE

    def _emit_pages(self, rows: UnmaskedRows, heads: list, base, indices: list) -> None:
        numbers = [emit_value(self.indices[rows.page(index)]) for index in indices]
        later = [self._later(rows, i) for i in indices[::2]] if len(rows.rows) == 1 else []
        for some in self._parts(heads, self.reader.sums):
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
                T.buffer_store(self.weights, score, [at(self._weight(rows, m, g, base + j))])

    def _fallen(self, score, rows: UnmaskedRows, m, g: int, index):
        """The scores of a page, less by the distance of each position."""
        distance = splat(self.positions[rows.begin + m] - index * PAGE_SIZE)
        distance = distance - constant(range(LANES), "int32")
        slope = self.slopes[self.head * self.shape.group + g] * T.float32(-math.log2(math.e))
        return emit_value(fma(to_float(distance), splat(emit_value(slope)), score))

    def _emit_weights(self, h, own) -> None:
        """Turns a head's scores of the block into weights; `own`: its number among those that walk
        the block. The rest of its state follows later."""
        places = [at(own * BLOCK + i * PAGE_SIZE) for i in range(BLOCK_PAGES)]
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
        T.buffer_store(self.decays, decay, [at(own * LANES)])

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
            places = [at(self._weight(rows, m, g, page)) for m, g in heads]
            self.reader.emit_scaled(self.head, number, self.weights, places)

    def value_at(self, page, slot, d):
        """Elements [d, d + 16) of the value in a slot, without its scale."""
        return self.reader.value(self.head, page, slot, d)

    def _emit_vectors(self, rows, heads: list, block, base, step: int, asks: bool) -> None:
        """Elements [base, base + 16 step) of the values; asks for those of the next block."""
        group, dim = self.shape.group, self.shape.dim
        sums = emit_sums(len(heads) * step)
        each = [(m, g, sums[h * step : (h + 1) * step]) for h, (m, g) in enumerate(heads)]
        for m, g, own in each:
            decay = self.decays[at(((m - rows.rows[0]) * group + g) * LANES)]
            for i, total in enumerate(own):
                old = self.values[at((m * group + g) * dim + base + i * LANES)]
                T.buffer_store(total, old * decay, [at(0)])
        with T.serial(BLOCK_PAGES) as page:
            index = emit_value(block * BLOCK_PAGES + page)
            number = emit_value(self.indices[rows.page(index)])
            later = [self._later(rows, index)] if asks else []
            with T.serial(rows.filled(index)) as slot:
                emit_value_ahead(self.reader, self.head, later, slot, base, step * LANES)
                value = [self.value_at(number, slot, base + i * LANES) for i in range(step)]
                value = [emit_value(v) for v in value]
                for m, g, own in each:
                    weight = splat(self.weights[self._weight(rows, m, g, page) + slot])
                    for v, total in zip(value, own, strict=True):
                        T.buffer_store(total, fma(weight, v, total[at(0)]), [at(0)])
        for m, g, own in each:
            for i, total in enumerate(own):
                place = at((m * group + g) * dim + base + i * LANES)
                T.buffer_store(self.values, total[at(0)], [place])


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
