"""Rotary positions, append and paged attention on GPUs, with the pages of
`kernels/common/attention_shape.py`.

There are two ways. `emit_rows` is for decoding: a work-group walks the history of one row, 64
positions at a time, one work-item for each key. `emit_tiles` is for prompts: a work-group takes
several neighbouring rows and reads each page once for all of them; where heads are too wide for
that (512), prompts go the first way too. Both read a row's pages in order, and ignore slots to
which the row may not attend. No second pass merges parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import (
    GROWTHS,
    PAGE_SIZE,
    ROPE_FINE,
    AttentionShape,
)
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.gpu.elementwise import emit_norm_factor, softcap
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
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
from mlc_llm.compiler.kernels.gpu.pages import Codes, Floats, Slot, emit_hadamard, reader_of

ITEMS = 64  # of a work-group; in `emit_rows` also the keys of a step
_MOST_HEADS = 8  # query heads of one key head in a work-group
_LOG2E = math.log2(math.e)
SHARED_FLOATS = 4096  # 16 KB: every device has as much
_TILE_FLOATS = 8192  # 32 KB: what a tile of one row may take, if heads are wide


def rope_and_append(shape: AttentionShape) -> tirx.PrimFunc:
    """f(qkv [n, (heads + 2 kv_heads) dim], positions, rotary?, slots, table, growth?, *norms,
    pages, q), with q [n, heads, dim].

    Queries, keys and values are normed if the shape says so. The norms of queries and of keys may
    have weights `norms`: [dim] each, or one for all heads.
    Rotates queries into q, times a factor of their position if there is a table `growth`.
    Writes rotated keys, and values, into their slots of the pages. If `appends` is False there are
    no slots, no keys and no pages. For pages of codes, queries and keys are transformed last.
    """
    return named_kernel(shape.append_args, partial(_emit_append, shape))


def _emit_append(
    shape: AttentionShape,
    qkv,
    positions,
    table,
    q,
    *,
    rotary=None,
    slots=None,
    growth=None,
    q_norm=None,
    k_norm=None,
    pages=None,
) -> None:
    norms = [norm for norm in (q_norm, k_norm) if norm is not None]
    dim, heads, kv_heads, half = shape.dim, shape.heads, shape.kv_heads, shape.rotated_dim // 2
    groups = heads + 2 * kv_heads if shape.appends else heads
    with grid((groups, qkv.shape[0]), ITEMS) as ((head, row), item):
        position = emit_value(positions[row])
        read, read_value, weight = _emit_readers(shape, qkv, row, head, norms, item)
        floats = shared(dim) if shape.is_q8 else None  # of a head, until they are transformed
        if shape.appends:
            page, offset = (
                emit_value(e) for e in (slots[row] // PAGE_SIZE, slots[row] % PAGE_SIZE)
            )
            slot = Slot(shape, pages, page, offset, item, ITEMS, floats)

        def grown(value):
            if growth is None:
                return value
            step = (position + shape.growth_from) // shape.growth_length
            return value * growth[T.min(step, GROWTHS - 1)]

        def store(d, value) -> None:
            value = value * weight(d) if norms and shape.norms_rotated else value
            if floats is not None:
                T.buffer_store(floats, value, [d])
                return
            if not shape.appends:
                emit_store(q, grown(value), [row, head, d])
                return
            with T.If(head < heads):
                with T.Then():
                    emit_store(q, grown(value), [row, T.min(head, heads - 1), d])
                with T.Else():
                    slot.emit_part(0, head - heads, d, value)

        def rotate(i) -> None:
            place = position if rotary is None else _on_axis(shape, rotary, row, i)
            cos, sin = emit_rotation(table, place, i)
            low, high = emit_value(read(i)), emit_value(read(half + i))
            store(i, low * cos - high * sin)
            store(i + half, high * cos + low * sin)

        def turn() -> None:
            emit_spread(half, ITEMS, item, rotate)
            if shape.rotated_dim < dim:
                emit_spread(
                    dim - shape.rotated_dim,
                    ITEMS,
                    item,
                    lambda i: store(shape.rotated_dim + i, read(shape.rotated_dim + i)),
                )

        def copy(d) -> None:
            slot.emit_part(1, head - heads - kv_heads, d, read_value(d))

        def finish() -> None:
            if floats is None:
                return
            emit_hadamard(floats, dim, item, ITEMS, head < heads + kv_heads)
            with T.If(head < heads), T.Then():
                own = T.min(head, heads - 1)
                emit_spread(
                    dim, ITEMS, item, lambda d: emit_store(q, grown(floats[d]), [row, own, d])
                )

        if not shape.appends:
            turn()
            finish()
            return
        with T.If(head < heads + kv_heads):
            with T.Then():
                turn()
            with T.Else():
                emit_spread(dim, ITEMS, item, copy)
        finish()
        kept = T.max(head - heads, 0)
        slot.emit_end(head >= heads, emit_value(kept // kv_heads), emit_value(kept % kv_heads))


def _emit_readers(shape: AttentionShape, qkv, row, head, norms: list, item) -> tuple:
    """Functions that return an element of a query or a key, after what of its norm comes before the
    rotation; an element of a value, after its norm; and the weight of an element."""
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    factor = _emit_factor(shape, qkv, row, head, item)

    def weight(d):
        query_place = T.min(head, heads - 1) * dim + d if shape.norms_all_heads else d
        query = to_float(norms[0][query_place], 1)
        if len(norms) == 1:
            return query
        key_head = T.max(T.min(head - heads, kv_heads - 1), 0)
        key_place = key_head * dim + d if shape.norms_all_heads else d
        return T.Select(head < heads, query, to_float(norms[1][key_place], 1))

    def read(d):
        value = to_float(qkv[row, head * dim + d], 1)
        value = value if shape.qk_norm is None else value * factor
        return value * weight(d) if norms and not shape.norms_rotated else value

    def read_value(d):
        value = to_float(qkv[row, _source(shape, head) * dim + d], 1)
        return value if shape.value_norm is None else value * factor

    return read, read_value, weight


def _source(shape: AttentionShape, head):
    """The place of a head in the input, in which values may be the keys."""
    if not shape.values_are_keys:
        return head
    return T.Select(head < shape.heads + shape.kv_heads, head, head - shape.kv_heads)


def _emit_factor(shape: AttentionShape, qkv, row, head, item):
    """1 / rms of a head, or of all heads together, for every work-item of the group. None: nothing
    is normed."""
    if shape.qk_norm is None and shape.value_norm is None:
        return None
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    is_value = head >= heads + kv_heads
    eps = shape.value_norm if shape.qk_norm is None else shape.qk_norm
    if shape.value_norm not in (None, eps):
        eps = emit_value(T.Select(is_value, scalar(shape.value_norm), scalar(eps)))
    first, most, used = _source(shape, head) * dim, dim, None
    if shape.norms_all_heads and shape.qk_norm is not None:
        begin = T.Select(head < heads, 0, heads * dim)
        used = T.Select(head < heads, heads * dim, kv_heads * dim)
        if shape.value_norm is not None:
            begin, used = T.Select(is_value, first, begin), T.Select(is_value, dim, used)
        first, most, used = begin, heads * dim, emit_value(used)
    return emit_norm_factor(qkv, row, emit_value(first), most, eps, item, used)


def _on_axis(shape: AttentionShape, rotary, row, pair):
    """The position of a row by which a pair turns. The axes are bits of constants."""
    place = rotary[row, 0]
    for axis in (1, 2):
        bits = sum(1 << i for i, own in enumerate(shape.axes) if own == axis)
        word = T.uint32(0)
        for number in range(-(-len(shape.axes) // 32)):
            own = T.uint32(bits >> 32 * number & 0xFFFFFFFF)
            word = T.Select(pair // 32 == number, own, word)
        shift = T.Cast("uint32", pair % 32)
        is_own = T.bitwise_and(T.shift_right(word, shift), T.uint32(1)) == T.uint32(1)
        place = T.Select(is_own, rotary[row, axis], place)
    return emit_value(place)


def emit_rotation(table, position, pair):
    """cos and sin of position * frequency, by adding angles."""
    rows = (
        position % ROPE_FINE,
        position // ROPE_FINE % ROPE_FINE + ROPE_FINE,
        T.min(position // ROPE_FINE**2, ROPE_FINE - 1) + 2 * ROPE_FINE,
    )
    angles = [[emit_value(table[row, part, pair]) for part in (0, 1)] for row in rows]
    cos, sin = angles[0]
    for other_cos, other_sin in angles[1:]:
        turned = cos * other_cos - sin * other_sin
        sin = emit_value(sin * other_cos + cos * other_sin)
        cos = emit_value(turned)
    return cos, sin


def paged_attention(shape: AttentionShape, scale: float) -> tirx.PrimFunc:
    """f(q [n, heads, dim], positions, row_sequence, page_indptr, page_indices, pages, (slopes
    [heads]), (sinks [heads]), (own), y). `positions`: the last one that each row sees. `own`: its
    own, where rows with windows see later ones."""

    def body(**buffers: Any) -> None:
        factor = scale if shape.softcap else scale * _LOG2E
        attend = Attend(shape, factor, **buffers)
        if not attend.tiles_fit:
            attend.emit_rows()
            return
        rows, sequences = attend.q.shape[0], attend.page_indptr.shape[0] - 1
        with T.If(rows < 4 * sequences):
            with T.Then():
                attend.emit_rows()
            with T.Else():
                attend.emit_tiles()

    return named_kernel(shape.attend_args, body)


@dataclass
class Attend:
    """`scale` is in base-2 logarithms, unless scores have a softcap."""

    shape: AttentionShape
    scale: float
    q: Any
    positions: Any
    row_sequence: Any
    page_indptr: Any
    page_indices: Any
    pages: Any
    y: Any
    sinks: Any = None  # learned, of each head
    slopes: Any = None  # of each head, by which its scores fall with the distance
    own: Any = None  # the positions of the rows, if rows with windows see later ones

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

    def emit_rows(self) -> None:
        heads, dim, key_dim = self.heads, self.shape.dim, self.key_dim
        own = -(-dim // ITEMS)  # dimensions of one work-item
        with grid((self.parts, self.q.shape[0]), ITEMS) as ((part, row), item):
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
            with T.serial(position // ITEMS + 1) as step:
                start = emit_value(step * ITEMS)
                place = emit_value(start + item)
                allowed = emit_value(self.allowed(place, position, oldest))
                self._emit_scores(scores, query, allowed, first, place, kv_head, item)
                self._emit_falls(scores, head0, position, place, item)
                barrier()
                self._emit_weights(weights, scores, allowed, item, maxima, values, sums, own)
                barrier()
                may = partial(self.allowed, position=position, oldest=oldest)
                count = T.min(position + 1 - start, ITEMS)
                self._emit_values(values, sums, weights, first, start, count, may, kv_head, item)
            for h in range(heads):
                total = self.emit_total(sums[h], maxima[h], head0 + h)
                for j in range(own):
                    d = item + j * ITEMS
                    with T.If(d < dim), T.Then():
                        value = values[h * own + j] / total
                        emit_store(self.y, value, [row, (head0 + h) * dim + d])

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

            self.reader.emit_key(page, kv_head, slot, add)
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
        self, values, sums, weights, first, start, count, allowed, kv_head, item
    ) -> None:
        dim, own = self.shape.dim, -(-self.shape.dim // ITEMS)
        with T.serial(count) as i:
            place = emit_value(start + i)
            with T.If(allowed(place)), T.Then():
                page = emit_value(self.page_indices[first + place // PAGE_SIZE])
                for h in range(self.heads):
                    T.buffer_store(sums, sums[h] + weights[h * ITEMS + i], [h])
                for j in range(own):
                    d = T.min(item + j * ITEMS, dim - 1)
                    value = emit_value(self.reader.value(page, kv_head, place % PAGE_SIZE, d))
                    for h in range(self.heads):
                        total = values[h * own + j] + weights[h * ITEMS + i] * value
                        T.buffer_store(values, total, [h * own + j])

    # Several rows

    @property
    def tiles_fit(self) -> bool:
        """Whether the shared memory of usual devices has room for a tile of one row."""
        page, query = PAGE_SIZE * self.shape.dim, self.shape.dim + PAGE_SIZE + 3
        return page + self.heads * query <= _TILE_FLOATS

    @property
    def tile_rows(self) -> int:
        """As many rows as fit into the shared memory, with queries, a page and the scores."""
        room = SHARED_FLOATS - PAGE_SIZE * self.shape.dim
        queries = min(room // (self.shape.dim + PAGE_SIZE + 3), 32)
        return max(1, queries // self.heads)

    def emit_tiles(self) -> None:
        rows, dim = self.tile_rows, self.shape.dim
        count = rows * self.heads  # queries: row by row, head by head
        own = -(-count * dim // ITEMS)
        num_rows = T.Cast("int32", self.q.shape[0])
        with grid((self.parts, T.floordiv(num_rows + (rows - 1), rows)), ITEMS) as (place, item):
            part, tile = place
            tile_state = _Tile(self, part, tile, item, num_rows, count, own)
            tile_state.emit()


class _Tile:
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


def copy_pages(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [k], destination i32 [k], pages): pages[destination[i]] = pages[source[i]]."""
    width = shape.page_shape[2]

    def body(source, destination, pages) -> None:
        with grid((2 * shape.kv_heads, source.shape[0]), ITEMS) as ((block, i), item):
            old, new = emit_value(source[i]), emit_value(destination[i])
            part, head = block // shape.kv_heads, block % shape.kv_heads

            def copy(place) -> None:
                value = pages[old, part, head, place]
                T.buffer_store(pages, value, [new, part, head, place])

            emit_spread(width, ITEMS, item, copy)

    indices = [Arg(name, ("k",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)


def copy_slots(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): copies the key and value at slot source[i] to
    slot destination[i]. No slot may be both."""
    size, extra = shape.row_elements, 1 if shape.is_q8 else 0

    def body(source, destination, pages) -> None:
        with grid((2 * shape.kv_heads, source.shape[0]), ITEMS) as ((block, i), item):
            old, new = emit_value(source[i]), emit_value(destination[i])
            part, head = block // shape.kv_heads, block % shape.kv_heads

            def place(slot, d):
                offset = slot % PAGE_SIZE
                as_key, as_value = d * PAGE_SIZE + offset, offset * size + d
                if extra:  # a key's scale is like one element more
                    as_value = T.Select(d == size, shape.scales_at + offset, as_value)
                return T.Select(part == 0, as_key, as_value)

            def copy(d) -> None:
                value = pages[old // PAGE_SIZE, part, head, place(old, d)]
                T.buffer_store(pages, value, [new // PAGE_SIZE, part, head, place(new, d)])

            emit_spread(size + extra, ITEMS, item, copy)

    indices = [Arg(name, ("c",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
