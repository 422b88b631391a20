"""Attention of several neighbouring rows over pages: a work-group reads each page once for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
    emit_spread,
    emit_store,
    emit_value,
    registers,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.pages import ITEMS

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.gpu.paged_attention import Attend


class Tile:
    """The state of a work-group in `emit_tiles`. Lists of queries are in shared memory."""

    def __init__(self, attend: Attend, part, tile, item, num_rows, count: int, own: int) -> None:
        self.a, self.item, self.num_rows, self.count, self.own = attend, item, num_rows, count, own
        self.dim, self.heads = attend.shape.dim, attend.heads
        self.row0 = emit_value(tile * attend.tile_rows)
        self.head0 = emit_value(part * self.heads)
        self.kv_head = emit_value(self.head0 // attend.shape.group)
        self.queries, self.page = shared(count * self.dim), shared(PAGE_SIZE * self.dim)
        self.scores = shared(count * PAGE_SIZE)
        self.maxima, self.sums, self.shrinks = shared(count), shared(count), shared(count)
        self.values = registers(own)

    def emit(self) -> None:
        self._emit_start()
        last = T.min(self.row0 + (self.a.tile_rows - 1), self.num_rows - 1)
        first_sequence = emit_value(self.a.row_sequence[self.row0])
        sequences = emit_value(self.a.row_sequence[last] - first_sequence + 1)
        with T.serial(sequences) as i:
            sequence = emit_value(first_sequence + i)
            furthest = registers(1, "int32")
            T.buffer_store(furthest, T.int32(-1), [0])
            with T.serial(self.a.tile_rows) as r:
                row = emit_value(T.min(self.row0 + r, self.num_rows - 1))
                with T.If(self.a.row_sequence[row] == sequence), T.Then():
                    furthest_row = T.max(furthest[0], self.a.positions[row])
                    T.buffer_store(furthest, furthest_row, [0])
            self._emit_sequence(sequence, emit_value(furthest[0]))
        self._emit_result()

    def _row(self, query):
        return self.row0 + query // self.heads

    def _emit_start(self) -> None:
        with T.serial(self.own) as j:
            T.buffer_store(self.values, scalar(0.0), [j])

        def load(i) -> None:
            query = emit_value(i // self.dim)
            row = T.min(self._row(query), self.num_rows - 1)
            value = self.a.q[row, self.head0 + query % self.heads, i % self.dim]
            T.buffer_store(self.queries, to_float(value, 1), [i])

        def clear(i) -> None:
            T.buffer_store(self.maxima, scalar(NEVER), [i])
            T.buffer_store(self.sums, scalar(0.0), [i])

        emit_spread(self.count * self.dim, ITEMS, self.item, load)
        emit_spread(self.count, ITEMS, self.item, clear)

    def _emit_sequence(self, sequence, furthest) -> None:
        begin = emit_value(self.a.page_indptr[sequence])
        with T.serial(furthest // PAGE_SIZE + 1) as index:
            page = emit_value(self.a.page_indices[begin + index])
            with T.If(page >= 0), T.Then():  # no row of the batch reads other pages
                start = emit_value(index * PAGE_SIZE)
                barrier()  # the previous page is not read any more
                self._emit_load(page, 0, None)
                barrier()
                self._emit_scores(start)
                barrier()
                self._emit_load(page, 1, furthest - start)
                emit_spread(
                    self.count, ITEMS, self.item, lambda q: self._emit_softmax(q, sequence, start)
                )
                barrier()
                self._emit_values()

    def _emit_load(self, page, part: int, filled) -> None:
        """Loads keys or values."""

        def spread(count: int, body: Callable) -> None:
            emit_spread(count, ITEMS, self.item, body)

        self.a.reader.emit_load(page, part, self.kv_head, self.page, filled, spread)

    def _emit_scores(self, start) -> None:
        def score(i) -> None:
            query, slot = emit_value(i // PAGE_SIZE), emit_value(i % PAGE_SIZE)
            dot = registers(1)
            T.buffer_store(dot, scalar(0.0), [0])
            with T.serial(self.dim) as d:
                product = self.queries[query * self.dim + d] * self.page[d * PAGE_SIZE + slot]
                T.buffer_store(dot, dot[0] + product, [0])
            row = T.min(self._row(query), self.num_rows - 1)
            where = (self.head0 + query % self.heads, self.a.positions[row], start + slot)
            T.buffer_store(self.scores, self.a.fallen(self.a.score(dot[0]), *where), [i])

        emit_spread(self.count * PAGE_SIZE, ITEMS, self.item, score)

    def _emit_softmax(self, query, sequence, start) -> None:
        """Turns a query's scores into weights. One work-item does it."""
        row = emit_value(self._row(query))
        inside = T.min(row, self.num_rows - 1)
        position = emit_value(self.a.positions[inside])
        oldest = self.a.emit_oldest(inside, position)
        own = emit_value(T.And(row < self.num_rows, self.a.row_sequence[inside] == sequence))
        most, total = registers(1), registers(1)
        old = emit_value(self.maxima[query])
        T.buffer_store(most, old, [0])
        with T.serial(PAGE_SIZE) as slot:
            place = query * PAGE_SIZE + slot
            counts = T.And(own, self.a.allowed(start + slot, position, oldest))
            score = emit_value(T.Select(counts, self.scores[place], scalar(NEVER)))
            T.buffer_store(self.scores, score, [place])
            T.buffer_store(most, T.max(most[0], score), [0])
        shrink = emit_value(T.exp2(old - most[0]))
        T.buffer_store(total, self.sums[query] * shrink, [0])
        with T.serial(PAGE_SIZE) as slot:
            place = query * PAGE_SIZE + slot
            score = emit_value(self.scores[place])
            weight = T.exp2(score - most[0])
            weight = emit_value(T.Select(score > scalar(NEVER), weight, scalar(0.0)))
            T.buffer_store(self.scores, weight, [place])
            T.buffer_store(total, total[0] + weight, [0])
        T.buffer_store(self.sums, total[0], [query])
        T.buffer_store(self.shrinks, shrink, [query])
        T.buffer_store(self.maxima, most[0], [query])

    def _emit_values(self) -> None:
        with T.serial(self.own) as j:
            i = emit_value(T.min(self.item + j * ITEMS, self.count * self.dim - 1))
            query, d = emit_value(i // self.dim), emit_value(i % self.dim)
            T.buffer_store(self.values, self.values[j] * self.shrinks[query], [j])
            with T.serial(PAGE_SIZE) as slot:
                product = self.scores[query * PAGE_SIZE + slot] * self.page[slot * self.dim + d]
                T.buffer_store(self.values, self.values[j] + product, [j])

    def _emit_result(self) -> None:
        barrier()
        with T.serial(self.own) as j:
            i = emit_value(self.item + j * ITEMS)
            query = emit_value(i // self.dim)
            row = self._row(query)
            with T.If(T.And(i < self.count * self.dim, row < self.num_rows)), T.Then():
                head = self.head0 + query % self.heads
                total = self.a.emit_total(self.sums[query], self.maxima[query], head)
                value = self.values[j] / total
                emit_store(self.a.y, value, [row, head * self.dim + i % self.dim])
