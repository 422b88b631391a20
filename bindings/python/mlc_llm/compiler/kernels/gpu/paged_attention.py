"""Paged attention on GPUs, with the pages of `kernels/common/attention_shape.py`.

There are two ways. `emit_rows` is for decoding: a work-group walks the history of one row, 64
positions at a time, one work-item for each key. `attention_tiles.py` is for prompts: a work-group
takes several neighbouring rows and reads each page once for all of them; where a device has too
little memory for that (heads of 512 in 16 KB), prompts go the first way too. Both read a row's
pages in order, and ignore slots to which the row may not attend.

A few rows do not fill a GPU. Then several work-groups share the history of a row, and a second
launch joins their sums (flash-decoding: Dao, Haziza, Massa and Sizov 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttendBuffers, AttentionShape
from mlc_llm.compiler.kernels.common.function import Arg, named_kernel
from mlc_llm.compiler.kernels.gpu.attention_sizes import TileSizes, tile_sizes
from mlc_llm.compiler.kernels.gpu.attention_tiles import Tile
from mlc_llm.compiler.kernels.gpu.elementwise import softcap
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
    emit_choice,
    emit_fill,
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.pages import ITEMS, Codes, Floats, emit_ahead, reader_of
from mlc_llm.compiler.targets import USUAL_TILES, TileLimits

_MOST_HEADS = 8  # query heads of one key head in a work-group
_READ_AHEAD = 64  # products that follow what a work-item reads before the first of them
_LOG2E = math.log2(math.e)
SPLIT_ROWS = 16  # the most rows whose history is split
SPLITS = 16  # work-groups that share such a history
SHARED_FLOATS = 4096  # 16 KB: every device has as much


def split_scratch(shape: AttentionShape, splits: int) -> list[Arg]:
    """What the parts of split rows write: values, then their sum of weights and their maximum."""
    sizes = (SPLIT_ROWS, splits, shape.heads, shape.dim + 2)
    return [Arg("partials", sizes)] if splits > 1 else []


def paged_attention(
    shape: AttentionShape, scale: float, splits: int = 1, limits: TileLimits = USUAL_TILES
) -> tirx.PrimFunc:
    """f(q [n, heads, dim], positions, row_sequence, page_indptr, page_indices, pages, (slopes
    [heads]), (sinks [heads]), (own), y, *scratch). `positions`: the last one that each row sees.
    `own`: its own, where rows with windows see later ones. `splits`: work-groups that share the
    history of a row, where rows are few. `limits`: of the device, for tiles."""

    def body(partials=None, **buffers: Any) -> None:
        factor = scale if shape.softcap else scale * _LOG2E
        attend = Attend(shape, factor, **buffers)
        few = partial(attend.emit_few, partials, splits)
        sizes = tile_sizes(shape, limits)
        if sizes is None:
            few()
            return
        tiles = partial(attend.emit_tiles, sizes)
        emit_choice(attend.q.shape[0] < 4 * attend.sequences, few, tiles)

    return named_kernel([*shape.attend_args, *split_scratch(shape, splits)], body)


@dataclass(frozen=True)
class Attend(AttendBuffers):
    """`scale` is in base-2 logarithms, unless scores have a softcap."""

    shape: AttentionShape
    scale: float

    def emit_total(self, total, maximum, head):
        """The sum of a head's weights, with that of its learned sink."""
        if self.sinks is None:
            return total
        sink = to_float(self.sinks[head], 1) * scalar(_LOG2E)
        return emit_value(total + T.exp2(sink - maximum))

    @property
    def reader(self) -> Floats | Codes:
        return reader_of(self.shape, self.pages)

    @property
    def key_dim(self) -> int:
        """The elements of a key."""
        return self.shape.dim

    @property
    def heads(self) -> int:
        """The query heads of a work-group. All have the same key head. Shared memory has room for
        their queries, scores and weights."""
        group, room = self.shape.group, SHARED_FLOATS // (self.key_dim + 2 * ITEMS)
        most = max(min(group, _MOST_HEADS, room), 1)
        return max(h for h in range(1, most + 1) if group % h == 0)

    @property
    def parts(self) -> int:
        """The number of work-groups of a row."""
        return self.shape.heads // self.heads

    def score(self, dot):
        """The score of a query and a key, in base-2 logarithms."""
        score, cap = dot * scalar(self.scale), self.shape.softcap
        return softcap(score, cap) * scalar(_LOG2E) if cap else score

    def fallen(self, score, head, position, place):
        """A score, less by the distance of `place`."""
        if self.slopes is None:
            return score
        distance = T.Cast("float32", position - place)
        return score - self.slopes[head] * scalar(_LOG2E) * distance

    def emit_oldest(self, row, position):
        """The first position that a row sees because of its window; None: it has none."""
        if self.shape.sliding_window < 0:
            return None
        own = None if self.own is None else self.own[row]
        return emit_value(self.shape.oldest(own, position))

    def allowed(self, place, position, oldest):
        """Whether a row that sees `position` last may attend to the position `place`."""
        causal = place <= position
        if oldest is None:
            return causal
        return T.And(causal, T.Or(place >= oldest, place < self.shape.sinks))

    # One row

    @property
    def sequences(self):
        return self.page_indptr.shape[0] - 1

    def emit_few(self, partials, splits: int) -> None:
        """Rows of which each walks its own history. `partials`: see `split_scratch`; None: no
        history is split."""
        if partials is None:
            self.emit_rows()
            return
        # A history of one step has no parts.
        is_long = self.page_indices.shape[0] > (ITEMS // PAGE_SIZE) * self.sequences
        emit_choice(
            T.And(self.q.shape[0] <= SPLIT_ROWS, is_long),
            lambda: self.emit_split(partials, splits),
            self.emit_rows,
        )

    def emit_rows(self) -> None:
        with grid((self.parts, self.q.shape[0]), ITEMS) as ((part, row), item):

            def finish(head, d, value, total, maximum) -> None:
                total = self.emit_total(total, maximum, head)
                emit_store(self.y, value / total, [row, head * self.shape.dim + d])

            self._emit_row(part, row, item, (T.int32(0), 1), finish)

    def emit_split(self, partials, splits: int) -> None:
        """Each part of a row takes every `splits`-th step of its history."""
        dim, heads = self.shape.dim, self.shape.heads
        with grid((self.parts * splits, self.q.shape[0]), ITEMS) as ((index, row), item):
            part, split = emit_value(index // splits), emit_value(index % splits)

            def finish(head, d, value, total, maximum) -> None:
                T.buffer_store(partials, value, [row, split, head, d])
                with T.If(d == 0), T.Then():
                    T.buffer_store(partials, total, [row, split, head, dim])
                    T.buffer_store(partials, maximum, [row, split, head, dim + 1])

            self._emit_row(part, row, item, (split, splits), finish)
        with grid((heads, self.q.shape[0]), ITEMS) as ((head, row), item):
            maxima = [emit_value(partials[row, i, head, dim + 1]) for i in range(splits)]
            maximum = emit_value(reduce(T.max, maxima))
            shrinks = [emit_value(T.exp2(own - maximum)) for own in maxima]

            def joined(d):
                values = [partials[row, i, head, d] * shrink for i, shrink in enumerate(shrinks)]
                return sum(values, scalar(0.0))

            total = self.emit_total(emit_value(joined(dim)), maximum, head)

            def join(d) -> None:
                emit_store(self.y, joined(d) / total, [row, head * dim + d])

            emit_spread(dim, ITEMS, item, join)

    def _emit_row(self, part, row, item, steps: tuple[Any, int], finish: Callable) -> None:
        """Some heads of a row over the steps first, first + stride, ... of its history.
        `finish(head, d, value, total, maximum)` gets the results of a work-item: total and maximum
        are those of all of them."""
        heads, dim, key_dim = self.heads, self.shape.dim, self.key_dim
        own = -(-dim // ITEMS)  # dimensions of one work-item
        first_step, stride = steps
        head0 = emit_value(part * heads)
        kv_head = emit_value(head0 // self.shape.group)
        position = emit_value(self.positions[row])
        oldest = self.emit_oldest(row, position)
        first = emit_value(self.page_indptr[self.row_sequence[row]])
        query = shared(heads * key_dim)
        scores, weights = shared(heads * ITEMS), shared(heads * ITEMS)
        values, sums, maxima = registers(heads * own), registers(heads), registers(heads)
        emit_fill(values, heads * own, 0.0)
        emit_fill(sums, heads, 0.0)
        emit_fill(maxima, heads, NEVER)
        emit_spread(
            heads * key_dim,
            ITEMS,
            item,
            lambda i: T.buffer_store(
                query, to_float(self.q[row, head0 + i // key_dim, i % key_dim], 1), [i]
            ),
        )
        barrier()
        count = position // ITEMS + 1
        with T.serial(T.floordiv(count - first_step + (stride - 1), stride)) as turn:
            start = emit_value((first_step + turn * stride) * ITEMS)
            place = emit_value(start + item)
            allowed = emit_value(self.allowed(place, position, oldest))
            self._emit_scores(scores, query, allowed, first, place, kv_head, item)
            self._emit_falls(scores, head0, position, place, item)
            barrier()
            self._emit_weights(weights, scores, allowed, item, maxima, values, sums, own)
            barrier()
            may = partial(self.allowed, position=position, oldest=oldest)
            self._emit_values(values, sums, weights, first, start, position, may, kv_head, item)
        for h in range(heads):
            for j in range(own):
                d = item + j * ITEMS
                with T.If(d < dim), T.Then():
                    finish(head0 + h, d, values[h * own + j], sums[h], maxima[h])

    def _emit_scores(self, scores, query, allowed, first, place, kv_head, item) -> None:
        heads, dim = self.heads, self.key_dim
        dots = registers(heads)
        emit_fill(dots, heads, 0.0)
        with T.If(allowed), T.Then():
            page = emit_value(self.page_indices[first + place // PAGE_SIZE])
            slot = place % PAGE_SIZE

            def add(d, key) -> None:
                for h in range(heads):
                    T.buffer_store(dots, dots[h] + query[h * dim + d] * key, [h])

            self.reader.emit_key(page, kv_head, slot, add, ahead=max(1, _READ_AHEAD // heads))
            for h in range(heads):
                T.buffer_store(dots, self.reader.scaled(dots[h], page, kv_head, slot), [h])
        for h in range(heads):
            score = T.Select(allowed, self.score(dots[h]), scalar(NEVER))
            T.buffer_store(scores, score, [h * ITEMS + item])

    def _emit_falls(self, scores, head0, position, place, item) -> None:
        """Subtracts the distances from a work-item's own scores."""
        for h in range(self.heads if self.slopes is not None else 0):
            own = h * ITEMS + item
            fallen = self.fallen(scores[own], head0 + h, position, place)
            T.buffer_store(scores, fallen, [own])

    def _emit_weights(self, weights, scores, allowed, item, maxima, values, sums, own) -> None:
        """Every work-item finds the same maximum. The earlier sums are scaled by its change."""
        for h in range(self.heads):
            most = registers(1)
            T.buffer_store(most, maxima[h], [0])
            with T.serial(ITEMS) as i:
                T.buffer_store(most, T.max(most[0], scores[h * ITEMS + i]), [0])
            shrink = emit_value(T.exp2(maxima[h] - most[0]))
            T.buffer_store(maxima, most[0], [h])
            T.buffer_store(sums, sums[h] * shrink, [h])
            for j in range(own):
                T.buffer_store(values, values[h * own + j] * shrink, [h * own + j])
            weight = T.exp2(scores[h * ITEMS + item] - most[0])
            T.buffer_store(weights, T.Select(allowed, weight, scalar(0.0)), [h * ITEMS + item])

    def _emit_values(
        self, values, sums, weights, first, start, position, allowed, kv_head, item
    ) -> None:
        """Page by page, so that a work-item reads the values of several slots at a time. A slot to
        which the row may not attend has the weight 0, and may contain anything."""
        dim, own = self.shape.dim, -(-self.shape.dim // ITEMS)
        ahead = max(1, _READ_AHEAD // (own * self.heads))
        pages = T.min(T.floordiv(position - start, PAGE_SIZE) + 1, ITEMS // PAGE_SIZE)
        with T.serial(pages) as index:
            begin = emit_value(start + index * PAGE_SIZE)
            page = emit_value(self.page_indices[first + T.floordiv(begin, PAGE_SIZE)])

            def read(slot) -> list:
                places = [T.min(item + j * ITEMS, dim - 1) for j in range(own)]
                return [emit_value(self.reader.value(page, kv_head, slot, d)) for d in places]

            def use(slot, found: list) -> None:
                place = begin - start + slot
                self._emit_value(values, sums, weights, place, found, allowed(begin + slot))

            with T.If(page >= 0), T.Then():
                emit_ahead(PAGE_SIZE, ahead, read, use)

    def _emit_value(self, values, sums, weights, place, found: list, allowed) -> None:
        own = len(found)
        used = [emit_value(T.Select(allowed, value, scalar(0.0))) for value in found]
        for h in range(self.heads):
            weight = emit_value(weights[h * ITEMS + place])
            T.buffer_store(sums, sums[h] + weight, [h])
            for j, value in enumerate(used):
                T.buffer_store(values, values[h * own + j] + weight * value, [h * own + j])

    # Several rows

    def emit_tiles(self, sizes: TileSizes) -> None:
        """The last tiles, which see most, begin first."""
        num_rows = T.Cast("int32", self.q.shape[0])
        tiles = T.floordiv(num_rows + (sizes.rows - 1), sizes.rows)
        with grid((self.shape.heads // sizes.heads, tiles), sizes.items) as (place, item):
            part, index = place
            Tile(self, sizes, part, tiles - 1 - index, item, num_rows).emit()
