"""The online softmax of attention over pages: the state of rows, block by block.

`State` walks the blocks of one part of a history, for the rows of `attention_rows.py`. `Totals`
merges parts. `paged_attention.py` uses both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat, to_float
from mlc_llm.compiler.kernels.cpu.attention_rows import BLOCK, BLOCK_PAGES, Call, Rows
from mlc_llm.compiler.kernels.cpu.page_readers import Asks, emit_next, reader_of
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    constant,
    emit_max,
    emit_stored,
    emit_sum,
    emit_sums,
    emit_tiles,
    emit_unrolled,
    emit_value,
    exp2,
    exp2_less,
    exp2_whole,
    fma,
    rounded,
    softcap,
)

_LEAST = -120  # no weight is less than 2 to that power
ONE_ROW_RUN = 9 << 10  # the most bytes of a head's values that one row walks, if not one page
ONE_ROW_SUMS = 16  # wider tiles read memory more slowly
UNROLLED = 4  # positions of a page whose values are added in one turn of a loop


class State:
    """The running softmax of a part for up to `slots` rows and one key head: one for each row and
    query head. A query head of the row in slot m has the number `m * group + g`."""

    next_head: Any  # whose keys are read next,
    behind: Any  # so many pages behind these
    tiles: Callable  # of the vectors of a block's scores, and of its values
    numbers: Any  # of the pages of a block,
    later: Any  # of those that come next,
    filled: Any  # and how many of a page's first slots any row sees
    decays: Any  # by the number of a head among those of the rows that walk a block
    weights: Any

    def __init__(self, call: Call, head, slots: int) -> None:
        self.shape, self.indices = call.shape, call.page_indices
        self.reader = reader_of(call.shape, call.q, call.pages, slots, call.unit, call.width)
        self.head, self.scale, self.sinks = head, call.scale, call.sinks
        self.next_head, self.behind = head, BLOCK_PAGES
        self.slopes, self.positions = call.slopes, call.positions
        self.width, self.registers, self.heads_each = call.width, call.registers, call.heads
        self.run = call.run
        heads = slots * call.shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * call.shape.dim,), "float32")

    def for_task(self, rows: int, tiles: Callable = emit_tiles) -> State:
        """With memory of a task, in which so many rows walk a block together, in such tiles."""
        other, heads = copy(self), rows * self.shape.group
        other.tiles = tiles
        other.numbers, other.later, other.filled = (
            T.sblock_alloc_buffer((BLOCK_PAGES,), "int32") for _ in range(3)
        )
        other.decays = T.sblock_alloc_buffer((heads,), "float32")
        other.weights = T.sblock_alloc_buffer((heads * BLOCK,), "float32")
        return other

    def _for_one_row(self) -> State:
        other = copy(self)
        other.registers, other.run = min(self.registers, ONE_ROW_SUMS), ONE_ROW_RUN
        return other

    def of_head(self, first, count, h) -> State:
        """The same memory for key head h of `count` from `first` on, which walk a block in turn."""
        other, is_last = copy(self), h == count - 1
        other.head = emit_stored(first + h)
        other.next_head = emit_stored(T.Select(is_last, first, first + h + 1))
        other.behind = emit_stored(T.Select(is_last, T.int32(BLOCK_PAGES), T.int32(0)))
        return other

    def emit_begin(self, m, count) -> None:
        _emit_nothing_found(self, m * self.shape.group, count * self.shape.group)

    def emit_queries(self, row, m) -> None:
        """Prepares the queries of the row in slot m, before its first part."""
        self.reader.emit_queries(self.head, row, m)

    def emit_result(self, y, row, head, m) -> None:
        """Stores the result of a history of one part."""
        _emit_result(self, y, row, head, m)

    def emit_block(self, rows: Rows, block, asks: Any = None) -> None:
        """Walks a block. A block without any visible position is skipped, since it changes
        nothing. `asks(i)`: whether several rows ask for page i of the next block."""
        own = self._for_one_row() if len(rows.rows) == 1 else self
        seen = rows.seen(block)
        if seen is None:
            own._emit_seen(rows, block, asks)
            return
        with T.If(seen), T.Then():
            own._emit_seen(rows, block, asks)

    def _emit_seen(self, rows: Rows, block, asks: Any) -> None:
        self._emit_pages(rows, block, asks)
        self._emit_scores(rows)
        with T.If(rows.whole(block)):
            with T.Then():
                self._emit_weights(rows, block, is_masked=False)
            with T.Else():
                self._emit_weights(rows, block, is_masked=True)
        self._emit_values(rows)

    def _emit_pages(self, rows: Rows, block, asks: Any) -> None:
        for i in range(BLOCK_PAGES):
            index = emit_value(block * BLOCK_PAGES + i)
            # One row asks for the keys that come next, several for their share of the next block.
            # Rows that do not ask prefetch the page that they read, which does no harm.
            behind = self.behind if len(rows.rows) == 1 else BLOCK_PAGES
            end = T.Cast("int32", self.indices.shape[0]) - 1  # there any page will do
            number = self.indices[rows.page(index)]
            later = self.indices[T.min(rows.page(index + behind), end)]
            later = later if asks is None else T.Select(asks(i), later, number)
            T.buffer_store(self.numbers, number, [i])
            T.buffer_store(self.later, later, [i])
            T.buffer_store(self.filled, rows.filled(index), [i])

    def _parts(self, rows: Rows, sums: int = 1) -> list[list[tuple[Any, int]]]:
        """Divides the rows' heads, with that many sums each, into parts of about the same size,
        with at most `heads_each` in each."""
        heads = [(m, g) for m in rows.rows for g in range(self.shape.group)]
        count = -(-len(heads) * sums // self.heads_each)
        ends = [len(heads) * i // count for i in range(count + 1)]
        return [heads[begin:end] for begin, end in pairwise(ends)]

    def _most(self, heads: int) -> int:
        """How many vectors of positions get scores of so many heads at a time."""
        floats = self.registers * self.width
        return max(floats // (self.reader.lanes * self.reader.sums * heads), 1)

    def _emit_scores(self, rows: Rows) -> None:
        """Computes q . k, for as many positions at a time as registers allow. None is needed of a
        page that no row sees."""
        lanes, parts = self.reader.lanes, self._parts(rows, self.reader.sums)

        def tile(first, count: int) -> None:
            slots = [emit_stored((first + j) * lanes) for j in range(count)]  # of the block
            pages = [slot // PAGE_SIZE for slot in slots]
            with T.If(reduce(T.Or, [self.filled[page] > 0 for page in pages])), T.Then():
                numbers = [emit_stored(self.numbers[page]) for page in pages]
                part, asked = 1, numbers
                if len(rows.rows) > 1:
                    part, asked = 0, [emit_stored(self.later[page]) for page in pages]
                for heads in parts:
                    asks = Asks(part, asked if heads is parts[0] else [])
                    self._emit_dots(rows, heads, slots, numbers, asks)

        self.tiles(BLOCK // lanes, self._most(max(map(len, parts))), tile)

    def _emit_dots(self, rows: Rows, heads: list, slots: list, numbers: list, asks) -> None:
        """For vectors of positions at slots of the block, in pages of these numbers."""
        lanes = self.reader.lanes
        vectors = [
            (number, emit_stored(slot % PAGE_SIZE))
            for number, slot in zip(numbers, slots, strict=True)
        ]
        dot = self.reader.emit_dots(self.head, rows.begin, heads, vectors, asks)
        for h, (m, g) in enumerate(heads):
            for j, slot in enumerate(slots):
                place = at(self._weight(rows, m, g) + slot, lanes)
                T.buffer_store(self.weights, dot(h, j), [place])

    def _weight(self, rows: Rows, m, g: int):
        """The place of the first of a head's weights of the block."""
        return ((m - rows.rows[0]) * self.shape.group + g) * BLOCK

    def _emit_score(self, rows: Rows, own, index, product, is_masked: bool):
        """The scores of a page from q . k. Times `_factor` they are base-2 logarithms."""
        cap, score = self.shape.softcap, product
        score = emit_value(softcap(score * splat(self.scale), cap)) if cap else score
        if self.slopes is not None:
            logarithm = emit_value(score * splat(self._logarithm))
            score = self._fallen(logarithm, rows, own, index)
        return emit_value(rows.emit_masked(score, own, index)) if is_masked else score

    @property
    def _logarithm(self) -> float:
        return math.log2(math.e) * (1.0 if self.shape.softcap else self.scale)

    @property
    def _factor(self) -> float:
        return self._logarithm if self.slopes is None else 1.0

    def _fallen(self, score, rows: Rows, own, index):
        """The scores of a page, less by the distance of each position."""
        row, g = rows.begin + rows.rows[0] + own // self.shape.group, own % self.shape.group
        distance = splat(self.positions[row] - index * PAGE_SIZE)
        distance = distance - constant(range(LANES), "int32")
        slope = self.slopes[self.head * self.shape.group + g] * T.float32(-math.log2(math.e))
        return emit_value(fma(to_float(distance), splat(emit_value(slope)), score))

    def _emit_weights(self, rows: Rows, block, is_masked: bool) -> None:
        """Turns what the heads' keys gave into weights: the largest of all heads first, since a
        processor waits long for the largest of one. `own` is the number of a head among those that
        walk the block. What was not computed is not seen."""
        heads = len(rows.rows) * self.shape.group
        with T.serial(heads) as own:
            self._emit_largest(rows, block, own, is_masked)
        with T.serial(heads) as own:
            self._emit_powers(rows, own, is_masked)

    def _emit_largest(self, rows: Rows, block, own, is_masked: bool) -> None:
        """The state's maximum is a whole number beside the largest logarithm. So a decay is a power
        of two, and exact."""
        h, scores = emit_value(rows.rows[0] * self.shape.group + own), []
        for i, place in enumerate(self._places(own)):
            product = emit_value(self.weights[place])
            index = emit_value(block * BLOCK_PAGES + i)
            scores.append(self._emit_score(rows, own, index, product, is_masked))
            if scores[-1] is not product:
                T.buffer_store(self.weights, scores[-1], [place])
        largest = emit_max(emit_value(reduce(T.max, scores)))
        old = emit_value(self.maximum[h])
        new = emit_value(T.max(old, rounded(largest * T.float32(self._factor), 1)))
        T.buffer_store(self.maximum, new, [h])
        T.buffer_store(self.decays, exp2_whole(T.max(old - new, T.float32(_LEAST))), [own])

    def _emit_powers(self, rows: Rows, own, is_masked: bool) -> None:
        h = emit_value(rows.rows[0] * self.shape.group + own)
        maximum, factor = emit_value(self.maximum[h]), self._factor
        least = splat(emit_value((maximum + T.float32(_LEAST)) * T.float32(1 / factor)))
        total = emit_value(self.sums[at(h * LANES)] * splat(self.decays[own]))
        for place in self._places(own):
            score = emit_value(self.weights[place])
            weight = exp2_less(emit_value(T.max(score, least)), factor, maximum)
            if is_masked:
                weight = emit_value(T.Select(score > splat(NEVER / 2), weight, splat(0.0)))
            T.buffer_store(self.weights, weight, [place])
            total = emit_value(total + weight)
        T.buffer_store(self.sums, total, [at(h * LANES)])

    @staticmethod
    def _places(own) -> list:
        """Where a head's weights of each page are."""
        return [at(own * BLOCK + i * PAGE_SIZE) for i in range(BLOCK_PAGES)]

    def _emit_values(self, rows: Rows) -> None:
        """values = values * decay + weights . v, a few vectors at a time."""
        self._emit_scaled_weights(rows)
        parts, vectors = self._parts(rows), self.shape.dim // self.width
        runs = BLOCK_PAGES // self._pages_of_a_run()

        def tile(run, first, count: int) -> None:
            for heads in parts:
                self._emit_vectors(rows, heads, run, first, count)

        with T.serial(runs) as run:
            most = max(self.registers // max(map(len, parts)), 1)
            self.tiles(vectors, most, partial(tile, run))

    def _pages_of_a_run(self) -> int:
        """Of so many pages all heads take a few vectors of the values before the next ones. The
        same vector of all positions may be in few sets of the first cache: all of a block would
        not stay there until the next heads come."""
        size = self.shape.page_shape[-1] * tvm.DataType(self.shape.element_dtype).bits // 8
        return next(n for n in (BLOCK_PAGES, 2, 1) if n * size <= self.run or n == 1)

    def _emit_scaled_weights(self, rows: Rows) -> None:
        if not self.shape.is_q8:
            return
        heads = len(rows.rows) * self.shape.group
        with T.serial(BLOCK_PAGES) as page:
            places = [at(h * BLOCK + page * PAGE_SIZE) for h in range(heads)]
            self.reader.emit_scaled(self.head, self.numbers[page], self.weights, places)

    def value_at(self, page, slot, d, lanes: int):
        """Elements [d, d + lanes) of the value in a slot, without its scale."""
        return self.reader.value(self.head, page, slot, d, lanes)

    def _emit_vectors(self, rows: Rows, heads: list, run, first, count: int) -> None:
        """`count` vectors of the values from `first` on, in a run of pages. With its first heads,
        one row asks for the keys that come next, several for the values."""
        group, dim, width = self.shape.group, self.shape.dim, self.width
        pages, is_asking = self._pages_of_a_run(), heads[0][0] is rows.rows[0] and not heads[0][1]
        part, head = (0, self.next_head) if len(rows.rows) == 1 else (1, self.head)
        base = emit_stored(first * width)
        sums = emit_sums(len(heads) * count, lanes=width)
        each = [(m, g, sums[h * count : (h + 1) * count]) for h, (m, g) in enumerate(heads)]
        for m, g, own in each:
            decay = self.decays[(m - rows.rows[0]) * group + g]
            decay = splat(T.Select(run == 0, decay, T.float32(1.0)), width)  # once for a block
            for i, total in enumerate(own):
                old = self.values[at((m * group + g) * dim + base + i * width, width)]
                T.buffer_store(total, old * decay, [at(0, width)])
        with T.serial(pages) as i:
            page = emit_value(run * pages + i)
            number = emit_stored(self.numbers[page])
            later = emit_stored(self.later[page]) if is_asking else None

            def add(slot) -> None:
                if later is not None:
                    emit_next(self.reader, part, head, later, slot, base, count * width)
                places = [base + i * width for i in range(count)]
                value = [emit_value(self.value_at(number, slot, d, width)) for d in places]
                for m, g, own in each:
                    place = self._weight(rows, m, g) + page * PAGE_SIZE + slot
                    weight = splat(self.weights[place], width)
                    for v, total in zip(value, own, strict=True):
                        more = fma(weight, v, total[at(0, width)], width)
                        T.buffer_store(total, more, [at(0, width)])

            emit_unrolled(self.filled[page], UNROLLED, add)
        for m, g, own in each:
            for i, total in enumerate(own):
                place = at((m * group + g) * dim + base + i * width, width)
                T.buffer_store(self.values, total[at(0, width)], [place])


class Totals:
    """The merged state of the parts of up to `slots` rows, or rows and key heads."""

    def __init__(self, call: Call, slots: int) -> None:
        shape, self.sinks = call.shape, call.sinks
        self.shape, heads = shape, slots * shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * shape.dim,), "float32")

    def emit_begin(self, m, count) -> None:
        _emit_nothing_found(self, m * self.shape.group, count * self.shape.group)

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
