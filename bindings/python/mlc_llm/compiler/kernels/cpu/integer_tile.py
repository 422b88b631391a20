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
from mlc_llm.compiler.kernels.cpu.activations import QUADS, Codes
from mlc_llm.compiler.kernels.cpu.integer import Steps
from mlc_llm.compiler.kernels.cpu.vector import at, emit_value, shuffle

TURNS = QUADS // 2  # iterations of the loop in a group: each takes two quads


def emit_tile(
    codes: Codes,
    steps: Steps,
    x: Any,
    row: Any,
    rows: int,
    quads: Callable[[Any, Any], list[tuple[Any, Any]]],
    finish: Callable[[Any, Callable[[int, Any], Any]], None],
) -> None:
    """Computes rows [row, row + rows) of x, in codes of 8 bits. `quads(group, turn)` returns two
    quads of weights with their positions in the group. `finish(group, whole)` ends each group;
    `whole(m, start)` is start + the group's products with row + m."""
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
    with T.serial(codes.groups * TURNS) as step:
        group, turn = emit_value(step // TURNS), emit_value(step % TURNS)
        pairs = quads(group, turn)
        for m in range(rows):
            for index, weights in pairs:
                code = emit_value(x[row + m, codes.place_of_quad(group, 0, index)])
                for part, picked in enumerate(parts):
                    spread = T.Broadcast(code, steps.width)
                    total = steps.add(sums[place(m, part)], shuffle([weights], picked), spread)
                    T.buffer_store(sums, emit_value(total), [place(m, part)])
        with T.If(turn == TURNS - 1), T.Then():
            finish(group, whole)
            emit_clear()
