"""Rotary embedding, append and paged attention against NumPy float64."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import compiled, frozen, host_device  # noqa: E402
from numpy_pages import (  # noqa: E402
    as_kept,
    assert_pages_close,
    float_views,
    hadamard,
    unknown_pages,
    write_slot,
)

from mlc_llm.compiler.kernels.common.attention_shape import (  # noqa: E402
    PAGE_SIZE,
    Q8,
    AttentionShape,
    alibi_slopes,
    rope_table,
)
from mlc_llm.compiler.kernels.cpu import attention, paged_attention  # noqa: E402
from mlc_llm.compiler.spec.rope import RopeScaling, inverse_frequencies  # noqa: E402

SHAPES = [
    AttentionShape(heads=9, kv_heads=3, dim=64),
    AttentionShape(heads=2, kv_heads=2, dim=16),
    AttentionShape(heads=16, kv_heads=1, dim=48),
    AttentionShape(heads=6, kv_heads=2, dim=32, page_dtype="float16"),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=20),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=20, sinks=3),
    AttentionShape(heads=4, kv_heads=4, dim=32, sliding_window=1),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=20, chunked=True),
    AttentionShape(heads=6, kv_heads=2, dim=16, learned_sinks="float32"),
    AttentionShape(heads=6, kv_heads=3, dim=16, alibi=True),
    AttentionShape(heads=6, kv_heads=2, dim=32, page_dtype="bfloat16"),
    AttentionShape(heads=6, kv_heads=2, dim=64, page_dtype=Q8),
    AttentionShape(heads=4, kv_heads=2, dim=160),
    AttentionShape(heads=4, kv_heads=2, dim=48, page_dtype=Q8, sliding_window=20, sinks=3),
]


class Cache:
    """Pages full of NaN, two sequences with interleaved page numbers, and plain copies of both."""

    def __init__(self, shape: AttentionShape, lengths: list[int], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.shape, self.lengths = shape, lengths
        counts = [-(-n // PAGE_SIZE) for n in lengths]
        numbers = list(rng.permutation(sum(counts) + 2).astype(np.int32))
        self.tables = [[numbers.pop() for _ in range(n)] for n in counts]
        self.pages = unknown_pages(sum(counts) + 2, shape)
        self.sinks = (np.arange(shape.heads) - 1.5).astype(shape.learned_sinks or "float32")
        size = (shape.kv_heads, shape.dim)
        self.keys, self.values = (
            [as_kept(rng.standard_normal((n, *size)), shape) for n in lengths] for _ in range(2)
        )
        for table, keys, values in zip(self.tables, self.keys, self.values, strict=True):
            for position, (key, value) in enumerate(zip(keys, values, strict=True)):
                self.write(table[position // PAGE_SIZE], position % PAGE_SIZE, key, value)

    def write(self, page: int, slot: int, key, value) -> None:
        write_slot(self.shape, self.pages[page], slot, (key, value))

    def indices(self):
        indptr = np.cumsum([0, *(len(t) for t in self.tables)]).astype(np.int32)
        return frozen(indptr), frozen(np.concatenate(self.tables).astype(np.int32))


@cache
def attention_kernel(shape: AttentionShape):
    """Takes long to compile, and test_token_trees.py wants some of them too."""
    sizes = host_device().vectors.attention_sizes
    return compiled(paged_attention.paged_attention(shape, shape.dim**-0.5, **sizes))


def attend(kernel, cache, q, positions, sequences, own=None):
    y = np.zeros((len(q), q.shape[1] * q.shape[2]), np.float32)
    where = [frozen(np.asarray(a, np.int32)) for a in (positions, sequences)]
    sinks = [frozen(cache.sinks)] if cache.shape.learned_sinks else []
    slopes = [frozen(alibi_slopes(cache.shape.heads))] if cache.shape.alibi else []
    more = [] if own is None else [frozen(np.asarray(own, np.int32))]
    kernel(frozen(q), *where, *cache.indices(), frozen(cache.pages), *slopes, *sinks, *more, y)
    return y


def expected_row(cache, q, position, sequence, own=None):
    """`own`: the row's own position, if that is not the last one that it sees."""
    s, own = cache.shape, position if own is None else own
    places = np.arange(position + 1)
    if s.sliding_window >= 0:
        first = own - (s.ahead or s.sliding_window - 1)
        first = own // s.sliding_window * s.sliding_window if s.chunked else first
        places = places[(places >= first) | (places < s.sinks)]
    keys = np.repeat(cache.keys[sequence][places], s.group, axis=1).astype(np.float64)
    values = np.repeat(cache.values[sequence][places], s.group, axis=1).astype(np.float64)
    scores = np.einsum("hd,mhd->hm", q.astype(np.float64), keys) / np.sqrt(s.dim)
    scores = s.softcap * np.tanh(scores / s.softcap) if s.softcap else scores
    if s.alibi:
        scores = scores + alibi_slopes(s.heads)[:, None] * (places - position)
    largest = scores.max(1, keepdims=True)
    weights, others = np.exp(scores - largest), 0.0
    if s.learned_sinks:
        others = np.exp(cache.sinks.astype(np.float64)[:, None] - largest)
    weights /= weights.sum(1, keepdims=True) + others
    return np.einsum("hm,mhd->hd", weights, values).reshape(-1)


