"""Adapters as whole numbers, in NumPy, by the documentation of `core/src/model/adapter_codes.h`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.cpu import low_rank_codes
from mlc_llm.compiler.kernels.cpu.activations import Codes

Array = np.ndarray[Any, Any]
RANKS, LANES = 8, 16


def coded(added: low_rank_codes.Added, a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """A and B of all groups as kernels take them, from those of a file; and what both mean in
    float64: A (groups, parts, 8, inputs) and B (groups, 8, outputs)."""
    b, scales_b, wide_b = _codes_of_b(added, b)
    a, wide_a = _codes_of_a(added.codes, len(added.widths), a, scales_b)
    return a, b, wide_a, wide_b


def _divided(values: Array, scales: Array) -> Array:
    return np.rint(values / np.where(scales > 0, scales, 1))


def _codes_of_b(added: low_rank_codes.Added, b: Array) -> tuple[Array, Array, Array]:
    outputs = b.swapaxes(1, 2).reshape(len(b), RANKS, -1)
    whole, scales, first = np.zeros(outputs.shape, np.int8), [], 0
    for width in added.widths:
        part = outputs[..., first : first + width]
        scale = np.abs(part).max(-1, keepdims=True) / np.float32(127)
        whole[..., first : first + width] = _divided(part, scale)
        scales.append(scale)
        first += width
    pairs = whole.reshape(len(b), RANKS // 2, 2, -1, LANES).transpose(0, 3, 1, 4, 2)
    stored = np.ascontiguousarray(pairs).reshape(len(b), -1, RANKS * LANES)
    return stored, np.stack(scales, 1), whole.astype(float)  # its scales are in A


def _codes_of_a(codes: Codes, parts: int, a: Array, factors: Array) -> tuple[Array, Array]:
    rows = a.reshape(len(a), parts, -1, RANKS, LANES).swapaxes(2, 3)
    rows = rows.reshape(len(a), parts, RANKS, codes.size)
    behind = codes.groups * codes.group - codes.size
    padded = np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, behind)))
    grouped = padded.reshape(len(a), parts, RANKS, codes.groups, codes.group)
    scales = np.abs(grouped).max(-1, keepdims=True) / np.float32(low_rank_codes.ZERO - 1)
    whole = _divided(grouped, scales)
    given = (scales * factors[..., None]).astype(np.float32)
    order = low_rank_codes.order_of(low_rank_codes.step_of(codes), codes.group)
    octets = (whole + low_rank_codes.ZERO).astype(np.uint8)[..., order]
    quads = np.ascontiguousarray(octets).view(np.int32)  # of four inputs each
    words = np.concatenate([given.view(np.int32), quads], -1).transpose(0, 1, 3, 4, 2)
    stored = np.ascontiguousarray(words).reshape(len(a), parts * codes.groups, -1, RANKS)
    meant = (whole * given.astype(float)).reshape(len(a), parts, RANKS, -1)
    return stored, meant[..., : codes.size]
