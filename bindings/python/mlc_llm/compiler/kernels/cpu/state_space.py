"""The scan of Mamba 2: each head has a state [state_dim, head_dim] that decays by one factor a row.

A prompt's rows are computed four at a time: the state goes through registers once for all of them.
Each row's sums keep their order, so that the bits are those of rows one by one.
"""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import ScanShape, step_args
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
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_value,
    fma,
    silu,
)

_TILE = 4  # rows


def scan(shape: ScanShape) -> tirx.PrimFunc:
    """f(xbc [n, convolved], gates [n, columns], decay [heads], time_step [heads], skip [heads],
    *steps, y [n, values])."""

    def body(xbc, gates, decay, time_step, skip, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)

        def task(number) -> None:
            head = emit_value(number % shape.heads)
            state = HeadState(shape.state_dim * shape.head_dim, states, head)
            one = _Head(shape, xbc, gates, y, state)
            for buffer in (decay, time_step, skip):
                one.weights.append(emit_value(to_float(buffer[head], 1)))

            def row(r) -> None:
                one.emit(r, 1)

            tile = (_TILE, lambda r: one.emit(r, _TILE))
            moves = (state.emit_read, state.emit_clear, row, state.emit_write)
            steps.emit(number // shape.heads, *moves, tile)

        enough = -(-PARALLEL_FROM // (shape.state_dim * shape.values))
        emit_tasks(source.shape[0] * shape.heads, enough, y.shape[0], task)

    args = [
        Arg("xbc", ("n", shape.convolved)),
        Arg("gates", ("n", shape.columns)),
        Arg("decay", (shape.heads,), shape.decay_dtype),
        Arg("time_step", (shape.heads,), shape.time_step_dtype),
        Arg("skip", (shape.heads,), shape.skip_dtype),
    ]
    return kernel([*args, *step_args(*shape.state), Arg("y", ("n", shape.values))], body)


class _Head:
    """Some steps of one head of one sequence."""

    def __init__(self, shape: ScanShape, xbc, gates, y, state: HeadState) -> None:
        self.shape, self.xbc, self.gates, self.y = shape, xbc, gates, y
        self.state, self.head = state, state.head
        self.weights: list = []  # decay, bias of the time step, skip
        self.inputs, self.sums = emit_floats(_TILE), emit_floats(_TILE)

    def emit(self, first, rows: int) -> None:
        """`rows` rows from the first on."""
        s = self.shape
        steps = [self._emit_step(first + j) for j in range(rows)]
        factors = [emit_value(splat(factor)) for _, factor in steps]
        group = self.head // (s.heads // s.groups) * s.state_dim
        writer = emit_value(group + s.values)
        reader = emit_value(writer + s.groups * s.state_dim)
        with T.serial(s.head_dim // LANES) as v:
            column = emit_value(self.head * s.head_dim + v * LANES)
            self._emit_begin(first, column, [step for step, _ in steps])
            with T.serial(s.state_dim) as i:
                place = i * s.head_dim + v * LANES
                value = self.state.load(place)
                for j, factor in enumerate(factors):
                    here, r = at(j * LANES), first + j
                    kept = emit_value(value * factor)
                    taken = splat(self.xbc[r, writer + i])
                    value = emit_value(fma(taken, self.inputs[here], kept))
                    given = splat(self.xbc[r, reader + i])
                    T.buffer_store(self.sums, fma(given, value, self.sums[here]), [here])
                self.state.store(place, value)
            for j in range(rows):
                T.buffer_store(self.y, self.sums[at(j * LANES)], [first + j, at(column)])

    def _emit_step(self, r):
        """The time step of row r, and the factor by which the state decays."""
        s, (decay, bias, _) = self.shape, self.weights
        step = softplus(self.gates[r, s.convolved + s.values + self.head] + bias)
        return step, emit_decay(decay, step)

    def _emit_begin(self, first, column, steps: list) -> None:
        """Each row's values times its time step; its sums begin with what skips the state."""
        for j, step in enumerate(steps):
            value = emit_value(self.xbc[first + j, at(column)])
            T.buffer_store(self.inputs, value * splat(step), [at(j * LANES)])
            T.buffer_store(self.sums, value * splat(self.weights[2]), [at(j * LANES)])


def gated_rows(width: int, columns: int, first: int) -> tirx.PrimFunc:
    """f(x [n, width], gates [n, columns], y [n, width]): x times silu of the gates, which are the
    columns from `first` on."""

    def body(x, gates, y) -> None:
        def row(r) -> None:
            def gate(base, lanes: int) -> None:
                value = emit_value(gates[r, at(first + base, lanes)])
                value = x[r, at(base, lanes)] * silu(value, lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(width, gate)

        emit_rows(y.shape[0], row)

    x, gates = Arg("x", ("n", width)), Arg("gates", ("n", columns))
    return kernel([x, gates, Arg("y", ("n", width))], body)


def norm_of_gated(
    groups: int, dim: int, eps: float, columns: int, first: int, dtype: str
) -> tirx.PrimFunc:
    """f(x [n, groups dim], gates [n, columns], weight [groups dim], y [n, groups dim]): x times
    silu of the gates, which are the columns from `first` on; then each group normed, times the
    weight."""

    def body(x, gates, weight, y) -> None:
        def row(r) -> None:
            def gate(base, lanes: int) -> None:
                value = emit_value(gates[r, at(first + base, lanes)])
                value = x[r, at(base, lanes)] * silu(value, lanes)
                T.buffer_store(y, value, [r, at(base, lanes)])

            emit_over(groups * dim, gate)
            with T.serial(groups) as group:
                begin = emit_value(group * dim)
                factor = emit_norm_factor(y, r, dim, eps, begin)

                def scale(base, lanes: int) -> None:
                    value = y[r, at(begin + base, lanes)] * splat(factor, lanes)
                    value = value * to_float(weight[at(begin + base, lanes)], lanes)
                    T.buffer_store(y, value, [r, at(begin + base, lanes)])

                emit_over(dim, scale)

        emit_rows(y.shape[0], row)

    width = groups * dim
    x, gates = Arg("x", ("n", width)), Arg("gates", ("n", columns))
    return kernel([x, gates, Arg("weight", (width,), dtype), Arg("y", ("n", width))], body)
