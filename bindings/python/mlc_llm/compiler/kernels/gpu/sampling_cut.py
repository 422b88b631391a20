"""top_k and top_p without sorting: the least weight that is left, found digit by digit.

    aim, first_digit, next_digit * (ROUNDS - 1), settle

Each pass adds weights up by the next DIGIT_BITS bits of theirs, among those whose higher bits are
the ones found; the digit is the highest from which on enough is reached. It is the search for a
pivot of FlashInfer's kernels (Ye et al. 2025, "Sorting-Free GPU Kernels for LLM Sampling"), by
radix instead of by halves: it ends at one weight exactly, after passes whose number is known. Of
equal weights at the edge those of lower ids are left, as on the CPU.
"""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
)
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import (
    LIMIT,
    ROW,
    TOP_K,
    TOP_P,
)
from mlc_llm.compiler.kernels.gpu.sampling_rows import (
    ALL,
    CUT_WORDS,
    ITEMS,
    LEAST,
    NUM_EQUAL,
    SUM,
    TASKS,
    Rows,
    as_float,
    as_word,
)

DIGIT_BITS = 4
DIGITS = 1 << DIGIT_BITS
ROUNDS = 8
_QUARTERS = ITEMS // DIGITS  # items that add up one digit
# Words of a search: the digits found, the shift of the next one (-1: nothing is searched), what is
# measured; floats: how much is wanted, the sum and the number of weights above the digits found.
PREFIX, SHIFT, KIND, WANTED, SUM_ABOVE, NUM_ABOVE = range(6)
STATE_WORDS = 6
TOP_K_KIND, TOP_P_KIND = 0, 1


def _state(name: str) -> Arg:
    return Arg(name, ("n", STATE_WORDS), "int32")


def _cut(name: str) -> Arg:
    return Arg(name, ("n", CUT_WORDS), "int32")


def _digits(rows: Rows, suffix: str) -> list[Arg]:
    """Of each part, by digit: the sum and the number of weights."""
    shape = ("n", rows.parts, DIGITS)
    return [Arg(f"sums{suffix}", shape), Arg(f"counts{suffix}", shape)]


def aim(kind: int) -> tirx.PrimFunc:
    """f(tasks, cut, state): begins a search in what `cut` has left, where the task asks for one."""

    def body(tasks, cut, state) -> None:
        with grid((tasks.shape[0],), ITEMS) as ((task,), item):
            top_k, top_p = emit_value(tasks[task, TOP_K]), as_float(tasks[task, TOP_P])
            if kind == TOP_K_KIND:
                wanted = T.Cast("float32", top_k)
                asked = T.And(top_k > 1, top_k < tasks[task, LIMIT])
            else:
                wanted = top_p * as_float(cut[task, SUM])
                asked = T.And(top_k != 1, top_p < scalar(1.0))
            shift = T.Select(asked, T.int32(DIGIT_BITS * (ROUNDS - 1)), T.int32(-1))
            words = {
                PREFIX: T.int32(0),
                SHIFT: shift,
                KIND: T.int32(kind),
                WANTED: as_word(wanted),
                SUM_ABOVE: T.int32(0),
                NUM_ABOVE: T.int32(0),
            }
            with T.If(item == 0), T.Then():
                for word, value in words.items():
                    T.buffer_store(state, value, [task, word])

    return kernel([TASKS, _cut("cut"), _state("state")], body)


