"""Rows whose sequences begin with the same pages walk them side by side: with the bits of rows that
walk copies of these pages alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import frozen  # noqa: E402
from test_attention import attention_kernel  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import (  # noqa: E402
    PAGE_SIZE,
    Q8,
    AttentionShape,
    alibi_slopes,
)
from mlc_llm.compiler.kernels.common.latent import LatentShape  # noqa: E402

SHAPES = [
    AttentionShape(heads=9, kv_heads=3, dim=16),
    AttentionShape(heads=16, kv_heads=16, dim=16, page_dtype="float16"),
    AttentionShape(heads=32, kv_heads=8, dim=32, page_dtype="float16"),
    AttentionShape(heads=16, kv_heads=2, dim=16, page_dtype="bfloat16"),
    AttentionShape(heads=16, kv_heads=8, dim=32, page_dtype=Q8),
    AttentionShape(heads=8, kv_heads=8, dim=16, sliding_window=100, sinks=3),
    AttentionShape(heads=8, kv_heads=8, dim=16, alibi=True, learned_sinks="float32"),
    AttentionShape(heads=8, kv_heads=8, dim=16, softcap=20.0),
    LatentShape(heads=8, kv_heads=4, dim=32, rotary=16, page_dtype="float16"),
]


@dataclass(frozen=True)
class Sharers:
    """Sequence i begins with the first `shared[i]` pages of sequence 0, and has `lengths[i]`
    positions. The last `chunk` of these positions are rows of the last sequence; the others have a
    row each. A page has 16 positions, and a block 4 pages."""

    shared: list[int]
    lengths: list[int]
    chunk: int = 1

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Position and sequence."""
        last = len(self.lengths) - 1
        decodes = [(length - 1, i) for i, length in enumerate(self.lengths[:last])]
        return decodes + [(self.lengths[last] - n, last) for n in range(self.chunk, 0, -1)]


BATCHES = {
    "2": Sharers([0, 9], [150, 170]),
    "2, long": Sharers([0, 75], [1300, 1201]),
    "5": Sharers([0, 8, 7, 9, 9], [145, 129, 160, 200, 150]),
    "8, one ends in the prefix": Sharers([0, 8, 8, 4, 8, 8, 8, 8], [200, 140, 141, 64, *[150] * 4]),
    "9, others between": Sharers([0, 9, 9, 0, 0, 9, 9, 9, 9], [150] * 9),
    "16, over a part": Sharers([0, *range(64, 79)], [1290 + 3 * i for i in range(16)]),
    "16, nothing": Sharers([0] * 16, [100 + 9 * i for i in range(16)]),
    "16, some end in a shared block": Sharers([0, *[12] * 15], [200, 180, 200, 190] * 4),
    "13 and a chunk": Sharers([0, *[5, 6, 7, 8, 9, 10] * 2, 8], [*[180] * 13, 201], chunk=60),
}


