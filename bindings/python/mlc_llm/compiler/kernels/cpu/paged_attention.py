"""Causal softmax attention over the paged cache, for prompts and single steps.

A row walks its history in blocks of 64 positions (four pages) with an online softmax: the largest
score so far, the sum of weights, and the weighted values. Neighbouring rows of one sequence walk
all blocks side by side, so that a page is read once for all of them. Of a block that a window or
their own positions cut, each has its own part: other positions have the weight 0. Rows of other
sequences whose block tables begin with the same pages share those blocks of them that lie before
all of the rows (the idea of Hydragen, arXiv 2402.05099, and ChunkAttention, 2402.15220; there is no
second kernel here, and no other order of sums). Each walks the rest alone.

After a part, of 64 to 512 positions (`Call.part_blocks`), a row stores its state and begins again.
These parts are merged in ascending order. So different threads can walk the parts of a long
history. That is needed when there are few rows and few key heads, and is faster when rows share no
pages (`_Split`). The steps of a row are the same in all cases, so its result depends only on its
history.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
from mlc_llm.compiler.kernels.common.function import named_kernel
from mlc_llm.compiler.kernels.common.latent import LatentShape
from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.attention_rows import BLOCK, BLOCK_PAGES, Call, Rows
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.latent_state import LatentState
from mlc_llm.compiler.kernels.cpu.softmax import ONE_ROW_RUN, State, Totals
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_stored,
    emit_sum,
    emit_sums,
    emit_uneven_tiles,
    emit_value,
    fma,
)

TOGETHER = 4  # rows that walk side by side
MOST_ROWS = 8 * TOGETHER  # of a task
MOST_BYTES = 1 << 18  # of the values of a task's rows, if these are more than 2 * TOGETHER
MANY = 16  # from this number of rows on, a task has several rows, whatever they share
MANY_TASKS = 16  # rows that share pages are in one task where this leaves so many tasks
SPLIT_BYTES = 1 << 19  # of the parts that are walked at a time when threads share histories
SPLIT_RUNS = 64  # in how many runs threads take them
SPLIT_UNITS = 8  # key heads are in one unit of work where this leaves so many units
SPLIT_PAIRS = 24  # the most pairs of rows and key heads for which they do
APART_PAIRS = 128  # the most of them if the rows' sequences share no pages,
APART = 256  # from this position of the last row on


def paged_attention(
    shape: AttentionShape,
    scale: float,
    *,
    width: int = LANES,
    registers: int = 12,
    heads: int = 12,
    run: int = ONE_ROW_RUN,
    dot: DotUnit = "portable",
) -> tirx.PrimFunc:
    """f(q [n, heads, dim], positions, row_sequence, page_indptr, page_indices, pages, (sinks),
    (own), y). `positions`: the last one that each row sees. `own`: its own, where rows with
    windows see later ones.

    `registers` is the number of vectors of `width` floats for the sums of inner loops. `heads` is
    the number of query heads, of all rows, that have sums at a time. `run` is the most bytes of a
    head's values that several rows walk at a time. `dot` multiplies the bytes of pages of codes.
    """

    def body(**buffers: Any) -> None:
        call = Call(shape, scale, width, registers, heads, run, dot, **buffers)
        rows = emit_value(T.Cast("int32", call.q.shape[0]))
        share = _emit_shares(call, rows)
        with T.If(_is_split(call, rows, share)):
            with T.Then(), T.sblock("split"):
                _Split(call, rows).emit()
            with T.Else():
                _emit_unsplit(call, rows, share)

    return named_kernel(shape.attend_args, body)


def _emit_shares(call: Call, rows):
    """Whether any of the first rows begins with the same page as the row before it."""
    share = T.sblock_alloc_buffer((1,), "bool")
    T.buffer_store(share, T.bool(False), [0])
    with T.serial(1, T.min(rows, max(MANY, APART_PAIRS // call.shape.kv_heads))) as row:
        pages = [call.page_indices[call.emit_first_page(row - i)] for i in range(2)]
        T.buffer_store(share, T.Or(share[0], pages[0] == pages[1]), [0])
    return share[0]


def _is_split(call: Call, rows, share):
    """Whether there are few rows and the last row has a history of several parts; or more rows,
    each with pages of its own: a unit then reads pages of a row from end to end."""
    pairs, last = rows * call.shape.kv_heads, call.positions[T.max(rows - 1, 0)]
    few = T.And(pairs <= SPLIT_PAIRS, last >= call.part)
    apart = T.And(T.And(pairs <= APART_PAIRS, last >= APART), T.Not(share))
    return T.And(rows > 0, T.Or(few, apart))


def _emit_unsplit(call: Call, rows, share) -> None:
    """A task walks the whole history of a row, or of several neighbouring rows."""
    shape = call.shape
    each = _emit_rows_of_a_task(call, rows, share)
    tasks = emit_value((rows + each - 1) // each)  # for one head
    with T.parallel(tasks * shape.kv_heads) as task, T.sblock("attend"):
        T.reads()
        T.writes()
        head, begin = emit_value(task // tasks), emit_value(task % tasks * each)
        count = emit_value(T.min(each, rows - begin))
        most = _most_rows(shape)
        state = _state(call, head, most).for_task(TOGETHER)
        totals = Totals(call, most)
        state.emit_begin(0, count)
        with T.serial(count) as m:
            state.emit_queries(emit_value(begin + m), m)
        totals.emit_begin(0, count)

        def next_part(walk: Rows, block, m, number) -> None:
            with T.If(walk.ends_part(block)), T.Then():
                totals.emit_add(state, m, m, number)
                state.emit_begin(m, number)

        shared = _SharedBlocks(call, begin, count)
        # A block is walked by all rows before the next: it stays in a core's cache.
        with T.serial(shared.most) as block:
            with T.serial(0, count // TOGETHER * TOGETHER, step=TOGETHER) as m:
                with T.If(block < shared[m]), T.Then():
                    first = call.emit_first_page(emit_value(begin + m))
                    together = [m + i for i in range(TOGETHER)]
                    side_by_side = Rows.emit(call, together, begin, first)
                    next_part(side_by_side, block, m, TOGETHER)
                    state.emit_block(side_by_side, block, partial(shared.asks, m))
        with T.serial(count) as m:
            row, done = emit_value(begin + m), _emit_done(shared[m], m, state, totals)
            position = emit_value(call.positions[row])
            alone = Rows.emit(call, [m], begin, call.emit_first_page(row))
            with T.serial(T.max(position // BLOCK + 1 - done, 0)) as rest:
                block = emit_value(done + rest)
                next_part(alone, block, m, 1)
                state.emit_block(alone, block)
            with T.If(T.And(position < call.part, done <= call.part_blocks)):
                with T.Then():
                    state.emit_result(call.y, row, head, m)
                with T.Else():
                    totals.emit_add(state, m, m, 1)
                    totals.emit_result(call.y, row, head, m)


def _emit_done(blocks, m, state: State, totals: Totals):
    """How many blocks the row in slot m has walked. It begins again, alone, if not all values were
    finite: those that it does not see had the weight 0. The heads of a slot read the same values,
    so the first one tells."""
    shape, probes = state.shape, emit_sums(2)
    with T.serial(shape.dim // LANES) as v:
        for found, probe in zip((state, totals), probes, strict=True):
            value = found.values[at(m * shape.group * shape.dim + v * LANES)]
            T.buffer_store(probe, fma(value, splat(0.0), probe[at(0)]), [at(0)])
    is_finite = emit_sum(emit_value(probes[0][at(0)] + probes[1][at(0)])) == T.float32(0.0)
    done = emit_stored(T.Select(is_finite, blocks, T.int32(0)))
    with T.If(done < blocks), T.Then():
        state.emit_begin(m, 1)
        totals.emit_begin(m, 1)
    return done


def _emit_rows_of_a_task(call: Call, rows, share):
    """Few rows are a task each, unless neighbours begin with the same page."""

    def fits(count: int):
        return T.And(share, rows * call.shape.kv_heads >= MANY_TASKS * count)

    each = T.Select(T.Or(rows >= MANY, fits(TOGETHER)), T.int32(TOGETHER), T.int32(1))
    count = 2 * TOGETHER
    while count <= _most_rows(call.shape):
        each = T.Select(fits(count), T.int32(count), each)
        count *= 2
    return emit_value(each)


def _most_rows(shape: AttentionShape) -> int:
    """The most rows of a task: each of them has sums of its values."""
    rows = MOST_ROWS
    while rows > 2 * TOGETHER and 4 * rows * shape.group * shape.dim > MOST_BYTES:
        rows //= 2
    return rows


class _SharedBlocks:
    """How many first blocks a task's rows walk side by side. The task has `count` rows from `begin`
    on."""

    def __init__(self, call: Call, begin, count) -> None:
        self.call = call
        self.found = T.sblock_alloc_buffer((MOST_ROWS // TOGETHER + 1,), "int32")
        longest, self.turns = (T.sblock_alloc_buffer((1,), "int32") for _ in range(2))
        T.buffer_store(longest, T.int32(0), [0])
        most_turns = T.max(T.min(count // TOGETHER, BLOCK_PAGES), 1)
        T.buffer_store(self.turns, most_turns, [0])
        # of the last rows, which are fewer than TOGETHER
        T.buffer_store(self.found, T.int32(0), [count // TOGETHER])
        with T.serial(count // TOGETHER) as i:
            rows = [emit_value(begin + i * TOGETHER + m) for m in range(TOGETHER)]
            seen = [call.positions[row] for row in rows]
            first, *others = [call.emit_first_page(row) for row in rows]
            # Rows of one sequence walk all blocks together.
            is_one = reduce(T.And, [other == first for other in others])
            blocks = T.Select(
                is_one, reduce(T.max, seen) // BLOCK + 1, (reduce(T.min, seen) + 1) // BLOCK
            )
            T.buffer_store(self.found, blocks, [i])
            for other in others:
                self._emit_compare(first, other, i)
            T.buffer_store(longest, T.max(longest[0], self.found[i]), [0])
            pages = [call.page_indices[page] for page in (first, call.emit_first_page(begin))]
            turns = T.Select(pages[0] == pages[1], self.turns[0], T.int32(1))
            T.buffer_store(self.turns, turns, [0])
        self.most = emit_value(longest[0])

    def __getitem__(self, m):
        return self.found[m // TOGETHER]

    def asks(self, m, page: int):
        """Whether the rows from row m on ask for a page of the next block. If the histories of all
        begin with the same page, all take turns, in all blocks."""
        turns = self.turns[0]
        return T.Or(turns == 1, page % turns == m // TOGETHER)

    def _emit_compare(self, first, other, i) -> None:
        """Compares two rows' block tables, which begin at these indices."""
        same = T.sblock_alloc_buffer((1,), "int32")
        T.buffer_store(same, T.Select(other == first, self.found[i], T.int32(0)), [0])
        with T.While(same[0] < self.found[i]):
            table, page = self.call.page_indices, same[0] * BLOCK_PAGES
            equal = [table[first + page + k] == table[other + page + k] for k in range(BLOCK_PAGES)]
            with T.If(reduce(T.And, equal)):
                with T.Then():
                    T.buffer_store(same, same[0] + 1, [0])
                with T.Else():
                    T.buffer_store(self.found, same[0], [i])


