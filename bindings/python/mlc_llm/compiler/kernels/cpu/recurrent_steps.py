"""What the kernels of recurrent layers share: how the rows of a sequence are walked.

A task walks the rows of one sequence in order, for some channels or for one head, so that a row's
result depends on its history alone. `kernels/common/recurrent.py` describes the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.vector import at, emit_value, exp2, fma

PARALLEL_FROM = 1 << 14  # multiplications


@dataclass(frozen=True)
class Steps:
    source: Any
    indptr: Any
    writes: Any
    states: Any

    def emit(
        self,
        sequence,
        read: Callable,
        clear: Callable,
        row: Callable,
        write: Callable,
        tile: tuple[int, Callable] | None = None,
    ) -> None:
        """`read(slot)` or `clear()`, then `row(r)` and `write(slot)` for each row. `tile`: a number
        of rows, and what computes so many from row r on; it is used where only the state behind the
        last of them is wanted."""
        source = emit_value(self.source[sequence])
        with T.If(source >= 0):
            with T.Then():
                read(source)
            with T.Else():
                clear()
        first, end = emit_value(self.indptr[sequence]), emit_value(self.indptr[sequence + 1])
        if tile is None:
            self._emit_rows(first, end - first, row, write)
            return
        count, body = tile
        with T.serial((end - first + (count - 1)) // count) as number:
            begin = emit_value(first + number * count)
            whole = begin + count <= end
            for j in range(count - 1):
                whole = T.And(whole, self.writes[T.min(begin + j, end - 1)] < 0)
            with T.If(whole):
                with T.Then():
                    body(begin)
                    self._emit_write(begin + (count - 1), write)
                with T.Else():
                    self._emit_rows(begin, T.min(end - begin, count), row, write)

    def _emit_rows(self, first, count, row: Callable, write: Callable) -> None:
        with T.serial(count) as i:
            r = emit_value(first + i)
            row(r)
            self._emit_write(r, write)

    def _emit_write(self, r, write: Callable) -> None:
        slot = emit_value(self.writes[r])
        with T.If(slot >= 0), T.Then():
            write(slot)


class HeadState:
    """The state of one head, float32 [size], while its rows are walked; `states` has those of all
    slots."""

    def __init__(self, size: int, states, head) -> None:
        self.size, self.states, self.head = size, states, head
        self.values = T.sblock_alloc_buffer((size,), "float32")

    def load(self, k):
        return self.values[at(k)]

    def store(self, k, value) -> None:
        T.buffer_store(self.values, value, [at(k)])

    def emit_read(self, slot) -> None:
        self._emit_over(lambda k: self.store(k, self.states[slot, self.head, at(k)]))

    def emit_clear(self) -> None:
        self._emit_over(lambda k: self.store(k, splat(0.0)))

    def emit_write(self, slot) -> None:
        self._emit_over(
            lambda k: T.buffer_store(self.states, self.load(k), [slot, self.head, at(k)])
        )

    def _emit_over(self, body: Callable) -> None:
        with T.serial(self.size // LANES) as v:
            body(v * LANES)


def emit_decay(rate, time_step):
    """The factor by which a state decays: exp(rate * time_step)."""
    return emit_value(exp2(emit_value(rate * time_step * T.float32(math.log2(math.e))), 1))


def emit_tasks(number, each_from: int, rows, body: Callable[[Any], None]) -> None:
    """`body(task)`, on all threads where there are `each_from` rows at least."""

    def loop(kind) -> None:
        with kind(number) as task, T.sblock("task"):
            T.reads()
            T.writes()
            body(task)

    with T.If(rows >= each_from):
        with T.Then():
            loop(T.parallel)
        with T.Else():
            loop(T.serial)


def softplus(x, lanes: int = 1):
    """log(1 + exp(x)): max(x, 0) + log(1 + t), t = exp(-|x|), the logarithm by
    2 artanh(t / (2 + t)). Relative error 1e-9 of the series."""

    def number(value: float):
        return splat(T.float32(value), lanes)

    x = emit_value(x)
    t = exp2(T.max(x, number(0) - x) * number(-math.log2(math.e)), lanes)
    z = emit_value(t / (t + number(2)))
    square = emit_value(z * z)
    series = number(1 / 17)
    for power in range(15, 0, -2):
        series = fma(series, square, number(1 / power), lanes)
    return emit_value(fma(series, z * number(2), T.max(x, number(0)), lanes))
