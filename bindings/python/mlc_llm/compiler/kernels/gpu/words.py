"""Numbers out of words of 32 bits, for devices that have no smaller types."""

from __future__ import annotations

from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.gpu.grid import emit_value, scalar


def codes_of(word: Any, bits: int) -> list[Any]:
    shifts = [T.uint32(i * bits) for i in range(32 // bits)]
    return [T.bitwise_and(T.shift_right(word, shift), mask(bits)) for shift in shifts]


def mask(bits: int) -> Any:
    return T.uint32((1 << bits) - 1)


def half(words: Any, strip: Any, place: Any, lane: Any) -> Any:
    """The float16 of a row of a strip, as float32."""
    word = emit_value(words[strip, place, lane // 2])
    return half_of_word(word, T.Cast("uint32", lane % 2 * 16), "float16")


def octet_of(words: Any, strip: Any, place: Any, lane: Any) -> Any:
    """The byte of a row of a strip."""
    word = words[strip, place, lane // 4]
    return T.bitwise_and(T.shift_right(word, T.Cast("uint32", lane % 4 * 8)), mask(8))


def power_of_two(octet: Any) -> Any:
    """2 ** (octet - 128)."""
    octet = emit_value(octet)
    small = T.shift_left(T.uint32(0x200000), octet)  # below the smallest normal number
    usual = T.shift_left(octet - T.uint32(1), T.uint32(23))
    return T.reinterpret("float32", T.Select(octet < T.uint32(2), small, usual))


def bits_of(octet: Any, shift: Any, bits: int) -> Any:
    """A number of some bits in a byte, as float32."""
    down = T.shift_right(octet, T.Cast("uint32", shift))
    return T.Cast("float32", T.bitwise_and(down, mask(bits)))


def small_integer(words: Any, strip: Any, place: Any, lane: Any) -> Any:
    """The int8 of a row of a strip, as float32."""
    octet = octet_of(words, strip, place, lane)
    flipped = T.Cast("int32", T.bitwise_xor(octet, T.uint32(128)))  # the number + 128
    return T.Cast("float32", flipped - 128)


def half_of_word(word: Any, shift: Any, dtype: str) -> Any:
    """Sixteen bits of a word as float32, without instructions for 16-bit floats. Only for finite
    values."""
    bits = emit_value(T.bitwise_and(T.shift_right(word, shift), T.uint32(0xFFFF)))
    if dtype == "bfloat16":
        return emit_value(T.reinterpret("float32", T.shift_left(bits, T.uint32(16))))
    sign = T.shift_left(T.bitwise_and(bits, T.uint32(0x8000)), T.uint32(16))
    rest = emit_value(T.bitwise_and(bits, T.uint32(0x7FFF)))
    moved = T.shift_left(rest, T.uint32(13)) + T.uint32((127 - 15) << 23)
    small = T.Cast("float32", rest) * scalar(2.0**-24)  # below the smallest normal number
    large = T.reinterpret("float32", moved)
    magnitude = emit_value(T.Select(rest < T.uint32(0x400), small, large))
    signed = T.bitwise_or(T.reinterpret("uint32", magnitude), sign)
    return emit_value(T.reinterpret("float32", signed))
