"""Converts GGUF's blocks to the tensors of `types.py`, and back to floats, in NumPy and without
rounding.

    parts = read_blocks(TYPES["Q4_1"], raw)      # raw: uint8 (rows, bytes of a row)
    tensors = strips_of(TYPES["Q4_1"], parts)    # in the order of `stored_params`

(Facts: ggml-org/llama.cpp, ggml/src/ggml-common.h and gguf-py/gguf/quants.py, for the order of bits
in a block. Tests compare with the dequantizer of the `gguf` package.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_llm.compiler.quantization.gguf import nvfp4
from mlc_llm.compiler.quantization.gguf.types import GROUP, STRIP, SUPER, WORDS, BlockType, Plane

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class UnpackedRows:
    """Rows of a matrix: codes (rows, inputs) as uint8; the other members as in `types.py`, (rows,
    places)."""

    codes: Array
    scales: Array
    minimums: Array | None = None
    supers: Array | None = None
    super_minimums: Array | None = None

    def arrays(self) -> list[Array]:
        """The arrays that exist, in the order of `stored_params`."""
        every = (self.codes, self.scales, self.minimums, self.supers, self.super_minimums)
        return [array for array in every if array is not None]


def read_blocks(kind: BlockType, raw: Array) -> UnpackedRows:
    """The content of the blocks of some rows; NVFP4 in the wide form too (`nvfp4.py`)."""
    if kind.small_floats and nvfp4.is_wide(raw):
        return _wide_nvfp4(raw)
    blocks = raw.reshape(raw.shape[0], -1, _BLOCK_BYTES[kind.in_files])  # (rows, blocks, bytes)
    return _READERS[kind.in_files](blocks)


def strips_of(kind: BlockType, parts: UnpackedRows) -> list[Array]:
    """The stored tensors of these rows: strips of 16, the last one padded with zeros."""
    if kind.values and kind.has_neighbours:
        planes = [_packed_halves(parts.codes)]
    else:
        planes = [_packed(parts.codes, plane) for plane in kind.planes]
    return [_strips(array) for array in (*planes, *_packed_scales(kind, parts))]


def dequantized(kind: BlockType, tensors: Sequence[Array], rows: int) -> Array:
    """Stored tensors as float32 (rows, inputs), bit for bit as GGUF defines them."""
    parts = {n: _rows(t, rows) for n, t in zip(kind.tensors, tensors, strict=True)}
    codes = _codes(kind, parts).astype(np.float32)
    parts = _unpacked_scales(kind, parts)
    scales, minimums = parts["q_scale"], parts.get("q_min")
    if kind.nested or kind.small_floats:
        shared = parts["q_super" if kind.nested else "q_factor"]
        scales = _widened(shared, scales.shape[1]) * scales.astype(np.float32)
    scale = _widened(scales, codes.shape[1])
    if minimums is None:
        return scale * (codes - np.float32(kind.zero))
    if kind.nested:
        shared = _widened(parts["q_super_min"], minimums.shape[1])
        minimums = -(shared * minimums.astype(np.float32))
    return scale * codes + _widened(minimums, codes.shape[1])


def _codes(kind: BlockType, parts: dict[str, Array]) -> Array:
    """What is multiplied: (rows, inputs)."""
    if kind.values and kind.has_neighbours:
        codes = _unpacked_halves(parts["q_weight"])
    else:
        codes = sum(_unpacked(parts[plane.tensor], plane) for plane in kind.planes)
    return np.array(kind.values, np.uint8)[codes] if kind.values else codes


def _packed_scales(kind: BlockType, parts: UnpackedRows) -> list[Array]:
    """All stored tensors but the codes. int8 numbers have 4 or 6 bits in some types."""
    scales, *others = parts.arrays()[1:]
    if kind.scale_bits == 4:
        minimums, *others = others
        return [_joined([scales, minimums], 4), *others]
    if kind.scale_bits == 6:
        octets = (scales + np.int8(32)).view(np.uint8)
        low = _joined([octets[:, i::2] & 15 for i in range(2)], 4)
        high = _joined([octets[:, i::4] >> 4 for i in range(4)], 2)
        return [low, high, *others]
    return [scales, *others]


def _unpacked_scales(kind: BlockType, tensors: dict[str, Array]) -> dict[str, Array]:
    if kind.scale_bits == 4:
        scales, minimums = _apart(tensors["q_scale"], 4)
        return {**tensors, "q_scale": scales, "q_min": minimums}
    if kind.exponents:
        e = tensors["q_scale"].astype(np.uint32)
        small = np.uint32(0x200000) << np.minimum(e, 1)  # below the smallest normal number
        bits = np.where(e < 2, small, (e - (e >= 2)) << np.uint32(23))
        return {**tensors, "q_scale": bits.astype("<u4").view("<f4")}
    if kind.small_floats:
        halves = tensors["q_scale"].astype("<u2") << nvfp4.SCALE_SHIFT
        return {**tensors, "q_scale": halves.view("<f2")}
    if kind.scale_bits == 6:
        low = np.stack(_apart(tensors["q_scale"], 4), axis=-1)
        high = np.stack(_apart(tensors["q_scale_high"], 2), axis=-1)
        octets = _flat(low) | _flat(high) << 4
        return {**tensors, "q_scale": octets.view(np.int8) - np.int8(32)}
    return tensors


def _joined(parts: Sequence[Array], bits: int) -> Array:
    """Bytes of several numbers, the first one in the lowest bits."""
    octets = np.zeros(parts[0].shape, np.uint8)
    for i, part in enumerate(parts):
        octets |= part.view(np.uint8) << (i * bits)
    return octets


def _apart(octets: Array, bits: int) -> list[Array]:
    return [octets >> shift & ((1 << bits) - 1) for shift in range(0, 8, bits)]


def _widened(values: Array, size: int) -> Array:
    """Repeats each value for all neighbours that share it, as float32."""
    return np.repeat(values.astype(np.float32), size // values.shape[1], axis=1)


def _strips(array: Array) -> Array:
    """(rows, places) -> (strips, places, 16)."""
    missing = -array.shape[0] % STRIP
    padded = np.pad(array, ((0, missing), (0, 0)))
    turned = padded.reshape(-1, STRIP, array.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(turned)


def _rows(tensor: Array, rows: int) -> Array:
    return tensor.transpose(0, 2, 1).reshape(-1, tensor.shape[1])[:rows]


def _packed(codes: Array, plane: Plane) -> Array:
    """The words of a plane (`types.py`): (rows, inputs * bits / 32)."""
    codes = np.ascontiguousarray(codes)
    if plane.bits == 8:
        return codes.view("<u4")
    low, mask = plane.below, (1 << plane.bits) - 1
    pairs = codes.view("<u2")  # a byte has bits of two neighbours, from its bits 0 and 4 on
    octets = (pairs >> low & mask | pairs >> (low + 4) & mask << 4).astype(np.uint8)
    words = octets.view("<u4").reshape(len(codes), -1, WORDS)  # (rows, groups, words of 8 codes)
    found = words[..., : plane.bits].copy()
    for quad in range(plane.bits, WORDS, plane.bits):
        found |= words[..., quad : quad + plane.bits] << plane.shift_of(quad)
    return _flat(found)


def _unpacked(words: Array, plane: Plane) -> Array:
    """The bits of codes in those words, at their place in a code: uint8 (rows, inputs)."""
    words = np.ascontiguousarray(words)
    if plane.bits == 8:
        return words.view(np.uint8)
    parts = words.reshape(len(words), -1, plane.bits)
    shifts = [plane.shift_of(quad) for quad in range(0, WORDS, plane.bits)]
    octets = _flat(np.concatenate([parts >> shift for shift in shifts], axis=-1)).view(np.uint8)
    mask = (1 << plane.bits) - 1
    return _flat(np.stack([octets & mask, octets >> 4 & mask], axis=-1) << plane.below)


def _packed_halves(codes: Array) -> Array:
    """Codes of 4 bits whose quads have four neighbours: of each group the first 16 in the lower
    bits of bytes, the others above them."""
    halves = codes.reshape(len(codes), -1, 2, GROUP // 2)
    return _flat(np.ascontiguousarray(halves[:, :, 0] | halves[:, :, 1] << 4).view("<u4"))


def _unpacked_halves(words: Array) -> Array:
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1, GROUP // 2)
    return _flat(np.stack([octets & 15, octets >> 4], axis=-2))


def _half(blocks: Array, start: int) -> Array:
    """The float16 at that byte of every block: (rows, blocks)."""
    return np.ascontiguousarray(blocks[..., start : start + 2]).view("<f2")[..., 0]


def _flat(values: Array) -> Array:
    return values.reshape(values.shape[0], -1)


def _nibbles(octets: Array, each: int) -> Array:
    """The codes of blocks: for each `each` bytes first the low halves, then the high halves."""
    grouped = octets.reshape(*octets.shape[:-1], -1, each)  # (rows, blocks, runs, each)
    return np.stack([grouped & 15, grouped >> 4], axis=-2).reshape(*octets.shape[:-1], -1)


def _fifth_bits(blocks: Array, start: int) -> Array:
    """Bit i of a 32-bit word, as 0 or 16, for weight i of a block."""
    return np.unpackbits(blocks[..., start : start + 4], axis=-1, bitorder="little") << 4


def _q4_0(blocks: Array) -> UnpackedRows:
    return UnpackedRows(_flat(_nibbles(blocks[..., 2:18], 16)), _half(blocks, 0))


def _q4_1(blocks: Array) -> UnpackedRows:
    return UnpackedRows(_flat(_nibbles(blocks[..., 4:20], 16)), _half(blocks, 0), _half(blocks, 2))


def _q5_0(blocks: Array) -> UnpackedRows:
    codes = _nibbles(blocks[..., 6:22], 16) | _fifth_bits(blocks, 2)
    return UnpackedRows(_flat(codes), _half(blocks, 0))


def _q5_1(blocks: Array) -> UnpackedRows:
    codes = _nibbles(blocks[..., 8:24], 16) | _fifth_bits(blocks, 4)
    return UnpackedRows(_flat(codes), _half(blocks, 0), _half(blocks, 2))


def _q8_0(blocks: Array) -> UnpackedRows:
    return UnpackedRows(
        _flat(blocks[..., 2:34] ^ np.uint8(128)), _half(blocks, 0)
    )  # + 128, in a byte


def _q4_k(blocks: Array) -> UnpackedRows:
    return _with_six_bit_scales(_nibbles(blocks[..., 16:144], 32), blocks)


def _q5_k(blocks: Array) -> UnpackedRows:
    octets = blocks[..., None, 16:48]  # bit g of byte i belongs to weight i of group g
    shifts = np.arange(SUPER // GROUP, dtype=np.uint8)[:, None]
    fifth = ((octets >> shifts & 1) << 4).reshape(*blocks.shape[:2], SUPER)
    return _with_six_bit_scales(_nibbles(blocks[..., 48:176], 32) | fifth, blocks)


def _with_six_bit_scales(codes: Array, blocks: Array) -> UnpackedRows:
    """d, dmin, then 12 bytes. Scales and minimums 0 to 3 are in the lower six bits of 8 bytes.
    The others have four bits in the last 4 bytes, and two bits in the upper bits of the first 8
    bytes."""
    first, second, third = (blocks[..., i : i + 4] for i in (4, 8, 12))
    scales = [first & 63, third & 15 | first >> 6 << 4]
    minimums = [second & 63, third >> 4 | second >> 6 << 4]
    return UnpackedRows(
        _flat(codes),
        *(_flat(np.concatenate(part, axis=-1).view(np.int8)) for part in (scales, minimums)),
        supers=_half(blocks, 0),
        super_minimums=_half(blocks, 2),
    )


def _q6_k(blocks: Array) -> UnpackedRows:
    """For each 128 weights: 64 bytes of low halves and 32 bytes of two upper bits, in four runs of
    32."""
    low = _nibbles(blocks[..., :128], 64)
    upper = blocks[..., 128:192].reshape(*blocks.shape[:2], 2, 1, 32)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    codes = low | ((upper >> shifts & 3) << 4).reshape(low.shape)
    scales = np.ascontiguousarray(blocks[..., 192:208]).view(np.int8)
    return UnpackedRows(_flat(codes), _flat(scales), supers=_half(blocks, 208))


def _q2_k(blocks: Array) -> UnpackedRows:
    """For each 128 weights: four runs of 32 share 32 bytes. A byte of `scales` has a scale and a
    minimum."""
    scales = blocks[..., :16]
    return UnpackedRows(
        _flat(_pairs_of_bits(blocks[..., 16:80])),
        _flat(scales & 15).view(np.int8),
        _flat(scales >> 4).view(np.int8),
        supers=_half(blocks, 80),
        super_minimums=_half(blocks, 82),
    )


def _pairs_of_bits(octets: Array) -> Array:
    runs = octets.reshape(*octets.shape[:-1], -1, 1, 32)  # (rows, blocks, runs, 1, 32)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    return (runs >> shifts & 3).reshape(*octets.shape[:-1], -1)


def _q3_k(blocks: Array) -> UnpackedRows:
    """Bit g of byte i of the first 32 bytes is the third bit of weight i of group g. Of the 12
    bytes of scales, each of the first 8 has four bits of two scales; each of the others has two
    bits of four scales."""
    shifts = np.arange(SUPER // GROUP, dtype=np.uint8)[:, None]
    third = (blocks[..., None, :32] >> shifts & 1).reshape(*blocks.shape[:2], SUPER)
    codes = _pairs_of_bits(blocks[..., 32:96]) | third << 2
    low = _nibbles(blocks[..., 96:104], 8)
    high = blocks[..., None, 104:108] >> np.arange(0, 8, 2, dtype=np.uint8)[:, None] & 3
    scales = (low | high.reshape(low.shape) << 4).view(np.int8) - np.int8(32)
    return UnpackedRows(_flat(codes), _flat(scales), supers=_half(blocks, 108))


def _iq4_nl(blocks: Array) -> UnpackedRows:
    return UnpackedRows(_flat(_nibbles(blocks[..., 2:18], 16)), _half(blocks, 0))


def _iq4_xs(blocks: Array) -> UnpackedRows:
    """A scale has four bits in the nibbles of 4 bytes, and two bits in a 16-bit word."""
    octets = blocks[..., 4:8]
    low = np.stack([octets & 15, octets >> 4], axis=-1).reshape(*blocks.shape[:2], 8)
    upper = np.ascontiguousarray(blocks[..., 2:4]).view("<u2")
    high = (upper >> np.arange(0, 16, 2, dtype=np.uint16) & 3).astype(np.uint8)
    scales = (low | high << 4).view(np.int8) - np.int8(32)
    codes = _nibbles(blocks[..., 8:136], 16)
    return UnpackedRows(_flat(codes), _flat(scales), supers=_half(blocks, 0))


def _mxfp4(blocks: Array) -> UnpackedRows:
    """The scale is a power of two: 2 ** (e - 128)."""
    return UnpackedRows(_flat(_nibbles(blocks[..., 1:17], 16)), blocks[..., 0].copy())


def _nvfp4(blocks: Array) -> UnpackedRows:
    return _wide_nvfp4(nvfp4.with_factor(_flat(blocks), np.ones(1, np.float32)))


def _wide_nvfp4(rows: Array) -> UnpackedRows:
    scales, octets, factors = nvfp4.wide_parts(rows)
    return UnpackedRows(_flat(_nibbles(octets, 8)), scales, supers=factors)


_READERS = {
    "Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0,
    "Q4_K": _q4_k, "Q5_K": _q5_k, "Q6_K": _q6_k, "Q2_K": _q2_k, "Q3_K": _q3_k,
    "IQ4_NL": _iq4_nl, "IQ4_XS": _iq4_xs, "MXFP4": _mxfp4, "NVFP4": _nvfp4,
}  # fmt: skip
_BLOCK_BYTES = {
    "Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q8_0": 34,
    "Q4_K": 144, "Q5_K": 176, "Q6_K": 210, "Q2_K": 84, "Q3_K": 110,
    "IQ4_NL": 18, "IQ4_XS": 136, "MXFP4": 17, "NVFP4": nvfp4.BYTES,
}  # fmt: skip
