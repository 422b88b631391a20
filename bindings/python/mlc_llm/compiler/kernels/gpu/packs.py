"""Readers: a GPU kernel reads a weight matrix (out, in) in packs of neighbouring inputs.

A scheme's `Matrix.on_gpu()` returns one of these readers. A pack is one word of a quantized matrix,
or four floats of a plain one. `StripPacks` and `HalfPacks` read every tensor as words of 32 bits,
because some devices have no 8-bit and 16-bit types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.table import looked_up
from mlc_llm.compiler.kernels.gpu.chunk import Chunk
from mlc_llm.compiler.kernels.gpu.grid import emit_value, scalar, to_float
from mlc_llm.compiler.kernels.gpu.words import (
    bits_of,
    codes_of,
    half,
    half_of_word,
    mask,
    octet_of,
    power_of_two,
    small_integer,
)
from mlc_llm.compiler.quantization import awq
from mlc_llm.compiler.quantization.fp8 import Float8
from mlc_llm.compiler.quantization.gguf.nvfp4 import SCALE_SHIFT
from mlc_llm.compiler.quantization.gguf.types import QUADS, STRIP, SUPER, WORDS, BlockType
from mlc_llm.compiler.quantization.group import Groups
from mlc_llm.compiler.quantization.stored import StoredParam

# What is adjacent in memory: the packs of a row, the outputs, or the outputs of a strip.
Order = Literal["rows", "columns", "strips"]


@dataclass(frozen=True)
class Packs:
    """`ins`: the inputs of the matrix."""

    stored: tuple[StoredParam, ...]
    ins: int

    order = "rows"  # an Order
    is_plain = False  # whether it is a matrix of floats, which a library can use unchanged
    size = 4  # the number of weights in a pack
    chunk = None  # 16 bytes of weights that are read at once; None: it has no such reads

    @property
    def kind(self) -> str:
        """Distinguishes its kernels from those of other matrices of the model with the same
        shape."""
        return f"{self.order} of {self.stored[-1].dtype}"

    @property
    def count(self) -> int:
        """The number of packs in a row. The last one may be padded."""
        return -(-self.ins // self.size)

    @property
    def step(self) -> int:
        """The number of packs that belong together: those of one scale, or about 32 weights."""
        return 32 // self.size

    @property
    def library_dtype(self) -> str:
        """The type in which a library multiplies it; "" if no library does."""
        return "float32"

    @property
    def args(self) -> list[Arg]:
        return [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(self.stored)]

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        """The weights of a pack, as float32."""
        raise NotImplementedError

    def emit_chunk(self, buffers: Any, out: Any, chunk: Any) -> tuple[list[Any], Any]:
        """The words of a chunk, and their scale. Only for packs with chunks, as `element`."""
        raise NotImplementedError

    def element(self, buffers: Any, out: Any, k: Any) -> Any:
        """One weight, as float32."""
        raise NotImplementedError


@dataclass(frozen=True)
class PlainPacks(Packs):
    """Floats of a type that the device has."""

    is_plain = True

    @property
    def library_dtype(self) -> str:
        dtype = self.stored[0].dtype
        return dtype if dtype in ("float16", "float32") else ""

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        """The last pack may be longer than the row."""
        places = [pack * self.size + i for i in range(self.size)]
        if self.ins % self.size:
            places = [T.min(place, self.ins - 1) for place in places]
        return [to_float(buffers[0][out, place], 1) for place in places]


@dataclass(frozen=True)
class GroupPacks(Packs):
    """For a group scheme, stored (out, in)."""

    groups: Groups

    @property
    def size(self) -> int:
        return self.groups.codes_per_word

    @property
    def step(self) -> int:
        return self.groups.words

    @property
    def library_dtype(self) -> str:
        dtype = self.stored[1].dtype
        return dtype if dtype in ("float16", "float32") else ""

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        groups = self.groups
        scale = emit_value(to_float(self._at(buffers[1], out, pack // groups.words), 1))
        word = emit_value(self._at(buffers[0], out, pack))
        zero = scalar(float(groups.qmax))
        return [(T.Cast("float32", c) - zero) * scale for c in codes_of(word, groups.bits)]

    @property
    def chunk(self) -> Chunk | None:
        """Whole words of 4, or of 8 bits, in a whole number of reads for each scale."""
        groups = self.groups
        whole = groups.bits in (4, 8) and groups.words % 4 == 0 and self.ins % groups.size == 0
        return Chunk(groups.bits, groups.qmax) if whole and self.order == "rows" else None

    def emit_chunk(self, buffers: Any, out: Any, chunk: Any) -> tuple[list[Any], Any]:
        vector = emit_value(buffers[0][out, T.ramp(chunk * 4, 1, 4)])
        scale = to_float(self._at(buffers[1], out, chunk // (self.groups.words // 4)), 1)
        return [emit_value(T.Shuffle([vector], [i])) for i in range(4)], emit_value(scale)

    def element(self, buffers: Any, out: Any, k: Any) -> Any:
        groups, size = self.groups, self.groups.codes_per_word
        shift = T.Cast("uint32", k % size * groups.bits)
        word = T.shift_right(self._at(buffers[0], out, k // size), shift)
        code = T.Cast("float32", T.bitwise_and(word, mask(groups.bits)))
        scale = to_float(self._at(buffers[1], out, k // groups.size), 1)
        return (code - scalar(float(groups.qmax))) * scale

    def _at(self, buffer: Any, out: Any, place: Any) -> Any:
        return buffer[out, place]


@dataclass(frozen=True)
class GroupColumns(GroupPacks):
    """The same, stored (in, out)."""

    order = "columns"

    def _at(self, buffer: Any, out: Any, place: Any) -> Any:
        return buffer[place, out]


@dataclass(frozen=True)
class AWQPacks(Packs):
    """For AWQ: a word has eight outputs of one input. A pack has four inputs, as with floats."""

    order = "columns"

    @property
    def kind(self) -> str:
        return "awq"

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        codes, zeros, scales = buffers
        group = emit_value(pack * self.size // awq.GROUP)
        word = emit_value(scales[group, out // 2])
        scale = half_of_word(word, T.Cast("uint32", out % 2 * 16), "float16")
        zero = emit_value(self._code(zeros, group, out))
        rows = [pack * self.size + i for i in range(self.size)]
        return [(self._code(codes, row, out) - zero) * scale for row in rows]

    def _code(self, words: Any, row: Any, out: Any) -> Any:
        """Outputs 0, 2, 4, 6 are in the lower nibbles; 1, 3, 5, 7 in the upper ones."""
        place = out % awq.PER_WORD
        shift = T.Cast("uint32", (place % 2 * 4 + place // 2) * 4)
        word = words[row, out // awq.PER_WORD]
        return T.Cast("float32", T.bitwise_and(T.shift_right(word, shift), T.uint32(15)))


@dataclass(frozen=True)
class HalfPacks(Packs):
    """16-bit floats, two in a word."""

    dtype: str  # float16 or bfloat16

    @property
    def kind(self) -> str:
        return f"words of {self.dtype}"

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        words, last = self.size // 2, self.ins // 2 - 1
        found = []
        for i in range(words):
            place = pack * words + i
            place = T.min(place, last) if self.ins % self.size else place
            word = emit_value(buffers[0][out, place])
            found += [half_of_word(word, T.uint32(0), self.dtype)]
            found += [half_of_word(word, T.uint32(16), self.dtype)]
        return found


@dataclass(frozen=True)
class Float8Packs(Packs):
    """8-bit floats, four in a word."""

    float8: Float8

    @property
    def kind(self) -> str:
        return self.float8.dtype

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        found = self._plain(buffers[0], out, pack)
        if not self.float8.scaled:
            return found
        scale = emit_value(self._scale(buffers[1], out, pack))
        return [value * scalar(self.float8.factor) * scale for value in found]

    def _scale(self, scales: Any, out: Any, pack: Any) -> Any:
        return scales[0]

    def _plain(self, words: Any, out: Any, pack: Any) -> list[Any]:
        """The float16 with the same sign, exponent and fraction bits differs by a constant
        factor."""
        word = emit_value(words[out, pack])
        found = []
        for i in range(self.size):
            octet = emit_value(T.bitwise_and(T.shift_right(word, T.uint32(8 * i)), T.uint32(255)))
            sign = T.shift_left(T.bitwise_and(octet, T.uint32(0x80)), T.uint32(8))
            rest = T.bitwise_and(octet, T.uint32(0x7F))
            bits = T.bitwise_or(sign, T.shift_left(rest, T.uint32(self.float8.shift)))
            found.append(half_of_word(bits, T.uint32(0), "float16"))
        return found


@dataclass(frozen=True)
class BlockFloat8Packs(Float8Packs):
    """The same, with a scale for each block of `block` x `block` weights."""

    block: int

    @property
    def kind(self) -> str:
        return f"{super().kind} in blocks"

    def _scale(self, scales: Any, out: Any, pack: Any) -> Any:
        return scales[out // self.block, pack * self.size // self.block]


@dataclass(frozen=True)
class StripPacks(Packs):
    """For a GGUF type, in strips of 16 rows (`quantization/gguf/types.py`)."""

    block: BlockType

    order = "strips"

    @property
    def kind(self) -> str:
        return self.block.name

    @property
    def size(self) -> int:
        """A pack has the inputs of two quads, or those of one if they are neighbours."""
        return 4 if self.block.has_neighbours else 8

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        """Products of scale and code are exact, so the only rounding is GGUF's own."""
        strip, lane = emit_value(out // STRIP), emit_value(out % STRIP)
        codes = self._codes(buffers, strip, pack, lane)
        place = emit_value(pack * self.size // self.block.group)
        scale = emit_value(self._scale(buffers, strip, place, lane))
        if not self.block.minimum:
            zero = scalar(float(self.block.zero))
            return [(T.Cast("float32", code) - zero) * scale for code in codes]
        minimum = emit_value(self._minimum(buffers, strip, place, lane))
        return [T.Cast("float32", code) * scale + minimum for code in codes]

    def _codes(self, buffers: Any, strip: Any, pack: Any, lane: Any) -> list[Any]:
        if self.block.bits == 8:
            return codes_of(emit_value(buffers[0][strip, pack, lane]), 8)
        if self.block.has_neighbours:
            return self._values(self._neighbours(buffers, strip, pack, lane))
        group, quad = pack // WORDS, pack % WORDS
        found = [T.uint32(0)] * self.size
        for plane in self.block.planes:
            place = group * plane.bits + plane.word_of(quad)
            word = self._named(buffers, plane.tensor)[strip, place, lane]
            word = T.shift_right(word, T.Cast("uint32", plane.shift_of(quad)))
            bits = [T.bitwise_and(b, mask(plane.bits)) for b in codes_of(emit_value(word), 4)]
            parts = [T.shift_left(b, T.uint32(plane.below)) for b in bits]
            found = [T.bitwise_or(*pair) for pair in zip(found, parts, strict=True)]
        return self._values(found)

    def _neighbours(self, buffers: Any, strip: Any, quad: Any, lane: Any) -> list[Any]:
        """Codes of 4 bits whose quads have four neighbours."""
        group, own = quad // QUADS, quad % QUADS
        word = buffers[0][strip, group * WORDS + own % WORDS, lane]
        word = emit_value(T.shift_right(word, T.Cast("uint32", own // WORDS * 4)))
        return [T.bitwise_and(byte, mask(4)) for byte in codes_of(word, 8)]

    def _values(self, codes: list[Any]) -> list[Any]:
        """What they stand for."""
        values = self.block.values
        if not values:
            return codes
        return [emit_value(looked_up(emit_value(code), values, T.uint32)) for code in codes]

    def _scale(self, buffers: Any, strip: Any, place: Any, lane: Any) -> Any:
        scales = self._named(buffers, "q_scale")
        if self.block.exponents:
            return power_of_two(octet_of(scales, strip, place, lane))
        if self.block.small_floats:
            bits = T.shift_left(octet_of(scales, strip, place, lane), T.uint32(SCALE_SHIFT))
            factor = self._named(buffers, "q_factor")[strip, 0, lane]
            return half_of_word(bits, T.uint32(0), "float16") * factor
        if self.block.scale_bits == 16:
            return half(scales, strip, place, lane)
        shared = self._shared(buffers, "q_super", strip, place, lane)
        if self.block.scale_bits == 8:
            return small_integer(scales, strip, place, lane) * shared
        if self.block.scale_bits == 4:
            return bits_of(octet_of(scales, strip, place, lane), 0, 4) * shared
        low = bits_of(octet_of(scales, strip, place // 2, lane), place % 2 * 4, 4)
        upper = octet_of(self._named(buffers, "q_scale_high"), strip, place // 4, lane)
        high = bits_of(upper, place % 4 * 2, 2)
        return (low + high * scalar(16.0) - scalar(32.0)) * shared

    def _minimum(self, buffers: Any, strip: Any, place: Any, lane: Any) -> Any:
        if self.block.scale_bits == 16:
            return half(self._named(buffers, "q_min"), strip, place, lane)
        shared = scalar(0.0) - self._shared(buffers, "q_super_min", strip, place, lane)
        if self.block.scale_bits == 4:
            octet = octet_of(self._named(buffers, "q_scale"), strip, place, lane)
            return bits_of(octet, 4, 4) * shared
        return small_integer(self._named(buffers, "q_min"), strip, place, lane) * shared

    def _shared(self, buffers: Any, tensor: str, strip: Any, place: Any, lane: Any) -> Any:
        """The factor of the integer at a place."""
        outer = place // (SUPER // self.block.group)
        return half(self._named(buffers, tensor), strip, outer, lane)

    def _named(self, buffers: Any, tensor: str) -> Any:
        return buffers[self.block.place_of(tensor)]
