"""Several rows of x against a strip, on CPUs whose registers can hold sums but not the weights.

A group's weights are 16 vectors of AVX2, and AVX2 has only 16 registers. One row after another,
each row would read the weights again. So the sums of all rows stay in registers, and one quad of
weights after another is added to them. The quads are the iterations of one long loop. LLVM unrolls
a short loop, and its scheduler then restores the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.integer import TOGETHER, Steps
from mlc_llm.compiler.kernels.cpu.vector import at, emit_value, shuffle


def emit_tile(
    codes: Codes,
    steps: Steps,
    x: Any,
    row: Any,
    rows: int,
    quads: Callable[[Any, Any], list[tuple[Any, Any]]],
    finish: Callable[[Any, int, Callable[[int, Any], Any]], None],
) -> None:
    """Computes rows [row, row + rows) of x, in codes of 8 bits. A run is a group, or half of one if
    `codes` are for scales of 16 inputs. `quads(group, turn)` returns two quads of weights of one
    run, with their positions in the group. `finish(group, run, whole)` ends each run; `whole(m,
    start)` is start + the run's products with row + m."""
    parts = [range(first, first + steps.width) for first in range(0, LANES, steps.width)]
    lanes = steps.lanes
    sums = T.sblock_alloc_buffer((rows * len(parts) * lanes,), steps.dtype)

    def place(m: int, part: int):
        return at((m * len(parts) + part) * lanes, lanes)

    def emit_clear() -> None:
        zero = T.Broadcast(T.Cast(steps.dtype, T.int32(0)), lanes)
        for m in range(rows):
            for part in range(len(parts)):
                T.buffer_store(sums, zero, [place(m, part)])

    def whole(m: int, start):
        totals = [steps.total(sums[place(m, part)]) for part in range(len(parts))]
        return emit_value(shuffle(totals, range(LANES)) + splat(start))

    emit_clear()
    each = codes.quads // TOGETHER  # iterations of the loop in a group
    turns = each // codes.sums  # of a run
    with T.serial(codes.groups * each) as step:
        group, turn = emit_value(step // each), emit_value(step % each)
        places, weights = zip(*quads(group, turn), strict=True)
        for m in range(rows):
            factors = [emit_value(x[row + m, codes.place_of_quad(group, 0, i)]) for i in places]
            spread = [T.Broadcast(factor, steps.width) for factor in factors]
            for part, picked in enumerate(parts):
                halves = [shuffle([weight], picked) for weight in weights]
                total = steps.add(sums[place(m, part)], halves, spread)
                T.buffer_store(sums, emit_value(total), [place(m, part)])
        for run in range(codes.sums):
            with T.If(turn == turns * (run + 1) - 1), T.Then():
                finish(group, run, whole)
                emit_clear()
