"""What the kernels that choose tokens share: how a row of logits is cut, and what is said of it.

A row is cut into parts of neighbouring columns, a work-group each. Tensors of 32-bit words hold
numbers of both kinds; a float's word is its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_group_sums,
    emit_spread,
    emit_value,
    registers,
    scalar,
    shared,
)
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import TASK_WORDS

ITEMS = 64  # of a work-group
_MOST_PARTS = 128
_LEAST_PART = 1024

# Words of a cut: the least weight that is left, how many of that weight, the sum of all that is.
LEAST, NUM_EQUAL, SUM = range(3)
CUT_WORDS = 3
ALL = 2**31 - 1

TASKS = Arg("tasks", ("n", TASK_WORDS), "int32")
EXTRA = Arg("extra", ("w",), "int32")  # masks, a bit a token; changes
TOKENS = Arg("tokens", ("n",), "int32")  # -1: none is possible, or a logit is not a number

# Logits that mark a token that cannot be chosen, and a row with one that is not a number. No real
# infinities: WGSL does not know them.
IMPOSSIBLE, BROKEN = -3.402823e38, 3.402823e38
LARGEST = 3.4e38  # that a penalty makes


@dataclass(frozen=True)
class Rows:
    """The logits' columns, and how many of them a work-group takes: a multiple of ITEMS."""

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
        """`body(column)` for the columns of a part, shared out among the items."""

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
    """Whether bit `index` of the words from `first` on is set; low bits first."""
    word = words[first + T.shift_right(index, T.int32(5))]
    return T.bitwise_and(T.shift_right(word, T.bitwise_and(index, 31)), 1) != 0


class Best:
    """The largest value and its place, the lowest of equal ones, found by all items together."""

    def __init__(self, rows: Rows) -> None:
        self._none = rows.columns
        self._values, self._places = shared(ITEMS), shared(ITEMS, "int32")
        self._value, self._place = registers(1), registers(1, "int32")
        T.buffer_store(self._value, scalar(IMPOSSIBLE), [0])
        T.buffer_store(self._place, T.int32(self._none), [0])

    def offer(self, value: Any, place: Any) -> None:
        """Of an item's own; places may come in any order."""
        best, at = self._value[0], self._place[0]
        with T.If(T.Or(value > best, T.And(value == best, place < at))), T.Then():
            T.buffer_store(self._value, value, [0])
            T.buffer_store(self._place, place, [0])

    def emit_result(self, item: Any) -> tuple[Any, Any]:
        """(value, place) for every item; place is beyond the row when nothing is possible."""
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


class Walk:
    """Goes along masses in their order, by one item, to the one that a target falls in.

    What holds nothing is passed over; where rounding leaves the target behind the end, the last one
    that holds something is taken. `chosen` is -1 while nothing was.
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
        """The sum of the masses up to the chosen one."""
        return self._floats[0]

    @property
    def target_inside(self) -> Any:
        """What is left of the target when the chosen one begins."""
        return self.target - self._floats[1]

    @property
    def ties_left(self) -> Any:
        """How many of the weights at the edge may still be taken, before the next one."""
        return self._ints[2]

    @property
    def ties_inside(self) -> Any:
        """The same, when the chosen one begins."""
        return self._ints[3]

    def step(self, index: Any, mass: Any, ties: Any = None) -> None:
        """The next one, of that mass; `ties`: weights at the edge that are in it."""
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
