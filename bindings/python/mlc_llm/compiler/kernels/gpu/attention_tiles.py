"""Attention of several neighbouring rows over pages: a work-group reads each page once for all.

A tile is some queries (heads of rows) by some keys. The work-items of a group form a grid, and
those of a line have the same queries: a work-item computes, in registers, the scores of its
queries and of every `ACROSS`-th key (or every `ACROSS`-th few, where it reads them together), and
later its dimensions of their results. So what the softmax needs of the other work-items is only the
maximum, and at the end the sum. (Flash attention: Dao, Fu, Ermon, Rudra and Re 2022.)
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.kernels.gpu.attention_sizes import ACROSS, TileSizes
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
    emit_fill,
    emit_spread,
    emit_store,
    emit_value,
    registers,
    scalar,
    shared,
    to_float,
)

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.gpu.paged_attention import Attend

_UNROLLED = 4  # dimensions or slots between two branches
_LOADED = 16  # floats that a work-item reads before it stores the first


class Tile:
    """The state of a work-group. Lists of queries are row by row, head by head."""

    def __init__(self, attend: Attend, sizes: TileSizes, part, tile, item, num_rows) -> None:
        self.a, self.s, self.item, self.num_rows = attend, sizes, item, num_rows
        s, self.dim = sizes, attend.shape.dim
        self.row0 = emit_value(tile * s.rows)
        self.head0 = emit_value(part * s.heads)
        self.kv_head = emit_value(self.head0 // attend.shape.group)
        self.line, self.place = emit_value(item // ACROSS), emit_value(item % ACROSS)
        self.queries = shared(self.dim * s.query_stride)  # by dimension
        self.page = shared(s.chunk)  # keys by dimension, or values by slot
        self.weights = shared(s.keys * s.query_stride)  # by key
        self.shares = shared(s.own * s.items)  # one for each query of each work-item
        self.scores, self.values = registers(s.own * s.own_keys), registers(s.own * s.own_dims)
        self.maxima, self.sums = registers(s.own), registers(s.own)
        self.ends, self.begins = registers(s.own, "int32"), registers(s.own, "int32")

    def emit(self) -> None:
        s = self.s
        emit_fill(self.values, s.own * s.own_dims, 0.0)
        emit_fill(self.maxima, s.own, NEVER)
        emit_fill(self.sums, s.own, 0.0)
        emit_spread(s.queries * self.dim, s.items, self.item, self._emit_query)
        self._emit_history()
        self._emit_result()

    def _emit_history(self) -> None:
        """All that rows of the tile see."""
        a, last = self.a, T.min(self.row0 + (self.s.rows - 1), self.num_rows - 1)
        first_sequence = emit_value(a.row_sequence[self.row0])
        sequences = emit_value(a.row_sequence[last] - first_sequence + 1)
        with T.serial(sequences) as i:
            sequence = emit_value(first_sequence + i)
            self._emit_ranges(sequence)
            self._emit_sequence(sequence, *self._emit_range(sequence))

    def _row(self, query):
        return T.min(self.row0 + query // self.s.heads, self.num_rows - 1)

    def _own(self, i: int):
        """A query of this work-item."""
        return self.line * self.s.own + i

    def _emit_query(self, index) -> None:
        query, d = emit_value(index // self.dim), emit_value(index % self.dim)
        value = self.a.q[self._row(query), self.head0 + query % self.s.heads, d]
        T.buffer_store(self.queries, to_float(value, 1), [d * self.s.query_stride + query])

    def _emit_range(self, sequence) -> tuple[Any, Any]:
        """The first and the last position that any row of the tile sees in a sequence; the first
        is None if there is no window."""
        furthest, oldest = registers(1, "int32"), registers(1, "int32")
        has_window = self.a.shape.sliding_window >= 0
        T.buffer_store(furthest, T.int32(-1), [0])
        if has_window:
            T.buffer_store(oldest, T.int32(2**31 - 1), [0])
        with T.serial(self.s.rows) as r:
            row = emit_value(T.min(self.row0 + r, self.num_rows - 1))
            with T.If(self.a.row_sequence[row] == sequence), T.Then():
                position = emit_value(self.a.positions[row])
                T.buffer_store(furthest, T.max(furthest[0], position), [0])
                if has_window:
                    first = self.a.emit_oldest(row, position)
                    T.buffer_store(oldest, T.min(oldest[0], first), [0])
        return emit_value(oldest[0]) if has_window else None, emit_value(furthest[0])

    def _emit_ranges(self, sequence) -> None:
        """The same for each own query. Nothing, if its row is none of the sequence."""
        for i in range(self.s.own):
            query = emit_value(self._own(i))
            row = emit_value(self._row(query))
            is_own = emit_value(
                T.And(
                    self.row0 + query // self.s.heads < self.num_rows,
                    self.a.row_sequence[row] == sequence,
                )
            )
            position = emit_value(self.a.positions[row])
            T.buffer_store(self.ends, T.Select(is_own, position, T.int32(-1)), [i])
            oldest = self.a.emit_oldest(row, position)
            if oldest is not None:
                T.buffer_store(self.begins, oldest, [i])

    def _emit_sequence(self, sequence, oldest, furthest) -> None:
        s = self.s
        first = emit_value(self.a.page_indptr[sequence])
        last_page = emit_value(furthest // PAGE_SIZE)
        with T.serial(furthest // s.keys + 1) as step:
            start = emit_value(step * s.keys)
            pages = []
            for i in range(s.keys // PAGE_SIZE):
                index = emit_value(step * (s.keys // PAGE_SIZE) + i)
                page = self.a.page_indices[first + T.min(index, last_page)]
                pages.append(emit_value(T.Select(index <= last_page, page, T.int32(-1))))
            # No row of the batch reads the pages that are not there.
            is_seen = reduce(T.max, pages) >= 0
            if oldest is not None:
                in_window = start + s.keys > oldest
                is_seen = T.And(is_seen, T.Or(in_window, start < self.a.shape.sinks))
            with T.If(is_seen), T.Then():
                self._emit_scores(pages)
                self._emit_weights(start)
                self._emit_values(pages, furthest - start)

    # Scores

    def _emit_scores(self, pages: list) -> None:
        s = self.s
        emit_fill(self.scores, s.own * s.own_keys, 0.0)
        with T.serial(self.dim // s.key_dims) as chunk:
            barrier()  # nothing of what was there is read any more
            self._emit_load(0, pages, chunk * s.key_dims, None)
            barrier()
            with T.serial(s.key_dims // _UNROLLED) as step:
                for i in range(_UNROLLED):
                    at = emit_value(step * _UNROLLED + i)
                    d = chunk * s.key_dims + at
                    queries = self._emit_read(
                        self.queries, d * s.query_stride + self._own(0), s.own, s.query_vector
                    )
                    keys = self._emit_own(at * s.keys, s.own_keys, s.key_vector)
                    self._emit_products(self.scores, queries, keys)

    def _emit_own(self, begin, count: int, vector: int) -> list:
        """The work-item's own elements of a line of the page."""
        found = []
        for j in range(count // vector):
            at = begin + (j * ACROSS + self.place) * vector
            found += self._emit_read(self.page, at, vector, vector)
        return found

    def _own_place(self, j: int, vector: int):
        """Where `_emit_own` finds element j."""
        return (j // vector * ACROSS + self.place) * vector + j % vector

    @staticmethod
    def _emit_read(memory, begin, count: int, vector: int) -> list:
        if vector == 1:
            return [emit_value(memory[begin + i]) for i in range(count)]
        read = [emit_value(memory[T.ramp(begin + i, 1, vector)]) for i in range(0, count, vector)]
        return [emit_value(T.Shuffle([v], [i])) for v in read for i in range(vector)]

    @staticmethod
    def _emit_write(memory, begin, values: list, vector: int) -> None:
        for i in range(0, len(values), vector):
            if vector == 1:
                T.buffer_store(memory, values[i], [begin + i])
            else:
                lanes = T.Shuffle(values[i : i + vector], list(range(vector)))
                T.buffer_store(memory, lanes, [T.ramp(begin + i, 1, vector)])

    @staticmethod
    def _emit_products(sums, left: list, right: list) -> None:
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                place = i * len(right) + j
                T.buffer_store(sums, sums[place] + a * b, [place])

    # The softmax

    def _emit_weights(self, start) -> None:
        """Turns the scores into weights, and shrinks the sums by what the maxima grew."""
        s = self.s
        for i in range(s.own):
            most = scalar(NEVER)
            head = self.head0 + self._own(i) % s.heads
            for j in range(s.own_keys):
                at = i * s.own_keys + j
                place = emit_value(start + self._own_place(j, s.key_vector))
                score = self.a.score(self.scores[at])
                if self.a.slopes is not None:
                    score = self.a.fallen(score, head, self.ends[i], place)
                begin = self.begins[i] if self.a.shape.sliding_window >= 0 else None
                is_seen = self.a.allowed(place, self.ends[i], begin)
                score = emit_value(T.Select(is_seen, score, scalar(NEVER)))
                T.buffer_store(self.scores, score, [at])
                most = T.max(most, score)
            T.buffer_store(self.shares, most, [i * s.items + self.item])
        barrier()
        for i in range(s.own):
            shares = self._emit_shares(i)
            most = emit_value(reduce(T.max, shares, self.maxima[i]))
            shrink = emit_value(T.exp2(self.maxima[i] - most))
            T.buffer_store(self.maxima, most, [i])
            total = self.sums[i] * shrink
            for j in range(s.own_dims):
                at = i * s.own_dims + j
                T.buffer_store(self.values, self.values[at] * shrink, [at])
            for at in range(i * s.own_keys, (i + 1) * s.own_keys):
                score = self.scores[at]
                weight = T.Select(score > scalar(NEVER), T.exp2(score - most), scalar(0.0))
                weight = emit_value(weight)
                T.buffer_store(self.scores, weight, [at])
                total = total + weight
            T.buffer_store(self.sums, total, [i])
        for j in range(s.own_keys):
            line = self._line(self._own_place(j, s.key_vector)) * s.query_stride
            found = [self.scores[i * s.own_keys + j] for i in range(s.own)]
            self._emit_write(self.weights, line + self._own(0), found, s.query_vector)

    def _line(self, key):
        """Where the weights of a key are: next to those of the neighbouring work-item's keys."""
        vector = self.s.key_vector
        return key if vector == 1 else key % vector * (self.s.keys // vector) + key // vector

    def _emit_shares(self, i: int) -> list:
        """What the work-items of this line stored for query i."""
        begin = i * self.s.items + self.line * ACROSS
        return self._emit_read(self.shares, begin, ACROSS, self.s.load_vector)

    # Values

    def _emit_values(self, pages: list, filled) -> None:
        """A barrier is behind everything that read the page's keys."""
        s = self.s
        with T.serial(s.keys // s.value_slots) as chunk:
            with T.If(chunk > 0), T.Then():
                barrier()
            self._emit_load(1, pages, chunk * s.value_slots, filled)
            barrier()
            unrolled = min(_UNROLLED, s.value_slots)
            with T.serial(s.value_slots // unrolled) as step:
                for i in range(unrolled):
                    at = emit_value(step * unrolled + i)
                    line = self._line(chunk * s.value_slots + at) * s.query_stride
                    begin = line + self._own(0)
                    weights = self._emit_read(self.weights, begin, s.own, s.query_vector)
                    values = self._emit_own(at * self.dim, s.own_dims, s.dim_vector)
                    self._emit_products(self.values, weights, values)

    # Pages

    def _emit_load(self, part: int, pages: list, first, filled) -> None:
        """Loads the dimensions of keys (part 0) or the slots of values from `first` on. Slots of
        values behind `filled`, or without a page, may contain anything and become zero."""
        s, width = self.s, self.a.reader.width(self.s.load_vector)
        count = (s.key_dims * s.keys if part == 0 else s.value_slots * self.dim) // width
        steps = -(-count // s.items)
        ahead = max(1, min(steps, _LOADED // width))

        def emit_some(step, number: int) -> None:
            found = []
            for i in range(number):
                index = emit_value((step * ahead + i) * s.items + self.item)
                inside = T.min(index, count - 1) if count % s.items else index
                if part == 0:
                    found.append((index, self._emit_keys_of(pages, inside, first, width)))
                else:
                    found.append((index, self._emit_values_of(pages, inside, first, filled, width)))
            for index, stores in found:
                if count % s.items == 0:
                    self._emit_stores(stores)
                else:
                    with T.If(index < count), T.Then():
                        self._emit_stores(stores)

        if steps > ahead:
            with T.serial(steps // ahead) as step:
                emit_some(step, ahead)
        if steps % ahead or steps == ahead:
            emit_some(steps // ahead if steps > ahead else 0, steps % ahead or ahead)

    def _emit_keys_of(self, pages: list, index, first, width: int) -> list[tuple[Any, Any]]:
        """Some of the keys: places in shared memory, and what belongs there."""
        in_page = self.s.key_dims * PAGE_SIZE // width
        number, own = emit_value(index // in_page), emit_value(index % in_page)
        d, slot = self.a.reader.place_of_key(own, width)
        at = emit_value(d * self.s.keys + number * PAGE_SIZE + slot)
        page = emit_value(T.max(self._page(pages, number), 0))
        values = self.a.reader.emit_keys(page, self.kv_head, first + d, slot, width)
        if len(values) < width:
            return [(T.ramp(at, 1, width), values[0])]
        return [(at + i * self.s.keys, value) for i, value in enumerate(values)]

    def _emit_values_of(
        self, pages: list, index, first, filled, width: int
    ) -> list[tuple[Any, Any]]:
        d = emit_value(index % (self.dim // width) * width)
        key = emit_value(first + index // (self.dim // width))
        number, slot = emit_value(key // PAGE_SIZE), emit_value(key % PAGE_SIZE)
        page = emit_value(self._page(pages, number))
        is_there = T.And(page >= 0, key <= filled)
        values = self.a.reader.emit_values(T.max(page, 0), self.kv_head, slot, d, width)
        if len(values) < width:
            zero = T.Broadcast(scalar(0.0), width)
            kept = emit_value(T.if_then_else(is_there, values[0], zero))
            return [(T.ramp(index * width, 1, width), kept)]
        kept = [emit_value(T.if_then_else(is_there, v, scalar(0.0))) for v in values]
        return [(index * width + i, value) for i, value in enumerate(kept)]

    @staticmethod
    def _page(pages: list, number):
        """The page with a number that is not known before the kernel runs."""
        page = pages[0]
        for i in range(1, len(pages)):
            page = T.Select(number == i, pages[i], page)
        return page

    def _emit_stores(self, stores: list[tuple[Any, Any]]) -> None:
        for at, value in stores:
            T.buffer_store(self.page, value, [at])

    # Results

    def _emit_result(self) -> None:
        s = self.s
        barrier()
        for i in range(s.own):
            T.buffer_store(self.shares, self.sums[i], [i * s.items + self.item])
        barrier()
        for i in range(s.own):
            query = emit_value(self._own(i))
            row = emit_value(self.row0 + query // s.heads)
            head = emit_value(self.head0 + query % s.heads)
            total = emit_value(reduce(lambda a, b: a + b, self._emit_shares(i)))
            with T.If(T.And(query < s.queries, row < self.num_rows)), T.Then():
                total = emit_value(self.a.emit_total(total, self.maxima[i], head))
                for j in range(s.own_dims):
                    d = self._own_place(j, s.dim_vector)
                    value = self.values[i * s.own_dims + j] / total
                    self._emit_store(row, head, d, value)

    def _emit_store(self, row, head, d, value) -> None:
        emit_store(self.a.y, value, [row, head * self.dim + d])
