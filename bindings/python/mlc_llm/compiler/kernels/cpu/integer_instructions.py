"""The instructions that multiply bytes, and numbers of 16 bits: how each adds up their products.

`integer.py` uses them. A *quad* is four bytes in a 32-bit lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.vector import emit_value, shuffle

DotUnit = Literal[
    "avx512vnni", "avx512bw", "avxvnni", "avx2", "ssse3", "neoni8mm", "neondot", "neon", "wasm",
    "portable",
]  # fmt: skip

MAX_QUADS = 10  # in one call of `emit_dots`
TOGETHER = 2  # quads in one step of `Steps`


@dataclass(frozen=True)
class Steps:
    """`add(sums, weights, codes)` adds TOGETHER quads. `total(sums)` turns sums into int32. All
    have `width` lanes of 32 bits; the sums have `dtype`. `signed`: the products are those of the
    weights without their zero, so that they need no offset."""

    width: int
    dtype: str
    add: Callable[[Any, Sequence, Sequence], Any]
    total: Callable[[Any], Any] = lambda sums: sums
    signed: bool = False

    @property
    def begins(self) -> bool:
        """Whether sums may begin with any number."""
        return self.dtype == "int32"

    @property
    def lanes(self) -> int:
        """The number of `dtype` values in a vector."""
        return 32 * self.width // int(self.dtype.removeprefix("int"))


@dataclass(frozen=True)
class Instruction:
    """`emit(total, weights, codes)` for `width` lanes.

    `in_words`: it adds that many products of a quad in one number of 16 bits, and so on for further
    quads; 0: in 32 bits. `signed`: it takes weights as signed bytes. A crowded one has 16 registers
    of half a strip's width. `short_steps` add that many quads at a time to sums of 32 bits,
    `signed_steps(zero)` any weights that are bytes of a sign without their zero.
    """

    width: int
    emit: Callable[[Any, list, list], Any]
    in_words: int = 0
    signed: bool = False
    crowded: bool = False
    steps: Steps | None = None
    short_steps: Mapping[int, Steps] = field(default_factory=dict)
    signed_steps: Callable[[int], Steps] | None = None

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


def _intrinsic(name: str, out: str, *args):
    return T.call_llvm_pure_intrin(out, name, *args)


def _as_bytes(weights, codes, width: int, *, signed: bool = False):
    weights = T.reinterpret(f"{'int8' if signed else 'uint8'}x{4 * width}", weights)
    return weights, T.reinterpret(f"int8x{4 * width}", codes)


def _vnni(width: int) -> Instruction:
    name = f"llvm.x86.avx512.vpdpbusd.{width * 32}"

    def add(sums, weights, codes):
        return _intrinsic(name, f"int32x{width}", sums, *_as_bytes(weights, codes, width))

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            total = add(total, *pair)
        return emit_value(total)

    steps = Steps(width, "int32", emit)
    return Instruction(width, emit, crowded=width < LANES, steps=steps)


def _pairs(width: int, bytes_name: str, words_name: str, sign_name: str = "") -> Instruction:
    """Adds bytes to sums of two products in 16 bits, for all quads; then these to sums of four in
    32 bits. A crowded one can give bytes the signs of others (`sign_name`): two products of 8 bits
    and a sign are below 2 ** 15."""

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

    def add_signed(zero: int, sums, weights: list, codes: list):
        for weight, code in zip(weights, codes, strict=True):
            weight, code = _as_bytes(weight, code, width, signed=True)
            weight = emit_value(weight - T.Broadcast(T.int8(zero - 256 * (zero > 127)), 4 * width))
            size = emit_value(T.max(weight, T.Broadcast(T.int8(0), 4 * width) - weight))
            turned = _intrinsic(sign_name, f"int8x{4 * width}", code, weight)
            sums = emit_value(sums + in_words(products(size, turned)))
        return sums

    def signed(zero: int) -> Steps:
        return Steps(width, "int32", partial(add_signed, zero), signed=True)

    return Instruction(
        width,
        emit,
        in_words=2,
        crowded=bool(sign_name),
        steps=Steps(width, "int16", add, in_words),
        short_steps={
            count: Steps(width, "int32", partial(add_short, count))
            for count in range(1, TOGETHER + 1)
        },
        signed_steps=signed if sign_name else None,
    )


def _words(width: int, name: str) -> Instruction:
    """Multiplies numbers of 16 bits and adds products in pairs."""

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            operands = [T.reinterpret(f"int16x{2 * width}", number) for number in pair]
            total = total + _intrinsic(name, f"int32x{width}", *operands)
        return emit_value(total)

    return Instruction(width, emit)


def _portable_words() -> Instruction:
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

    return Instruction(LANES, emit)


def _neon_dots(name: str, *, signed: bool) -> Instruction:
    """`sdot` takes signed weights, `usdot` unsigned weights."""

    def emit(total, weights: list, codes: list):
        for pair in zip(weights, codes, strict=True):
            total = _intrinsic(name, "int32x4", total, *_as_bytes(*pair, 4, signed=signed))
        return emit_value(total)

    return Instruction(4, emit, signed=signed)


def _neon_products() -> Instruction:
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

    return Instruction(LANES, emit, in_words=1, signed=True)


def _wasm_dot(a, b):
    """Adds neighbouring products of 16 bits (`i32x4.dot_i16x8_s`)."""
    return _intrinsic("llvm.wasm.dot", "int32x4", a, b)


def _wasm_pairs() -> Instruction:
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

    return Instruction(4, emit, in_words=2)


def _portable() -> Instruction:
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

    return Instruction(LANES, emit)


INSTRUCTIONS: dict[str, Instruction] = {
    "avx512vnni": _vnni(16),
    "avx512bw": _pairs(16, "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
    "avxvnni": _vnni(8),
    "avx2": _pairs(
        8, "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.psign.b"
    ),
    "ssse3": _pairs(4, "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd"),
    "neoni8mm": _neon_dots("llvm.aarch64.neon.usdot.v4i32.v16i8", signed=False),
    "neondot": _neon_dots("llvm.aarch64.neon.sdot.v4i32.v16i8", signed=True),
    "neon": _neon_products(),
    "wasm": _wasm_pairs(),
    "portable": _portable(),
}
WORD_INSTRUCTIONS: dict[str, Instruction] = {
    "avx512vnni": _words(16, "llvm.x86.avx512.pmaddw.d.512"),
    "avx512bw": _words(16, "llvm.x86.avx512.pmaddw.d.512"),
    "avxvnni": _words(8, "llvm.x86.avx2.pmadd.wd"),
    "avx2": _words(8, "llvm.x86.avx2.pmadd.wd"),
    "ssse3": _words(4, "llvm.x86.sse2.pmadd.wd"),
    "wasm": _words(4, "llvm.wasm.dot"),
    **dict.fromkeys(("neoni8mm", "neondot", "neon", "portable"), _portable_words()),
}
