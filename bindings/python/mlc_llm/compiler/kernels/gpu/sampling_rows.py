"""The common part of the sampling kernels: how a row of logits is divided, and the tasks' words.

A row is divided into parts of neighbouring columns, one for each work-group. Tensors of 32-bit
words contain integers and floats; the word of a float is its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_group_sums,
    emit_spread,
    emit_value,
    registers,
    scalar,
    shared,
)
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import MIN_P, TASK_WORDS

ITEMS = 64  # of a work-group
_MOST_PARTS = 128
_LEAST_PART = 1024

# Words of a cut: the least weight that is left, how many of that weight, the sum of all that is.
LEAST, NUM_EQUAL, SUM = range(3)
CUT_WORDS = 3
ALL = 2**31 - 1

TASKS = Arg("tasks", ("n", TASK_WORDS), "int32")
EXTRA = Arg("extra", ("w",), "int32")  # masks, with one bit for each token; then changes
CUT = Arg("cut", ("n", CUT_WORDS), "int32")
TOKENS = Arg("tokens", ("n",), "int32")  # -1: no token is possible, or a logit is not a number

# A logit that marks an impossible token, and one that marks a row with a logit that is not a
# number. They are not infinities, because WGSL does not have infinities.
IMPOSSIBLE, BROKEN = -3.402823e38, 3.402823e38
LARGEST = 3.4e38  # the largest logit after a penalty


@dataclass(frozen=True)
class Rows:
    """The number of columns of the logits, and how many a work-group takes: a multiple of ITEMS."""

    columns: int
    part: int

    @classmethod
    def of(cls, columns: int) -> Rows:
        part = -(-columns // _MOST_PARTS)
        return cls(columns, max(_LEAST_PART, -(-part // ITEMS) * ITEMS))

    @property
    def parts(self) -> int:
        return -(-self.columns // self.part)

    @property
    def logits(self) -> Arg:
        return Arg("logits", ("m", self.columns))

    def of_parts(self, name: str, dtype: str = "float32") -> Arg:
        return Arg(name, ("n", self.parts), dtype)

    def emit_columns(self, part: Any, item: Any, body: Callable[[Any], None]) -> None:
        """Calls `body(column)` for the columns of a part, divided among the work-items."""

        def inside(i: Any) -> None:
            column = emit_value(part * self.part + i)
            with T.If(column < self.columns), T.Then():
                body(column)

        emit_spread(self.part, ITEMS, item, inside)


def as_float(word: Any) -> Any:
    return T.reinterpret("float32", word)


def as_word(value: Any) -> Any:
    return T.reinterpret("int32", value)


def is_finite(value: Any) -> Any:
    exponent = T.int32(0x7F800000)
    return T.bitwise_and(as_word(value), exponent) != exponent


def bit_of(words: Any, first: Any, index: Any) -> Any:
    """Whether bit `index` of the words from `first` on is set. Low bits come first."""
    word = words[first + T.shift_right(index, T.int32(5))]
    return T.bitwise_and(T.shift_right(word, T.bitwise_and(index, 31)), 1) != 0


class Best:
    """The largest value and its index (the lowest of equal ones), found by all work-items
    together."""

    def __init__(self, rows: Rows) -> None:
        self._none = rows.columns
        self._values, self._places = shared(ITEMS), shared(ITEMS, "int32")
        self._value, self._place = registers(1), registers(1, "int32")
        T.buffer_store(self._value, scalar(IMPOSSIBLE), [0])
        T.buffer_store(self._place, T.int32(self._none), [0])

    def offer(self, value: Any, place: Any) -> None:
        """Offers a value of one work-item. Indices may come in any order."""
        best, at = self._value[0], self._place[0]
        with T.If(T.Or(value > best, T.And(value == best, place < at))), T.Then():
            T.buffer_store(self._value, value, [0])
            T.buffer_store(self._place, place, [0])

    def emit_result(self, item: Any) -> tuple[Any, Any]:
        """(value, index) for every work-item. The index is behind the row if no token is
        possible."""
        T.buffer_store(self._values, self._value[0], [item])
        T.buffer_store(self._places, self._place[0], [item])
        barrier()
        width = ITEMS // 2
        while width >= 1:
            with T.If(item < width), T.Then():
                self.offer(self._values[item + width], self._places[item + width])
                T.buffer_store(self._values, self._value[0], [item])
                T.buffer_store(self._places, self._place[0], [item])
            barrier()
            width //= 2
        return emit_value(self._values[0]), emit_value(self._places[0])


def emit_best(rows: Rows, values, places, task, item):
    """(value, place) of the whole row, for every work-item."""
    best = Best(rows)
    emit_spread(rows.parts, ITEMS, item, lambda i: best.offer(values[task, i], places[task, i]))
    return best.emit_result(item)


class Remaining:
    """The weights that are left: those above the edge, some of those equal to it, and at least
    min_p."""

    def __init__(self, tasks, cut, task) -> None:
        self.edge = emit_value(cut[task, LEAST])
        self.num_equal = emit_value(cut[task, NUM_EQUAL])
        self.min_p = emit_value(as_float(tasks[task, MIN_P]))

    @property
    def edge_weight(self):
        return as_float(self.edge)

    def is_above(self, weight):
        return T.And(as_word(weight) > self.edge, weight >= self.min_p)

    def is_equal(self, weight):
        """Whether it is equal to the edge. A weight of 0 never is."""
        return T.And(
            T.And(as_word(weight) == self.edge, weight >= self.min_p), weight > scalar(0.0)
        )

    def mass(self, above, num_equal, ties_left):
        taken = T.Cast("float32", T.min(num_equal, ties_left))
        return above + taken * self.edge_weight


class Walk:
    """One work-item walks along masses, in order, to the mass in which a target falls.

    Masses of 0 are skipped. If the target is behind the end because of rounding, the last mass over
    0 is chosen. `chosen` is -1 until a mass is chosen.
    """

    def __init__(self, target: Any, *, ties: Any = 0) -> None:
        self.target = target
        self._ints, self._floats = registers(4, "int32"), registers(2)
        for i, value in enumerate((-1, 0, ties, ties)):
            T.buffer_store(self._ints, T.int32(value) if isinstance(value, int) else value, [i])
        for i in range(2):
            T.buffer_store(self._floats, scalar(0.0), [i])

    @property
    def chosen(self) -> Any:
        return self._ints[0]

    @property
    def walked(self) -> Any:
        """The sum of the masses up to the chosen one, with it."""
        return self._floats[0]

    @property
    def target_inside(self) -> Any:
        """The rest of the target at the beginning of the chosen mass."""
        return self.target - self._floats[1]

    @property
    def ties_left(self) -> Any:
        """How many weights at the edge may still be taken, before the next mass."""
        return self._ints[2]

    @property
    def ties_inside(self) -> Any:
        """The same, at the beginning of the chosen mass."""
        return self._ints[3]

    def step(self, index: Any, mass: Any, ties: Any = None) -> None:
        """Adds the next mass. `ties`: the number of weights at the edge in it."""
        ints, floats = self._ints, self._floats
        mass = emit_value(mass)
        with T.If(T.And(ints[1] == 0, mass > scalar(0.0))), T.Then():
            T.buffer_store(ints, index, [0])
            T.buffer_store(floats, floats[0], [1])
            T.buffer_store(ints, ints[2], [3])
            T.buffer_store(floats, floats[0] + mass, [0])
            T.buffer_store(ints, T.Cast("int32", floats[0] > self.target), [1])
        if ties is not None:
            T.buffer_store(ints, T.max(ints[2] - ties, 0), [2])


def emit_total(buffer: Any, indices: Sequence[Any], count: int, item: Any, memory: Any) -> Any:
    """The sum of `buffer[*indices, i]` for i < count, for every item; `memory` is shared(ITEMS)."""
    own = registers(1)
    T.buffer_store(own, scalar(0.0), [0])
    emit_spread(
        count, ITEMS, item, lambda i: T.buffer_store(own, own[0] + buffer[(*indices, i)], [0])
    )
    T.buffer_store(memory, own[0], [item])
    emit_group_sums(memory, item, ITEMS, 1)
    return emit_value(memory[0])
