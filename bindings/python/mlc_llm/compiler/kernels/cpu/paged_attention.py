"""Causal softmax attention over the paged cache, for prompts and single steps.

A row walks its history in blocks of 64 positions, four pages, with an online softmax: the largest
score so far, the sum of weights, the weighted values. Rows of one sequence that stand together walk
the blocks that all of them see whole side by side, so that a page is read once for them; what is
left, where a row's own position or a window cuts a block, each row walks alone. A row's steps are
the same in either way, so its result depends on its history alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.attention import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.kernels.cpu.function import kernel
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    NEVER,
    at,
    constant,
    emit_floats,
    emit_max,
    emit_sum,
    emit_value,
    emit_zero,
    exp2,
    fma,
    splat,
    to_float,
)

BLOCK_PAGES = 4
BLOCK = BLOCK_PAGES * PAGE_SIZE
TOGETHER = 4  # rows that walk side by side
MANY = 16  # rows from which on a task is TOGETHER of them


def paged_attention(shape: AttentionShape, scale: float, *, registers: int = 12) -> tirx.PrimFunc:
    """f(q [n, heads, dim], positions, row_sequence, page_indptr, page_indices, pages, y).

    `registers` is how many vectors of 16 floats the sums of inner loops may take.
    """

    def body(q, positions, row_sequence, page_indptr, page_indices, pages, y) -> None:
        rows = emit_value(T.Cast("int32", q.shape[0]))
        each = emit_value(T.Select(rows >= MANY, T.int32(TOGETHER), T.int32(1)))
        tasks = emit_value((rows + each - 1) // each)  # of a head
        with T.parallel(tasks * shape.kv_heads) as task, T.sblock("attend"):
            T.reads()
            T.writes()
            head, begin = emit_value(task // tasks), emit_value(task % tasks * each)
            count = emit_value(T.min(each, rows - begin))
            sequence = emit_value(row_sequence[begin])
            first = emit_value(page_indptr[sequence])
            state = _State(shape, q, pages, page_indices, head, scale, registers)
            state.emit_begin(count)
            alike = T.And(count == TOGETHER, row_sequence[begin + count - 1] == sequence)
            full = emit_value(T.Select(alike, _whole_blocks(shape, positions[begin]), T.int32(0)))
            with T.serial(full) as block:
                state.emit_block(_Whole(range(TOGETHER), begin, first), block)
            with T.serial(count) as m:
                row = emit_value(begin + m)
                position = emit_value(positions[row])
                start = emit_value(page_indptr[row_sequence[row]])
                with T.serial(position // BLOCK + 1 - full) as block:
                    cut = _Cut([m], begin, start, shape, position)
                    state.emit_block(cut, emit_value(full + block))
                state.emit_result(y, row, m)

    return kernel(shape.attend_args, body)


def _whole_blocks(shape: AttentionShape, position):
    """Blocks from the first on that a row at `position`, and all behind it, see whole."""
    return (position + 1) // BLOCK if shape.sliding_window < 0 else T.int32(0)


@dataclass(frozen=True)
class _Whole:
    """Rows of a task, by number, to each of which a block's every position counts."""

    rows: Sequence[Any]
    begin: Any  # the task's first row
    first: Any  # where the sequence's pages begin in the table

    def reached(self, index):
        """Whether a page counts; None: it does."""
        return None

    def page(self, index):
        """Where it stands in the table."""
        return self.first + index

    def filled(self, index):
        """How many of its slots count."""
        return PAGE_SIZE

    def masked(self, score, index):
        return score


@dataclass(frozen=True)
class _Cut(_Whole):
    """One row, and blocks whose positions it may not all attend to."""

    shape: AttentionShape
    position: Any

    def reached(self, index):
        page_is_there = index * PAGE_SIZE <= self.position
        if self.shape.sliding_window < 0:
            return page_is_there
        recent = (index + 1) * PAGE_SIZE > self.position - self.shape.sliding_window + 1
        return T.And(page_is_there, T.Or(recent, index * PAGE_SIZE < self.shape.sinks))

    def page(self, index):
        """For a page that is not reached the row's own: it is there, and masked."""
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
            recent = places > splat(self.position - self.shape.sliding_window)
            allowed = T.And(allowed, T.Or(recent, places < splat(T.int32(self.shape.sinks))))
        return T.Select(allowed, score, splat(NEVER))


