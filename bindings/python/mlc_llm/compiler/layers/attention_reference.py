"""What attention makes of queries, keys and values, in NumPy: some rows at a time, so that a text
may be long, and only over the columns that these rows can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlc_llm.compiler.spec.rope import alibi_slopes
from mlc_llm.compiler.spec.transforms import Array

if TYPE_CHECKING:
    from mlc_llm.compiler.layers.attention import AttentionSpec
    from mlc_llm.compiler.reference import Reference

_ROWS = 256


def attended(spec: AttentionSpec, at: Reference, q: Array, k: Array, v: Array) -> Array:
    """(n, heads * dim); `q`: (n, heads, dim), `k` and `v`: (n, kv_heads, dim)."""
    k, v = (np.repeat(t, spec.heads // spec.kv_heads, axis=1).transpose(1, 0, 2) for t in (k, v))
    last = at.step["last_seen"] if spec.is_told else np.arange(len(q))
    parts = [_of(spec, at, q, k, v, last, i) for i in range(0, len(q), _ROWS)]
    return np.concatenate(parts).reshape(len(q), -1)


def _of(
    spec: AttentionSpec, at: Reference, q: Array, k: Array, v: Array, last: Array, begin: int
) -> Array:
    """(rows, heads, dim) of some rows from `begin` on."""
    rows, n = slice(begin, begin + _ROWS), len(q)
    row, end = np.arange(n)[rows, None], n if spec.is_encoder else int(last[rows].max()) + 1
    is_near = spec.window is not None and not spec.window.pinned
    column = np.arange(max(0, begin - spec.look_back + 1) if is_near else 0, end)
    scores = q[rows].transpose(1, 0, 2) @ k[:, column].transpose(0, 2, 1)
    scores = at.capped(scores * spec.scale, spec.scores.softcap)
    if spec.scores.alibi:
        scores = scores + np.array(alibi_slopes(spec.heads))[:, None, None] * (column - row)
    weights = np.exp(np.where(_seen(spec, row, column, last[rows, None], n), scores, -np.inf))
    total = weights.sum(-1, keepdims=True)
    if spec.scores.sinks:
        total = total + np.exp(at.weight("sinks"))[:, None, None]
    return np.asarray((weights / total @ v[:, column]).transpose(1, 0, 2))


def _seen(spec: AttentionSpec, row: Array, column: Array, last: Array, n: int) -> Array:
    if spec.ahead and spec.is_encoder:
        return np.asarray(abs(row - column) <= (spec.ahead.near or n))
    seen = column <= last
    if window := spec.window:
        first = row - row % window.size if window.chunked else row - window.size + 1
        seen &= (column >= first) | (column < window.pinned)
    return np.asarray(seen)