def first_digit(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, state, logits, sums, counts): of each part, by the highest digit."""

    def body(tasks, state, logits, sums, counts) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            prefix, shift = emit_value(state[task, PREFIX]), emit_value(state[task, SHIFT])
            histogram = _Histogram(rows, item)
            histogram.emit(logits, tasks[task, ROW], part, prefix, shift)
            histogram.emit_store(sums, counts, task, part)

    args = [TASKS, _state("state"), rows.logits, *_digits(rows, "")]
    return kernel(args, body)


def next_digit(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, state, sums, counts, logits, new_state, new_sums, new_counts): chooses a digit by
    those sums and counts, and measures by the next one."""

    def body(tasks, state, sums, counts, logits, new_state, new_sums, new_counts) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            histogram = _Histogram(rows, item)
            found = _Found(histogram, state, sums, counts, task)
            shift = emit_value(T.max(found.shift - DIGIT_BITS, -1))
            prefix = emit_value(found.prefix)
            with T.If(T.And(item == 0, part == 0)), T.Then():
                words = {
                    PREFIX: prefix,
                    SHIFT: shift,
                    KIND: state[task, KIND],
                    WANTED: state[task, WANTED],
                    SUM_ABOVE: as_word(found.sum_above),
                    NUM_ABOVE: as_word(found.num_above),
                }
                for word, value in words.items():
                    T.buffer_store(new_state, value, [task, word])
            histogram.emit(logits, tasks[task, ROW], part, prefix, shift)
            histogram.emit_store(new_sums, new_counts, task, part)

    args = [TASKS, _state("state"), *_digits(rows, ""), rows.logits]
    return kernel([*args, _state("new_state"), *_digits(rows, "_new")], body)


def settle(rows: Rows) -> tirx.PrimFunc:
    """f(state, sums, counts, cut, new_cut): what the search leaves, of what `cut` has left."""

    def body(state, sums, counts, cut, new_cut) -> None:
        with grid((cut.shape[0],), ITEMS) as ((task,), item):
            found = _Found(_Histogram(rows, item), state, sums, counts, task)
            before = [emit_value(cut[task, word]) for word in range(CUT_WORDS)]
            edge = emit_value(found.prefix)
            at_most = T.Select(edge == before[LEAST], before[NUM_EQUAL], T.int32(ALL))
            equal = emit_value(T.min(found.emit_num_equal(), at_most))
            total = found.sum_above + T.Cast("float32", equal) * as_float(edge)
            narrows = T.And(found.shift >= 0, edge >= before[LEAST])
            with T.If(item == 0), T.Then():
                for word, value in {LEAST: edge, NUM_EQUAL: equal, SUM: as_word(total)}.items():
                    T.buffer_store(new_cut, T.Select(narrows, value, before[word]), [task, word])

    args = [_state("state"), *_digits(rows, ""), _cut("cut")]
    return kernel([*args, _cut("new_cut")], body)


