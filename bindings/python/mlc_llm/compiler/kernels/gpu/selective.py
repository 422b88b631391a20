"""The scan of Mamba 1 on GPUs: a work-item has the state of one channel."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import SelectiveShape, step_args
from mlc_llm.compiler.kernels.gpu.elementwise import ACTIVATIONS, ITEMS, emit_norm_factor
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.recurrence import Steps, softplus

_silu = ACTIVATIONS["silu"]


def selective_scan(
    shape: SelectiveShape,
    *,
    x_dtype: str = "float32",
    time_dtype: str = "float32",
    y_dtype: str = "float32",
) -> tirx.PrimFunc:
    """As `kernels/cpu/selective.py` has it."""
    size, width = shape.state_dim, shape.width

    def body(x, gates, times, pair, decay, skip, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        with grid((-(-width // ITEMS), source.shape[0]), ITEMS) as ((part, sequence), item):
            channel = emit_value(part * ITEMS + item)
            state, total = registers(size), registers(1)

            def row(r: Any) -> None:
                value = emit_value(x[r, channel])
                step = softplus(to_float(times[r, channel], 1))
                taken = emit_value(value * step)
                T.buffer_store(total, to_float(skip[channel], 1) * value, [0])
                with T.serial(size) as i:
                    kept = T.exp(to_float(decay[i, channel], 1) * step)
                    made = emit_value(state[i] * kept + pair[r, i] * taken)
                    T.buffer_store(state, made, [i])
                    T.buffer_store(total, total[0] + pair[r, size + i] * made, [0])
                gate = emit_value(to_float(gates[r, width + channel], 1))
                emit_store(y, total[0] * _silu(gate), [r, channel])

            def write(slot: Any) -> None:
                with T.serial(size) as i:
                    T.buffer_store(states, state[i], [slot, i, channel])

            with T.If(channel < width), T.Then():
                with T.serial(size) as i:
                    T.buffer_store(state, steps.emit_read(sequence, i, channel), [i])
                steps.emit(sequence, row, write)

    given = shape.args(x_dtype, time_dtype)
    return kernel([*given, *step_args(*shape.state), Arg("y", ("n", width), y_dtype)], body)


def norms_of_parts(
    pieces: tuple[int, int, int],
    eps: float,
    dtypes: tuple[str, ...],
    *,
    x_dtype: str = "float32",
) -> tirx.PrimFunc:
    """As `kernels/cpu/selective.py` has it."""
    ends = (0, pieces[0], pieces[0] + pieces[1])

    def body(x, *rest) -> None:
        *weights, first, others = rest
        with grid((first.shape[0],), ITEMS) as ((row,), item):
            for i, (size, begin) in enumerate(zip(pieces, ends, strict=True)):
                factor = emit_norm_factor(x, row, begin, size, eps, item)
                out, place = (first, 0) if i == 0 else (others, begin - pieces[0])

                def scale(k, i=i, begin=begin, factor=factor, out=out, place=place) -> None:
                    value = to_float(x[row, begin + k], 1) * factor
                    T.buffer_store(out, value * to_float(weights[i][k], 1), [row, place + k])

                emit_spread(size, ITEMS, item, scale)

    given = [Arg(f"weight{i}", (pieces[i],), dtypes[i]) for i in range(3)]
    out = [Arg("first", ("n", pieces[0])), Arg("others", ("n", sum(pieces[1:])))]
    return kernel([Arg("x", ("n", sum(pieces)), x_dtype), *given, *out], body)
