"""Transposes 16 vectors of 16 lanes in registers."""

from __future__ import annotations

from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.cpu.vector import emit_value, shuffle


def transposed(rows: list) -> list:
    """Transposes 16 vectors of 16 lanes. Every step is one instruction if vectors are whole."""
    fours = []  # [four rows][word % 4]: 128-bit part p holds word 4 p + w of four rows
    for r in range(0, LANES, 4):
        low = [_interleaved(rows[r + i], rows[r + i + 1], half) for i in (0, 2) for half in (0, 1)]
        fours.append([
            _paired(low[half], low[half + 2], part) for half in (0, 1) for part in (0, 1)
        ])  # fmt: skip
    columns: list = [None] * LANES
    for w in range(4):
        even_odd = [
            [_every_other(fours[i][w], fours[i + 1][w], odd) for i in (0, 2)] for odd in (0, 1)
        ]
        for odd in (0, 1):
            for upper in (0, 1):
                part = odd + 2 * upper
                columns[4 * part + w] = _every_other(*even_odd[odd], upper)
    return columns


def _interleaved(a, b, half: int):
    """In each 128-bit part: a0 b0 a1 b1, or a2 b2 a3 b3."""
    picks = [
        p + 2 * half + i + LANES * s for p in range(0, LANES, 4) for i in (0, 1) for s in (0, 1)
    ]
    return emit_value(shuffle([a, b], picks))


def _paired(a, b, part: int):
    """In each 128-bit part: the lower halves of a and b, or the upper ones."""
    picks = [
        p + 2 * part + i + LANES * s for p in range(0, LANES, 4) for s in (0, 1) for i in (0, 1)
    ]
    return emit_value(shuffle([a, b], picks))


def _every_other(a, b, odd: int):
    """The even 128-bit parts of a and b, or the odd parts."""
    picks = [LANES * s + 4 * (2 * p + odd) + i for s in (0, 1) for p in (0, 1) for i in range(4)]
    return emit_value(shuffle([a, b], picks))
