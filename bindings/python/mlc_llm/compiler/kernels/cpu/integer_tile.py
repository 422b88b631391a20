"""Several rows of x against a strip, on CPUs whose registers can hold sums but not the weights.

A group's weights are 16 vectors of AVX2, and AVX2 has only 16 registers. One row after another,
each row would read the weights again. So the sums of all rows stay in registers, and one quad of
weights after another is added to them. The quads must be the iterations of a loop that LLVM does
not unroll: its scheduler would restore the order of rows. `emit_tile` has one long loop over the
quads of all groups, `emit_run` a loop whose length LLVM does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    finish: Callable[[Any, int, Callable[[int, Any], Any]], None],
) -> None:
    """Computes rows [row, row + rows) of x, in codes of 8 bits. A run is a group, or half of one if
    `codes` are for scales of 16 inputs. `quads(group, turn)` returns two quads of weights of one
    run, with their positions in the group. `finish(group, run, whole)` ends each run; `whole(m,
    start)` is start + the run's products with row + m."""
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
    each = codes.quads // TOGETHER  # iterations of the loop in a group
    turns = each // codes.sums  # of a run
    with T.serial(codes.groups * each) as step:
        group, turn = emit_value(step // each), emit_value(step % each)
        places, weights = zip(*quads(group, turn), strict=True)
        for m in range(rows):
            own = [(sums, place(m, part)) for part in range(len(parts))]
            factors = [x[row + m, codes.place_of_quad(group, 0, i)] for i in places]
            _emit_added(steps, own, weights, factors)
        for run in range(codes.sums):
            with T.If(turn == turns * (run + 1) - 1), T.Then():
                finish(group, run, whole)
                emit_clear()


def emit_run(
    codes: Codes,
    steps: Steps,
    x: Any,
    row: Any,
    rows: int,
    group: Any,
    quads: Sequence[int],
    read: Callable[[Any], Any],
) -> list[Any]:
    """The products of a run of a group with each of the rows [row, row + rows) of x: 16 int32 for
    each row. `quads` are the run's: neighbours, or two lists of neighbours of the same length.
    `read(quad)` returns the weights of one."""
    lanes, turns = steps.lanes, len(quads) // TOGETHER
    sums = [emit_sums(len(_parts(steps)), steps.dtype, lanes) for _ in range(rows)]
    count = T.max(turns, T.Cast("int32", x.shape[0]) - _NEVER_SO_MANY)
    with T.serial(emit_value(count)) as turn:
        some = [emit_value(first + turn) for first in quads[::turns]]
        weights = [emit_value(read(quad)) for quad in some]
        for m, own in enumerate(sums):
            factors = [x[row + m, codes.place_of_quad(group, 0, quad)] for quad in some]
            _emit_added(steps, [(total, at(0, lanes)) for total in own], weights, factors)
    totals = [[steps.total(total[at(0, lanes)]) for total in own] for own in sums]
    return [emit_value(shuffle(own, range(LANES))) for own in totals]


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
