"""Several rows of x against a strip, on CPUs whose registers can hold sums but not the weights.

A group's weights are 16 vectors of AVX2, and AVX2 has only 16 registers. One row after another,
each row would read the weights again. So the sums of all rows stay in registers, and one quad of
weights after another is added to them. The quads must be the iterations of a loop that LLVM does
not unroll: its scheduler would restore the order of rows. `emit_tile` has one long loop over the
quads of all groups, `emit_run` a loop whose length LLVM does not know. The former is faster for few
rows if a group has one scale, the latter if it has two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.integer import steps_of
from mlc_llm.compiler.kernels.cpu.integer_instructions import TOGETHER, DotUnit, Steps
from mlc_llm.compiler.kernels.cpu.vector import at, emit_sums, emit_value, shuffle

_NEVER_SO_MANY = 1 << 30  # rows of x


def steps_for(codes: Codes, unit: DotUnit) -> Steps | None:
    """The steps of products with such codes, or None: other registers hold weights or all rows'
    sums, or weights are too wide."""
    if codes.parts > 1:
        return None
    quads = codes.quads // codes.sums
    return steps_of(unit, codes.weight_bits, quads, codes.part_bits, codes.zero)


def emit_tile(
    codes: Codes,
    steps: Steps,
    x: Any,
    row: Any,
    rows: int,
    quads: Callable[[Any, Any], list[tuple[Any, Any]]],
    finish: Callable[[Any, Callable[[int, Any], Any]], None],
) -> None:
    """Computes rows [row, row + rows) of x, in codes of 8 bits with one scale for a group.
    `quads(group, turn)` returns TOGETHER quads of weights, with their positions in the group.
    `finish(group, whole)` ends each group; `whole(m, start)` is start + the group's products with
    row + m."""
    parts, lanes = _parts(steps), steps.lanes
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
    turns = codes.quads // TOGETHER  # iterations of the loop in a group
    with T.serial(codes.groups * turns) as step:
        group, turn = emit_value(step // turns), emit_value(step % turns)
        places, weights = zip(*quads(group, turn), strict=True)
        for m in range(rows):
            own = [(sums, place(m, part)) for part in range(len(parts))]
            factors = [x[row + m, codes.place_of_quad(group, 0, i)] for i in places]
            _emit_added(steps, own, weights, factors)
        with T.If(turn == turns - 1), T.Then():
            finish(group, whole)
            emit_clear()


def emit_run(
    codes: Codes,
    steps: Steps,
    x: Any,
    row: Any,
    rows: int,
    group: Any,
    turns: int,
    quads: Callable[[Any], list[tuple[Any, Any]]],
    starts: list[Any],
) -> list[Any]:
    """Each row's start + the products of a run, a group or half of one, with the rows
    [row, row + rows) of x: 16 int32 for each row. `quads(turn)` returns TOGETHER of the run's quads
    of weights, with their positions in the group."""
    lanes = steps.lanes
    sums = [emit_sums(len(_parts(steps)), steps.dtype, lanes) for _ in range(rows)]
    if steps.begins:
        for own, start in zip(sums, starts, strict=True):
            first = emit_value(T.Broadcast(start, lanes))
            for total in own:
                T.buffer_store(total, first, [at(0, lanes)])
    count = T.max(turns, T.Cast("int32", x.shape[0]) - _NEVER_SO_MANY)
    with T.serial(emit_value(count)) as turn:
        places, weights = zip(*quads(turn), strict=True)
        for m, own in enumerate(sums):
            factors = [x[row + m, codes.place_of_quad(group, 0, i)] for i in places]
            _emit_added(steps, [(total, at(0, lanes)) for total in own], weights, factors)
    totals = [[steps.total(total[at(0, lanes)]) for total in own] for own in sums]
    whole = [emit_value(shuffle(own, range(LANES))) for own in totals]
    if steps.begins:
        return whole
    return [emit_value(own + splat(start)) for own, start in zip(whole, starts, strict=True)]


def _parts(steps: Steps) -> list[range]:
    """The lanes of a strip that are in one vector."""
    return [range(first, first + steps.width) for first in range(0, LANES, steps.width)]


def _emit_added(steps: Steps, sums: list[tuple[Any, Any]], weights: Any, factors: list) -> None:
    """Adds quads of weights, times a row's factors, to the row's sums: a buffer and a place in it
    for each part."""
    spread = [T.Broadcast(emit_value(factor), steps.width) for factor in factors]
    for (total, place), picked in zip(sums, _parts(steps), strict=True):
        halves = [shuffle([weight], picked) for weight in weights]
        T.buffer_store(total, emit_value(steps.add(total[place], halves, spread)), [place])
