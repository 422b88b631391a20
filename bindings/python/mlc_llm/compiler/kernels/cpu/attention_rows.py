"""The call of an attention kernel, and which rows walk a block of a history together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttendBuffers, AttentionShape
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import constant, emit_stored, emit_value

BLOCK_PAGES = 4
BLOCK = BLOCK_PAGES * PAGE_SIZE
MOST_PART_BLOCKS = 8
HEAD_PART_BLOCKS = 4  # for each key head, if there are few
WINDOW_PARTS = 2  # of a window, at least


@dataclass(frozen=True)
class Call(AttendBuffers):
    """The kernel's arguments, by name, and the settings for which it was made."""

    shape: AttentionShape
    scale: float
    width: int  # floats in a vector of sums
    registers: int  # such vectors that inner loops have
    heads: int  # query heads, of all rows, that have sums at a time
    run: int  # the most bytes of a head's values that several rows walk at a time, if not one page
    unit: DotUnit

    @property
    def part_blocks(self) -> int:
        """Blocks of a part of a history. Threads share parts, so a short window or few key heads
        need short ones."""
        window, most = self.shape.sliding_window, HEAD_PART_BLOCKS * self.shape.kv_heads
        if window >= 0:
            most = min(most, max(window // (WINDOW_PARTS * BLOCK), 1))
        return min(most, MOST_PART_BLOCKS)

    @property
    def part(self) -> int:
        """Positions of a part."""
        return self.part_blocks * BLOCK

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
class Rows:
    """Rows of a task, by number, that walk blocks together, and of which each may see a part of a
    block only. What a row does not see has the weight 0, which changes nothing if all values are
    finite. If not, the task walks that row again alone."""

    call: Call
    rows: Sequence[Any]
    begin: Any  # the first row of the task
    first: Any  # the index of the sequence's first page in the block table
    seen_by_all: tuple[Any, Any]  # the first and last position that every row sees
    seen_by_any: tuple[Any, Any]  # that any row sees

    @staticmethod
    def emit(call: Call, rows: Sequence[Any], begin: Any, first: Any) -> Rows:
        numbers = [begin + row for row in rows]
        last = [emit_value(call.positions[number]) for number in numbers]
        pairs = zip(numbers, last, strict=True)
        oldest = [call.emit_oldest(number, position) for number, position in pairs]
        both, either = (T.max, T.min), (T.min, T.max)
        by_all, by_any = (
            tuple(emit_stored(reduce(f, s)) for f, s in zip(better, (oldest, last), strict=True))
            for better in (both, either)
        )
        return Rows(call, rows, begin, first, by_all, by_any)

    @property
    def shape(self) -> AttentionShape:
        return self.call.shape

    def seen(self, block):
        """Whether any position of a block is seen; None: there are no windows."""
        return self._recent(block, BLOCK) if self.shape.sliding_window >= 0 else None

    def ends_part(self, block):
        """Whether a part ends before a block, unless no row sees that block and the part has no
        sinks: then rows found nothing in it, or go on where their windows begin."""
        each = self.call.part_blocks
        ends = T.And(block > 0, block % each == 0)
        if self.shape.sliding_window < 0:
            return ends
        return T.And(ends, T.Or(self.seen(block), (block - each) * BLOCK < self.shape.sinks))

    def whole(self, block):
        """Whether every row sees every position of a block."""
        oldest, last = self.seen_by_all
        ends = (block + 1) * BLOCK <= last + 1
        return T.And(ends, block * BLOCK >= oldest) if self.shape.sliding_window >= 0 else ends

    def reached(self, index):
        """Whether any row sees a position of a page."""
        page_is_there = index * PAGE_SIZE <= self.seen_by_any[1]
        if self.shape.sliding_window < 0:
            return page_is_there
        return T.And(page_is_there, self._recent(index, PAGE_SIZE))

    def _recent(self, number, size: int):
        """Whether windows reach a block or page of that many positions."""
        recent = (number + 1) * size > self.seen_by_any[0]
        return T.Or(recent, number * size < self.shape.sinks)

    def page(self, index):
        """Its index in the block table. A page that is not seen is replaced by the own page of the
        row whose table is read: it exists, and it is masked."""
        other = self.call.positions[self.begin + self.rows[0]] // PAGE_SIZE
        return self.first + T.Select(self.reached(index), index, other)

    def filled(self, index):
        """The number of a page's first slots whose values are added."""
        count = T.min(self.seen_by_any[1] - index * PAGE_SIZE + 1, PAGE_SIZE)
        return T.Select(self.reached(index), count, T.int32(0))

    def emit_masked(self, score, own, index):
        """The scores of a page for a query head, by its number among those of the rows."""
        row = emit_value(self.begin + self.rows[0] + own // self.shape.group)
        position = emit_value(self.call.positions[row])
        lane = constant(range(LANES), "int32")
        places = emit_value(lane + splat(index * PAGE_SIZE))
        allowed = places <= splat(position)
        if self.shape.sliding_window >= 0:
            recent = places >= splat(self.call.emit_oldest(row, position))
            allowed = T.And(allowed, T.Or(recent, places < splat(T.int32(self.shape.sinks))))
        return T.Select(allowed, score, splat(NEVER))
