"""The kernels of towers against NumPy in float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import FLAGS, Array, activated, compiled, frozen  # noqa: E402
from tower_fixtures import tower_lfm2_vl  # noqa: E402

from mlc_llm.compiler import targets  # noqa: E402
from mlc_llm.compiler.kernels.common.attention_shape import rope_table  # noqa: E402
from mlc_llm.compiler.kernels.cpu import (  # noqa: E402
    linear_panels,
    patch_attention,
    patch_norms,
    patches,
    resized_table,
)
from mlc_llm.compiler.kernels.cpu.linear import Tile  # noqa: E402
from mlc_llm.compiler.kernels.cpu.patch_attention_words import WordHead  # noqa: E402
from mlc_llm.compiler.quantization.stored import StoredParam  # noqa: E402
from mlc_llm.compiler.spec.tower import alternating, same_for_both  # noqa: E402


def products(shape: tuple[int, int], tile: Tile, dtype: str = "float16", **options: Any) -> Any:
    weight = StoredParam("a.weight", shape, dtype)
    return compiled(linear_panels.linear_panels(weight, tile=tile, **options))


# Whole panels; outputs that end inside a vector; several runs of inputs, the last one odd.
@pytest.mark.parametrize(
    ("shape", "tile"),
    [((64, 48), Tile(12, 2)), ((45, 588), Tile(12, 2)), ((24, 1700), Tile(6, 1))],
)
def test_products_of_many_rows_equal_numpy(shape: tuple[int, int], tile: Tile) -> None:
    rng, (outs, ins) = np.random.default_rng(sum(shape)), shape
    weight = rng.standard_normal(shape).astype(np.float16)
    x = rng.standard_normal((29, ins)).astype(np.float32)
    bias = rng.standard_normal(outs).astype(np.float16)
    residual = rng.standard_normal((29, outs)).astype(np.float32)
    kernel = products(shape, tile, bias="float16", residual=True, activation="quick_gelu")
    y = np.zeros((29, outs), np.float32)
    kernel(frozen(x), frozen(weight), frozen(bias), frozen(residual), y)
    given = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    expected = activated(given, "quick_gelu") + residual
    np.testing.assert_allclose(y, expected, atol=1e-5 * np.abs(expected).max())
    alone = np.zeros((2, outs), np.float32)
    kernel(frozen(x[11:13]), frozen(weight), frozen(bias), frozen(residual[11:13]), alone)
    assert np.array_equal(alone, y[11:13]), "a row's result depends on its place"


def test_learned_rows_take_their_places() -> None:
    rng = np.random.default_rng(8)
    table, y = rng.standard_normal((2, 40)).astype(np.float16), np.zeros((6, 40), np.float32)
    y[:] = rng.standard_normal(y.shape)
    first = np.array([3, -2, 0, -1, -9, 7], np.int32)  # -9 is none, and becomes the last one
    expected = y.copy()
    expected[[1, 4]], expected[3] = table[1], table[0]
    compiled(patches.place_learned(40, 2, "float16"))(frozen(first), frozen(table), y)
    assert np.array_equal(y, expected)


def test_products_are_scaled_before_the_residual() -> None:
    rng, shape = np.random.default_rng(6), (40, 48)
    weight = rng.standard_normal(shape).astype(np.float16)
    x = rng.standard_normal((29, 48)).astype(np.float32)
    bias, scale = rng.standard_normal((2, 40)).astype(np.float16)
    residual = rng.standard_normal((29, 40)).astype(np.float32)
    kernel = products(shape, Tile(12, 2), bias="float16", residual=True, scale="float16")
    y = np.zeros((29, 40), np.float32)
    kernel(*map(frozen, [x, weight, bias, scale, residual]), y)
    expected = (x.astype(np.float64) @ weight.astype(np.float64).T + bias) * scale + residual
    np.testing.assert_allclose(y, expected, atol=1e-5 * np.abs(expected).max())


def test_queries_and_keys_are_normed_over_all_heads() -> None:
    rng, width = np.random.default_rng(7), 40
    queries, keys = rng.standard_normal((2, width)).astype(np.float16)
    qkv = rng.standard_normal((20, 3 * width)).astype(np.float32)
    made = qkv.copy()
    compiled(patch_norms.normalize_patches(width, 1e-6, "float16"))(
        *map(frozen, [queries, keys]), made
    )
    parts = np.split(qkv.astype(np.float64), 3, axis=1)
    for part, weight in ((0, queries), (1, keys)):
        length = np.sqrt((parts[part] ** 2).mean(1, keepdims=True) + 1e-6)
        parts[part] = parts[part] / length * weight
    np.testing.assert_allclose(made, np.concatenate(parts, 1), atol=1e-5)


def attended(qkv: Array, views: Array, heads: int, scale: float) -> Array:
    rows = []
    for begin, end in zip(views[:-1], views[1:], strict=True):
        parts = np.split(qkv[begin:end].astype(np.float64), 3, axis=1)
        q, k, v = (part.reshape(end - begin, heads, -1).transpose(1, 0, 2) for part in parts)
        scores = q @ k.transpose(0, 2, 1) * scale
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        made = scores / scores.sum(-1, keepdims=True) @ v
        rows.append(made.transpose(1, 0, 2).reshape(end - begin, -1))
    return np.concatenate(rows)


# Views of one patch, of less and more than a run of keys, and of more rows than a task has.
@pytest.mark.parametrize(
    ("heads", "dim", "tile"),
    [(2, 64, Tile(12, 2)), (2, 72, Tile(12, 2)), (1, 80, Tile(6, 1)), (2, 12, Tile(3, 1))],
)
def test_patches_attend_to_their_view(heads: int, dim: int, tile: Tile) -> None:
    rng = np.random.default_rng(dim)
    views = np.array([0, 1, 21, 300, 857], np.int32)
    qkv = rng.standard_normal((857, 3 * heads * dim)).astype(np.float32) * 2
    scale = dim**-0.5
    kernel = compiled(patch_attention.patch_attention(heads, dim, scale, tile=tile))
    y = np.zeros((857, heads * dim), np.float32)
    kernel(frozen(qkv), frozen(views), y)
    np.testing.assert_allclose(y, attended(qkv, views, heads, scale), rtol=1e-4, atol=1e-5)
    alone = np.zeros((20, heads * dim), np.float32)
    kernel(frozen(qkv[1:21]), frozen(np.array([0, 20], np.int32)), alone)
    assert np.array_equal(alone, y[1:21]), "a view's result depends on the other views"


@pytest.mark.parametrize(("dim", "tile"), [(72, Tile(6, 1)), (64, Tile(3, 1)), (12, Tile(4, 2))])
def test_patches_attend_in_words(dim: int, tile: Tile) -> None:
    """Large queries look at one key, with a weight of about 1; small ones at all keys of their
    view alike, with about 1 / 557 for each in the largest view."""
    unit = next((one for one in ("avx2", "ssse3") if FLAGS[one] in targets._usable_features()), "")
    if not unit:
        pytest.skip("this processor multiplies words otherwise")
    rng, heads = np.random.default_rng(dim), 2
    views = np.array([0, 1, 22, 300, 857], np.int32)
    qkv = rng.standard_normal((857, 3 * heads * dim)).astype(np.float32)
    qkv[:, : heads * dim] *= rng.choice([0.01, 10], (857, 1))
    kernel = patch_attention.patch_attention(
        heads, dim, dim**-0.5, tile=tile, head=partial(WordHead, unit=unit)
    )
    y, alone = np.zeros((857, heads * dim), np.float32), np.zeros((21, heads * dim), np.float32)
    call = compiled(kernel)
    call(frozen(qkv), frozen(views), y)
    expected = attended(qkv, views, heads, dim**-0.5)
    np.testing.assert_allclose(y, expected, rtol=0, atol=5e-3 * np.abs(expected).max())
    call(frozen(qkv[1:22]), frozen(np.array([0, 21], np.int32)), alone)
    assert np.array_equal(alone, y[1:22]), "a view's result depends on the other views"


@pytest.mark.parametrize("has_class", [False, True])
def test_patches_get_their_place_in_the_table(has_class: bool) -> None:
    rng, first = np.random.default_rng(3), int(has_class)
    x = rng.standard_normal((4, 20)).astype(np.float32)
    table = rng.standard_normal((6 + first, 20)).astype(np.float16)
    row = rng.standard_normal(20).astype(np.float32)
    positions = np.array([[1, 2], [0, 0], [-1, -1] if has_class else [0, 2], [1, 0]], np.int32)
    entries = [5 + first, first, 0 if has_class else 2, 3 + first]
    made = patches.place_patches(20, 6 + first, 3, "float16", "float32" if has_class else None)
    y = np.zeros_like(x)
    compiled(made)(*map(frozen, [x, positions, table, *([row] if has_class else [])]), y)
    given = x.copy()
    if has_class:
        given[2] = row
    np.testing.assert_allclose(y, given + table[entries].astype(np.float32), atol=1e-6)


def stretched(line: Array, count: int) -> Array:
    return np.interp(np.linspace(0, len(line) - 1, count), np.arange(len(line)), line)


def test_a_table_is_stretched_over_a_grid() -> None:
    """Its corners are those of the grid; a single row or column has the first entries."""
    rng = np.random.default_rng(6)
    table = rng.standard_normal((25, 20)).astype(np.float16)
    grids = [(4, 7), (1, 3), (9, 1), (5, 5)]
    positions = [np.indices(grid).reshape(2, -1).T for grid in grids]
    sizes = [np.tile(grid, (len(p), 1)) for grid, p in zip(grids, positions, strict=True)]
    given = [np.concatenate(some).astype(np.int32) for some in (positions, sizes)]
    x = rng.standard_normal((len(given[0]), 20)).astype(np.float32)
    y = np.zeros_like(x)
    compiled(patches.place_between(20, 5, "float16"))(*map(frozen, [x, *given, table]), y)
    square, expected = table.astype(np.float64).reshape(5, 5, 20), []
    for rows, columns in grids:
        lines = np.apply_along_axis(stretched, 0, square, rows)
        expected.append(np.apply_along_axis(stretched, 1, lines, columns).reshape(-1, 20))
    np.testing.assert_allclose(y, x + np.concatenate(expected), atol=1e-5)


# Whole vectors; half ones, as Qwen's heads of 80; quarters, as those of 72.
@pytest.mark.parametrize("dim", [32, 80, 72])
@pytest.mark.parametrize("make", [same_for_both, alternating])
def test_queries_and_keys_turn_by_row_and_column(dim: int, make: Any) -> None:
    rope, heads, half = make(dim), 3, dim // 2
    rng = np.random.default_rng(dim)
    qkv = rng.standard_normal((6, 3 * heads * dim)).astype(np.float32)
    positions = rng.integers(0, 400, (6, 2)).astype(np.int32)
    table = rope_table(list(rope.frequencies))
    made = qkv.copy()
    compiled(patches.rotate_patches(heads, dim, rope.axes))(*map(frozen, [positions, table]), made)
    angles = positions[:, list(rope.axes)] * np.array(rope.frequencies)
    turned = np.exp(1j * angles)[:, None, None]
    x = qkv.astype(np.float64).reshape(6, 3, heads, dim)
    pairs = (x[..., :half] + 1j * x[..., half:]) * turned
    expected = np.concatenate([pairs.real, pairs.imag], axis=-1)
    expected[:, 2] = x[:, 2]
    np.testing.assert_allclose(made.reshape(x.shape), expected, atol=1e-5)


# Views larger and smaller than the table, along both sides.
@pytest.mark.parametrize("grid", [(8, 8), (2, 11), (9, 3), (1, 1), (5, 5)])
def test_the_table_is_resized_to_a_view(grid: tuple[int, int]) -> None:
    rng, side, (rows, columns) = np.random.default_rng(5), 5, grid
    x = rng.standard_normal((rows * columns, 20)).astype(np.float32)
    table = rng.standard_normal((side * side, 20)).astype(np.float16)
    positions = np.stack(np.divmod(np.arange(rows * columns), columns), 1).astype(np.int32)
    grids = np.tile(np.array(grid, np.int32), (rows * columns, 1))
    y = np.zeros_like(x)
    made = resized_table.place_resized(20, side, "float16")
    compiled(made)(*map(frozen, [x, positions, grids, table]), y)
    entries = tower_lfm2_vl.resized(table.astype(np.float64), rows, columns, antialias=True)
    np.testing.assert_allclose(y, x + entries, atol=1e-5)


def test_blocks_of_patches_are_joined_and_averaged() -> None:
    x = np.random.default_rng(4).standard_normal((9, 20)).astype(np.float32)
    first = np.array([5, 1], np.int32)
    joined, mean = np.zeros((2, 80), np.float32), np.zeros((2, 20), np.float32)
    compiled(patches.join_patches(20, 4))(frozen(x), frozen(first), joined)
    compiled(patches.average_patches(20, 4))(frozen(x), frozen(first), mean)
    blocks = np.stack([x[5:9], x[1:5]])
    assert np.array_equal(joined, blocks.reshape(2, 80))
    np.testing.assert_allclose(mean, blocks.mean(1), atol=1e-6)