def tolerance(shape: AttentionShape) -> float:
    """With codes, queries have 16 bits."""
    return 2e-4 if shape.is_q8 else 4e-6


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_row_attends_to_its_own_history_and_nothing_else(shape):
    cache = Cache(shape, [83, 33])
    rng = np.random.default_rng(1)
    rows = [(p, s) for s, n in enumerate(cache.lengths) for p in range(n)]
    q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
    kernel = attention_kernel(shape)
    positions, sequences = zip(*rows, strict=True)
    y = attend(kernel, cache, q, positions, sequences)
    for i, (position, sequence) in enumerate(rows):
        expected = expected_row(cache, q[i], position, sequence)
        np.testing.assert_allclose(y[i], expected, rtol=0, atol=tolerance(shape))
    for i in (0, 15, 16, 82, 83, 115):  # alone: the same bits
        alone = attend(kernel, cache, q[i : i + 1], positions[i : i + 1], sequences[i : i + 1])
        assert np.array_equal(alone[0], y[i])


LONG_SHAPES = [
    AttentionShape(heads=6, kv_heads=2, dim=32, page_dtype=Q8),
    AttentionShape(heads=6, kv_heads=2, dim=32, page_dtype="float16"),
    AttentionShape(
        heads=4, kv_heads=2, dim=16, sliding_window=700, sinks=5, learned_sinks="float16"
    ),
    AttentionShape(heads=2, kv_heads=2, dim=16, sliding_window=1500),
    AttentionShape(heads=4, kv_heads=1, dim=16, sliding_window=130, sinks=70),
    AttentionShape(heads=2, kv_heads=1, dim=16, sliding_window=300, chunked=True),
    AttentionShape(heads=4, kv_heads=1, dim=16),
    # So wide that not all parts of many sequences are walked at a time.
    AttentionShape(heads=32, kv_heads=2, dim=48),
]


@pytest.mark.parametrize("shape", LONG_SHAPES, ids=str)
def test_a_long_history_in_parts(shape):
    """One row, few rows and many take different ways: the parts of few rows' histories are shared
    by threads; many rows walk side by side."""
    cache = Cache(shape, [2300, 1100])
    rng = np.random.default_rng(4)
    rows = [(p, 0) for p in [*range(1000, 1008), *range(1021, 1031), *range(2280, 2300)]]
    rows += [(p, 1) for p in range(1080, 1100)]
    q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
    kernel = attention_kernel(shape)
    positions, sequences = zip(*rows, strict=True)
    y = attend(kernel, cache, q, positions, sequences)
    for i in range(0, len(rows), 3):
        expected = expected_row(cache, q[i], *rows[i])
        np.testing.assert_allclose(y[i], expected, rtol=0, atol=tolerance(shape))
    for some in (*(slice(i, i + 1) for i in (0, 3, 4, 17, 37, 57)), slice(1, 8), slice(30, 42)):
        few = attend(kernel, cache, q[some], positions[some], sequences[some])
        assert np.array_equal(few, y[some])


@pytest.mark.parametrize("shape", LONG_SHAPES, ids=str)
def test_rows_of_many_sequences_that_share_nothing(shape):
    """Threads share their parts too, if the last history is long enough."""
    cache = Cache(shape, [1, 300, 700, 20, 1100, 64, 270, 2300, 500, 129, 40, 1024, 1025, 400])
    rng = np.random.default_rng(5)
    rows = [(length - 1, sequence) for sequence, length in enumerate(cache.lengths)]
    rows += [(len_ - 2, s) for s, len_ in enumerate(cache.lengths[:3]) if len_ > 1]
    q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
    kernel = attention_kernel(shape)
    positions, sequences = zip(*rows, strict=True)
    alone = [attend(kernel, cache, q[i : i + 1], [p], [s]) for i, (p, s) in enumerate(rows)]
    for i, row in enumerate(rows):
        expected = expected_row(cache, q[i], *row)
        np.testing.assert_allclose(alone[i][0], expected, rtol=0, atol=tolerance(shape))
    for some in (slice(0, 14), slice(0, 13), slice(0, 11), slice(0, 4), slice(0, 16), slice(1, 15)):
        y = attend(kernel, cache, q[some], positions[some], sequences[some])
        assert np.array_equal(y, np.concatenate(alone[some]))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("shape", [LONG_SHAPES[i] for i in (0, 1, 2, 4, 5)], ids=str)
