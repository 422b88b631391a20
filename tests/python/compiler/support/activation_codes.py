"""Activations as whole numbers, in NumPy, by the documentation of `kernels/cpu/activations.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def encoded(codes, x: Array) -> Array:
    """Rows of floats as the kernels of linear layers take them."""
    groups = in_groups(codes, x)
    largest = np.maximum(np.abs(groups).max(-1), np.float32(1e-30))
    scales = (largest * np.float32(1 / codes.largest)).astype(np.float32)
    whole = np.rint(groups * (np.float32(codes.largest) / largest)[..., None]).astype(np.int32)
    rows = np.zeros((len(x), codes.arg.shape[1]), np.int32)
    out = of_groups(codes, rows)
    out[..., 0] = scales.view(np.int32)
    out[..., 1 : 1 + codes.sums] = _offsets(codes, whole, scales)
    for part, values in enumerate(_parts(codes, whole)):
        for first, inputs in codes.places:
            picked = values[..., inputs[part::2] if codes.wide else inputs]
            begin = codes.place_of_quad(0, part, first)
            out[..., begin : begin + 4] = np.ascontiguousarray(picked).view(np.int32)
    return rows


def of_groups(codes, rows: Array) -> Array:
    """The words of each group, without what lies behind the last one."""
    words = codes.place_of_scale(1)
    return rows[:, : codes.groups * words].reshape(len(rows), codes.groups, words)


def in_groups(codes, x: Array) -> Array:
    """(rows, groups, inputs), each group in whole vectors, with zeros behind its inputs."""
    padded = np.pad(x, ((0, 0), (0, codes.groups * codes.group - codes.size)))
    groups = padded.reshape(len(x), codes.groups, codes.group)
    return np.pad(groups, ((0, 0), (0, 0), (0, _inputs(codes) - codes.group)))


def _inputs(codes) -> int:
    return codes.vectors * 16


def _parts(codes, whole: Array) -> list[Array]:
    if codes.wide:
        return [whole.astype(np.int16)] * 2
    if codes.parts == 1:
        return [whole.astype(np.int8)]
    high = (whole + 128) >> 8
    return [high.astype(np.int8), (whole - (high << 8)).astype(np.int8)]


def decoded(codes, found: Array) -> Array:
    """What rows of codes mean, in float64; checks the offsets."""
    found = of_groups(codes, found)
    scales = np.ascontiguousarray(found[:, :, 0]).view(np.float32)
    whole = _whole(codes, np.ascontiguousarray(found[:, :, 1 + codes.sums :]))
    groups = np.zeros((*found.shape[:2], _inputs(codes)), np.int64)
    for first, inputs in codes.places:
        groups[:, :, inputs] = whole[:, :, first : first + 4].reshape(*found.shape[:2], 16)
    offsets = found[:, :, 1 : 1 + codes.sums]
    assert np.array_equal(offsets, _offsets(codes, groups, scales))
    values = (groups * scales.astype(np.float64)[..., None])[..., : codes.group]
    return values.reshape(len(found), -1)[:, : codes.size]


def _whole(codes, words: Array) -> Array:
    """The codes by quads: (rows, groups, quads, 4)."""
    quads = _inputs(codes) // 4
    shape = (*words.shape[:2], codes.parts, quads)
    if codes.wide:  # the even inputs of the quads, then the odd ones
        parts = words.view(np.int16).astype(np.int64).reshape(*shape, 2)
        both = np.stack([parts[:, :, 0], parts[:, :, 1]], axis=-1)
        return both.reshape(*words.shape[:2], quads, 4)
    parts = words.view(np.int8).astype(np.int64).reshape(*shape, 4)
    return parts[:, :, 0] * 256 + parts[:, :, 1] if codes.parts == 2 else parts[:, :, 0]


def _offsets(codes, whole: Array, scales: Array) -> Array:
    """The sums of a group's codes, or of its halves', times minus the zero point."""
    sums = -codes.zero * whole.reshape(*whole.shape[:2], codes.sums, -1).sum(-1)
    if not codes.scaled:
        return sums.astype(np.int32)
    return (sums.astype(np.float32) * scales[..., None]).view(np.int32)
