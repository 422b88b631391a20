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
PAIR, THREE, FOUR, FEW = 2, 3, 4, 8


def ways_by_count(
    codes: Codes,
    kind: BlockType,
    unit: DotUnit,
    few: Callable[[], None],
    many: Callable[[], None],
) -> list[tuple[int | None, Callable[[], None]]]:
    """`few`, and `many` where it is faster from some number of rows on.

    Registers that hold a group take its codes apart once for many rows. So do those that hold sums
    but no group; two planes already for more rows than one tile has. In others, taking apart codes
    of one plane costs less than bytes in memory. Codes of 3 bits in groups of 40 become bytes from
    three rows on (AVX-VNNI: four): then the weights come in bursts, and two rows wait longer for
    them than their products take out of registers that do not hold a group."""
    if holds_group(unit):
        return [(FEW, few), (None, many)]
    if kind.takes_bytes:
        return [(THREE if unit == "avxvnni" else PAIR, few), (None, many)]
    if kind.bits == 8:
        return [(None, few)]
    if steps_for(codes, unit):
        return [(FEW if _one_plane(kind) else FOUR, few), (None, many)]
    if not codes.halves and _one_plane(kind):
        return [(None, few)]
    return [(FEW, few), (None, many)]


def tiles_of_few(codes: Codes, kind: BlockType, unit: DotUnit, tile: int) -> list[int]:
    """How many rows share the codes that are taken out of their words. If registers do not hold a
    group, the sums of more than four rows leave too few of them to take codes apart."""
    if kind.takes_bytes and not holds_group(unit):
        return tile_sizes(PAIR)
    if not steps_for(codes, unit):
        return tile_sizes(tile)
    if _one_plane(kind):  # three would cost two and four rows of Q4_K 9 % on AVX-VNNI
        return tile_sizes(min(tile, FOUR))
    largest = tile if kind.bits == 8 else min(tile, FOUR)
    return sorted({*tile_sizes(largest), min(largest, THREE)}, reverse=True)


def _one_plane(kind: BlockType) -> bool:
    return kind.bits == 4 and not kind.values


def tile_sizes(largest: int) -> list[int]:
    return list(dict.fromkeys(n for n in (largest, FOUR, PAIR, 1) if n <= largest))


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
    """Calls `body(row, n)` for tiles of n rows that cover [0, rows), the largest tiles first."""
    rest = rows
    for size in sizes:
        begin = rows - rest
        with T.serial(rest // size) as tile:
            body(begin + tile * size, size)
        rest = rest % size