def test_a_value_that_is_not_finite_reaches_no_row_before_it(shape, bad):
    """Though rows walk the block side by side. Rows that see it have the bits of rows alone."""
    rng = np.random.default_rng(8)
    cache, places = Cache(shape, [1100, 40]), [(0, 1085), (1, 21)]
    rows = [(p, 0) for p in range(1070, 1100)] + [(p, 1) for p in range(40)]
    q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
    kernel = attention_kernel(shape)
    positions, sequences = zip(*rows, strict=True)
    before = attend(kernel, cache, q, positions, sequences)
    for sequence, position in places:
        page = cache.pages[cache.tables[sequence][position // PAGE_SIZE]]
        slot = position % PAGE_SIZE
        if shape.is_q8:
            page[..., shape.scales_at + slot].view(np.float32)[...] = bad
        else:
            for view in float_views(shape, page):
                view[:, slot, 3] = bad
    y = attend(kernel, cache, q, positions, sequences)
    for i, (position, sequence) in enumerate(rows):
        if position < dict(places)[sequence]:
            assert np.array_equal(y[i], before[i]), rows[i]
        else:
            assert not np.isfinite(y[i]).all()
            alone = attend(kernel, cache, q[i : i + 1], [position], [sequence])
            assert np.array_equal(alone[0], y[i], equal_nan=True)


@pytest.mark.parametrize("rows", [1, 20])
def test_pages_outside_a_sliding_window_are_not_read(rows: int):
    """Nor by rows that walk side by side."""
    shape = AttentionShape(heads=2, kv_heads=2, dim=32, sliding_window=16)
    cache = Cache(shape, [180])
    q = np.ones((rows, 2, 32), np.float32)
    kernel = compiled(paged_attention.paged_attention(shape, 1.0))
    positions = range(180 - rows, 180)
    before = attend(kernel, cache, q, positions, [0] * rows)
    unseen = (180 - rows - 15) // PAGE_SIZE
    cache.tables[0][:unseen] = [2**30] * unseen  # would crash
    assert np.array_equal(attend(kernel, cache, q, positions, [0] * rows), before)


@pytest.mark.parametrize("shape", [*SHAPES[:3], *SHAPES[-3:-1]], ids=str)
@pytest.mark.parametrize("count", [1, 40])
def test_append_rotates_and_writes_its_slots_only(shape, count):
    scaling = RopeScaling(kind="linear", factor=2.0)
    frequencies = inverse_frequencies(shape.dim, 1e4, scaling)
    table = rope_table(frequencies)
    rng = np.random.default_rng(2)
    heads = shape.heads + 2 * shape.kv_heads
    qkv = rng.standard_normal((count, heads, shape.dim)).astype(np.float32)
    positions = rng.integers(0, rng.choice([5000, 2_000_000]), count).astype(np.int32)
    slots = rng.permutation(6 * PAGE_SIZE)[:count].astype(np.int32)
    cache = Cache(shape, [4 * PAGE_SIZE])
    cache.pages[...] = 7
    q = np.zeros((count, shape.heads, shape.dim), np.float32)
    kernel = compiled(attention.rope_and_append(shape))
    flat = frozen(qkv.reshape(count, -1))
    kernel(flat, frozen(positions), frozen(slots), frozen(table), cache.pages, q)

    angles = positions[:, None] * np.array(frequencies)
    rotated = rotate(qkv.astype(np.float64), angles)
    keyed = hadamard(rotated, shape)
    np.testing.assert_allclose(q, keyed[:, : shape.heads], atol=1e-6)
    expected = Cache(shape, [4 * PAGE_SIZE])
    expected.pages = np.full_like(cache.pages, 7)
    for i, slot in enumerate(slots):
        key = keyed[i, shape.heads : shape.heads + shape.kv_heads]
        value = qkv[i, shape.heads + shape.kv_heads :]
        expected.write(slot // PAGE_SIZE, slot % PAGE_SIZE, key, value)
    atol = 2e-2 if shape.page_dtype == "bfloat16" else 1e-6
    assert_pages_close(shape, cache.pages, expected.pages, atol=atol)


def rotate(x, angles):
    half = x.shape[-1] // 2
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def test_rope_table_is_exact_far_into_a_long_context():
    frequencies = inverse_frequencies(64, 5e5, RopeScaling())
    table = rope_table(frequencies).astype(np.float64)
    for position in (0, 255, 256, 65_535, 65_536, 131_071, 12_345_678, 2**24 - 1):
        parts = (position % 256, 256 + position // 256 % 256, 512 + position // 65536)
        angle = np.prod([table[part, 0] + 1j * table[part, 1] for part in parts], axis=0)
        np.testing.assert_allclose(angle, np.exp(1j * position * np.array(frequencies)), atol=3e-7)


def test_copy_pages_copies_whole_pages():
    shape = SHAPES[0]
    pages = np.random.default_rng(0).standard_normal((5, *shape.page_shape)).astype(np.float32)
    expected = pages.copy()
    expected[[4, 1]] = pages[[0, 3]]
    source, destination = (frozen(np.array(a, np.int32)) for a in ([0, 3], [4, 1]))
    compiled(attention.copy_pages(shape))(source, destination, pages)
    assert np.array_equal(pages, expected)
