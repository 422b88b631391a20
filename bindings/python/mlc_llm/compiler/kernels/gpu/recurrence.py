"""Recurrent layers on GPUs: a work-item has the state of one channel and walks the rows of its
sequence in order, so that a row's result depends on its history alone.

The delta rule and the scan take some rows of a prompt together (a tile): the state goes through
memory once for all of them. Each row's sums keep their order, so that the bits are those of rows
one by one.

The functions are those of `kernels/cpu/recurrence.py` and `kernels/cpu/state_space.py`. `x_dtype`
is the type of the rows that the linear layer `in` gives, `y_dtype` that of the result; what is
between the kernels of a layer is float32, as states are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import (
    ChannelDeltaShape,
    ConvShape,
    DeltaShape,
    ScanShape,
    step_args,
)
from mlc_llm.compiler.kernels.gpu.elementwise import (
    ACTIVATIONS,
    ITEMS,
    emit_factor_of,
    emit_norm_factor,
    sigmoid,
)
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_fill,
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    scalar,
    to_float,
)

_TILE = 4  # rows
_UNIT_EPS = 1e-6  # of the length of keys and queries
_silu = ACTIVATIONS["silu"]


@dataclass(frozen=True)
class Steps:
    """The arguments of `step_args`."""

    source: Any
    indptr: Any
    writes: Any
    states: Any

    def emit_read(self, sequence: Any, *place: Any) -> Any:
        """A number of the state from which a sequence goes on."""
        slot = self.source[sequence]
        return T.if_then_else(slot >= 0, self.states[(T.max(slot, 0), *place)], scalar(0.0))

    def emit(
        self, sequence: Any, row: Callable, write: Callable, tile: Callable | None = None
    ) -> None:
        """`row(r)` for each row, and `write(slot)` where the state behind it is wanted. `tile(r)`
        computes _TILE rows from r on; it is used where only the state behind the last of them is
        wanted."""
        first, end = emit_value(self.indptr[sequence]), emit_value(self.indptr[sequence + 1])
        if tile is None:
            self._emit_rows(first, end - first, row, write)
            return
        with T.serial((end - first + (_TILE - 1)) // _TILE) as number:
            begin = emit_value(first + number * _TILE)
            whole = begin + _TILE <= end
            for j in range(_TILE - 1):
                whole = T.And(whole, self.writes[T.min(begin + j, end - 1)] < 0)
            with T.If(whole):
                with T.Then():
                    tile(begin)
                    self._emit_write(begin + (_TILE - 1), write)
                with T.Else():
                    self._emit_rows(begin, T.min(end - begin, _TILE), row, write)

    def _emit_rows(self, first: Any, count: Any, row: Callable, write: Callable) -> None:
        with T.serial(count) as i:
            r = emit_value(first + i)
            row(r)
            self._emit_write(r, write)

    def _emit_write(self, r: Any, write: Callable) -> None:
        slot = emit_value(self.writes[r])
        with T.If(slot >= 0), T.Then():
            write(slot)


def causal_conv(
    shape: ConvShape, *, x_dtype: str = "float32", y_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, columns], weight [taps, width], (bias [width]), *steps, y [n, width])."""
    before, width = shape.taps - 1, shape.width

    def body(x, weight, *rest) -> None:
        *bias, source, indptr, writes, states, y = rest
        steps = Steps(source, indptr, writes, states)
        with grid((-(-width // ITEMS), source.shape[0]), ITEMS) as ((part, sequence), item):
            channel = emit_value(part * ITEMS + item)
            past = registers(before)

            def row(r) -> None:
                value = emit_value(_taken(x, shape, r, channel))
                total = to_float(bias[0][channel], 1) if bias else scalar(0.0)
                for j in range(before):
                    total = total + past[j] * to_float(shape.tap(weight, j, channel), 1)
                last = to_float(shape.tap(weight, before, channel), 1)
                total = emit_value(total + value * last)
                gate = to_float(x[r, width + channel], 1) if shape.is_gated else None
                emit_store(y, _silu(total) if gate is None else gate * total, [r, channel])
                for j in range(1, before):
                    T.buffer_store(past, past[j], [j - 1])
                T.buffer_store(past, value, [before - 1])

            def write(slot) -> None:
                for j in range(before):
                    T.buffer_store(states, past[j], [slot, j, channel])

            with T.If(channel < width), T.Then():
                for j in range(before):
                    T.buffer_store(past, steps.emit_read(sequence, j, channel), [j])
                steps.emit(sequence, row, write)

    weights = [shape.weight]
    weights += [Arg("bias", (width,), shape.bias_dtype)] if shape.bias_dtype else []
    x = Arg("x", ("n", shape.columns), x_dtype)
    return kernel([x, *weights, *step_args(*shape.state), Arg("y", ("n", width), y_dtype)], body)


def _taken(x: Any, shape: ConvShape, r: Any, channel: Any) -> Any:
    """What the convolution takes of row r."""
    value = to_float(x[r, channel], 1)
    return value * to_float(x[r, 2 * shape.width + channel], 1) if shape.is_gated else value


@dataclass(frozen=True)
class Column:
    """A column of the state [rows, width] of one head."""

    steps: Steps
    rows: int
    width: int
    head: Any
    column: Any
    values: Any  # registers(rows)

    def place(self, i: Any) -> Any:
        return i * self.width + self.column

    def emit_begin(self, sequence: Any) -> None:
        with T.serial(self.rows) as i:
            value = self.steps.emit_read(sequence, self.head, self.place(i))
            T.buffer_store(self.values, value, [i])

    def emit_write(self, slot: Any) -> None:
        with T.serial(self.rows) as i:
            T.buffer_store(self.steps.states, self.values[i], [slot, self.head, self.place(i)])


def delta_rule(shape: DeltaShape, *, x_dtype: str = "float32") -> tirx.PrimFunc:
    """f(qkv [n, convolved], gates [n, columns], decay [heads], time_step [heads], *steps,
    y [n, values]). `x_dtype` is the type of the gates."""
    s = shape

    def body(qkv, gates, decay, time_step, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        parts = -(-s.value_dim // ITEMS)
        with grid((parts * s.heads, source.shape[0]), ITEMS) as ((group, sequence), item):
            head, column = emit_value(group // parts), emit_value(group % parts * ITEMS + item)
            state = Column(steps, s.key_dim, s.value_dim, head, column, registers(s.key_dim))
            weights = [to_float(buffer[head], 1) for buffer in (decay, time_step)]
            one = _DeltaHead(s, qkv, gates, y, state, weights)
            with T.If(column < s.value_dim), T.Then():
                state.emit_begin(sequence)
                steps.emit(sequence, lambda r: one.emit(r, 1), state.emit_write, one.emit)

    args = [
        Arg("qkv", ("n", s.convolved)),
        Arg("gates", ("n", s.columns), x_dtype),
        Arg("decay", (s.heads,), s.decay_dtype),
        Arg("time_step", (s.heads,), s.time_step_dtype),
    ]
    return kernel([*args, *step_args(*s.state), Arg("y", ("n", s.values))], body)


class _DeltaHead:
    """Some rows of one head. Keys and queries are scaled to length 1 by factors on sums: the
    squares are added up in the loops that read them for the state."""

    def __init__(
        self, shape: DeltaShape, qkv: Any, gates: Any, y: Any, state: Column, weights: list
    ) -> None:
        self.shape, self.qkv, self.gates, self.y = shape, qkv, gates, y
        self.state, self.weights = state, weights  # decay, bias of the time step
        self.query = emit_value(self._share() * shape.key_dim)
        self.key = emit_value(self.query + shape.keys)
        # of the row that recalls, and of the row that answers
        self.recalled, self.key_square = registers(1), registers(1)
        self.answer, self.query_square = registers(1), registers(1)

    def _share(self) -> Any:
        s, head = self.shape, self.state.head
        return head % s.key_heads if s.tiled else head // (s.heads // s.key_heads)

    def emit(self, first: Any, rows: int = _TILE) -> None:
        """`rows` rows from the first on."""
        values, kept = self.state.values, self._emit_kept(first)
        self._emit_clear(self.recalled, self.key_square)
        with T.serial(self.shape.key_dim) as i:
            T.buffer_store(values, self._emit_recall(first, i, values[i], kept), [i])
        for j in range(rows):
            self._emit_row(first + j, is_last=j == rows - 1)

    def _emit_clear(self, *registers: Any) -> None:
        for register in registers:
            emit_fill(register, 1, 0.0)

    def _emit_kept(self, r: Any) -> Any:
        """By how much row r multiplies the state."""
        s, (rate, bias) = self.shape, self.weights
        step = self.gates[r, s.convolved + s.values + s.heads + self.state.head]
        return emit_value(T.exp(rate * softplus(to_float(step, 1) + bias)))

    def _beta(self, r: Any) -> Any:
        s = self.shape
        return sigmoid(to_float(self.gates[r, s.convolved + s.values + self.state.head], 1))

    def _emit_recall(self, r: Any, i: Any, value: Any, kept: Any) -> Any:
        """A number of the state decays; what it has for the key of row r."""
        value, key = emit_value(value * kept), emit_value(self.qkv[r, self.key + i])
        T.buffer_store(self.recalled, self.recalled[0] + key * value, [0])
        T.buffer_store(self.key_square, self.key_square[0] + key * key, [0])
        return value

    def _emit_row(self, r: Any, *, is_last: bool) -> None:
        """Row r changes the state and asks it. If it is not the last, the next row recalls in the
        same loop."""
        s, values = self.shape, self.state.values
        column = emit_value(self.state.head * s.value_dim + self.state.column)
        length = emit_value(scalar(1.0) / T.sqrt(self.key_square[0] + scalar(_UNIT_EPS)))
        beta = self._beta(r)
        value = self.qkv[r, 2 * s.keys + column]
        change = emit_value((value - self.recalled[0] * length) * beta * length)
        kept = None if is_last else self._emit_kept(r + 1)
        self._emit_clear(self.answer, self.query_square, self.recalled, self.key_square)
        with T.serial(s.key_dim) as i:
            made = emit_value(values[i] + self.qkv[r, self.key + i] * change)
            query = emit_value(self.qkv[r, self.query + i])
            T.buffer_store(self.answer, self.answer[0] + query * made, [0])
            T.buffer_store(self.query_square, self.query_square[0] + query * query, [0])
            made = made if is_last else self._emit_recall(r + 1, i, made, kept)
            T.buffer_store(values, made, [i])
        length = scalar(s.key_dim**-0.5) / T.sqrt(self.query_square[0] + scalar(_UNIT_EPS))
        T.buffer_store(self.y, self.answer[0] * length, [r, column])


def channel_delta(shape: ChannelDeltaShape, *, x_dtype: str = "float32") -> tirx.PrimFunc:
    """f(qkv [n, convolved], kept [n, keys], beta [n, heads], *steps, y [n, values]). `x_dtype` is
    the type of the betas."""
    s = shape

    def body(qkv, kept, beta, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        parts = -(-s.value_dim // ITEMS)
        with grid((parts * s.heads, source.shape[0]), ITEMS) as ((group, sequence), item):
            head, column = emit_value(group // parts), emit_value(group % parts * ITEMS + item)
            state = Column(steps, s.key_dim, s.value_dim, head, column, registers(s.key_dim))
            one = _ChannelHead(s, qkv, beta, y, state, [kept])
            with T.If(column < s.value_dim), T.Then():
                state.emit_begin(sequence)
                steps.emit(sequence, lambda r: one.emit(r, 1), state.emit_write, one.emit)

    args = [
        Arg("qkv", ("n", s.convolved)),
        Arg("kept", ("n", s.keys)),
        Arg("beta", ("n", s.heads), x_dtype),
    ]
    return kernel([*args, *step_args(*s.state), Arg("y", ("n", s.values))], body)


class _ChannelHead(_DeltaHead):
    """The same with a decay for each row of the state; the gates are the betas."""

    def _emit_kept(self, r: Any) -> Any:
        return None

    def _beta(self, r: Any) -> Any:
        return sigmoid(to_float(self.gates[r, self.state.head], 1))

    def _emit_recall(self, r: Any, i: Any, value: Any, kept: Any) -> Any:
        (every,) = self.weights
        return super()._emit_recall(r, i, value, every[r, self.query + i])


def channel_decay(
    heads: int, dim: int, decay_dtype: str, time_step_dtype: str, *, x_dtype: str = "float32"
) -> tirx.PrimFunc:
    """As `kernels/cpu/recurrence.py` has it."""
    width = heads * dim

    def body(x, decay, time_step, y) -> None:
        with grid((-(-width // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < width), T.Then():
                step = softplus(to_float(x[row, k], 1) + to_float(time_step[k], 1))
                T.buffer_store(y, T.exp(to_float(decay[k // dim], 1) * step), [row, k])

    weights = [Arg("decay", (heads,), decay_dtype), Arg("time_step", (width,), time_step_dtype)]
    return kernel([Arg("x", ("n", width), x_dtype), *weights, Arg("y", ("n", width))], body)


def softplus(x: Any) -> Any:
    x = emit_value(x)
    magnitude = T.max(x, scalar(0.0) - x)
    return emit_value(T.max(x, scalar(0.0)) + T.log(scalar(1.0) + T.exp(scalar(0.0) - magnitude)))


def scan(shape: ScanShape, *, x_dtype: str = "float32") -> tirx.PrimFunc:
    """f(xbc [n, convolved], gates [n, columns], decay [heads], time_step [heads], skip [heads],
    *steps, y [n, values]). `x_dtype` is the type of the gates."""
    s = shape

    def body(xbc, gates, decay, time_step, skip, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        parts = -(-s.head_dim // ITEMS)
        with grid((parts * s.heads, source.shape[0]), ITEMS) as ((group, sequence), item):
            head, column = emit_value(group // parts), emit_value(group % parts * ITEMS + item)
            state = Column(steps, s.state_dim, s.head_dim, head, column, registers(s.state_dim))
            weights = [to_float(buffer[head], 1) for buffer in (decay, time_step, skip)]
            one = _ScanHead(s, xbc, gates, y, state, weights)
            with T.If(column < s.head_dim), T.Then():
                state.emit_begin(sequence)
                steps.emit(sequence, lambda r: one.emit(r, 1), state.emit_write, one.emit)

    args = [
        Arg("xbc", ("n", s.convolved)),
        Arg("gates", ("n", s.columns), x_dtype),
        Arg("decay", (s.heads,), s.decay_dtype),
        Arg("time_step", (s.heads,), s.time_step_dtype),
        Arg("skip", (s.heads,), s.skip_dtype),
    ]
    return kernel([*args, *step_args(*s.state), Arg("y", ("n", s.values))], body)


class _ScanHead:
    """Some rows of one head."""

    def __init__(
        self, shape: ScanShape, xbc: Any, gates: Any, y: Any, state: Column, weights: list
    ) -> None:
        self.shape, self.xbc, self.gates, self.y = shape, xbc, gates, y
        self.state, self.weights = state, weights  # decay, bias of the time step, skip
        group = state.head // (shape.heads // shape.groups)
        self.writer = emit_value(group * shape.state_dim + shape.values)
        self.reader = emit_value(self.writer + shape.groups * shape.state_dim)
        self.sums = registers(_TILE)

    def emit(self, first: Any, rows: int = _TILE) -> None:
        """`rows` rows from the first on."""
        s, values = self.shape, self.state.values
        rate, bias, skip = self.weights
        column = emit_value(self.state.head * s.head_dim + self.state.column)
        kept, taken = [], []
        for j in range(rows):
            time = self.gates[first + j, s.convolved + s.values + self.state.head]
            step = softplus(to_float(time, 1) + bias)
            kept.append(emit_value(T.exp(rate * step)))
            value = emit_value(self.xbc[first + j, column])
            taken.append(emit_value(value * step))
            T.buffer_store(self.sums, value * skip, [j])
        with T.serial(s.state_dim) as i:
            made = values[i]
            for j in range(rows):
                write, read = (self.xbc[first + j, p + i] for p in (self.writer, self.reader))
                made = emit_value(made * kept[j] + write * taken[j])
                T.buffer_store(self.sums, self.sums[j] + read * made, [j])
            T.buffer_store(values, made, [i])
        for j in range(rows):
            T.buffer_store(self.y, self.sums[j], [first + j, column])


def gated_norm(
    heads: int,
    dim: int,
    eps: float,
    columns: int,
    first: int,
    dtype: str,
    *,
    activation: str = "silu",
    x_dtype: str = "float32",
    y_dtype: str = "float32",
) -> tirx.PrimFunc:
    """f(x [n, heads dim], gates [n, columns], weight [dim], y [n, heads dim])."""

    def body(x, gates, weight, y) -> None:
        with grid((heads, y.shape[0]), ITEMS) as ((head, row), item):
            begin = emit_value(head * dim)
            factor = emit_norm_factor(x, row, begin, dim, eps, item)

            def scale(k) -> None:
                value = x[row, begin + k] * factor * to_float(weight[k], 1)
                gate = emit_value(to_float(gates[row, first + begin + k], 1))
                emit_store(y, value * ACTIVATIONS[activation](gate), [row, begin + k])

            emit_spread(dim, ITEMS, item, scale)

    given = [Arg("gates", ("n", columns), x_dtype), Arg("weight", (dim,), dtype)]
    x, y = Arg("x", ("n", heads * dim)), Arg("y", ("n", heads * dim), y_dtype)
    return kernel([x, *given, y], body)


def gated_rows(
    width: int, columns: int, first: int, *, x_dtype: str = "float32", y_dtype: str = "float32"
) -> tirx.PrimFunc:
    """f(x [n, width], gates [n, columns], y [n, width])."""

    def body(x, gates, y) -> None:
        with grid((-(-width // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < width), T.Then():
                gate = emit_value(to_float(gates[row, first + k], 1))
                emit_store(y, x[row, k] * _silu(gate), [row, k])

    x, gates = Arg("x", ("n", width)), Arg("gates", ("n", columns), x_dtype)
    return kernel([x, gates, Arg("y", ("n", width), y_dtype)], body)


def norm_of_gated(
    groups: int,
    dim: int,
    eps: float,
    columns: int,
    first: int,
    dtype: str,
    *,
    x_dtype: str = "float32",
    y_dtype: str = "float32",
) -> tirx.PrimFunc:
    """f(x [n, groups dim], gates [n, columns], weight [groups dim], y [n, groups dim])."""

    def body(x, gates, weight, y) -> None:
        with grid((groups, y.shape[0]), ITEMS) as ((group, row), item):
            begin = emit_value(group * dim)

            def gated(k) -> Any:
                gate = emit_value(to_float(gates[row, first + begin + k], 1))
                return emit_value(x[row, begin + k] * _silu(gate))

            factor = emit_factor_of(gated, dim, eps, item)

            def scale(k) -> None:
                value = gated(k) * factor * to_float(weight[begin + k], 1)
                emit_store(y, value, [row, begin + k])

            emit_spread(dim, ITEMS, item, scale)

    width = groups * dim
    given = [Arg("gates", ("n", columns), x_dtype), Arg("weight", (width,), dtype)]
    x, y = Arg("x", ("n", width)), Arg("y", ("n", width), y_dtype)
    return kernel([x, *given, y], body)
