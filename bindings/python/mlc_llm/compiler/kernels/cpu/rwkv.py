"""RWKV 7: rows mixed with the row before, and the step of a head's state [head_dim, head_dim].
`recurrent_steps.py` says how they walk the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import (
    DecayMixShape,
    ShiftShape,
    TimeMixShape,
    step_args,
)
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.recurrent_steps import (
    PARALLEL_FROM,
    HeadState,
    Steps,
    emit_tasks,
)
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_sum,
    emit_value,
    exp2,
    fma,
    sigmoid,
)

_SLOWEST = -math.exp(-0.5) * math.log2(math.e)  # of decays, as a power of 2
_UNIT_LENGTH = 1e-12  # the least length of a key that is scaled to 1


def shift_mix(shape: ShiftShape) -> tirx.PrimFunc:
    """f(x [n, width], *mixes, *steps, *y [n, width]): y[j] = x + mixes[j] * (the row before - x),
    or as `shape` says it."""

    def body(x, *rest) -> None:
        mixes, rest = rest[: len(shape.mixes)], rest[len(shape.mixes) :]
        source, indptr, writes, states, *made = rest
        steps = Steps(source, indptr, writes, states)
        blocks = shape.width // LANES

        def task(number) -> None:
            base = emit_value(number % blocks * LANES)
            past, factors = emit_floats(1), emit_floats(shape.count)
            for j in range(shape.count):
                own = mixes[j][0, 0, at(base)] if shape.apart else mixes[0][j, at(base)]
                T.buffer_store(factors, to_float(own, LANES), [at(j * LANES)])

            def row(r) -> None:
                value, before = emit_value(x[r, at(base)]), past[at(0)]
                change = emit_value(before - value)
                parts = (change, value) if shape.of_before else (value - before, before)
                for j, y in enumerate(made[: shape.count]):
                    mixed = fma(parts[0], factors[at(j * LANES)], parts[1])
                    T.buffer_store(y, mixed, [r, at(base)])
                if shape.gives_change:
                    T.buffer_store(made[-1], change, [r, at(base)])
                T.buffer_store(past, value, [at(0)])

            steps.emit(
                number // blocks,
                lambda slot: T.buffer_store(past, states[slot, 0, at(base)], [at(0)]),
                lambda: T.buffer_store(past, splat(0.0), [at(0)]),
                row,
                lambda slot: T.buffer_store(states, past[at(0)], [slot, 0, at(base)]),
            )

        enough = -(-PARALLEL_FROM // (shape.width * shape.count))
        emit_tasks(source.shape[0] * blocks, enough, made[0].shape[0], task)

    args = [Arg("x", ("n", shape.width)), *shape.mixes, *step_args(*shape.state)]
    made = [Arg(f"y{j}", ("n", shape.width)) for j in range(shape.results)]
    return kernel([*args, *made], body)


def emit_heads(
    shape: TimeMixShape | DecayMixShape,
    buffers: Sequence[Any],
    step_of: Callable[[Any, HeadState], Callable[..., None]],
) -> None:
    """Emits the steps of all heads of all sequences. `buffers`: a kernel's, of which the last are
    those of `step_args` and the results. `step_of(results, state)` emits one row of a head."""
    *_, source, indptr, writes, states, y = buffers
    steps = Steps(source, indptr, writes, states)

    def task(number) -> None:
        head = emit_value(number % shape.heads)
        state = HeadState(shape.head_dim * shape.head_dim, states, head)
        step = step_of(y, state)
        steps.emit(number // shape.heads, state.emit_read, state.emit_clear, step, state.emit_write)

    enough = -(-PARALLEL_FROM // (shape.head_dim * shape.width))
    emit_tasks(source.shape[0] * shape.heads, enough, y.shape[0], task)


def time_mix(shape: TimeMixShape) -> tirx.PrimFunc:
    """f(receptance, keys, values, decay, rate, gate, (first, share) [n, width], key_scale,
    key_rate, bonus, norm weight, norm bias [width], *steps, y [n, width])."""
    rows = [*TimeMixShape.ROWS, *(("first", "share") if shape.mixes_values else ())]

    def body(*buffers) -> None:
        named = dict(zip([*rows, *TimeMixShape.WEIGHTS], buffers, strict=False))
        emit_heads(shape, buffers, lambda y, state: _TimeMixHead(shape, named, y, state).emit)

    args = [Arg(name, ("n", shape.width)) for name in rows]
    weights = zip(TimeMixShape.WEIGHTS, shape.dtypes, strict=True)
    args += [Arg(name, (shape.width,), dtype) for name, dtype in weights]
    return kernel([*args, *step_args(*shape.state), Arg("y", ("n", shape.width))], body)


class Head:
    """What steps of one head of one sequence share. `buffers`: names of vectors as wide as the
    head, besides "made"."""

    def __init__(self, shape: Any, named, y, state: HeadState, buffers: Sequence[str]) -> None:
        self.shape, self.named, self.y, self.state = shape, named, y, state
        self.first = emit_value(state.head * shape.head_dim)
        buffers = (*buffers, "made")
        self.own = {n: T.sblock_alloc_buffer((shape.head_dim,), "float32") for n in buffers}
        self.sums = emit_floats(1)

    def _row(self, name: str, r, k):
        return self.named[name][r, at(self.first + k)]

    def _weight(self, name: str, k):
        return to_float(self.named[name][at(self.first + k)], LANES)

    def _emit_over(self, body) -> None:
        with T.serial(self.shape.head_dim // LANES) as v:
            body(v * LANES)

    def _emit_total(self, value):
        """The sum of value(k) over the head."""
        T.buffer_store(self.sums, splat(0.0), [at(0)])
        self._emit_over(lambda k: T.buffer_store(self.sums, value(k, self.sums[at(0)]), [at(0)]))
        return emit_sum(self.sums[at(0)])

    def _emit_normed(self, r, finish: Callable) -> None:
        """Stores `finish(k, the norm of what is in "made")` of each element k."""
        own, share = self.own, T.float32(1.0 / self.shape.head_dim)
        mean = emit_value(self._emit_total(lambda k, total: total + own["made"][at(k)]) * share)

        def square(k, total):
            value = emit_value(own["made"][at(k)] - splat(mean))
            return fma(value, value, total)

        variance = self._emit_total(square) * share
        factor = emit_value(T.float32(1) / T.sqrt(variance + T.float32(self.shape.eps)))

        def store(k) -> None:
            value = emit_value((own["made"][at(k)] - splat(mean)) * splat(factor))
            value = fma(value, self._weight("norm_weight", k), self._weight("norm_bias", k))
            made = finish(k, emit_value(value))
            T.buffer_store(self.y, made, [r, at(self.first + k)])

        self._emit_over(store)


class _TimeMixHead(Head):
    """A step of RWKV 7."""

    def __init__(self, shape: TimeMixShape, named, y, state: HeadState) -> None:
        super().__init__(shape, named, y, state, ("unit", "taken", "key", "kept", "value"))

    def emit(self, r) -> None:
        """Row r: the state forgets, takes its key and value up, and answers its receptance."""
        factor = self._emit_unit(r)
        bonus = self._emit_vectors(r, factor)
        with T.serial(self.shape.head_dim // LANES) as v:
            self._emit_state(r, v * LANES)

        def finish(k, value):
            value = emit_value(fma(splat(bonus), self.own["value"][at(k)], value))
            return value * self._row("gate", r, k)

        self._emit_normed(r, finish)

    def _emit_unit(self, r):
        """Stores the scaled key; returns the factor that makes its length 1."""

        def add(k, total):
            value = emit_value(self._row("keys", r, k) * self._weight("key_scale", k))
            T.buffer_store(self.own["unit"], value, [at(k)])
            return fma(value, value, total)

        length = T.sqrt(self._emit_total(add))
        return emit_value(T.float32(1) / T.max(length, T.float32(_UNIT_LENGTH)))

    def _emit_vectors(self, r, factor):
        """Stores the vectors of the head; returns the sum of receptance * key * bonus."""
        own, one = self.own, splat(1.0)

        def store(k, total):
            unit = emit_value(own["unit"][at(k)] * splat(factor))
            rate = emit_value(sigmoid(self._row("rate", r, k)))
            change = emit_value((rate - one) * self._weight("key_rate", k))
            key = emit_value(self._row("keys", r, k) * (one + change))
            share = emit_value(sigmoid(self._row("decay", r, k)))
            value = emit_value(self._row("values", r, k))
            if self.shape.mixes_values:
                apart = emit_value(self._row("first", r, k) - value)
                value = emit_value(fma(apart, sigmoid(self._row("share", r, k)), value))
            made = {"unit": unit, "taken": unit * rate, "key": key, "value": value}
            made["kept"] = exp2(share * splat(_SLOWEST))
            for name, vector in made.items():
                T.buffer_store(own[name], vector, [at(k)])
            product = emit_value(self._row("receptance", r, k) * key)
            return fma(product, self._weight("bonus", k), total)

        return self._emit_total(store)

    def _emit_state(self, r, v) -> None:
        """The state's columns from v on."""
        own, sums, dim = self.own, self.sums, self.shape.head_dim
        T.buffer_store(sums, splat(0.0), [at(0)])
        with T.serial(dim) as i:
            value = self.state.load(i * dim + v)
            T.buffer_store(sums, fma(splat(own["unit"][i]), value, sums[at(0)]), [at(0)])
        recalled = emit_value(splat(0.0) - sums[at(0)])
        T.buffer_store(sums, splat(0.0), [at(0)])
        with T.serial(dim) as i:
            place = i * dim + v
            kept = emit_value(self.state.load(place) * splat(own["kept"][i]))
            kept = emit_value(fma(splat(own["taken"][i]), recalled, kept))
            made = emit_value(fma(splat(own["key"][i]), own["value"][at(v)], kept))
            self.state.store(place, made)
            receptance = splat(self.named["receptance"][r, self.first + i])
            T.buffer_store(sums, fma(receptance, made, sums[at(0)]), [at(0)])
        T.buffer_store(own["made"], sums[at(0)], [at(v)])
