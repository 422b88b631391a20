"""Attention, rotary positions and copies of pages for `test_kernels_everywhere.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from kernel_cases import Array, Call, Case, Rng, Rows, close, row_calls, unwritten
from kernel_tools import frozen
from numpy_pages import assert_pages_close, hadamard
from test_attention import Cache, expected_row, rotate, tolerance
from token_trees import random_tree

from mlc_llm.compiler.kernels.common.attention_shape import (
    PAGE_SIZE,
    Q8,
    AttentionShape,
    rope_table,
)
from mlc_llm.compiler.kernels.cpu import attention, paged_attention
from mlc_llm.compiler.spec.rope import RopeScaling, inverse_frequencies
from mlc_llm.compiler.vector_units import VectorUnit

GEMMA = AttentionShape(heads=4, kv_heads=1, dim=256)  # Gemma-3-270M's


def draw_shape(rng: Rng, **options: Any) -> AttentionShape:
    kv_heads = int(rng.integers(1, 4))
    heads, dim = kv_heads * int(rng.integers(1, 5)), 16 * int(rng.integers(1, 6))
    kind = ("float32", "float16")[rng.integers(2)]
    sizes = {"heads": heads, "kv_heads": kv_heads, "dim": dim, "page_dtype": kind}
    return AttentionShape(**{**sizes, **options})


def attend(name: str, draw: Callable[[Rng], AttentionShape], rng: Rng, unit: VectorUnit) -> Case:
    """A prompt's rows at the start of a history, at its end, and single steps of others."""
    shape = draw(rng)
    lengths = [int(n) for n in (rng.integers(2048, 2200), rng.integers(40, 90), 1)]
    cache = Cache(shape, lengths, seed=int(rng.integers(1 << 30)))
    places = [range(lengths[0] - 21, lengths[0]), range(33), [0]]
    rows = [(p, s) for s, positions in enumerate(places) for p in positions]
    q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
    expected = np.stack([expected_row(cache, q[i], *row) for i, row in enumerate(rows)])
    positions, sequences = (Rows(np.array(a, np.int32)) for a in zip(*rows, strict=True))
    inputs = [Rows(q), positions, sequences, *cache.indices(), cache.pages]
    check = close(expected, tolerance(shape))
    function = paged_attention.paged_attention(shape, shape.dim**-0.5, **unit.attention_sizes)
    return Case(name, function, row_calls(rng, inputs, unwritten(*expected.shape), check))


def append(name: str, draw: Callable[[Rng], AttentionShape], rng: Rng, unit: VectorUnit) -> Case:
    shape, count = draw(rng), int(rng.integers(1, 70))
    frequencies = inverse_frequencies(shape.dim, 1e4, RopeScaling(kind="linear", factor=2.0))
    table = rope_table(frequencies)
    size = shape.heads + 2 * shape.kv_heads
    qkv = rng.standard_normal((count, size, shape.dim)).astype(np.float32)
    positions = rng.integers(0, rng.choice([500, 2_000_000]), count).astype(np.int32)
    slots = rng.permutation(6 * PAGE_SIZE)[:count].astype(np.int32)
    pages = np.full((6, *shape.page_shape), 7, shape.element_dtype)
    q = unwritten(count, shape.heads, shape.dim)
    rotated = rotate(qkv.astype(np.float64), positions[:, None] * np.array(frequencies))
    rotated = hadamard(rotated, shape)
    expected = _appended(shape, pages.copy(), qkv, rotated, slots)

    def check() -> None:
        np.testing.assert_allclose(q, rotated[:, : shape.heads], atol=2e-6)
        limit = 2e-3 if shape.page_dtype == "float16" else 2e-6
        assert_pages_close(shape, pages, expected, atol=limit)

    inputs = [frozen(a) for a in (qkv.reshape(count, -1), positions, slots, table)]
    return Case(name, attention.rope_and_append(shape), [Call([*inputs, pages, q], check)])


