"""The softmax state of latent attention: all heads read the same rows, whose elements are side by
side. So a score is a dot product along a row, and a value is the first part of that row."""

from __future__ import annotations

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.common.values import LANES, to_float
from mlc_llm.compiler.kernels.cpu.attention_rows import Rows
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

    def value_at(self, page, slot, d, lanes: int):
        return to_float(self.reader.pages[page, 0, 0, at(slot * self.shape.row + d, lanes)], lanes)

    def _emit_dots(self, rows: Rows, heads: list, slots: list, numbers: list, asks) -> None:
        each = max(self.registers * self.width // LANES // SLOTS, 1)
        for number, begin in zip(numbers, slots, strict=True):
            for first in range(0, len(heads), each):
                with T.serial(self.reader.lanes // SLOTS) as pair:
                    slot = emit_value(begin + pair * SLOTS)
                    self._emit_products(rows, heads[first : first + each], number, slot)

    def _emit_products(self, rows: Rows, heads: list, number, slot) -> None:
        """q . row, for a few heads and slots of the block that are in a page."""
        group, size = self.shape.group, self.shape.row
        sums = emit_sums(len(heads) * SLOTS)
        with T.serial(size // LANES) as vector:
            places = [(slot % PAGE_SIZE + s, vector * LANES) for s in range(SLOTS)]
            keys = [emit_value(self.value_at(number, *place, LANES)) for place in places]
            for h, (m, g) in enumerate(heads):
                query = self.reader.q[rows.begin + m, self.head * group + g, at(vector * LANES)]
                query = emit_value(query)
                for total, key in zip(sums[h * SLOTS :], keys, strict=False):
                    T.buffer_store(total, fma(query, key, total[at(0)]), [at(0)])
        for h, (m, g) in enumerate(heads):
            first = self._weight(rows, m, g) + slot
            for s in range(SLOTS):
                total = emit_sum(sums[h * SLOTS + s][at(0)])
                T.buffer_store(self.weights, total, [first + s])
