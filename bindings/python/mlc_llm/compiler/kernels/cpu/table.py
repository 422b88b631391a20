"""Looks up bytes in a table of 16 on every instruction set (`kernels/common/table.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common import table
from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import constant, emit_value, shuffle

_NEON = (4, "llvm.aarch64.neon.tbl1.v16i8")
_AVX2 = (8, "llvm.x86.avx2.pshuf.b")
_AVX512 = (16, "llvm.x86.avx512.pshuf.b.512")
# Lanes of 32 bits, and the instruction that takes bytes out of 16.
_SHUFFLES: dict[str, tuple[int, str]] = {
    "avx512vnni": _AVX512,
    "avx512bw": _AVX512,
    "avxvnni": _AVX2,
    "avx2": _AVX2,
    "ssse3": (4, "llvm.x86.ssse3.pshuf.b.128"),
    "neoni8mm": _NEON,
    "neondot": _NEON,
    "neon": _NEON,
    "wasm": (4, "llvm.wasm.swizzle"),
}


def emit_bytes(unit: DotUnit, words: Any, values: Sequence[int]) -> Any:
    """Of 16 words: each byte, a code below 16, becomes the value at its place in the table."""
    if unit not in _SHUFFLES:
        return _emit_byte_by_byte(words, values)
    width, name = _SHUFFLES[unit]
    dtype = f"int8x{4 * width}"
    entries = T.reinterpret(dtype, constant(table.words_of(values) * (width // 4), "uint32"))
    entries, found = emit_value(entries), []
    for first in range(0, LANES, width):
        part = words if width == LANES else shuffle([words], range(first, first + width))
        made = T.call_llvm_pure_intrin(dtype, name, entries, T.reinterpret(dtype, part))
        found.append(T.reinterpret(f"uint32x{width}", made))
    return emit_value(found[0] if width == LANES else shuffle(found, range(LANES)))


def _emit_byte_by_byte(words: Any, values: Sequence[int]) -> Any:
    whole = None
    for byte in range(4):
        by = splat(T.uint32(8 * byte))
        code = emit_value(T.bitwise_and(T.shift_right(words, by), splat(T.uint32(15))))
        made = T.shift_left(emit_numbers(code, values), by)
        whole = emit_value(made if whole is None else T.bitwise_or(whole, made))
    return whole


def emit_numbers(code: Any, values: Sequence[int], lanes: int = LANES) -> Any:
    """The same of one code in each lane."""
    return emit_value(table.looked_up(code, values, lambda n: splat(T.uint32(n), lanes)))