class _Histogram:
    """Sums and counts of weights by digit. Each item has sums of its own: the order is fixed."""

    def __init__(self, rows: Rows, item) -> None:
        self.rows, self.item = rows, item
        # [digit, item]; twice, for sums and counts
        self.cells = [shared(DIGITS * ITEMS), shared(DIGITS * ITEMS)]
        self.quarters = [shared(ITEMS), shared(ITEMS)]

    def emit(self, logits, row, part, prefix, shift) -> None:
        row = emit_value(row)
        barrier()
        for cells in self.cells:
            for digit in range(DIGITS):
                T.buffer_store(cells, scalar(0.0), [digit * ITEMS + self.item])

        def add(column) -> None:
            weight = emit_value(logits[row, column])
            bits = emit_value(T.shift_right(as_word(weight), shift))
            known = T.shift_right(T.shift_right(prefix, shift), T.int32(DIGIT_BITS))
            fits = T.shift_right(bits, T.int32(DIGIT_BITS)) == known
            with T.If(T.And(fits, weight > scalar(0.0))), T.Then():
                cell = emit_value(T.bitwise_and(bits, DIGITS - 1) * ITEMS + self.item)
                for cells, more in zip(self.cells, (weight, scalar(1.0)), strict=True):
                    T.buffer_store(cells, cells[cell] + more, [cell])

        with T.If(shift >= 0), T.Then():
            self.rows.emit_columns(part, self.item, add)
        barrier()

    def emit_store(self, sums, counts, task, part) -> None:
        """What `emit` found, added up over the items."""
        step = ITEMS // _QUARTERS
        self.emit_totals(
            step,
            lambda cells, digit, quarter, i: cells[digit * ITEMS + quarter * step + i],
            self.cells,
        )
        with T.If(self.item < DIGITS), T.Then():
            for buffer, totals in zip((sums, counts), self.quarters, strict=True):
                T.buffer_store(buffer, totals[self.item], [task, part, self.item])

    def emit_totals(self, count: int, value, sources) -> None:
        """quarters[digit] = the sum of value(source, digit, quarter, i) for quarter, i < count."""
        digit = emit_value(self.item // _QUARTERS)
        quarter = emit_value(self.item % _QUARTERS)
        for source, quarters in zip(sources, self.quarters, strict=True):
            own = registers(1)
            T.buffer_store(own, scalar(0.0), [0])
            with T.serial(count) as i:
                T.buffer_store(own, own[0] + value(source, digit, quarter, i), [0])
            T.buffer_store(quarters, own[0], [self.item])
        barrier()
        sums = registers(2)
        for i, quarters in enumerate(self.quarters):
            first = T.min(self.item, DIGITS - 1) * _QUARTERS
            total = quarters[first]
            for q in range(1, _QUARTERS):
                total = total + quarters[first + q]
            T.buffer_store(sums, total, [i])
        barrier()
        with T.If(self.item < DIGITS), T.Then():
            for i, quarters in enumerate(self.quarters):
                T.buffer_store(quarters, sums[i], [self.item])
        barrier()


class _Found:
    """A search after its next digit: the highest from which on as much is reached as is wanted."""

    def __init__(self, histogram: _Histogram, state, sums, counts, task) -> None:
        parts = histogram.rows.parts
        self.shift = emit_value(state[task, SHIFT])
        self._wanted = emit_value(as_float(state[task, WANTED]))
        self._by_count = emit_value(state[task, KIND] == TOP_K_KIND)
        self._old_prefix = emit_value(state[task, PREFIX])

        def of_part(source, digit, quarter, i):
            part = emit_value(quarter + i * _QUARTERS)
            inside = T.min(part, parts - 1)
            return T.Select(part < parts, source[task, inside, digit], scalar(0.0))

        histogram.emit_totals(-(-parts // _QUARTERS), of_part, (sums, counts))
        self._totals, self._counts = histogram.quarters
        self._digit, self._above = registers(2, "int32"), registers(4)
        T.buffer_store(self._digit, T.int32(0), [0])
        T.buffer_store(self._digit, T.int32(0), [1])  # 1: it is found
        for i, word in enumerate((SUM_ABOVE, NUM_ABOVE) * 2):
            T.buffer_store(self._above, as_float(state[task, word]), [i])
        for digit in reversed(range(DIGITS)):
            self._emit_step(digit)

    def _emit_step(self, digit: int) -> None:
        """`above`: of the digits above the one chosen so far (0, 1), and of all seen (2, 3)."""
        seen = self._above
        with T.If(T.And(self._digit[1] == 0, self._counts[digit] > scalar(0.0))), T.Then():
            T.buffer_store(self._digit, T.int32(digit), [0])
            for i, totals in enumerate((self._totals, self._counts)):
                T.buffer_store(seen, seen[2 + i], [i])
                T.buffer_store(seen, seen[2 + i] + totals[digit], [2 + i])
            reached = T.Select(self._by_count, seen[3], seen[2])
            T.buffer_store(self._digit, T.Cast("int32", reached >= self._wanted), [1])

    @property
    def prefix(self):
        digit = T.shift_left(self._digit[0], T.max(self.shift, 0))
        return T.bitwise_or(self._old_prefix, digit)

    @property
    def sum_above(self):
        return self._above[0]

    @property
    def num_above(self):
        return self._above[1]

    def emit_num_equal(self):
        """How many of the weight found are needed: one at least, and no more than there are."""
        weight = T.max(as_float(self.prefix), scalar(1e-38))
        missing = emit_value(self._wanted - self.sum_above)
        there = self._counts[self._digit[0]]
        needed = registers(1)
        T.buffer_store(needed, T.min(T.ceil(missing / weight), there), [0])
        # Devices divide within some roundings.
        with T.If((needed[0] - scalar(1.0)) * weight >= missing), T.Then():
            T.buffer_store(needed, needed[0] - scalar(1.0), [0])
        with T.If(needed[0] * weight < missing), T.Then():
            T.buffer_store(needed, needed[0] + scalar(1.0), [0])
        by_count = self._wanted - self.num_above
        chosen = T.Select(self._by_count, by_count, needed[0])
        return T.Cast("int32", T.max(T.min(chosen, there), scalar(1.0)))