def _appended(shape: AttentionShape, pages: Array, qkv: Array, rotated: Array, slots: Array):
    """The pages with keys and values in their slots, and all others as they were."""
    view = Cache(replace(shape, sliding_window=-1), [1])
    view.pages = pages
    for i, slot in enumerate(slots):
        key = rotated[i, shape.heads : shape.heads + shape.kv_heads]
        value = qkv[i, shape.heads + shape.kv_heads :]
        view.write(slot // PAGE_SIZE, slot % PAGE_SIZE, key, value)
    return pages


def copies(name: str, rng: Rng, unit: VectorUnit) -> Case:
    shape = draw_shape(rng)
    pages = rng.standard_normal((7, *shape.page_shape)).astype(shape.page_dtype)
    order = rng.permutation(7).astype(np.int32)
    source, destination = frozen(order[:3]), frozen(order[3:6])
    expected = pages.copy()
    expected[destination] = pages[source]

    def check() -> None:
        assert np.array_equal(pages, expected)

    return Case(name, attention.copy_pages(shape), [Call([source, destination, pages], check)])


def tree(name: str, draw: Callable[[Rng], AttentionShape], rng: Rng, unit: VectorUnit) -> Case:
    """The rows of a token tree, each of which sees the history and a path."""
    shape, count = draw(rng), int(rng.integers(2, 30))
    drawn = random_tree(rng, shape, int(rng.choice([0, 15, 70, 1020, 2100])), count)
    drawn.copy()
    q = (rng.standard_normal((count, shape.heads, shape.dim)) * 2).astype(np.float32)
    positions, sequences = (Rows(np.array(a, np.int32)) for a in drawn.rows())
    inputs = [Rows(q), positions, sequences, *drawn.indices(), drawn.pages]
    check = close(drawn.expected(q), 5e-6)
    function = paged_attention.paged_attention(shape, shape.dim**-0.5, **unit.attention_sizes)
    whole = unwritten(count, shape.heads * shape.dim)
    return Case(name, function, row_calls(rng, inputs, whole, check))


def slots(name: str, draw: Callable[[Rng], AttentionShape], rng: Rng, unit: VectorUnit) -> Case:
    drawn = random_tree(rng, draw(rng), int(rng.integers(0, 60)), int(rng.integers(5, 40)))
    drawn.pages[np.isnan(drawn.pages)] = 7.0
    pages = drawn.pages.copy()
    drawn.copy()

    def check() -> None:
        assert np.array_equal(pages, drawn.pages)

    return Case(name, attention.copy_slots(drawn.shape), [Call([*drawn.copies(), pages], check)])


def _q8(rng: Rng) -> AttentionShape:
    return draw_shape(rng, page_dtype=Q8)


def _window(rng: Rng, **options: Any) -> AttentionShape:
    return draw_shape(rng, sliding_window=int(rng.integers(1, 150)), **options)


def _cases() -> dict[str, Callable[[Rng, VectorUnit], Case]]:
    shapes: dict[str, Callable[[Rng], AttentionShape]] = {
        "attend": draw_shape,
        "attend_window": _window,
        "attend_sinks": partial(_window, sinks=20),
        "attend_q8": _q8,
        "attend_q8_sinks": partial(_window, sinks=20, page_dtype=Q8),
        "attend_gemma": lambda rng: GEMMA,
        "attend_gemma_window": lambda rng: replace(GEMMA, sliding_window=512),
    }
    found: dict[str, Callable[[Rng, VectorUnit], Case]] = {
        name: partial(attend, name, draw) for name, draw in shapes.items()
    }
    found["append"] = partial(append, "append", draw_shape)
    found["append_q8"] = partial(append, "append_q8", _q8)
    found["append_gemma"] = partial(append, "append_gemma", lambda rng: GEMMA)
    found["copy_pages"] = partial(copies, "copy_pages")
    found["copy_slots"] = partial(slots, "copy_slots", draw_shape)
    found["copy_slots_q8"] = partial(slots, "copy_slots_q8", _q8)
    found["attend_tree"] = partial(tree, "attend_tree", draw_shape)
    found["attend_tree_window"] = partial(tree, "attend_tree_window", _window)
    return found


CASES = _cases()
