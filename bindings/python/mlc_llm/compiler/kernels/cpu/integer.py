"""Integer products: 16 sums of byte products, on every instruction set.

A *quad* is four bytes in a 32-bit lane: four neighbouring inputs. `emit_dots` adds, in each of 16
int32 lanes, the products of unsigned weight bytes and signed activation bytes of a few quads. The
sum is exact, so it is the same on every machine; only the instructions differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.vector import emit_value, shuffle

DotUnit = Literal[
    "avx512vnni", "avx512bw", "avxvnni", "avx2", "ssse3", "neoni8mm", "neondot", "neon", "wasm",
    "portable",
]  # fmt: skip

MAX_QUADS = 10  # in one call of `emit_dots`
TOGETHER = 2  # quads in one step of `Steps`


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
    instruction = _INSTRUCTIONS[unit]
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
    return _emit_by_parts(_WORD_INSTRUCTIONS[unit], total, weights, codes)


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


def steps_of(unit: DotUnit, weight_bits: int, quads: int, code_bits: int = 8) -> Steps | None:
    """Steps that keep the sums in registers, without a group's weights, and add `quads` one after
    another before they are totalled. None for other units, and for weights that are too wide."""
    instruction = _INSTRUCTIONS[unit]
    limit = instruction.quads(weight_bits, code_bits)
    if not instruction.crowded or limit == 0:
        return None
    return instruction.steps if limit >= quads else instruction.short_steps[min(limit, TOGETHER)]


def code_bits(unit: DotUnit, weight_bits: int) -> int:
    """The most bits of codes whose products with such weights need no splitting of weights; 8 if
    they are split with 7 too."""
    quads = _INSTRUCTIONS[unit].quads
    return 7 if not quads(weight_bits, 8) and quads(weight_bits, 7) else 8


def quads_at_a_time(unit: DotUnit, quads: int) -> int:
    """How many quads of weights of 8 bits a loop should take at a time."""
    if _INSTRUCTIONS[unit].quads(8):
        return 1
    return next(n for n in (8, 4, 2, 1) if quads % n == 0)


@dataclass(frozen=True)
class Steps:
    """`add(sums, weights, codes)` adds TOGETHER quads. `total(sums)` turns sums into int32. All
    have `width` lanes of 32 bits; the sums have `dtype`."""

    width: int
    dtype: str
    add: Callable[[Any, Sequence, Sequence], Any]
    total: Callable[[Any], Any]

    @property
    def lanes(self) -> int:
        """The number of `dtype` values in a vector."""
        return 32 * self.width // int(self.dtype.removeprefix("int"))


@dataclass(frozen=True)
class _Instruction:
    """`emit(total, weights, codes)` for `width` lanes.

    `in_words`: it adds that many products of a quad in one number of 16 bits, and so on for further
    quads; 0: in 32 bits. `signed`: it takes weights as signed bytes. A crowded one has 16 registers
    of half a strip's width. `short_steps` add that many quads at a time to sums of 32 bits.
    """

    width: int
    emit: Callable[[Any, list, list], Any]
    in_words: int = 0
    signed: bool = False
    crowded: bool = False
    steps: Steps | None = None
    short_steps: Mapping[int, Steps] = field(default_factory=dict)

    def quads(self, weight_bits: int, code_bits: int = 8) -> int:
        """The number of quads that `emit` can add at a time. 0: such weights are too wide."""
        if self.signed and weight_bits == 8:
            return 0
        if not self.in_words:
            return MAX_QUADS
        largest = ((1 << weight_bits) - 1) * (1 << code_bits - 1) * self.in_words
        return min(MAX_QUADS, (2**15 - 1) // largest)

    def side_by_side(self, lanes: int) -> int:
        """How many quads of so many lanes are in one vector."""
        return max(1, self.width // lanes)


def _emit_by_parts(instruction: _Instruction, total, weights: Sequence, codes: list):
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


def _emit_side_by_side(
    instruction: _Instruction, total, weights: Sequence, codes: list, lanes: int
):
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


def _intrinsic(name: str, out: str, *args):
    return T.call_llvm_pure_intrin(out, name, *args)


def _as_bytes(weights, codes, width: int, *, signed: bool = False):
    weights = T.reinterpret(f"{'int8' if signed else 'uint8'}x{4 * width}", weights)
    return weights, T.reinterpret(f"int8x{4 * width}", codes)


def _vnni(width: int) -> _Instruction:
    name = f"llvm.x86.avx512.vpdpbusd.{width * 32}"

    def add(sums, weights, codes):
        return _intrinsic(name, f"int32x{width}", sums, *_as_bytes(weights, codes, width))

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            total = add(total, *pair)
        return emit_value(total)

    steps = Steps(width, "int32", emit, lambda sums: sums)
    return _Instruction(width, emit, crowded=width < LANES, steps=steps)


def _pairs(width: int, bytes_name: str, words_name: str, *, crowded: bool = False) -> _Instruction:
    """Adds bytes to sums of two products in 16 bits, for all quads; then these to sums of four in
    32 bits."""

    def products(weights, codes):
        return _intrinsic(bytes_name, f"int16x{2 * width}", *_as_bytes(weights, codes, width))

    def in_words(pairs):
        ones = T.Broadcast(T.int16(1), 2 * width)
        return _intrinsic(words_name, f"int32x{width}", pairs, ones)

    def emit(total, weights: list, codes: list):
        pairs = None
        for pair in zip(weights, codes, strict=True):
            found = products(*pair)
            pairs = emit_value(found if pairs is None else pairs + found)
        return emit_value(total + in_words(pairs))

    def add(sums, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            sums = sums + products(*pair)
        return sums

    def add_short(together: int, sums, weights: list, codes: list):
        for first in range(0, len(weights), together):
            some = slice(first, first + together)
            sums = emit(sums, weights[some], codes[some])
        return sums

    steps = Steps(width, "int16", add, in_words)
    short = {
        count: Steps(width, "int32", partial(add_short, count), lambda sums: sums)
        for count in range(1, TOGETHER + 1)
    }
    return _Instruction(width, emit, 2, crowded=crowded, steps=steps, short_steps=short)


def _words(width: int, name: str) -> _Instruction:
    """Multiplies numbers of 16 bits and adds products in pairs."""

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            operands = [T.reinterpret(f"int16x{2 * width}", number) for number in pair]
            total = total + _intrinsic(name, f"int32x{width}", *operands)
        return emit_value(total)

    return _Instruction(width, emit)


def _portable_words() -> _Instruction:
    """The same in any code; NEON adds products of 32 bits."""

    def parts(words) -> list:
        half, words = splat(T.int32(16)), emit_value(T.reinterpret(f"int32x{LANES}", words))
        low = emit_value(T.shift_left(words, half))
        return [emit_value(T.shift_right(some, half)) for some in (low, words)]

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            for factors in zip(*map(parts, pair), strict=True):
                total = emit_value(total + emit_value(factors[0] * factors[1]))
        return total

    return _Instruction(LANES, emit)


def _neon_dots(name: str, *, signed: bool) -> _Instruction:
    """`sdot` takes signed weights, `usdot` unsigned weights."""

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            total = _intrinsic(name, "int32x4", total, *_as_bytes(*pair, 4, signed=signed))
        return emit_value(total)

    return _Instruction(4, emit, signed=signed)


def _neon_products() -> _Instruction:
    """Multiplies bytes to products in 16 bits (LLVM makes `smull` and `smlal`), for all quads; then
    adds them to sums of two and of four in 32 bits. It uses whole vectors, because four lanes at a
    time take long to compile."""
    halves = [range(i, i + 8) for i in range(0, 4 * LANES, 8)]

    def emit(total, weights: list, codes: list):
        sums = None
        for pair in zip(weights, codes, strict=True):
            wide = [T.Cast(f"int16x{4 * LANES}", b) for b in _as_bytes(*pair, LANES, signed=True)]
            products = wide[0] * wide[1]
            sums = emit_value(products if sums is None else sums + products)
        out, pairwise = "int32x4", []
        for half in halves:
            part = shuffle([sums], half)
            pairwise.append(_intrinsic("llvm.aarch64.neon.saddlp.v4i32.v8i16", out, part))
        both = zip(pairwise[::2], pairwise[1::2], strict=True)
        found = [_intrinsic("llvm.aarch64.neon.addp.v4i32", out, *pair) for pair in both]
        return emit_value(total + shuffle(found, range(LANES)))

    return _Instruction(LANES, emit, in_words=1, signed=True)


def _wasm_dot(a, b):
    """Adds neighbouring products of 16 bits (`i32x4.dot_i16x8_s`)."""
    return _intrinsic("llvm.wasm.dot", "int32x4", a, b)


def _wasm_pairs() -> _Instruction:
    """Multiplies the bytes at even and at odd places in 16 bits and adds both, for all quads; then
    adds neighbours in 32 bits."""
    words = "int16x8"
    byte, mask = T.Broadcast(T.int16(8), 8), T.Broadcast(T.int16(0xFF), 8)

    def products(weights, codes):
        weights, codes = (emit_value(T.reinterpret(words, some)) for some in (weights, codes))
        low = emit_value(T.shift_right(emit_value(T.shift_left(codes, byte)), byte))
        even = emit_value(T.bitwise_and(weights, mask) * low)
        odd = T.bitwise_and(T.shift_right(weights, byte), mask)
        return even + odd * T.shift_right(codes, byte)

    def emit(total, weights: list, codes: list):
        pairs = None
        for pair in zip(weights, codes, strict=True):
            found = products(*pair)
            pairs = emit_value(found if pairs is None else pairs + found)
        ones = T.Broadcast(T.int16(1), 8)
        return emit_value(total + _wasm_dot(pairs, ones))

    return _Instruction(4, emit, in_words=2)


def _portable() -> _Instruction:
    """Every step gets a name, because TVM's simplifier is slow for long sums of integers."""

    def emit(total, weights: list, codes: list):
        for weight, code in zip(weights, codes, strict=True):
            signed = emit_value(T.reinterpret(f"int32x{LANES}", weight))
            code = emit_value(code)
            for byte in range(4):
                shifted = emit_value(T.shift_right(signed, splat(T.int32(8 * byte))))
                factor = emit_value(T.bitwise_and(shifted, splat(T.int32(0xFF))))
                left = emit_value(T.shift_left(code, splat(T.int32(24 - 8 * byte))))
                other = emit_value(T.shift_right(left, splat(T.int32(24))))
                total = emit_value(total + emit_value(factor * other))
        return total

    return _Instruction(LANES, emit)


