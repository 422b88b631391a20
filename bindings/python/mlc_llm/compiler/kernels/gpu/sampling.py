"""Chooses tokens on the GPU, as `sampling/sampler_cpu.cc` of the core does on the CPU.

The kernels, in the order in which `nn/gpu/sampling.py` calls them:

    adjust, maxima      bias and penalties, then the mask; `pick` then takes the likeliest token
    weigh, whole        weights exp((x - max) / temperature), and their sum
    (sampling_cut.py)   top_k, then top_p: which weights are left
    spread, near, exclude   (sampling_exclude.py) where a task asks for them
    measure, draw       the token at which the request's random number falls, in order of ids

There is no sort, and there are no atomics. Logits are changed in place. Sums are 32-bit floats, and
their order depends only on the vocabulary. So the same logits give the same token in every batch.
"""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import kernel
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_group_sums,
    emit_spread,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
)
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import (
    BIAS,
    CHANGES_START,
    LIMIT,
    LOGIT_CHANGE_WORDS,
    MASK_START,
    NUM_CHANGES,
    PENALTY,
    REPETITION,
    ROW,
    SCALE,
    TOKEN,
    TOP_K,
    UNIFORM,
)
from mlc_llm.compiler.kernels.gpu.sampling_rows import (
    ALL,
    BROKEN,
    CUT,
    EXTRA,
    IMPOSSIBLE,
    ITEMS,
    LARGEST,
    LEAST,
    NUM_EQUAL,
    SUM,
    TASKS,
    TOKENS,
    Best,
    Remaining,
    Rows,
    Walk,
    as_float,
    as_word,
    bit_of,
    emit_best,
    emit_total,
    is_finite,
)


def adjust(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, extra, logits): applies bias and penalties in place. A row has a token at most
    once."""

    def body(tasks, extra, logits) -> None:
        with grid((tasks.shape[0],), ITEMS) as ((task,), item):
            row, first = emit_value(tasks[task, ROW]), emit_value(tasks[task, CHANGES_START])
            count = emit_value(tasks[task, NUM_CHANGES])
            with T.serial(T.floordiv(count + (ITEMS - 1), ITEMS)) as step:
                index = emit_value(step * ITEMS + item)
                with T.If(index < count), T.Then():
                    words = [
                        emit_value(extra[first + index * LOGIT_CHANGE_WORDS + i])
                        for i in range(LOGIT_CHANGE_WORDS)
                    ]
                    token = words[TOKEN]
                    old = emit_value(logits[row, token])
                    with T.If(is_finite(old)), T.Then():
                        bias, repetition, penalty = (
                            as_float(words[i]) for i in (BIAS, REPETITION, PENALTY)
                        )
                        value = emit_value(old + bias)
                        divided = value / repetition
                        scaled = T.Select(value > scalar(0.0), divided, value * repetition)
                        bounded = T.min(T.max(scaled, scalar(-LARGEST)), scalar(LARGEST))
                        T.buffer_store(logits, bounded - penalty, [row, token])

    return kernel([TASKS, EXTRA, rows.logits], body)


def maxima(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, extra, logits, values, places): the largest logit of each part and its first index.

    A logit that the mask forbids, or that is -infinity, becomes IMPOSSIBLE in place. If a part has
    another logit that is not a number, its result is BROKEN, at -1.
    """

    def body(tasks, extra, logits, values, places) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            row, mask = emit_value(tasks[task, ROW]), emit_value(tasks[task, MASK_START])
            limit = emit_value(tasks[task, LIMIT])
            best = Best(rows)

            def look(column) -> None:
                value = emit_value(logits[row, column])
                allowed = registers(1, "int32")
                T.buffer_store(allowed, T.Cast("int32", column < limit), [0])
                with T.If(T.And(mask >= 0, column < limit)), T.Then():
                    bit = T.Cast("int32", bit_of(extra, mask, column))
                    T.buffer_store(allowed, bit, [0])
                finite = emit_value(is_finite(value))
                possible = emit_value(T.And(allowed[0] != 0, finite))
                kept = emit_value(T.Select(possible, value, scalar(IMPOSSIBLE)))
                T.buffer_store(logits, kept, [row, column])
                with T.If(possible), T.Then():
                    best.offer(kept, column)
                no_number = as_word(value) != T.int32(-0x800000)  # the bits of -infinity
                with T.If(T.And(T.And(allowed[0] != 0, T.Not(finite)), no_number)), T.Then():
                    best.offer(scalar(BROKEN), T.int32(-1))

            rows.emit_columns(part, item, look)
            value, place = best.emit_result(item)
            with T.If(item == 0), T.Then():
                T.buffer_store(values, value, [task, part])
                T.buffer_store(places, place, [task, part])

    results = [rows.of_parts("values"), rows.of_parts("places", "int32")]
    return kernel([TASKS, EXTRA, rows.logits, *results], body)


