"""Steps that verify trees of tokens: copies of slots, and attention of rows that see one path."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import compiled  # noqa: E402
from test_attention import SHAPES, attend, attention_kernel, tolerance  # noqa: E402
from token_trees import TokenTree, random_tree  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import Q8, AttentionShape  # noqa: E402
from mlc_llm.compiler.kernels.cpu import attention  # noqa: E402

TREE_SHAPES = [
    *(SHAPES[i] for i in (0, 3, 5, 7, 9)),
    AttentionShape(heads=4, kv_heads=1, dim=32, page_dtype=Q8),
    AttentionShape(heads=4, kv_heads=2, dim=32, page_dtype=Q8, sliding_window=600),
    AttentionShape(heads=4, kv_heads=1, dim=16, page_dtype="float16", sliding_window=300, sinks=70),
]
# History and tokens: none, short ones, around a page's and a block's end, parts that threads share.
SIZES = [(0, 9), (1, 1), (13, 20), (15, 17), (16, 12), (60, 40), (1019, 14), (2100, 9)]


def attended(tree: TokenTree, q, copy, kernel):
    copy(*tree.copies(), tree.pages)
    return attend(kernel, tree, q, *tree.rows())


@pytest.mark.parametrize("shape", TREE_SHAPES, ids=str)
def test_every_row_sees_its_path_with_the_bits_of_a_chain(shape: AttentionShape) -> None:
    rng = np.random.default_rng(7)
    copy = compiled(attention.copy_slots(shape))
    kernel = attention_kernel(shape)
    num_copies = 0
    for history, count in SIZES:
        tree = random_tree(rng, shape, history, count)
        q = (rng.standard_normal((count, shape.heads, shape.dim)) * 2).astype(np.float32)
        y = attended(tree, q, copy, kernel)
        np.testing.assert_allclose(y, tree.expected(q), rtol=0, atol=1.25 * tolerance(shape))
        num_copies += len(tree.copies()[0])
        for token in {0, count // 2, count - 1}:
            chain = tree.alone(token, rng)
            alone = attended(chain, q[tree.path(token)], copy, kernel)
            assert np.array_equal(alone[-1], y[token]), (history, token)
    assert num_copies > 20


@pytest.mark.parametrize("shape", TREE_SHAPES, ids=str)
def test_copy_slots_copies_keys_and_values_and_nothing_else(shape: AttentionShape) -> None:
    rng = np.random.default_rng(3)
    copy = compiled(attention.copy_slots(shape))
    for count in (1, 2, 30):
        tree = random_tree(rng, shape, int(rng.integers(0, 60)), count)
        tree.pages[np.isnan(tree.pages)] = 7.0
        pages = tree.pages.copy()
        copy(*tree.copies(), pages)
        tree.copy()
        assert np.array_equal(pages, tree.pages)
