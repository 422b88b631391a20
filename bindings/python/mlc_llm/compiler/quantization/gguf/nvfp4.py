"""NVFP4: 4-bit floats (e2m1) and an 8-bit float (e4m3) for each 16 weights.

A block of a GGUF file has 64 weights: 4 scales, then 32 bytes, of which 8 belong to a scale; their
low halves come first. A file or a repository may have one more factor for a whole weight. In the
wide form a row begins with its factor, a float32; then it has the scales of all groups of 16
weights, then their 8 bytes each.

Scales have no sign. The bits of one, shifted left by 7, are a float16, which is 1/256 of the scale.
Codes count halves. So a stored factor is 128 times the row's, and the product of both is right.
(Facts: ggml-org/llama.cpp, ggml/src/ggml-common.h, and gguf-py/gguf/quants.py.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
NVFP4_GROUP = 16
SCALES, BYTES = 4, 36  # of a block
SCALE_SHIFT = 7  # to the bits of a float16
_GROUP_BYTES = 1 + NVFP4_GROUP // 2
_STORED_FACTOR = np.float32(256 / 2)
_HALF = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
E2M1 = np.concatenate([_HALF, -_HALF])
_NOT_A_NUMBER = 0x7F


def with_factor(raw: Array, factor: Array) -> Array:
    """Blocks of a GGUF file, uint8 (..., bytes of a row), in the wide form. `factor`: float32, of
    all, or one for each index of the first axis."""
    blocks = raw.reshape(*raw.shape[:-1], -1, BYTES)
    octets = blocks[..., :SCALES]
    scales = np.where(octets == _NOT_A_NUMBER, 0, octets & 0x7F)
    factors = np.broadcast_to(factor.reshape(-1, *[1] * (raw.ndim - 1)), (*raw.shape[:-1], 1))
    return _wide(factors, scales, blocks[..., SCALES:])


def wide_rows(scales: Array, codes: Array, factor: Array) -> Array:
    """The wide form of scales (rows, groups), whose type is e4m3, and codes (rows, inputs). The
    sign of a scale becomes that of its codes. A row with a scale that is no number has a factor
    that is none."""
    octets = scales.view(np.uint8)
    codes = codes.reshape(*octets.shape, NVFP4_GROUP) ^ (octets >> 7 << 3)[..., None]
    low, high = np.split(codes, 2, axis=-1)
    octets = octets & 0x7F
    bad = (octets == _NOT_A_NUMBER).any(axis=-1, keepdims=True)
    return _wide(np.where(bad, np.nan, factor), octets, low | high << 4)


def _wide(factors: Array, scales: Array, octets: Array) -> Array:
    stored = np.ascontiguousarray(factors.astype("<f4") * _STORED_FACTOR).view(np.uint8)
    lead = stored.shape[:-1]
    return np.concatenate([stored, *(a.reshape(*lead, -1) for a in (scales, octets))], axis=-1)


def is_wide(raw: Array) -> bool:
    return raw.shape[-1] % BYTES != 0


def wide_parts(raw: Array) -> tuple[Array, Array, Array]:
    """Of rows in the wide form: scales (rows, groups), bytes of codes (rows, groups, 8), factors
    (rows, 1)."""
    factors, rest = np.ascontiguousarray(raw[:, :4]).view("<f4"), raw[:, 4:]
    groups = rest.shape[1] // _GROUP_BYTES
    return rest[:, :groups].copy(), rest[:, groups:].reshape(len(raw), groups, -1), factors
