"""The kernels of latent attention against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, rope_table  # noqa: E402
from mlc_llm.compiler.kernels.common.latent import LatentShape, groups_of  # noqa: E402
from mlc_llm.compiler.kernels.cpu import latent, paged_attention  # noqa: E402
from mlc_llm.compiler.kernels.cpu.linear import Tile  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402

TILE = Tile(4, 4)
FREQUENCIES = [100.0 ** (-i / 8) for i in range(8)]
SCALE = 0.2


def shape_of(heads: int, **options) -> LatentShape:
    return LatentShape(heads=heads, kv_heads=groups_of(heads), dim=32, rotary=16, **options)


class Cache:
    """Pages full of NaN, and sequences of rows in pages of mixed numbers."""

    def __init__(self, shape: LatentShape, lengths: list[int]) -> None:
        rng = np.random.default_rng(5)
        counts = [-(-n // PAGE_SIZE) for n in lengths]
        numbers = rng.permutation(sum(counts) + 2).astype(np.int32)
        self.tables = np.split(numbers[: sum(counts)], np.cumsum(counts)[:-1])
        self.pages = np.full((sum(counts) + 2, *shape.page_shape), np.nan, shape.page_dtype)
        self.rows = [rng.standard_normal((n, shape.row)).astype(shape.page_dtype) for n in lengths]
        for table, rows in zip(self.tables, self.rows, strict=True):
            for i, row in enumerate(rows):
                page = self.pages[table[i // PAGE_SIZE]].reshape(PAGE_SIZE, shape.row)
                page[i % PAGE_SIZE] = row

    def indices(self):
        indptr = np.cumsum([0, *(len(t) for t in self.tables)]).astype(np.int32)
        return frozen(indptr), frozen(np.concatenate(self.tables))


def attend(kernel, shape, cache, q, places):
    y = np.zeros((len(q), shape.heads * shape.dim), np.float32)
    where = [frozen(np.array(a, np.int32)) for a in zip(*places, strict=True)]
    kernel(frozen(q), *where, *cache.indices(), frozen(cache.pages), y)
    return y


def expected_row(shape, cache, q, position, sequence):
    seen = np.arange(position + 1)
    if shape.sliding_window >= 0:
        seen = seen[(seen > position - shape.sliding_window) | (seen < shape.sinks)]
    rows = cache.rows[sequence][seen].astype(np.float64)
    scores = q.astype(np.float64) @ rows.T * SCALE
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True) @ rows[:, : shape.dim]).reshape(-1)


@pytest.mark.parametrize(
    "shape",
    [
        shape_of(10, page_dtype="float16"),
        shape_of(3, sliding_window=40, sinks=5),
    ],
    ids=str,
)
def test_every_head_attends_to_the_same_rows(shape):
    """Few rows share the parts of a long history among threads; many walk side by side."""
    cache, rng = Cache(shape, [1100, 50]), np.random.default_rng(6)
    places = [(p, 0) for p in [*range(3), *range(1018, 1030), *range(1090, 1100)]]
    places += [(p, 1) for p in range(50)]
    q = rng.standard_normal((len(places), shape.heads, shape.row)).astype(np.float32)
    kernel = compiled(paged_attention.paged_attention(shape, SCALE))
    y = attend(kernel, shape, cache, q, places)
    for i, place in enumerate(places):
        expected = expected_row(shape, cache, q[i], *place)
        np.testing.assert_allclose(y[i], expected, rtol=0, atol=1e-5)
    for some in (slice(0, 1), slice(9, 10), slice(20, 25), slice(70, 71)):  # the same bits
        few = attend(kernel, shape, cache, q[some], places[some])
        assert np.array_equal(few, y[some])


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_value_that_is_not_finite_reaches_no_row_before_it(bad):
    """As in other attention (test_attention.py): rows that see it have the bits of rows alone."""
    shape = shape_of(10, page_dtype="float16")
    cache, rng = Cache(shape, [1100]), np.random.default_rng(9)
    places, place = [(p, 0) for p in range(1070, 1100)], 1085
    q = rng.standard_normal((len(places), shape.heads, shape.row)).astype(np.float32)
    kernel = compiled(paged_attention.paged_attention(shape, SCALE))
    before = attend(kernel, shape, cache, q, places)
    page = cache.pages[cache.tables[0][place // PAGE_SIZE]].reshape(PAGE_SIZE, shape.row)
    page[place % PAGE_SIZE, 3] = bad
    y = attend(kernel, shape, cache, q, places)
    for i, (position, _) in enumerate(places):
        if position < place:
            assert np.array_equal(y[i], before[i]), position
        else:
            assert not np.isfinite(y[i]).all()
            alone = attend(kernel, shape, cache, q[i : i + 1], places[i : i + 1])
            assert np.array_equal(alone[0], y[i], equal_nan=True)


def rotated(x, positions, pairs: bool):
    turns = np.exp(1j * positions[:, None, None] * np.array(FREQUENCIES))
    parts = np.split(x, 2, axis=-1) if not pairs else (x[..., 0::2], x[..., 1::2])
    turned = (parts[0] + 1j * parts[1]) * turns
    return np.concatenate([turned.real, turned.imag], axis=-1)


def check_rotation(latent, compiled, *, pairs: bool, count: int, **tile) -> None:
    """`count` rows through `append` and `queries` of `latent`, kernels of the CPU or of GPUs."""
    shape, plain = shape_of(3), 24
    rng, table = np.random.default_rng(7), frozen(rope_table(FREQUENCIES))
    positions = rng.integers(0, 100_000, count).astype(np.int32)
    slots = rng.permutation(4 * PAGE_SIZE)[:count].astype(np.int32)
    x = rng.standard_normal((count, shape.row)).astype(np.float32)
    weight = rng.standard_normal(shape.dim).astype(np.float32)
    pages = np.full((4, *shape.page_shape), 7, np.float32)
    append = compiled(latent.append(shape, 1e-6, "float32", pairs=pairs))
    append(*map(frozen, (x, positions, slots)), table, frozen(weight), pages)
    exact = x.astype(np.float64)
    normed = exact[:, : shape.dim]
    normed = normed / np.sqrt((normed**2).mean(1, keepdims=True) + 1e-6) * weight
    keys = rotated(exact[:, None, shape.dim :], positions, pairs)[:, 0]
    expected = np.full((4 * PAGE_SIZE, shape.row), 7.0)
    expected[slots] = np.concatenate([normed, keys], axis=1)
    np.testing.assert_allclose(pages.reshape(expected.shape), expected, rtol=0, atol=1e-5)

    up = rng.standard_normal((3, shape.dim, plain)).astype(np.float32)
    q = rng.standard_normal((count, 3, plain + shape.rotary)).astype(np.float32)
    made = np.zeros((count, 3, shape.row), np.float32)
    queries = compiled(latent.queries(shape, plain, "float32", pairs=pairs, **tile))
    flat = q.reshape(count, -1)
    queries(frozen(flat), frozen(positions), table, frozen(up), made)
    exact = q.astype(np.float64)
    first = np.einsum("nhp,hcp->nhc", exact[..., :plain], up)
    wanted = np.concatenate([first, rotated(exact[..., plain:], positions, pairs)], axis=-1)
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-4)
    one = np.zeros_like(made[:1])
    queries(frozen(flat[5:6]), frozen(positions[5:6]), table, frozen(up), one)
    assert np.array_equal(one[0], made[5])


@pytest.mark.parametrize("pairs", [True, False])
def test_rows_and_queries_are_rotated_alike(pairs):
    check_rotation(latent, compiled, pairs=pairs, count=37, tile=TILE)


def test_results_leave_the_space_of_the_latents():
    shape, size, rng = shape_of(3), 20, np.random.default_rng(8)
    x = rng.standard_normal((9, 3, shape.dim)).astype(np.float32)
    up = rng.standard_normal((3, size, shape.dim)).astype(np.float16)
    y = np.zeros((9, 3 * size), np.float32)
    values = compiled(latent.values(shape, size, "float16", tile=TILE))
    values(frozen(x.reshape(9, -1)), frozen(up), y)
    expected = np.einsum("nhc,hvc->nhv", x.astype(np.float64), up.astype(np.float64))
    np.testing.assert_allclose(y, expected.reshape(9, -1), rtol=0, atol=1e-5)


def test_slots_and_pages_are_copied_whole():
    shape, rng = shape_of(3), np.random.default_rng(9)
    pages = rng.standard_normal((5, *shape.page_shape)).astype(np.float32)
    rows = pages.copy().reshape(5 * PAGE_SIZE, shape.row)
    source, destination = np.array([3, 40], np.int32), np.array([17, 70], np.int32)
    rows[destination] = rows[source]
    compiled(latent.copy_slots(shape))(frozen(source), frozen(destination), pages)
    assert np.array_equal(pages.reshape(rows.shape), rows)
    wanted = pages.copy()
    wanted[[4, 0]] = pages[[1, 2]]
    copy = compiled(latent.copy_pages(shape))
    copy(frozen(np.array([1, 2], np.int32)), frozen(np.array([4, 0], np.int32)), pages)
    assert np.array_equal(pages, wanted)


def test_groups_of_heads_are_equal_and_small():
    assert [groups_of(heads) for heads in (1, 8, 10, 13, 16, 40, 128)] == [1, 1, 2, 13, 2, 5, 16]


def test_sizes_that_no_vector_fits_are_refused_by_name():
    with pytest.raises(UnsupportedError, match="kv_lora_rank 40") as caught:
        LatentShape(heads=2, kv_heads=1, dim=40, rotary=16)
    assert caught.value.param == "kv_lora_rank"
