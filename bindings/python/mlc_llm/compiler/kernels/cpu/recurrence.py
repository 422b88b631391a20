"""Recurrent layers: causal convolutions, and states [key_dim, value_dim] that decay.
`recurrent_steps.py` says how they walk the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import (
    ChannelDeltaShape,
    ConvShape,
    DeltaShape,
    step_args,
)
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.recurrent_steps import (
    PARALLEL_FROM,
    HeadState,
    Steps,
    emit_decay,
    emit_tasks,
    softplus,
)
from mlc_llm.compiler.kernels.cpu.vector import (
    ACTIVATIONS,
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_sum,
    emit_value,
    exp2,
    fma,
    sigmoid,
    silu,
)

_UNIT_EPS = 1e-6  # of the length of keys and queries


def causal_conv(shape: ConvShape) -> tirx.PrimFunc:
    """f(x [n, columns], weight [taps, width], (bias [width]), *steps, y [n, width])."""
    before = shape.taps - 1

    def body(x, weight, *rest) -> None:
        *bias, source, indptr, writes, states, y = rest
        steps = Steps(source, indptr, writes, states)
        blocks = shape.width // LANES

        def task(number) -> None:
            base = emit_value(number % blocks * LANES)
            taps, past = emit_floats(shape.taps), emit_floats(before)
            for j in range(shape.taps):
                tap = shape.tap(weight, j, base, at)
                T.buffer_store(taps, to_float(tap, LANES), [at(j * LANES)])
            start = to_float(bias[0][at(base)], LANES) if bias else splat(0.0)
            start = emit_value(start)

            def read(slot) -> None:
                for j in range(before):
                    T.buffer_store(past, states[slot, j, at(base)], [at(j * LANES)])

            def clear() -> None:
                for j in range(before):
                    T.buffer_store(past, splat(0.0), [at(j * LANES)])

            def row(r) -> None:
                value = x[r, at(base)]
                if shape.is_gated:
                    value = value * x[r, at(base + 2 * shape.width)]
                value = emit_value(value)
                total = start
                for j in range(before):
                    total = fma(past[at(j * LANES)], taps[at(j * LANES)], total)
                total = emit_value(fma(value, taps[at(before * LANES)], total))
                gate = x[r, at(base + shape.width)] if shape.is_gated else None
                T.buffer_store(y, silu(total) if gate is None else gate * total, [r, at(base)])
                for j in range(1, before):
                    T.buffer_store(past, past[at(j * LANES)], [at((j - 1) * LANES)])
                T.buffer_store(past, value, [at((before - 1) * LANES)])

            def write(slot) -> None:
                for j in range(before):
                    T.buffer_store(states, past[at(j * LANES)], [slot, j, at(base)])

            steps.emit(number // blocks, read, clear, row, write)

        enough = -(-PARALLEL_FROM // (shape.width * shape.taps))
        emit_tasks(source.shape[0] * blocks, enough, y.shape[0], task)

    weights = [shape.weight]
    if shape.bias_dtype:
        weights.append(Arg("bias", (shape.width,), shape.bias_dtype))
    x, y = Arg("x", ("n", shape.columns)), Arg("y", ("n", shape.width))
    return kernel([x, *weights, *step_args(*shape.state), y], body)


def delta_rule(shape: DeltaShape) -> tirx.PrimFunc:
    """f(qkv [n, convolved], gates [n, columns], decay [heads], time_step [heads], *steps,
    y [n, values])."""

    def body(qkv, gates, decay, time_step, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)

        def task(number) -> None:
            head = emit_value(number % shape.heads)
            state = HeadState(shape.key_dim * shape.value_dim, states, head)
            one = _DeltaHead(shape, qkv, gates, y, state)
            rate = emit_value(to_float(decay[head], 1))
            bias = emit_value(to_float(time_step[head], 1))

            def row(r) -> None:
                one.emit(r, rate, bias)

            steps.emit(
                number // shape.heads, state.emit_read, state.emit_clear, row, state.emit_write
            )

        enough = -(-PARALLEL_FROM // (shape.key_dim * shape.value_dim * shape.heads))
        emit_tasks(source.shape[0] * shape.heads, enough, y.shape[0], task)

    args = [
        Arg("qkv", ("n", shape.convolved)),
        Arg("gates", ("n", shape.columns)),
        Arg("decay", (shape.heads,), shape.decay_dtype),
        Arg("time_step", (shape.heads,), shape.time_step_dtype),
    ]
    return kernel([*args, *step_args(*shape.state), Arg("y", ("n", shape.values))], body)


def channel_delta(shape: ChannelDeltaShape) -> tirx.PrimFunc:
    """f(qkv [n, convolved], kept [n, keys], beta [n, heads], *steps, y [n, values]): the delta rule
    where row n multiplies row i of a head's state by kept[n, i]."""

    def body(qkv, kept, beta, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)

        def task(number) -> None:
            head = emit_value(number % shape.heads)
            state = HeadState(shape.key_dim * shape.value_dim, states, head)
            one = _DeltaHead(shape, qkv, beta, y, state)
            moves = (state.emit_read, state.emit_clear)
            row = partial(one.emit_by_channel, kept=kept)
            steps.emit(number // shape.heads, *moves, row, state.emit_write)

        enough = -(-PARALLEL_FROM // (shape.key_dim * shape.value_dim * shape.heads))
        emit_tasks(source.shape[0] * shape.heads, enough, y.shape[0], task)

    args = [
        Arg("qkv", ("n", shape.convolved)),
        Arg("kept", ("n", shape.keys)),
        Arg("beta", ("n", shape.heads)),
    ]
    return kernel([*args, *step_args(*shape.state), Arg("y", ("n", shape.values))], body)


def channel_decay(heads: int, dim: int, decay_dtype: str, time_step_dtype: str) -> tirx.PrimFunc:
    """f(x [n, heads dim], decay [heads], time_step [heads dim], y [n, heads dim]):
    exp(decay * softplus(x + time_step)), by how much states decay."""

    def body(x, decay, time_step, y) -> None:
        def row(r) -> None:
            with T.serial(heads) as head, T.serial(dim // LANES) as v:
                base = emit_value(head * dim + v * LANES)
                rate = splat(to_float(decay[head], 1) * T.float32(math.log2(math.e)))
                step = softplus(x[r, at(base)] + to_float(time_step[at(base)], LANES), LANES)
                T.buffer_store(y, exp2(rate * step), [r, at(base)])

        emit_rows(y.shape[0], row)

    width = heads * dim
    weights = [Arg("decay", (heads,), decay_dtype), Arg("time_step", (width,), time_step_dtype)]
    return kernel([Arg("x", ("n", width)), *weights, Arg("y", ("n", width))], body)


class _DeltaHead:
    """A step of one head of one sequence."""

    def __init__(self, shape: DeltaShape, qkv, gates, y, state: HeadState) -> None:
        self.shape, self.qkv, self.gates, self.y = shape, qkv, gates, y
        self.state, self.head = state, state.head
        self.query = T.sblock_alloc_buffer((shape.key_dim,), "float32")
        self.key = T.sblock_alloc_buffer((shape.key_dim,), "float32")
        self.sums = emit_floats(1)

    def emit(self, r, rate, bias) -> None:
        """Row r: takes its key and value up, and answers its query."""
        s = self.shape
        share = self.head % s.key_heads if s.tiled else self.head // (s.heads // s.key_heads)
        group = emit_value(share)
        self._emit_unit(self.query, r, group * s.key_dim, s.key_dim**-0.5)
        self._emit_unit(self.key, r, s.keys + group * s.key_dim, 1.0)
        behind = s.convolved + s.values
        beta = emit_value(sigmoid(self.gates[r, behind + self.head], 1))
        step = softplus(self.gates[r, behind + s.heads + self.head] + bias)
        factor = emit_decay(rate, step)
        self._emit_values(r, beta, lambda i: factor)

    def emit_by_channel(self, r, kept) -> None:
        """The same with a decay for each row of the state; `gates` are the betas."""
        s, first = self.shape, emit_value(self.head * self.shape.key_dim)
        self._emit_unit(self.query, r, first, s.key_dim**-0.5)
        self._emit_unit(self.key, r, s.keys + first, 1.0)
        beta = emit_value(sigmoid(self.gates[r, self.head], 1))
        self._emit_values(r, beta, lambda i: kept[r, first + i])

    def _emit_values(self, r, beta, kept: Callable) -> None:
        """`kept(i)`: by how much row i of the state decays."""
        s = self.shape
        first = emit_value(2 * s.keys + self.head * s.value_dim)
        with T.serial(s.value_dim // LANES) as v:
            base = emit_value(v * LANES)
            value = emit_value(self.qkv[r, at(first + base)])
            change = emit_value((value - self._emit_recalled(base, kept)) * splat(beta))
            self._emit_answer(r, base, change)

    def _emit_unit(self, out, r, first, scale: float) -> None:
        """A query or key of length `scale`."""
        dim = self.shape.key_dim
        T.buffer_store(self.sums, splat(0.0), [at(0)])

        def add(k, lanes: int) -> None:
            value = emit_value(self.qkv[r, at(first + k, lanes)])
            T.buffer_store(self.sums, fma(value, value, self.sums[at(0)]), [at(0)])

        emit_over(dim, add)
        square = emit_sum(self.sums[at(0)])
        factor = emit_value(T.float32(scale) / T.sqrt(square + T.float32(_UNIT_EPS)))

        def store(k, lanes: int) -> None:
            T.buffer_store(out, self.qkv[r, at(first + k, lanes)] * splat(factor), [at(k)])

        emit_over(dim, store)

    def _emit_recalled(self, base, kept: Callable):
        """The state decays; what it has for the key."""
        s = self.shape
        T.buffer_store(self.sums, splat(0.0), [at(0)])
        with T.serial(s.key_dim) as i:
            place = i * s.value_dim + base
            left = emit_value(self.state.load(place) * splat(kept(i)))
            self.state.store(place, left)
            T.buffer_store(self.sums, fma(splat(self.key[i]), left, self.sums[at(0)]), [at(0)])
        return self.sums[at(0)]

    def _emit_answer(self, r, base, change) -> None:
        s = self.shape
        T.buffer_store(self.sums, splat(0.0), [at(0)])
        with T.serial(s.key_dim) as i:
            place = i * s.value_dim + base
            made = emit_value(fma(splat(self.key[i]), change, self.state.load(place)))
            self.state.store(place, made)
            T.buffer_store(self.sums, fma(splat(self.query[i]), made, self.sums[at(0)]), [at(0)])
        T.buffer_store(self.y, self.sums[at(0)], [r, at(self.head * s.value_dim + base)])


def gated_norm(
    heads: int,
    dim: int,
    eps: float,
    columns: int,
    first: int,
    dtype: str,
    *,
    activation: str = "silu",
) -> tirx.PrimFunc:
    """f(x [n, heads dim], gates [n, columns], weight [dim], y [n, heads dim]): each head normed,
    times silu (or another activation) of the gates, which are the columns from `first` on."""

    def body(x, gates, weight, y) -> None:
        def row(r) -> None:
            with T.serial(heads) as head:
                begin = emit_value(head * dim)
                factor = emit_norm_factor(x, r, dim, eps, begin)

                def scale(base, lanes: int) -> None:
                    value = x[r, at(begin + base, lanes)] * splat(factor, lanes)
                    value = value * to_float(weight[at(base, lanes)], lanes)
                    gate = emit_value(gates[r, at(first + begin + base, lanes)])
                    gate = ACTIVATIONS[activation](gate, lanes)
                    T.buffer_store(y, value * gate, [r, at(begin + base, lanes)])

                emit_over(dim, scale)

        emit_rows(y.shape[0], row)

    x = Arg("x", ("n", heads * dim))
    gates, weight = Arg("gates", ("n", columns)), Arg("weight", (dim,), dtype)
    return kernel([x, gates, weight, Arg("y", ("n", heads * dim))], body)
