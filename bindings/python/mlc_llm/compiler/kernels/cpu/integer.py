"""Integer products: 16 sums of byte products, on every instruction set.

A *quad* is four bytes in a 32-bit lane: four neighbouring inputs. `emit_dots` adds, in each of 16
int32 lanes, the products of unsigned weight bytes and signed activation bytes of a few quads. The
sum is exact, so it is the same on every machine; only the instructions differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.integer_instructions import (
    INSTRUCTIONS,
    MAX_QUADS,
    TOGETHER,
    WORD_INSTRUCTIONS,
    DotUnit,
    Instruction,
    Steps,
)
from mlc_llm.compiler.kernels.cpu.vector import emit_value, shuffle


def emit_dots(
    unit: DotUnit,
    total,
    weights: Sequence,
    codes: Sequence,
    *,
    weight_bits: int,
    code_bits: int = 8,
    lanes: int = LANES,
):
    """Returns total + the products of `weights`, uint32 vectors, and `codes`, one int32 for each of
    them. There are at most MAX_QUADS. Both are bytes of that many bits. `lanes`: 16, or 8 for an
    even number of vectors of fewer than 8 bits."""
    assert len(weights) == len(codes) <= MAX_QUADS
    instruction = INSTRUCTIONS[unit]
    codes = [emit_value(code) for code in codes]
    limit = instruction.quads(weight_bits, code_bits) * instruction.side_by_side(lanes)
    for first in range(0, len(codes) if limit else 0, limit or 1):
        some = slice(first, first + limit)
        total = _emit_by_parts(instruction, total, weights[some], codes[some])
    if limit:
        return total
    low, high = [emit_low(w) for w in weights], [emit_high(w) for w in weights]
    upper = _emit_by_parts(instruction, splat(T.int32(0)), high, codes)
    lower = _emit_by_parts(instruction, total, low, codes)
    return emit_value(lower + T.shift_left(upper, splat(T.int32(4))))


def takes_words(unit: DotUnit) -> bool:
    """Whether codes of 16 bits are best multiplied by `emit_word_dots`."""
    return unit == "wasm"


def has_half_floats(unit: DotUnit) -> bool:
    """Whether the CPU of the instruction has others that read float16."""
    return unit not in ("wasm", "ssse3")


def doubles_words(unit: DotUnit) -> bool:
    """Whether as many products of 16 bits as of floats take half of the time."""
    return multiplies_words(unit) and not holds_group(unit)


def multiplies_words(unit: DotUnit) -> bool:
    """Whether products of 16 bits cost less than those of bytes above 4 bits."""
    return unit in ("avx512bw", "avx2", "ssse3", "wasm")


def emit_word_dots(unit: DotUnit, total, weights: Sequence, codes: Sequence):
    """As `emit_dots`, but each 32-bit lane has two numbers of 16 bits, in weights and codes."""
    codes = [emit_value(code) for code in codes]
    return _emit_by_parts(WORD_INSTRUCTIONS[unit], total, weights, codes)


def emit_words(quads, lanes: int = LANES) -> list:
    """The bytes 0 and 2 of each quad, then the bytes 1 and 3, as numbers of 16 bits."""
    mask = splat(T.uint32(0x00FF00FF), lanes)
    odd = T.shift_right(quads, splat(T.uint32(8), lanes))
    return [emit_value(T.bitwise_and(some, mask)) for some in (quads, odd)]


def emit_low(words):
    """The lower 4 bits of each byte of the words."""
    return emit_value(T.bitwise_and(words, splat(T.uint32(0x0F0F0F0F))))


def emit_high(words):
    return emit_low(T.shift_right(words, splat(T.uint32(4))))


def holds_group(unit: DotUnit) -> bool:
    """Whether the registers hold a group of a strip, and sums of several rows beside it."""
    return unit.startswith("avx512")


def chain_is_long(unit: DotUnit, quads: int) -> bool:
    """Whether so many quads are one long chain, in which each addition waits for the one before."""
    return not INSTRUCTIONS[unit].in_words and quads >= 8


def steps_of(
    unit: DotUnit, weight_bits: int, quads: int, code_bits: int = 8, zero: int = -1
) -> Steps | None:
    """Steps that keep the sums in registers, without a group's weights, and add `quads` one after
    another before they are totalled. None for other units, and for weights that are too wide, if
    they do not become signed without their `zero`."""
    instruction = INSTRUCTIONS[unit]
    limit = instruction.quads(weight_bits, code_bits)
    if not instruction.crowded:
        return None
    if limit == 0:
        return instruction.signed_steps(zero) if instruction.signed_steps and zero >= 0 else None
    return instruction.steps if limit >= quads else instruction.short_steps[min(limit, TOGETHER)]


def code_bits(unit: DotUnit, weight_bits: int) -> int:
    """The most bits of codes whose products with such weights need neither split nor signed
    weights; 8 if they need them with 7 too."""
    quads = INSTRUCTIONS[unit].quads
    return 7 if not quads(weight_bits, 8) and quads(weight_bits, 7) else 8


def quads_at_a_time(unit: DotUnit, quads: int) -> int:
    """How many quads of weights of 8 bits a loop should take at a time."""
    if INSTRUCTIONS[unit].quads(8):
        return 1
    return next(n for n in (8, 4, 2, 1) if quads % n == 0)


def _emit_by_parts(instruction: Instruction, total, weights: Sequence, codes: list):
    width, lanes = instruction.width, tvm.DataType(str(total.ty.dtype)).lanes
    if width == lanes:
        return instruction.emit(total, list(weights), [splat(code, lanes) for code in codes])
    if width > lanes:
        return _emit_side_by_side(instruction, total, weights, codes, lanes)
    total, found = emit_value(total), []
    for first in range(0, lanes, width):
        picked = range(first, first + width)
        part = [shuffle([weight], picked) for weight in weights]
        broadcast = [T.Broadcast(code, width) for code in codes]
        found.append(instruction.emit(shuffle([total], picked), part, broadcast))
    return emit_value(shuffle(found, range(lanes)))


def _emit_side_by_side(instruction: Instruction, total, weights: Sequence, codes: list, lanes: int):
    """Two quads of half a vector each at a time."""
    both = range(instruction.width)
    assert len(both) == 2 * lanes and len(codes) % 2 == 0
    spread = [T.Broadcast(code, lanes) for code in codes]
    wide = [
        [emit_value(shuffle(pair, both)) for pair in zip(some[::2], some[1::2], strict=True)]
        for some in (list(weights), spread)
    ]
    found = instruction.emit(splat(T.int32(0), len(both)), *wide)
    halves = [shuffle([found], range(first, first + lanes)) for first in (0, lanes)]
    return emit_value(total + halves[0] + halves[1])
