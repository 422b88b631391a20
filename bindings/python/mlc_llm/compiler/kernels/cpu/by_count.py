"""Which of the ways to multiply a strip is for how many rows of activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.integer import holds_group
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.integer_tile import steps_for
from mlc_llm.compiler.quantization.gguf.types import BlockType

# The most rows of x for which codes are taken out of their words each time.
PAIR, FEW = 2, 8


def ways_by_count(
    codes: Codes,
    kind: BlockType,
    unit: DotUnit,
    tile: int,
    few: Callable[[], None],
    many: Callable[[], None],
) -> list[tuple[int | None, Callable[[], None]]]:
    """`few`, and `many` where it is faster from some number of rows on.

    Registers that hold a group take its codes apart once for many rows. So do those that hold sums
    but no group; two planes already for more rows than one tile has. In others, taking apart codes
    of one plane costs less than bytes in memory. Codes of 3 bits in groups of 40 become bytes from
    three rows on: then the weights come in bursts, and two rows wait longer for them than their
    products take out of registers that do not hold a group."""
    one_plane = kind.bits == 4 and not kind.values
    if holds_group(unit):
        return [(FEW, few), (None, many)]
    if kind.takes_bytes:
        return [(PAIR, few), (None, many)]
    if kind.bits == 8:
        return [(None, few)]
    if steps_for(codes, unit):
        return [(FEW if one_plane else tile, few), (None, many)]
    if not codes.halves and one_plane:
        return [(None, few)]
    return [(FEW, few), (None, many)]


def emit_by_count(rows, ways: Sequence[tuple[int | None, Callable[[], None]]]) -> None:
    """Emits all the ways; the number of rows chooses one at run time. Each comes with the most rows
    that it is for; None: any number."""
    (most, way), *others = ways
    if most is None:
        way()
        return
    with T.If(rows <= most):
        with T.Then():
            way()
        with T.Else():
            emit_by_count(rows, others)


def emit_tiles(rows, sizes: Sequence[int], body: Callable[[Any, int], None]) -> None:
    """Calls `body(row, n)` for tiles of n rows that cover [0, rows), the largest tiles first. Each
    size divides the one before it."""
    larger = None
    for size in sizes:
        done = 0 if larger is None else rows // larger * larger
        with T.serial((rows - done) // size) as tile:
            body(done + tile * size, size)
        larger = size
