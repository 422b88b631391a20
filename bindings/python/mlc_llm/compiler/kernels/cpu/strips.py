"""Reads matrices of GGUF's types: strips of 16 rows (`quantization/gguf/types.py`).

`Strips` is one of the readers of `weights.py` (a row's weights as floats, for embeddings and float
products). It also gives `linear_strips.py` the codes and scales of 16 rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import (
    LANES,
    half_to_float,
    splat,
    to_float,
    vector_type,
)
from mlc_llm.compiler.kernels.cpu.integer import has_half_floats
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.table import emit_bytes, emit_numbers
from mlc_llm.compiler.kernels.cpu.vector import at, constant, emit_prefetch, emit_value, fma
from mlc_llm.compiler.kernels.cpu.weights import spread
from mlc_llm.compiler.quantization.gguf.nvfp4 import SCALE_SHIFT
from mlc_llm.compiler.quantization.gguf.types import (
    GROUP,
    QUADS,
    STRIP,
    SUPER,
    WORDS,
    BlockType,
    Plane,
)
from mlc_llm.compiler.quantization.stored import StoredParam

assert STRIP == LANES


@dataclass(frozen=True)
class Strips:
    """The reader of one matrix. `buffers` are those of `stored`, in order."""

    stored: tuple[StoredParam, ...]
    kind: BlockType
    block_vectors: int = GROUP // LANES
    half_floats: bool = True  # the CPU has instructions that read float16
    unit: DotUnit = "portable"

    def on(self, unit: DotUnit) -> Strips:
        """For the CPU of an instruction."""
        return replace(self, half_floats=has_half_floats(unit), unit=unit)

    # A row's weights as floats

    def emit_vector(self, buffers, row, block, vector: int):
        """Inputs [block * 32 + vector * 16, + 16) of a row. A `block` is a group."""
        strip, lane = row // STRIP, row % STRIP
        octets = [_octet_of(self.kind, vector * LANES + i) for i in range(LANES)]

        def bits_of(plane: Plane):
            words = [plane.word_of(quad) for quad, _ in octets]
            shifts = [8 * byte + plane.shift_of(quad) for quad, byte in octets]
            stored, base = self._named(buffers, plane.tensor), block * plane.bits
            found = spread(lambda word: stored[strip, base + word, lane], words)
            return T.shift_right(found, constant(shifts, "uint32"))

        halves, half = self._halves, vector if self._halves > 1 else 0
        scales = self._emit_scales(buffers, strip, block, at(lane, 1), 1)
        minimum = self._emit_minimum(buffers, strip, block * halves + half, at(lane, 1), 1)
        return self._dequantized(bits_of, scales[half], minimum, LANES)

    def element(self, buffers, row, column):
        strip, lane = row // STRIP, row % STRIP
        quad, byte = _octet_of(self.kind, column % GROUP)

        def bits_of(plane: Plane):
            place = column // GROUP * plane.bits + plane.word_of(quad)
            word = self._named(buffers, plane.tensor)[strip, place, lane]
            return T.shift_right(word, T.Cast("uint32", 8 * byte + plane.shift_of(quad)))

        place = column // self.kind.group
        scale = self._scale(buffers, strip, place, lane, 1)
        minimum = self._emit_minimum(buffers, strip, place, lane, 1)
        return self._dequantized(bits_of, scale, minimum, 1)

    def _dequantized(self, bits_of: Callable[[Plane], Any], scale, minimum, lanes: int):
        """`bits_of(plane)` has the bits of each code in the lowest bits. Products of scale and code
        are exact, so the only rounding is GGUF's own."""
        codes = None
        for plane in self.kind.planes:
            mask = splat(T.uint32((1 << plane.bits) - 1), lanes)
            part = emit_value(T.bitwise_and(bits_of(plane), mask))
            upper = T.shift_left(part, splat(T.uint32(plane.below), lanes))
            codes = part if codes is None else emit_value(T.bitwise_or(codes, upper))
        if self.kind.values:
            codes = emit_numbers(codes, self.kind.values, lanes)
        signed = T.Cast("int32" if lanes == 1 else f"int32x{lanes}", codes)
        scale = splat(scale, lanes)
        if minimum is not None:
            return emit_value(fma(to_float(signed, lanes), scale, splat(minimum, lanes), lanes))
        zero = splat(T.int32(self.kind.zero), lanes)
        return emit_value(to_float(signed - zero, lanes) * scale)

    # Sixteen rows, one in each lane

    def emit_quads(self, buffers, strip, group) -> list[Any]:
        """The 32 inputs of a group as 8 vectors of four bytes, in the order of `Codes.places`: each
        is computed where it is used, from words that are read here (but for places in a table)."""
        words = [self._emit_words(buffers, plane, strip, group) for plane in self.kind.planes]
        return [self._quad(words, quad) for quad in range(QUADS)]

    def _emit_words(self, buffers, plane: Plane, strip, group) -> list[Any]:
        stored, base = self._named(buffers, plane.tensor), group * plane.bits
        return [emit_value(stored[strip, base + i, at(0)]) for i in range(plane.bits)]

    def _quad(self, words: list[list[Any]], quad: int):
        found = None
        for plane, of_plane in zip(self.kind.planes, words, strict=True):
            word = of_plane[plane.word_of(quad)]
            if plane.bits < 8:
                word = _shifted(word, plane.below - plane.shift_of(quad))
                word = T.bitwise_and(word, plane_mask(plane))
            found = word if found is None else T.bitwise_or(found, word)
        return self._emit_values(found)

    def _emit_values(self, quad):
        """What the codes of a quad stand for."""
        values = self.kind.values
        return emit_bytes(self.unit, quad, values) if values else quad

    def emit_pair(self, buffers, strip, group, turn) -> list[Any]:
        """The quads `turn` and `turn` + 4 of that group."""
        if self.kind.bits == 8:
            places = [group * self.kind.bits + turn + i for i in (0, WORDS)]
            return [emit_value(buffers[0][strip, place, at(0)]) for place in places]
        found: list[Any] = [None, None]
        for plane in self.kind.planes:
            place, shift = group * plane.bits + plane.word_of(turn), plane.shift_of(turn)
            word = self._named(buffers, plane.tensor)[strip, place, at(0)]
            if plane.bits < WORDS:
                word = T.shift_right(word, splat(T.Cast("uint32", shift)))
            word, mask = emit_value(word), plane_mask(plane)
            for i in range(2):
                part = T.bitwise_and(_shifted(word, plane.below - 4 * i), mask)
                before = found[i]
                found[i] = emit_value(part if before is None else T.bitwise_or(before, part))
        return [self._emit_values(quad) for quad in found]

    def emit_prefetch_pair(self, buffers, strip, group, turn) -> None:
        """Prefetches the codes of a pair."""
        for plane in self.kind.planes:
            for quad in (turn, turn + WORDS) if plane.bits > WORDS else (turn,):
                word = group * plane.bits + plane.word_of(quad)
                emit_prefetch(self._named(buffers, plane.tensor), strip, word, 0)

    def emit_prefetch(self, buffers, strip, group) -> None:
        """Prefetches the codes of a group."""
        for plane in self.kind.planes:
            for word in range(plane.bits):
                place = group * plane.bits + word
                emit_prefetch(self._named(buffers, plane.tensor), strip, place, 0)

    def groups_in(self, lines: int) -> int:
        """The number of groups whose codes are in so many cache lines."""
        return lines // -(-self.kind.span * self.kind.bits // 32)

    def emit_prefetch_scales(self, buffers, strip, group) -> None:
        """Prefetches the scales of a group. Scales that are integers are few."""
        if self.kind.scale_bits < 16:
            return
        for name in ("q_scale", "q_min")[: 1 + self.kind.minimum]:
            emit_prefetch(self._named(buffers, name), strip, group * self._halves, 0)

    def emit_scales(self, buffers, strip, group) -> list[Any]:
        """One vector of scales, or one for each half of the group."""
        return self._emit_scales(buffers, strip, group, at(0), LANES)

    def emit_minimums(self, buffers, strip, group) -> list[Any]:
        """For each scale, the vector that is added to its weights. Empty if there is no minimum."""
        if not self.kind.minimum:
            return []
        each = self._halves
        places = [group * each + i for i in range(each)]
        return [self._emit_minimum(buffers, strip, place, at(0), LANES) for place in places]

    def quads_of_scale(self, i: int) -> list[int]:
        """The positions of the quads under a group's i-th scale."""
        inputs = range(i * self.kind.group, (i + 1) * self.kind.group)
        return sorted({_octet_of(self.kind, k)[0] for k in inputs})

    def in_turn(self, i: int) -> list[int]:
        """The same, word by word, so that few of them are in registers at a time."""
        return sorted(self.quads_of_scale(i), key=self._turn_of)

    def _turn_of(self, quad: int) -> tuple[int, ...]:
        return (self.kind.planes[0].word_of(quad),)

    @property
    def _halves(self) -> int:
        """The number of scales of a group."""
        return self.kind.span // self.kind.group

    def _emit_scales(self, buffers, strip, group, lane, lanes: int) -> list[Any]:
        each = self._halves
        return [self._scale(buffers, strip, group * each + i, lane, lanes) for i in range(each)]

    def _scale(self, buffers, strip, place, lane, lanes: int):
        scales = self._named(buffers, "q_scale")
        if self.kind.exponents:
            scale = _power_of_two(scales[strip, place, lane], lanes)
        elif self.kind.small_floats:
            bits = T.Cast(vector_type("uint16", lanes), scales[strip, place, lane])
            bits = T.shift_left(bits, splat(T.uint16(SCALE_SHIFT), lanes))
            half = T.reinterpret(vector_type("float16", lanes), bits)
            factor = self._named(buffers, "q_factor")[strip, 0, lane]
            scale = self._as_float(half, lanes) * factor
        elif self.kind.scale_bits == 4:
            scale = to_float(_bits_of_octet(scales[strip, place, lane], 0, 4, lanes), lanes)
        elif self.kind.scale_bits == 6:
            high = self._named(buffers, "q_scale_high")[strip, place // 4, lane]
            low = _bits_of_octet(scales[strip, place // 2, lane], place % 2 * 4, 4, lanes)
            upper = _bits_of_octet(high, place % 4 * 2, 2, lanes)
            whole = low + T.shift_left(upper, splat(T.int32(4), lanes)) - splat(T.int32(32), lanes)
            scale = to_float(whole, lanes)
        else:
            scale = self._as_float(scales[strip, place, lane], lanes)
        if self.kind.nested:
            scale = scale * self._shared(buffers, "q_super", strip, place, lane, lanes)
        return emit_value(scale)

    def _emit_minimum(self, buffers, strip, place, lane, lanes: int):
        if not self.kind.minimum:
            return None
        if self.kind.scale_bits == 4:
            octet = self._named(buffers, "q_scale")[strip, place, lane]
            minimum = to_float(_bits_of_octet(octet, 4, 4, lanes), lanes)
        else:
            minimum = self._as_float(self._named(buffers, "q_min")[strip, place, lane], lanes)
        if self.kind.nested:
            outer = self._shared(buffers, "q_super_min", strip, place, lane, lanes)
            minimum = minimum * (outer * splat(-1.0, lanes))
        return emit_value(minimum)

    def _shared(self, buffers, name: str, strip, place, lane, lanes: int):
        """The factor of the integer at a place."""
        outer = place // (SUPER // self.kind.group)
        return self._as_float(self._named(buffers, name)[strip, outer, lane], lanes)

    def _named(self, buffers, name: str):
        return buffers[self.kind.place_of(name)]

    def _as_float(self, scale, lanes: int):
        is_half = str(scale.ty.dtype).startswith("float16")
        return (to_float if self.half_floats or not is_half else half_to_float)(scale, lanes)


def _octet_of(kind: BlockType, k: Any) -> tuple[Any, Any]:
    """The quad of an input of a group, and the byte in it (`types.py`)."""
    if kind.has_neighbours:
        return k // 4, k % 4
    return k // 8 + k % 2 * 4, k % 8 // 2


def _power_of_two(octet, lanes: int):
    """2 ** (octet - 128)."""
    e = emit_value(T.Cast(vector_type("int32", lanes), octet))
    small = T.shift_left(splat(T.int32(0x200000), lanes), e)  # below the smallest normal number
    usual = T.shift_left(e - splat(T.int32(1), lanes), splat(T.int32(23), lanes))
    bits = emit_value(T.Select(e < splat(T.int32(2), lanes), small, usual))
    return T.reinterpret(vector_type("float32", lanes), bits)


def plane_mask(plane: Plane):
    """The bits of a plane at their place in a code, in each byte."""
    return splat(T.uint32(((1 << plane.bits) - 1 << plane.below) * 0x01010101))


def _shifted(word, up: int):
    """Shifted up, or down if it is negative."""
    if up == 0:
        return word
    by = splat(T.uint32(abs(up)))
    return T.shift_left(word, by) if up > 0 else T.shift_right(word, by)


def _bits_of_octet(octet, shift, bits: int, lanes: int):
    """A number of some bits in a byte, as int32."""
    wide = T.Cast(vector_type("int32", lanes), octet)
    down = T.shift_right(wide, splat(T.Cast("int32", shift), lanes))
    return emit_value(T.bitwise_and(down, splat(T.int32((1 << bits) - 1), lanes)))