def _is_token(value):
    return T.And(value > scalar(IMPOSSIBLE), value < scalar(BROKEN))


def pick(rows: Rows) -> tirx.PrimFunc:
    """f(values, places, tokens): the likeliest token of each row."""

    def body(values, places, tokens) -> None:
        with grid((tokens.shape[0],), ITEMS) as ((task,), item):
            value, place = emit_best(rows, values, places, task, item)
            with T.If(item == 0), T.Then():
                token = T.Select(_is_token(value), place, T.int32(-1))
                T.buffer_store(tokens, token, [task])

    return kernel([rows.of_parts("values"), rows.of_parts("places", "int32"), TOKENS], body)


def weigh(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, values, places, logits, sums): turns logits into weights in place; sums them for
    each part."""

    def body(tasks, values, places, logits, sums) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            row, scale = emit_value(tasks[task, ROW]), emit_value(as_float(tasks[task, SCALE]))
            largest, _ = emit_best(rows, values, places, task, item)
            own, memory = registers(1), shared(ITEMS)
            T.buffer_store(own, scalar(0.0), [0])

            def weight_of(column) -> None:
                value = emit_value(logits[row, column])
                # Avoids an overflow: below -1e30 the result is always 0.
                below = T.max(T.max(value, scalar(-1e30)) - largest, scalar(-1e30))
                power = emit_value(below * scale)
                weight = registers(1)
                T.buffer_store(weight, scalar(0.0), [0])
                with T.If(T.And(value > scalar(IMPOSSIBLE), power >= scalar(-87.0))), T.Then():
                    T.buffer_store(weight, _exp(T.min(power, scalar(0.0))), [0])
                T.buffer_store(logits, weight[0], [row, column])
                T.buffer_store(own, own[0] + weight[0], [0])

            rows.emit_columns(part, item, weight_of)
            T.buffer_store(memory, own[0], [item])
            emit_group_sums(memory, item, ITEMS, 1)
            with T.If(item == 0), T.Then():
                T.buffer_store(sums, memory[0], [task, part])

    found = [rows.of_parts("values"), rows.of_parts("places", "int32")]
    return kernel([TASKS, *found, rows.logits, rows.of_parts("sums")], body)


def _exp(x):
    """e^x for -87 <= x <= 0, with the method of the core's `row_passes.inc`: Cody and Waite's
    reduction, and the coefficients of expf in Moshier's Cephes library. The error of a device's own
    exp may be as many roundings as |x|.
    """
    whole = emit_value(T.floor(x * scalar(math.log2(math.e)) + scalar(0.5)))
    rest = emit_value(x - whole * scalar(0.693359375) + whole * scalar(2.12194440e-4))
    polynomial = scalar(1.9875691500e-4)
    for coefficient in (
        *(1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
    ):
        polynomial = polynomial * rest + scalar(coefficient)
    power = as_float(T.shift_left(T.Cast("int32", whole) + 127, T.int32(23)))
    return (polynomial * (rest * rest) + rest + scalar(1.0)) * power


def whole(rows: Rows) -> tirx.PrimFunc:
    """f(sums, cut): a cut that keeps everything."""

    def body(sums, cut) -> None:
        with grid((cut.shape[0],), ITEMS) as ((task,), item):
            total = emit_total(sums, (task,), rows.parts, item, shared(ITEMS))
            with T.If(item == 0), T.Then():
                T.buffer_store(cut, T.int32(0), [task, LEAST])
                T.buffer_store(cut, T.int32(ALL), [task, NUM_EQUAL])
                T.buffer_store(cut, as_word(total), [task, SUM])

    return kernel([rows.of_parts("sums"), CUT], body)


def measure(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, cut, logits, above, equal): for each part, the sum of the weights above the edge,
    and the number of weights equal to it."""

    def body(tasks, cut, logits, above, equal) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            row, left = emit_value(tasks[task, ROW]), Remaining(tasks, cut, task)
            own, count = registers(1), registers(1)
            memory = shared(ITEMS), shared(ITEMS)
            T.buffer_store(own, scalar(0.0), [0])
            T.buffer_store(count, scalar(0.0), [0])

            def add(column) -> None:
                weight = emit_value(logits[row, column])
                more = T.Select(left.is_above(weight), weight, scalar(0.0))
                one = T.Select(left.is_equal(weight), scalar(1.0), scalar(0.0))
                T.buffer_store(own, own[0] + more, [0])
                T.buffer_store(count, count[0] + one, [0])

            rows.emit_columns(part, item, add)
            for sums, buffer in zip(memory, (own, count), strict=True):
                T.buffer_store(sums, buffer[0], [item])
                emit_group_sums(sums, item, ITEMS, 1)
            with T.If(item == 0), T.Then():
                T.buffer_store(above, memory[0][0], [task, part])
                T.buffer_store(equal, T.Cast("int32", memory[1][0]), [task, part])

    results = [rows.of_parts("above"), rows.of_parts("equal", "int32")]
    return kernel([TASKS, CUT, rows.logits, *results], body)


