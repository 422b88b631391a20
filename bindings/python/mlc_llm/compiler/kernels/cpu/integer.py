"""Products of whole numbers: 16 sums of four byte products each, on every instruction set.

A *quad* is four bytes in a 32-bit lane, four neighbouring inputs. `dot(unit, total, weights,
activations)` adds to each of 16 int32 lanes the products of unsigned weight bytes and signed
activation bytes. The sum is exact, so it is the same on every machine; only instructions differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.vector import LANES, emit_value, shuffle, splat

DotUnit = Literal["avx512vnni", "avx512bw", "avxvnni", "avx2", "ssse3", "neon", "portable"]

# The widest weight that an instruction takes without saturating: pairs of products are summed in 16
# bits by the `pmaddubsw` family, and NEON's bytes are signed.
_NARROW = ("avx512bw", "avx2", "ssse3", "neon")


def dot(unit: DotUnit, total, weights, activations, *, weight_bits: int):
    """total + the products of the quads. `weights` and `activations` are 32-bit lanes."""
    if weight_bits <= 4 or unit not in _NARROW:
        return _DOTS[unit](total, weights, activations)
    mask, zero = splat(T.uint32(0x0F0F0F0F)), splat(T.int32(0))
    weights, activations = emit_value(weights), emit_value(activations)
    low = emit_value(T.bitwise_and(weights, mask))
    high = emit_value(T.bitwise_and(T.shift_right(weights, splat(T.uint32(4))), mask))
    upper = emit_value(T.shift_left(_DOTS[unit](zero, high, activations), splat(T.int32(4))))
    lower = emit_value(_DOTS[unit](total, low, activations))
    return emit_value(lower + upper)


def _intrinsic(name: str, out: str, *args):
    return T.call_llvm_pure_intrin(out, name, *args)


def _vnni(width: int) -> Callable:
    name = f"llvm.x86.avx512.vpdpbusd.{width * 32}"

    def dot(total, weights, activations):
        u, s = (T.reinterpret(f"{t}x{4 * width}", v) for t, v in
                (("uint8", weights), ("int8", activations)))  # fmt: skip
        return _intrinsic(name, f"int32x{width}", total, u, s)

    return dot


def _pairs(width: int, bytes_name: str, words_name: str) -> Callable:
    """Bytes to sums of two in 16 bits, those to sums of four in 32."""

    def dot(total, weights, activations):
        u, s = (T.reinterpret(f"{t}x{4 * width}", v) for t, v in
                (("uint8", weights), ("int8", activations)))  # fmt: skip
        pairs = _intrinsic(bytes_name, f"int16x{2 * width}", u, s)
        ones = T.Broadcast(T.int16(1), 2 * width)
        return total + _intrinsic(words_name, f"int32x{width}", pairs, ones)

    return dot


def _neon(total, weights, activations):
    u, s = (T.reinterpret("int8x16", v) for v in (weights, activations))
    return _intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", "int32x4", total, u, s)


def _portable(total, weights, activations):
    """Every step gets a name: TVM's simplifier is slow on long sums of whole numbers."""
    signed = emit_value(T.reinterpret(f"int32x{LANES}", weights))
    activations = emit_value(activations)
    for byte in range(4):
        shifted = emit_value(T.shift_right(signed, splat(T.int32(8 * byte))))
        weight = emit_value(T.bitwise_and(shifted, splat(T.int32(0xFF))))
        left = emit_value(T.shift_left(activations, splat(T.int32(24 - 8 * byte))))
        factor = emit_value(T.shift_right(left, splat(T.int32(24))))
        total = emit_value(total + emit_value(weight * factor))
    return total


def _in_parts(width: int, dot: Callable) -> Callable:
    """16 lanes by an instruction of fewer."""

    def whole(total, weights, activations):
        total, weights, activations = (emit_value(v) for v in (total, weights, activations))
        parts = []
        for first in range(0, LANES, width):
            lanes = range(first, first + width)
            parts.append(
                emit_value(dot(*(shuffle([v], lanes) for v in (total, weights, activations))))
            )
        return emit_value(shuffle(parts, range(LANES)))

    return whole


_DOTS: dict[str, Callable] = {
    "avx512vnni": _vnni(16),
    "avx512bw": _pairs(16, "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
    "avxvnni": _in_parts(8, _vnni(8)),
    "avx2": _in_parts(8, _pairs(8, "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd")),
    "ssse3": _in_parts(4, _pairs(4, "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd")),
    "neon": _in_parts(4, _neon),
    "portable": _portable,
}
