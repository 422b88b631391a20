"""The call of an attention kernel, and which rows walk a block of a history together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttendBuffers, AttentionShape
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import constant, emit_value

BLOCK_PAGES = 4
BLOCK = BLOCK_PAGES * PAGE_SIZE


@dataclass(frozen=True)
class Call(AttendBuffers):
    """The kernel's arguments, by name, and the settings for which it was made."""

    shape: AttentionShape
    scale: float
    width: int  # floats in a vector of sums
    registers: int  # such vectors that inner loops have
    heads: int  # query heads, of all rows, that have sums at a time
    unit: DotUnit

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

    def weight(self, power, score):
        """The weight of a score; `power` is 2 ** (score - the largest)."""
        return power


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

    def weight(self, power, score):
        return T.Select(score > splat(NEVER / 2), power, splat(0.0))