def draw(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, values, places, cut, above, equal, logits, tokens): the token at which `uniform`
    times the sum of the remaining weights falls. With top_k = 1 it is the likeliest token."""

    def body(tasks, values, places, cut, above, equal, logits, tokens) -> None:
        with grid((tokens.shape[0],), ITEMS) as ((task,), item):
            largest, likeliest = emit_best(rows, values, places, task, item)
            left = Remaining(tasks, cut, task)
            draw = _Draw(rows, left, item)
            draw.load_parts(above, equal, task)
            part = draw.emit_part(as_float(tasks[task, UNIFORM]))
            row = emit_value(tasks[task, ROW])
            draw.load_slices(logits, row, part.chosen)
            slice_ = draw.emit_slice(part)
            with T.If(item == T.max(slice_.chosen, 0)), T.Then():
                column = draw.emit_column(logits, row, part.chosen, slice_)
                greedy = tasks[task, TOP_K] == 1
                token = T.Select(greedy, likeliest, column)
                T.buffer_store(tokens, T.Select(_is_token(largest), token, T.int32(-1)), [task])

    found = [rows.of_parts("values"), rows.of_parts("places", "int32")]
    masses = [rows.of_parts("above"), rows.of_parts("equal", "int32")]
    return kernel([TASKS, *found, CUT, *masses, rows.logits, TOKENS], body)


class _Draw:
    """Walks to a part, then to a work-item's slice of neighbours in it, then to the token."""

    def __init__(self, rows: Rows, left: Remaining, item) -> None:
        self.rows, self.left, self.item = rows, left, item
        size = max(rows.parts, ITEMS)
        self.above, self.equal = shared(size), shared(size, "int32")

    def load_parts(self, above, equal, task) -> None:
        def load(i) -> None:
            T.buffer_store(self.above, above[task, i], [i])
            T.buffer_store(self.equal, equal[task, i], [i])

        emit_spread(self.rows.parts, ITEMS, self.item, load)
        barrier()

    def _walk(self, walk: Walk, count: int) -> Walk:
        with T.serial(count) as i:
            mass = self.left.mass(self.above[i], self.equal[i], walk.ties_left)
            walk.step(i, mass, self.equal[i])
        return walk

    def emit_part(self, uniform) -> Walk:
        # No sum reaches this target, so the walk adds up everything.
        whole_walk = self._walk(Walk(scalar(LARGEST), ties=self.left.num_equal), self.rows.parts)
        target = emit_value(uniform * whole_walk.walked)
        return self._walk(Walk(target, ties=self.left.num_equal), self.rows.parts)

    def _columns(self, part, index, body) -> None:
        size = self.rows.part // ITEMS
        with T.serial(size) as i:
            column = emit_value(T.max(part, 0) * self.rows.part + index * size + i)
            with T.If(column < self.rows.columns), T.Then():
                body(column)

    def load_slices(self, logits, row, part) -> None:
        own, count = registers(1), registers(1, "int32")
        T.buffer_store(own, scalar(0.0), [0])
        T.buffer_store(count, T.int32(0), [0])

        def add(column) -> None:
            weight = emit_value(logits[row, column])
            more = T.Select(self.left.is_above(weight), weight, scalar(0.0))
            T.buffer_store(own, own[0] + more, [0])
            one = T.Cast("int32", self.left.is_equal(weight))
            T.buffer_store(count, count[0] + one, [0])

        self._columns(part, self.item, add)
        barrier()  # the parts are not read any more
        T.buffer_store(self.above, own[0], [self.item])
        T.buffer_store(self.equal, count[0], [self.item])
        barrier()

    def emit_slice(self, part: Walk) -> Walk:
        return self._walk(Walk(emit_value(part.target_inside), ties=part.ties_inside), ITEMS)

    def emit_column(self, logits, row, part, slice_: Walk):
        walk = Walk(emit_value(slice_.target_inside), ties=slice_.ties_inside)

        def step(column) -> None:
            weight = emit_value(logits[row, column])
            above = T.Select(self.left.is_above(weight), weight, scalar(0.0))
            equal = emit_value(T.Cast("int32", self.left.is_equal(weight)))
            walk.step(column, self.left.mass(above, equal, walk.ties_left), equal)

        self._columns(part, T.max(slice_.chosen, 0), step)
        return walk.chosen
