"""The scan of Mamba 1: each channel has a state of `state_dim` numbers, which decay at rates of
their own. A task walks 16 neighbouring channels, whose states are vectors.
"""

from __future__ import annotations

import math

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import SelectiveShape, step_args
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.recurrent_steps import (
    PARALLEL_FROM,
    Steps,
    emit_tasks,
    softplus,
)
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_over,
    emit_rows,
    emit_value,
    exp2,
    fma,
    silu,
)


def selective_scan(shape: SelectiveShape) -> tirx.PrimFunc:
    """f(x [n, width], gates [n, 2 width], times [n, width], pair [n, 2 state_dim],
    decay [state_dim, width], skip [width], *steps, y [n, width])."""
    size = shape.state_dim

    def body(x, gates, times, pair, decay, skip, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        blocks = shape.width // LANES

        def task(number) -> None:
            base = emit_value(number % blocks * LANES)
            state, rates, total = emit_floats(size), emit_floats(size), emit_floats(1)
            through = emit_value(to_float(skip[at(base)], LANES))
            with T.serial(size) as i:
                rate = to_float(decay[i, at(base)], LANES) * splat(math.log2(math.e))
                T.buffer_store(rates, rate, [at(i * LANES)])

            def read(slot) -> None:
                with T.serial(size) as i:
                    T.buffer_store(state, states[slot, i, at(base)], [at(i * LANES)])

            def clear() -> None:
                with T.serial(size) as i:
                    T.buffer_store(state, splat(0.0), [at(i * LANES)])

            def row(r) -> None:
                value = emit_value(x[r, at(base)])
                step = softplus(times[r, at(base)], LANES)
                taken = emit_value(value * step)
                T.buffer_store(total, through * value, [at(0)])
                with T.serial(size) as i:
                    kept = emit_value(state[at(i * LANES)] * exp2(rates[at(i * LANES)] * step))
                    made = emit_value(fma(splat(pair[r, i]), taken, kept))
                    T.buffer_store(state, made, [at(i * LANES)])
                    T.buffer_store(
                        total, fma(splat(pair[r, size + i]), made, total[at(0)]), [at(0)]
                    )
                gate = emit_value(gates[r, at(base + shape.width)])
                T.buffer_store(y, total[at(0)] * silu(gate), [r, at(base)])

            def write(slot) -> None:
                with T.serial(size) as i:
                    T.buffer_store(states, state[at(i * LANES)], [slot, i, at(base)])

            steps.emit(number // blocks, read, clear, row, write)

        enough = -(-PARALLEL_FROM // (shape.width * size))
        emit_tasks(source.shape[0] * blocks, enough, y.shape[0], task)

    y = Arg("y", ("n", shape.width))
    return kernel([*shape.args(), *step_args(*shape.state), y], body)


def norms_of_parts(
    pieces: tuple[int, int, int], eps: float, dtypes: tuple[str, ...]
) -> tirx.PrimFunc:
    """f(x [n, sum(pieces)], a weight for each piece, first [n, pieces[0]], rest [n, ...]): each
    piece of a row normed, times its weight."""
    ends = (0, pieces[0], pieces[0] + pieces[1])

    def body(x, *rest) -> None:
        *weights, first, others = rest

        def row(r) -> None:
            for i, (size, begin) in enumerate(zip(pieces, ends, strict=True)):
                factor = emit_norm_factor(x, r, size, eps, begin)
                out, place = (first, 0) if i == 0 else (others, begin - pieces[0])

                def scale(base, lanes: int, i=i, begin=begin, factor=factor, out=out, p=place):
                    value = x[r, at(begin + base, lanes)] * splat(factor, lanes)
                    value = value * to_float(weights[i][at(base, lanes)], lanes)
                    T.buffer_store(out, value, [r, at(p + base, lanes)])

                emit_over(size, scale)

        emit_rows(first.shape[0], row)

    given = [Arg(f"weight{i}", (pieces[i],), dtypes[i]) for i in range(3)]
    out = [Arg("first", ("n", pieces[0])), Arg("others", ("n", sum(pieces[1:])))]
    return kernel([Arg("x", ("n", sum(pieces))), *given, *out], body)
