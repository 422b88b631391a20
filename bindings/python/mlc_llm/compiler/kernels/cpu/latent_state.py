"""The softmax state of latent attention: all heads read the same rows, whose elements are side by
side. So a score is a dot product along a row, and a value is the first part of that row."""

from __future__ import annotations

import math

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.attention_rows import UnmaskedRows
from mlc_llm.compiler.kernels.cpu.softmax import State
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_sum,
    emit_sums,
    emit_value,
    fma,
)

SLOTS = 2  # slots whose scores are summed together, so that a query is read once for both


class LatentState(State):
    """`State` over pages of `LatentShape`. `head` is the number of a group of heads."""

    def value_at(self, page, slot, d):
        return to_float(self.reader.pages[page, 0, 0, at(slot * self.shape.row + d)])

    def _emit_pages(self, rows: UnmaskedRows, heads: list, base, indices: list) -> None:
        numbers = [emit_value(self.indices[rows.page(index)]) for index in indices]
        each = max(self.registers // SLOTS, 1)
        for i, (index, number) in enumerate(zip(indices, numbers, strict=True)):
            for first in range(0, len(heads), each):
                some = heads[first : first + each]
                with T.serial(PAGE_SIZE // SLOTS) as pair:
                    self._emit_products(rows, some, base + i, number, emit_value(pair * SLOTS))
            for m, g in heads:
                self._emit_masked(rows, at(self._weight(rows, m, g, base + i)), index)

    def _emit_products(self, rows: UnmaskedRows, heads: list, page, number, slot) -> None:
        """q . row, for a few heads and slots of a page."""
        group, size = self.shape.group, self.shape.row
        sums = emit_sums(len(heads) * SLOTS)
        with T.serial(size // LANES) as vector:
            keys = [self.value_at(number, slot + s, vector * LANES) for s in range(SLOTS)]
            keys = [emit_value(key) for key in keys]
            for h, (m, g) in enumerate(heads):
                query = self.reader.q[rows.begin + m, self.head * group + g, at(vector * LANES)]
                query = emit_value(query)
                for total, key in zip(sums[h * SLOTS :], keys, strict=False):
                    T.buffer_store(total, fma(query, key, total[at(0)]), [at(0)])
        for h, (m, g) in enumerate(heads):
            first = self._weight(rows, m, g, page) + slot
            for s in range(SLOTS):
                total = emit_sum(sums[h * SLOTS + s][at(0)])
                T.buffer_store(self.weights, total, [first + s])

    def _emit_masked(self, rows: UnmaskedRows, place, index) -> None:
        """Scales a page's scores, to base-2 logarithms, and hides those that the row may not see:
        slots behind it may hold anything."""
        score = emit_value(self.weights[place] * splat(self.scale * math.log2(math.e)))
        T.buffer_store(self.weights, rows.masked(score, index), [place])