class Pages:
    """Random pages; sequences with copies of what they share, and the same sequences sharing it."""

    def __init__(self, shape: AttentionShape, sharers: Sharers) -> None:
        rng = np.random.default_rng(3)
        counts = [-(-length // PAGE_SIZE) for length in sharers.lengths]
        total = sum(counts)
        size = (total, *shape.page_shape)
        if shape.is_q8:
            self.pages: Any = rng.integers(0, 2**32, size, np.uint32)
            self.pages[..., shape.scales_at :] = np.float32(0.01).view(np.uint32)
        else:
            from ml_dtypes import bfloat16

            dtype = bfloat16 if shape.page_dtype == "bfloat16" else shape.page_dtype
            self.pages = rng.standard_normal(size).astype(dtype)
        self.copied = np.split(rng.permutation(total).astype(np.int32), np.cumsum(counts)[:-1])
        self.shared = [table.copy() for table in self.copied]
        for table, count in zip(self.shared, sharers.shared, strict=True):
            self.pages[table[:count]] = self.pages[self.copied[0][:count]]
            table[:count] = self.copied[0][:count]

    def spoil_copies(self) -> None:
        used = np.unique(np.concatenate(self.shared))
        self.pages[np.setdiff1d(np.arange(len(self.pages)), used)] = self.pages[used[0]]


def attend(shape: AttentionShape, pages: Any, tables: list[Any], q: Any, rows: Any) -> Any:
    indptr = np.cumsum([0, *map(len, tables)]).astype(np.int32)
    where = [np.array(a, np.int32) for a in zip(*rows, strict=True)]
    more: list[Any] = [alibi_slopes(shape.heads)] if shape.alibi else []
    more += [np.linspace(-1, 2, shape.heads, dtype=np.float32)] if shape.learned_sinks else []
    y = np.zeros((len(q), shape.heads * shape.dim), np.float32)
    inputs = [q, *where, indptr, np.concatenate(tables), pages, *more]
    attention_kernel(shape)(*map(frozen, inputs), y)
    return y


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shared_pages_give_the_bits_of_copies(shape: AttentionShape, batch: str) -> None:
    sharers = BATCHES[batch]
    rows = sharers.rows
    width = shape.row if isinstance(shape, LatentShape) else shape.dim
    q = np.random.default_rng(1).standard_normal((len(rows), shape.heads, width))
    q = q.astype(np.float32)
    pages = Pages(shape, sharers)
    copied = attend(shape, pages.pages, pages.copied, q, rows)
    pages.spoil_copies()
    shared = attend(shape, pages.pages, pages.shared, q, rows)
    assert np.isfinite(shared).all()
    assert np.array_equal(shared, copied)
    for i in range(0, len(rows), 3):
        alone = attend(shape, pages.pages, pages.shared, q[i : i + 1], rows[i : i + 1])
        assert np.array_equal(alone[0], shared[i])
    backwards = attend(shape, pages.pages, pages.shared, q[::-1].copy(), rows[::-1])
    assert np.array_equal(backwards[::-1], shared)


def test_equal_pages_behind_another_first_page_are_not_shared() -> None:
    """Only pages before which all are equal are read for several rows."""
    shape, count = SHAPES[2], 16
    pages = Pages(shape, Sharers([0, *[9] * (count - 1)], [160] * count))
    for i, table in enumerate(pages.shared[1:], 1):
        table[i % 5] = pages.copied[i][i % 5]
    rng = np.random.default_rng(2)
    random = rng.standard_normal((count * 10, *shape.page_shape))
    pages.pages = random.astype(np.float16)
    q = rng.standard_normal((count, shape.heads, shape.dim)).astype(np.float32)
    rows = [(159, i) for i in range(count)]
    both = attend(shape, pages.pages, pages.shared, q, rows)
    for i in range(count):
        alone = attend(shape, pages.pages, pages.shared, q[i : i + 1], rows[i : i + 1])
        assert np.array_equal(alone[0], both[i])


def test_pages_that_a_window_has_left_are_not_read() -> None:
    """Their numbers are no pages. The rows' sequences share the page of the sinks, and the longest
    one comes first: it has given up the pages that the others still have."""
    shape = AttentionShape(
        heads=16, kv_heads=16, dim=16, sliding_window=100, sinks=3, page_dtype=Q8
    )
    lengths, rng = [2000, 500, 500, 500], np.random.default_rng(3)
    counts = [-(-length // PAGE_SIZE) for length in lengths]
    pages = rng.integers(0, 2**32, (sum(counts), *shape.page_shape), np.uint32)
    pages[..., shape.scales_at :] = np.float32(0.01).view(np.uint32)
    order = rng.permutation(sum(counts)).astype(np.int32)
    tables = np.split(order, np.cumsum(counts)[:-1])
    for table, length in zip(tables, lengths, strict=True):
        table[0] = tables[0][0]
        table[1 : (length - shape.sliding_window) // PAGE_SIZE] = 2**30
    rows = [(length - 1, i) for i, length in enumerate(lengths)]
    q = rng.standard_normal((4, shape.heads, shape.dim)).astype(np.float32)
    both = attend(shape, pages, list(tables), q, rows)
    for i in range(4):
        alone = attend(shape, pages, list(tables), q[i : i + 1], rows[i : i + 1])
        assert np.array_equal(alone[0], both[i])
