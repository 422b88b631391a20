"""Scales that lose less than MLC-LLM's, in the same format.

MLC-LLM divides by `max|w| / qmax` and uses 2 * qmax + 1 codes. The format has one more: the code
2 * qmax + 1 is the value qmax + 1, and a scale may be negative. So the largest weight of a group is
mapped to about qmax + 1, whatever its sign, as in GGUF's Q4_0. Of some scales around that, each
replaced by the best one for its codes (least squares), the one with the least squared error is
taken. (Idea: ggml-org/llama.cpp, make_qx_quants in ggml-quants.c.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_llm.compiler.quantization.pack import clear_padding, grouped_rows, numpy_dtype, pack_codes

Array = np.ndarray[Any, Any]
# To which value the largest weight of a group is mapped, besides qmax + 1. More of them lower the
# squared error of normally distributed weights by less than 1 %.
_BEYOND = (0.0, -0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6)


def search_rows(weight: Array, *, bits: int, group_size: int, dtype: str) -> tuple[Array, Array]:
    """As `pack.quantize_rows`: (q_weight uint32, q_scale dtype) of `weight` [rows, columns], but
    with the scales that lose the least. Rows are independent."""
    kind = numpy_dtype(dtype)
    exact = weight.astype(kind, copy=False).astype(np.float32, copy=False)
    groups = grouped_rows(exact, group_size)  # (rows, groups, group)
    qmax = (1 << (bits - 1)) - 1
    largest = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)[..., 0]
    found = _best(groups, largest, qmax, kind)
    codes = (found[0] + np.float32(qmax)).astype(np.uint8)
    clear_padding(codes, weight.shape[1])
    return pack_codes(codes, bits), found[1].astype(kind)


def _best(groups: Array, largest: Array, qmax: int, kind: np.dtype[Any]) -> tuple[Array, Array]:
    """The values of the codes and the scales."""
    least = np.full(largest.shape, np.inf, np.float32)
    codes, scales = np.zeros_like(groups), np.zeros_like(largest)
    for beyond in _BEYOND:
        values = _codes(groups, largest / np.float32(qmax + 1 + beyond), qmax)
        scale = _fitted(groups, values).astype(kind).astype(np.float32)
        error = ((values * scale[..., None] - groups) ** 2).sum(-1)
        better = error < least
        least[better], scales[better] = error[better], scale[better]
        codes[better] = values[better]
    return codes, scales


def _codes(groups: Array, scale: Array, qmax: int) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.rint(groups / scale[..., None])
    np.nan_to_num(values, copy=False, nan=0.0)  # of a group of zeros
    return np.clip(values, -qmax, qmax + 1)


def _fitted(groups: Array, values: Array) -> Array:
    """The scale with the least squared error for these codes; 0 if all codes are 0."""
    squares = (values * values).sum(-1)
    return (groups * values).sum(-1) / np.maximum(squares, np.float32(1))
