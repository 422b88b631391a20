"""Rows that see later ones, behind histories of several parts, against NumPy in float64."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import numpy as np
import pytest

pytest.importorskip("tvm")

from test_attention import Cache, attend, attention_kernel, expected_row, tolerance  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import Q8, AttentionShape  # noqa: E402

LENGTHS = [2300, 1100, 70]
# A sequence, and its neighbouring rows: across the ends of blocks, parts and windows.
CHUNKS = [(0, 1000, 1030), (0, 1790, 1830), (0, 2270, 2300), (1, 250, 262), (1, 1085, 1100)]
CHUNKS.append((2, 0, 70))

_told = partial(AttentionShape, rows_ahead=True)
SHAPES = [
    AttentionShape(heads=4, kv_heads=1, dim=16, sliding_window=601, ahead=300),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=201, ahead=100, page_dtype=Q8),
    AttentionShape(heads=4, kv_heads=1, dim=16, page_dtype="float16"),
    AttentionShape(heads=4, kv_heads=2, dim=32, page_dtype=Q8),
    _told(heads=6, kv_heads=2, dim=32, sliding_window=700, sinks=5, page_dtype="float16"),
    _told(heads=4, kv_heads=1, dim=48, sliding_window=270, page_dtype=Q8),
    _told(heads=4, kv_heads=1, dim=16, sliding_window=130, sinks=70),
    _told(heads=2, kv_heads=1, dim=16, sliding_window=300, chunked=True),
]


def rows_of(shape: AttentionShape) -> list[tuple[int, int, int]]:
    """The last position that each row sees, its sequence, and its own position. Rows of an encoder
    see as far as the shape says. Others see the end of their picture, or far behind it."""
    rows, pictures = [], cycle([(1, 0), (9, 200), (3, 0), (16, 200)])
    for sequence, begin, end in CHUNKS:
        while begin < end:
            size, more = next(pictures)
            own = range(begin, min(begin + size, end))
            for p in own:
                seen = p + shape.ahead if shape.ahead else own[-1] + more
                rows.append((min(seen, LENGTHS[sequence] - 1), sequence, p))
            begin = own.stop
    return rows


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_see_later_ones_in_all_parts_of_long_histories(shape: AttentionShape) -> None:
    """With the same bits alone, where threads share parts, and side by side with others."""
    cache, rng = Cache(shape, LENGTHS), np.random.default_rng(6)
    seen, sequences, own = (np.array(a) for a in zip(*rows_of(shape), strict=True))
    assert ((seen - own) >= 100).sum() > 40
    q = (rng.standard_normal((len(own), shape.heads, shape.dim)) * 2).astype(np.float32)
    kernel = attention_kernel(shape)

    def attended(some):
        told = own[some] if shape.takes_own else None
        return attend(kernel, cache, q[some], seen[some], sequences[some], told)

    y = attended(slice(None))
    for i in range(len(own)):
        expected = expected_row(cache, q[i], seen[i], sequences[i], own[i])
        np.testing.assert_allclose(y[i], expected, rtol=0, atol=tolerance(shape))
    for i in range(0, len(own), 7):
        assert np.array_equal(attended(slice(i, i + 1))[0], y[i])
    for some in (slice(2, 9), slice(25, 47), slice(68, 79), slice(95, 130), slice(0, 196, 13)):
        assert np.array_equal(attended(some), y[some])
