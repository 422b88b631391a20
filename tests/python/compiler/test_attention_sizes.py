"""The sizes of tiles of attention: whatever the heads, they fit and divide what they must."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from mlc_llm.compiler.kernels.common.attention_shape import (  # noqa: E402
    PAGE_SIZE,
    AttentionShape,
)
from mlc_llm.compiler.kernels.gpu.attention_sizes import (  # noqa: E402
    ACROSS,
    TileSizes,
    tile_sizes,
)
from mlc_llm.compiler.targets import GPUS, TileLimits  # noqa: E402

LIMITS = sorted({gpu.tiles for gpu in GPUS.values()}, key=lambda limits: limits.floats)


def floats_of(sizes: TileSizes) -> int:
    """The shared memory of `attention_tiles.Tile`."""
    by_query = (sizes.dim + sizes.keys) * sizes.query_stride
    return by_query + sizes.chunk + sizes.own * sizes.items


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("group", [1, 3, 4, 7, 9, 16, 24, 71])
def test_tiles_of_all_heads_fit(group: int, limits: TileLimits) -> None:
    for dim in range(16, 257, 16):
        sizes = tile_sizes(AttentionShape(heads=2 * group, kv_heads=2, dim=dim), limits)
        assert sizes is not None
        assert floats_of(sizes) <= limits.floats
        assert group % sizes.heads == 0
        assert 1 <= sizes.queries <= sizes.lines * sizes.own
        assert sizes.items <= 256  # every device has as many
        assert dim % sizes.key_dims == 0
        assert sizes.key_dims % 4 == 0  # words of codes
        assert sizes.key_dims * sizes.keys <= sizes.chunk
        assert sizes.keys % sizes.value_slots == sizes.keys % PAGE_SIZE == 0
        assert sizes.value_slots * dim <= sizes.chunk
        assert sizes.own_keys * ACROSS == sizes.keys
        assert sizes.own_dims * ACROSS == dim


@pytest.mark.parametrize(
    ("group", "dim", "heads", "rows", "keys"),
    [(4, 128, 4, 8, 64), (9, 64, 1, 32, 64), (24, 128, 8, 4, 64), (71, 64, 1, 32, 64)],
)
def test_few_queries_of_a_tile_stay_unused(
    group: int, dim: int, heads: int, rows: int, keys: int
) -> None:
    shape = AttentionShape(heads=group, kv_heads=1, dim=dim)
    sizes = tile_sizes(shape, GPUS["cuda"].tiles)
    assert sizes is not None
    assert (sizes.heads, sizes.rows, sizes.keys) == (heads, rows, keys)


def test_heads_that_are_too_wide_have_no_tiles() -> None:
    shape = AttentionShape(heads=8, kv_heads=1, dim=512)
    assert tile_sizes(shape, GPUS["vulkan"].tiles) is None
    assert tile_sizes(shape, GPUS["cuda"].tiles) is not None