class _State:
    """Of the rows of a task and one key head: for each row, and query head in it, the running
    softmax. A query head of a row is numbered `row * group + g`."""

    def __init__(self, shape: AttentionShape, q, pages, indices, head, scale, registers) -> None:
        self.shape, self.q, self.pages, self.indices = shape, q, pages, indices
        self.head, self.scale, self.registers = head, scale, registers
        heads = TOGETHER * shape.group
        self.maximum = T.sblock_alloc_buffer((heads,), "float32")
        self.decays = T.sblock_alloc_buffer((heads,), "float32")
        self.sums = T.sblock_alloc_buffer((heads * LANES,), "float32")
        self.values = T.sblock_alloc_buffer((heads * shape.dim,), "float32")
        self.weights = T.sblock_alloc_buffer((heads * BLOCK,), "float32")

    def emit_begin(self, count) -> None:
        dim = self.shape.dim
        with T.serial(count * self.shape.group) as h:
            T.buffer_store(self.maximum, T.float32(NEVER), [h])
            T.buffer_store(self.sums, splat(0.0), [at(h * LANES)])
            with T.serial(dim // LANES) as v:
                T.buffer_store(self.values, splat(0.0), [at(h * dim + v * LANES)])

    def emit_block(self, rows: _Whole, block) -> None:
        self._emit_scores(rows, block)
        group = self.shape.group
        with T.serial(len(rows.rows) * group) as h:
            self._emit_weights(emit_value(rows.rows[0] * group + h))
        self._emit_values(rows, block)

    def _heads(self, rows: _Whole) -> list[tuple[Any, int]]:
        return [(m, g) for m in rows.rows for g in range(self.shape.group)]

    def _emit_scores(self, rows: _Whole, block) -> None:
        """q . k, in base-2 logarithms, as many pages at a time as registers allow."""
        heads = self._heads(rows)
        pages = next(n for n in (4, 2, 1) if n == 1 or n * len(heads) <= self.registers)
        with T.serial(BLOCK_PAGES // pages) as part:
            base = emit_value(part * pages)  # in the block
            indices = [emit_value(block * BLOCK_PAGES + base + i) for i in range(pages)]
            some = rows.reached(indices[0])
            if some is None or self.shape.sliding_window >= 0:
                self._emit_part(rows, heads, base, indices)
            else:
                with T.If(some):
                    with T.Then():
                        self._emit_part(rows, heads, base, indices)
                    with T.Else():
                        self._emit_never(heads, base, pages)

    def _emit_never(self, heads: list, base, pages: int) -> None:
        for m, g in heads:
            for i in range(pages):
                T.buffer_store(self.weights, splat(NEVER), [self._weight(m, g, base + i)])

    def _weight(self, m, g: int, page):
        return at((m * self.shape.group + g) * BLOCK + page * PAGE_SIZE)

    def _emit_part(self, rows: _Whole, heads: list, base, indices: list) -> None:
        group, each = self.shape.group, len(indices)
        numbers = [emit_value(self.indices[rows.page(index)]) for index in indices]
        sums = emit_floats(len(heads) * each)
        emit_zero(sums, len(heads) * each)
        with T.serial(self.shape.dim // 4) as quarter:
            for i in range(4):
                d = quarter * 4 + i
                keys = [self.pages[n, 0, self.head, at(d * PAGE_SIZE)] for n in numbers]
                keys = [emit_value(to_float(key)) for key in keys]
                for h, (m, g) in enumerate(heads):
                    query = splat(self.q[rows.begin + m, self.head * group + g, d])
                    for j, key in enumerate(keys):
                        place = at((h * each + j) * LANES)
                        T.buffer_store(sums, fma(query, key, sums[place]), [place])
        factor = splat(self.scale * math.log2(math.e))
        for h, (m, g) in enumerate(heads):
            for j, index in enumerate(indices):
                score = emit_value(sums[at((h * each + j) * LANES)] * factor)
                score = rows.masked(score, index)
                T.buffer_store(self.weights, score, [self._weight(m, g, base + j)])

    def _emit_weights(self, h) -> None:
        """A head's scores of the block become weights; the rest of its state follows later."""
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
        T.buffer_store(self.decays, exp2(old - new, 1), [h])

    def _emit_values(self, rows: _Whole, block) -> None:
        """values = values * decay + weights . v, a few vectors of all heads at a time."""
        heads, vectors = self._heads(rows), self.shape.dim // LANES
        fitting = [n for n in range(1, vectors + 1)
                   if vectors % n == 0 and n * len(heads) <= self.registers]  # fmt: skip
        step = max(fitting, default=1)
        with T.serial(vectors // step) as part:
            self._emit_vectors(rows, heads, block, emit_value(part * step * LANES), step)

    def _emit_vectors(self, rows: _Whole, heads: list, block, base, step: int) -> None:
        """Elements [base, base + 16 step) of the values."""
        group, dim = self.shape.group, self.shape.dim
        numbered = [(m * group + g, [at((h * step + i) * LANES) for i in range(step)])
                    for h, (m, g) in enumerate(heads)]  # fmt: skip
        sums = emit_floats(len(heads) * step)
        for h, places in numbered:
            decay = splat(self.decays[h])
            for i, place in enumerate(places):
                old = self.values[at(h * dim + base + i * LANES)]
                T.buffer_store(sums, old * decay, [place])
        with T.serial(BLOCK_PAGES) as page:
            index = emit_value(block * BLOCK_PAGES + page)
            number = emit_value(self.indices[rows.page(index)])
            with T.serial(rows.filled(index)) as slot:
                value = [self.pages[number, 1, self.head, at(slot * dim + base + i * LANES)]
                         for i in range(step)]  # fmt: skip
                value = [emit_value(to_float(v)) for v in value]
                for h, places in numbered:
                    weight = splat(self.weights[h * BLOCK + page * PAGE_SIZE + slot])
                    for v, place in zip(value, places, strict=True):
                        T.buffer_store(sums, fma(weight, v, sums[place]), [place])
        for h, places in numbered:
            for i, place in enumerate(places):
                T.buffer_store(self.values, sums[place], [at(h * dim + base + i * LANES)])

    def emit_result(self, y, row, m) -> None:
        group, dim = self.shape.group, self.shape.dim
        with T.serial(group) as g:
            h = emit_value(m * group + g)
            total = emit_sum(self.sums[at(h * LANES)])
            with T.serial(dim // LANES) as v:
                value = self.values[at(h * dim + v * LANES)] / splat(total)
                place = (self.head * group + g) * dim + v * LANES
                T.buffer_store(y, value, [row, at(place)])