class _Split:
    """For few rows, and for rows that share no pages: threads share the parts of the rows'
    histories. Of long histories so many parts are walked at a time as fit in SPLIT_BYTES, but at
    least one of each pair, and then merged.

    A unit of work is a part of one row for some key heads, as many as leave SPLIT_UNITS units: they
    lie side by side in a page, and memory is read fastest from one end to the other."""

    def __init__(self, call: Call, rows) -> None:
        self.call, self.rows, shape = call, rows, call.shape
        self.pairs = emit_value(rows * shape.kv_heads)
        parts = max(SPLIT_BYTES // (4 * shape.group * (shape.dim + LANES)), APART_PAIRS)
        # parts of a pair that are walked at a time
        self.each = emit_value(T.int32(parts) // self.pairs)
        self.state = _state(call, None, parts)
        self.totals = Totals(call, APART_PAIRS)

    def emit(self) -> None:
        self.totals.emit_begin(0, self.pairs)
        parts = self._emit_parts()
        with T.serial((parts + self.each - 1) // self.each) as wave:
            first = emit_value(wave * self.each)
            self._emit_wave(first, emit_value(T.min(self.each, parts - first)))
        with T.serial(self.pairs) as pair:
            row, head = emit_value(pair % self.rows), emit_value(pair // self.rows)
            self.totals.emit_result(self.call.y, row, head, pair)

    def _emit_parts(self):
        """The most parts that a row sees."""
        most = T.sblock_alloc_buffer((1,), "int32")
        T.buffer_store(most, T.int32(0), [0])
        with T.serial(self.rows) as row:
            parts = self.call.positions[row] // self.call.part + 1 - self._emit_unseen(row)
            T.buffer_store(most, T.max(most[0], parts), [0])
        return emit_value(most[0])

    @property
    def _sink_parts(self) -> int:
        return -(-self.call.shape.sinks // self.call.part)

    def _emit_unseen(self, row):
        """How many parts behind the sinks' lie before the window of a row."""
        if self.call.shape.sliding_window < 0:
            return T.int32(0)
        oldest = self.call.emit_oldest(row, self.call.positions[row])
        return emit_value(T.max(T.max(oldest, 0) // self.call.part - self._sink_parts, 0))

    def _emit_part(self, number, row):
        """The place in the history of a part, by its number among those that a row sees."""
        skipped = T.Select(number < self._sink_parts, T.int32(0), self._emit_unseen(row))
        return emit_value(number + skipped)

    def _emit_wave(self, first, count) -> None:
        together = self._heads_together(count)
        units = emit_value(self.pairs * count // together)
        with T.parallel(SPLIT_RUNS) as run, T.sblock("run"):
            T.reads()
            T.writes()
            # A long decode spends its time here: more code is worth more sums at a time.
            state = self.state.for_task(1, emit_uneven_tiles)
            begin = emit_value(run * units // SPLIT_RUNS)
            with T.serial((run + 1) * units // SPLIT_RUNS - begin) as i:
                self._emit_unit(state, emit_value(begin + i), first, count, together)
        with T.serial(self.pairs) as pair, T.serial(count) as i:
            row = emit_value(pair % self.rows)
            is_there = self._emit_part(first + i, row) * self.call.part <= self.call.positions[row]
            with T.If(is_there), T.Then():
                self.totals.emit_add(self.state, i * self.pairs + pair, pair, 1)

    def _heads_together(self, count):
        """The number of key heads of a unit."""
        heads, found = self.call.shape.kv_heads, T.int32(1)
        for some in (n for n in range(2, heads + 1) if heads % n == 0):
            found = T.Select(self.pairs * count >= SPLIT_UNITS * some, T.int32(some), found)
        return emit_value(found)

    def _emit_unit(self, state: State, unit, first, count, together) -> None:
        """The rows of a part come one after another: they may share pages. So a thread's run has
        about as many full parts as any other, since the last part, which is short, comes with the
        others of its heads."""
        call = self.call
        row, rest = emit_value(unit % self.rows), emit_value(unit // self.rows)
        i, head = emit_value(rest % count), emit_value(rest // count * together)
        position = emit_value(call.positions[row])
        begin = emit_value(self._emit_part(first + i, row) * call.part_blocks)
        end = T.min(begin + call.part_blocks, position // BLOCK + 1)
        table = call.emit_first_page(row)

        def each_head(act: Callable[[State, Any], None]) -> None:
            with T.serial(together) as h:
                own = state.of_head(head, together, h)
                act(own, emit_value(i * self.pairs + own.head * self.rows + row))

        def start(state: State, slot: Any) -> None:
            state.emit_begin(slot, 1)
            state.emit_queries(row, slot)

        with T.If(begin * BLOCK <= position), T.Then():
            each_head(start)
            with T.serial(end - begin) as number:
                block = emit_value(begin + number)

                def walk(state: State, slot: Any) -> None:
                    state.emit_block(Rows.emit(call, [slot], row - slot, table), block)

                each_head(walk)


def _state(call: Call, head, slots: int) -> State:
    kind = LatentState if isinstance(call.shape, LatentShape) else State
    return kind(call, head, slots)