_INSTRUCTIONS: dict[str, _Instruction] = {
    "avx512vnni": _vnni(16),
    "avx512bw": _pairs(16, "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
    "avxvnni": _vnni(8),
    "avx2": _pairs(8, "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd", crowded=True),
    "ssse3": _pairs(4, "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd"),
    "neoni8mm": _neon_dots("llvm.aarch64.neon.usdot.v4i32.v16i8", signed=False),
    "neondot": _neon_dots("llvm.aarch64.neon.sdot.v4i32.v16i8", signed=True),
    "neon": _neon_products(),
    "wasm": _wasm_pairs(),
    "portable": _portable(),
}
_WORD_INSTRUCTIONS: dict[str, _Instruction] = {
    "avx512vnni": _words(16, "llvm.x86.avx512.pmaddw.d.512"),
    "avx512bw": _words(16, "llvm.x86.avx512.pmaddw.d.512"),
    "avxvnni": _words(8, "llvm.x86.avx2.pmadd.wd"),
    "avx2": _words(8, "llvm.x86.avx2.pmadd.wd"),
    "ssse3": _words(4, "llvm.x86.sse2.pmadd.wd"),
    "wasm": _words(4, "llvm.wasm.dot"),
    **dict.fromkeys(("neoni8mm", "neondot", "neon", "portable"), _portable_words()),
}
