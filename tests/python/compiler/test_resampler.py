"""The kernels of a resampler (MiniCPM-V) against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import Array, compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import rope_table  # noqa: E402
from mlc_llm.compiler.kernels.cpu import patches, resampler  # noqa: E402

LENGTHS = (1, 300, 57)  # patches of views
COUNT = 5  # queries


def rows_of(*wanted: int) -> Array:
    return np.array(wanted, np.int32)


def test_a_table_is_spread_in_buckets() -> None:
    """By the authors' formula, with the searches of a float in a list; places outside of the grid
    count as its last ones."""
    rng, columns = np.random.default_rng(2), 70
    table = rng.standard_normal((columns**2, 20)).astype(np.float16)
    grids = [(31, 33), (1, 1200), (70, 3), (100, 70)]
    positions = [np.indices(grid).reshape(2, -1).T for grid in grids]
    sizes = [np.tile(grid, (len(p), 1)) for grid, p in zip(grids, positions, strict=True)]
    at, of = (np.concatenate(some).astype(np.int32) for some in (positions, sizes))
    bounds = np.arange(1 / columns, 1.0, 1 / columns).astype(np.float32)
    line, column = np.digitize((at / of).astype(np.float32), bounds).T
    at[-1] = 10**6  # of the last view
    x = rng.standard_normal((len(at), 20)).astype(np.float32)
    y = np.zeros_like(x)
    compiled(patches.place_in_buckets(20, columns, "float16"))(*map(frozen, [x, at, of, table]), y)
    np.testing.assert_allclose(y, x + table[line * columns + column], atol=1e-6)


def test_queries_are_picked() -> None:
    queries = np.random.default_rng(3).standard_normal((COUNT, 20)).astype(np.float16)
    wanted, y = rows_of(0, 4, 5, 13, -1), np.zeros((5, 20), np.float32)
    compiled(resampler.pick_queries(20, COUNT, "float16"))(frozen(wanted), frozen(queries), y)
    assert np.array_equal(y, queries[[0, 4, 0, 3, 0]].astype(np.float32))


def test_places_are_waves() -> None:
    """Sines and cosines of the column, then those of the row."""
    rng, width = np.random.default_rng(4), 256
    frequencies = [10000.0 ** (-4 * i / width) for i in range(width // 4)]
    positions = rng.integers(0, 1400, (9, 2)).astype(np.int32)
    x = rng.standard_normal((9, width)).astype(np.float32)
    y, table = np.zeros_like(x), rope_table(frequencies)
    compiled(resampler.add_waves(width))(*map(frozen, [x, positions, table]), y)
    row, column = (positions[:, axis, None] * np.array(frequencies) for axis in (0, 1))
    waves = [np.sin(column), np.cos(column), np.sin(row), np.cos(row)]
    np.testing.assert_allclose(y, x + np.concatenate(waves, axis=1), atol=1e-4)


def test_queries_look_at_their_view() -> None:
    """A row depends on its view alone. Large scores do not overflow."""
    rng, heads, dim = np.random.default_rng(5), 2, 128
    ends = np.array([0, *np.cumsum(LENGTHS)], np.int32)
    wanted = np.arange(COUNT * len(LENGTHS), dtype=np.int32)
    q = rng.standard_normal((len(wanted), heads * dim)).astype(np.float32) * 20
    k, v = rng.standard_normal((2, ends[-1], heads * dim)).astype(np.float32)
    kernel = compiled(resampler.attend_views(heads, dim, COUNT))
    y, expected = np.zeros_like(q), np.zeros(q.shape)
    kernel(*map(frozen, [q, k, v, wanted, ends]), y)
    for row, view in enumerate(wanted // COUNT):
        for head in np.split(np.arange(heads * dim), heads):
            mine = slice(ends[view], ends[view + 1])
            scores = k[mine, head].astype(np.float64) @ q[row, head] * dim**-0.5
            weights = np.exp(scores - scores.max())
            expected[row, head] = weights / weights.sum() @ v[mine, head]
    np.testing.assert_allclose(y, expected, atol=2e-4)
    alone, last = np.zeros_like(y[-COUNT:]), slice(ends[-2], ends[-1])
    given = [q[-COUNT:], k[last], v[last], wanted[:COUNT], ends[-2:] - ends[-2]]
    kernel(*map(frozen, given), alone)
    assert np.array_equal(alone, y[-COUNT:]), "views change each other"


def test_wrong_views_read_nothing_outside() -> None:
    """Of a damaged caller: the last view, up to the last patch."""
    rng, heads, dim = np.random.default_rng(6), 1, 128
    q, k, v = rng.standard_normal((3, 4, dim)).astype(np.float32)
    kernel = compiled(resampler.attend_views(heads, dim, COUNT))
    expected, y = np.zeros_like(q), np.zeros_like(q)
    kernel(*map(frozen, [q, k, v, rows_of(0, 1, 2, 3), rows_of(0, 4)]), expected)
    kernel(*map(frozen, [q, k, v, rows_of(-9, 99, 2, 3), rows_of(-5, 10**6)]), y)
    assert np.array_equal(y, expected)
