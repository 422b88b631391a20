"""Every GPU kernel against NumPy float64, on every backend here: random shapes, seeds fixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import kernel_tools  # noqa: E402
from kernel_tools import activated, frozen  # noqa: E402
from numpy_pages import assert_pages_close, hadamard  # noqa: E402
from test_attention import Cache, attend, expected_row, rotate  # noqa: E402
from token_trees import random_tree  # noqa: E402

from mlc_llm.compiler import targets  # noqa: E402
from mlc_llm.compiler.kernels.common.attention_shape import (  # noqa: E402
    PAGE_SIZE,
    Q8,
    AttentionShape,
    growth_table,
    rope_table,
)
from mlc_llm.compiler.kernels.cpu import attention as cpu_attention  # noqa: E402
from mlc_llm.compiler.kernels.gpu import (  # noqa: E402
    attention,
    elementwise,
    layer_norm,
    paged_attention,
)
from mlc_llm.compiler.spec.rope import RopeScaling, inverse_frequencies  # noqa: E402

SHAPES = [
    AttentionShape(heads=6, kv_heads=2, dim=48),
    AttentionShape(
        heads=4,
        kv_heads=2,
        dim=16,
        sliding_window=20,
        sinks=3,
        softcap=3.0,
        learned_sinks="float32",
        alibi=True,
    ),
    AttentionShape(heads=6, kv_heads=2, dim=48, page_dtype=Q8),
]
MORE_SHAPES = [  # with --long
    AttentionShape(heads=9, kv_heads=3, dim=64),
    AttentionShape(heads=16, kv_heads=1, dim=48),
    AttentionShape(heads=2, kv_heads=2, dim=128),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=20),
    AttentionShape(heads=4, kv_heads=2, dim=16, sliding_window=20, sinks=3),
    AttentionShape(heads=4, kv_heads=2, dim=32, sliding_window=20, chunked=True),
    AttentionShape(heads=71, kv_heads=1, dim=64, sliding_window=70),  # one head in a tile
    AttentionShape(heads=2, kv_heads=1, dim=256),
    AttentionShape(heads=8, kv_heads=1, dim=512),  # 4 heads in a work-group; no tiles on Vulkan
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shape" in metafunc.fixturenames:
        more = MORE_SHAPES if metafunc.config.getoption("--long", default=False) else []
        metafunc.parametrize("shape", SHAPES + more, ids=str)


Compiled = Callable[[Any], Callable[..., None]]


@pytest.fixture(params=gpu_tools.BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    gpu_tools.require(request.param)
    return request.param


@pytest.fixture
def compiled(backend: str) -> Compiled:
    return partial(gpu_tools.compiled, backend=backend)


@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("size", [576, 70])
def test_rms_norm(size: int, gather: bool, compiled: Compiled) -> None:
    rng = np.random.default_rng(size)
    x, weight = (rng.standard_normal(s).astype(np.float32) for s in ((5, size), (size,)))
    rows = np.array([4, 0, 0], np.int32) if gather else np.arange(5, dtype=np.int32)
    y = np.zeros((len(rows), size), np.float32)
    picked = [frozen(rows)] if gather else []
    kernel = compiled(elementwise.rms_norm(size, 1e-5, "float32", gather=gather))
    kernel(frozen(x), *picked, frozen(weight), y)
    exact = x[rows].astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(y, expected, atol=4e-6)


def test_a_norm_is_added_to_the_residual(compiled: Compiled) -> None:
    rng = np.random.default_rng(9)
    x, before = rng.standard_normal((2, 5, 70)).astype(np.float32)
    weight, y = rng.standard_normal(70).astype(np.float32), np.zeros((5, 70), np.float32)
    kernel = compiled(elementwise.rms_norm(70, 1e-5, "float32", residual=True))
    kernel(*map(frozen, (x, weight, before)), y)
    exact = x.astype(np.float64)
    normed = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(y, before + normed, atol=4e-6)


@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("is_biased", [False, True])
def test_layer_norm(gather: bool, is_biased: bool, compiled: Compiled) -> None:
    rng = np.random.default_rng(5)
    x, before = (rng.standard_normal((2, 5, 70)) + 3).astype(np.float32)
    weight, bias = rng.standard_normal((2, 70)).astype(np.float32)
    rows = np.array([4, 0, 0, 2, 1], np.int32) if gather else np.arange(5, dtype=np.int32)
    options = {"gather": gather, "residual": not gather}
    biases = ["float32"] if is_biased else []
    kernel = compiled(layer_norm.layer_norm(70, 1e-5, "float32", *biases, **options))
    y, picked = np.zeros((5, 70), np.float32), [rows] if gather else []
    given = [*picked, weight, *([bias] if is_biased else []), *([] if gather else [before])]
    kernel(frozen(x), *map(frozen, given), y)
    exact = x[rows].astype(np.float64)
    exact -= exact.mean(-1, keepdims=True)
    expected = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5) * weight
    expected += (bias if is_biased else 0) + (0 if gather else before)
    np.testing.assert_allclose(y, expected, atol=1e-5)


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_activations_without_a_gate(activation: str, compiled: Compiled) -> None:
    x = (np.random.default_rng(4).standard_normal((3, 70)) * 5).astype(np.float32)
    y, exact = np.zeros((3, 70), np.float32), x.astype(np.float64)
    compiled(layer_norm.activate(70, activation))(frozen(x), y)
    expected = activated(exact, activation)
    if activation == "gelu":
        expected = exact * np.vectorize(math.erfc)(-exact / math.sqrt(2)) / 2
    np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("activation", ["silu", "gelu_tanh"])
def test_the_gated_activation(activation: str, compiled: Compiled) -> None:
    x = (np.random.default_rng(4).standard_normal((3, 2 * 70)) * 20).astype(np.float32)
    y = np.zeros((3, 70), np.float32)
    compiled(elementwise.gate_and_multiply(70, activation))(frozen(x), y)
    gate, up = x[:, :70].astype(np.float64), x[:, 70:]
    np.testing.assert_allclose(y, activated(gate, activation) * up, rtol=2e-5, atol=1e-5)


def test_logits_are_scaled_and_capped(compiled: Compiled) -> None:
    x = (np.random.default_rng(5).standard_normal((3, 70)) * 50).astype(np.float32)
    y = np.zeros((3, 70), np.float32)
    compiled(elementwise.scale_and_cap(70, 0.5, 30.0))(frozen(x), y)
    np.testing.assert_allclose(y, 30 * np.tanh(x.astype(np.float64) / 60), atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norms_all_heads": True, "value_norm": 0.1},
        {"norms_rotated": True},
        {"norm_dtype": None, "value_norm": 1e-5, "values_are_keys": True},
        {"growth_length": 6},
        {"growth_length": 6, "page_dtype": Q8},
    ],
    ids=str,
)
def test_queries_and_keys_are_normed_and_turned_in_part(
    compiled: Compiled, options: dict[str, Any]
) -> None:
    """As the CPU's kernel does it; then queries alone."""
    rng = np.random.default_rng(8)
    shape = AttentionShape(heads=4, kv_heads=2, dim=32, rotated=24, qk_norm=1e-5, **options)
    table = rope_table(inverse_frequencies(24, 1e4, RopeScaling()))
    norms = [rng.standard_normal(shape.norm_size(n)).astype(np.float32) for n in (4, 2)]
    norms = norms if shape.norm_dtype else []
    tables = [table, growth_table(0.5)] if shape.growth_length else [table]
    positions, slots = np.array([5, 900, 7], np.int32), np.array([3, 17, 40], np.int32)
    heads = 6 if shape.values_are_keys else 8
    qkv = rng.standard_normal((3, heads * 32)).astype(np.float32)
    for own in (shape, replace(shape, appends=False)):
        found = []
        for kernel in (
            compiled(attention.rope_and_append(own)),
            kernel_tools.compiled(cpu_attention.rope_and_append(own)),
        ):
            q = np.zeros((3, 4, 32), np.float32)
            pages = np.full((3, *own.page_shape), 7, own.element_dtype)
            if own.appends:
                inputs = [qkv, positions, slots, *tables, *norms]
                kernel(*map(frozen, inputs), pages, q)
            else:
                queries = qkv[:, : 4 * 32].copy()
                kernel(*map(frozen, (queries, positions, *tables, *norms[:1])), q)
            found.append((q, pages))
        queries, written = zip(*found, strict=True)
        np.testing.assert_allclose(*queries, atol=3e-6)
        assert_pages_close(own, *written, atol=3e-6)
        assert (written[0] != 7).any() == own.appends


def test_attention_over_pages(shape: AttentionShape, backend: str) -> None:
    """Chunks over a history, several sequences, and single rows: both kinds of work-group. Slots
    that a row may not read hold NaN."""
    limits = targets.GPUS[backend].tiles
    function = paged_attention.paged_attention(shape, shape.dim**-0.5, limits=limits)
    kernel = gpu_tools.compiled(function, backend=backend)
    cache = Cache(shape, [83, 33])
    rng = np.random.default_rng(1)
    everything = [(p, s) for s, n in enumerate(cache.lengths) for p in range(n)]
    chunk = [(p, 0) for p in range(70, 83)] + [(p, 1) for p in range(5, 33)]
    for rows in (everything, chunk, [(82, 0), (32, 1)], [(16, 0)], [(0, 1)]):
        q = (rng.standard_normal((len(rows), shape.heads, shape.dim)) * 2).astype(np.float32)
        positions, sequences = zip(*rows, strict=True)
        y = attend(kernel, cache, q, positions, sequences)
        for i, (position, sequence) in enumerate(rows):
            expected = expected_row(cache, q[i], position, sequence)
            np.testing.assert_allclose(y[i], expected, atol=1e-5, err_msg=str((position, sequence)))


def test_work_groups_share_a_long_history(shape: AttentionShape, backend: str) -> None:
    """One of the rows has fewer steps than there are parts."""
    splits, cache = 3, Cache(shape, [300, 33])
    kernel = gpu_tools.compiled(
        paged_attention.paged_attention(shape, shape.dim**-0.5, splits), backend=backend
    )
    (scratch,) = paged_attention.split_scratch(shape, splits)

    def split(*arrays: Any) -> None:
        partials = np.full(scratch.shape, np.nan, np.float32)
        kernel(*arrays, partials)
        assert np.isfinite(partials[0]).all()

    q = np.random.default_rng(2).standard_normal((2, shape.heads, shape.dim)).astype(np.float32)
    y = attend(split, cache, q, [299, 32], [0, 1])
    for i, (position, sequence) in enumerate([(299, 0), (32, 1)]):
        expected = expected_row(cache, q[i], position, sequence)
        np.testing.assert_allclose(y[i], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim"),
    [(8, 1, 512), (16, 2, 512), (32, 4, 512), (16, 1, 512), (8, 1, 256), (24, 4, 256), (8, 8, 96)],
)
def test_a_work_group_keeps_within_its_memory(heads: int, kv_heads: int, dim: int) -> None:
    """The heads of Gemma 4, of Gemma, of Qwen 3.5, of Phi 3. Browsers have 16 KB at least."""
    shape = AttentionShape(heads=heads, kv_heads=kv_heads, dim=dim)
    for limits in {gpu.tiles for gpu in targets.GPUS.values()}:
        function = paged_attention.paged_attention(shape, 1.0, limits=limits)
        assert 0 < group_memory(function) <= 4 * limits.floats
    assert group_memory(attention.rope_and_append(replace(shape, page_dtype=Q8))) <= 32 << 10


def group_memory(function: Any) -> int:
    """The bytes of memory that the work-groups of a launch share, of the launch with most."""
    return max(
        sum(4 * math.prod(map(int, b.shape)) for b in block.alloc_buffers if b.scope() == "shared")
        for block in blocks(function.body)
    )


def blocks(node: Any) -> Iterator[Any]:
    """Those that allocate memory, and those within them."""
    if hasattr(node, "alloc_buffers"):
        yield node
    inner = [getattr(node, name, None) for name in ("body", "block", "then_case", "else_case")]
    for one in (*inner, *getattr(node, "seq", ())):
        if one is not None:
            yield from blocks(one)


def test_pages_outside_a_sliding_window_are_not_read(compiled: Compiled) -> None:
    shape = AttentionShape(heads=2, kv_heads=2, dim=32, sliding_window=16)
    cache = Cache(shape, [80])
    kernel = compiled(paged_attention.paged_attention(shape, 1.0))
    for rows in ([79], [76, 77, 78, 79]):
        q = np.ones((len(rows), 2, 32), np.float32)
        sequences = [0] * len(rows)
        before = attend(kernel, cache, q, rows, sequences)
        kept, cache.tables[0][:3] = cache.tables[0][:3], [-1] * 3
        assert np.array_equal(attend(kernel, cache, q, rows, sequences), before)
        cache.tables[0][:3] = kept


def test_append_rotates_and_writes_its_slots_only(
    shape: AttentionShape, compiled: Compiled
) -> None:
    frequencies = inverse_frequencies(shape.dim, 1e4, RopeScaling(kind="linear", factor=2.0))
    rng = np.random.default_rng(2)
    heads, count = shape.heads + 2 * shape.kv_heads, 13
    qkv = rng.standard_normal((count, heads, shape.dim)).astype(np.float32)
    positions = rng.integers(0, 2_000_000, count).astype(np.int32)
    slots = rng.permutation(6 * PAGE_SIZE)[:count].astype(np.int32)
    cache = Cache(shape, [4 * PAGE_SIZE])
    cache.pages[...] = 7
    q = np.zeros((count, shape.heads, shape.dim), np.float32)
    inputs = map(frozen, (qkv.reshape(count, -1), positions, slots, rope_table(frequencies)))
    compiled(attention.rope_and_append(shape))(*inputs, cache.pages, q)

    rotated = rotate(qkv.astype(np.float64), positions[:, None] * np.array(frequencies))
    keyed = hadamard(rotated, shape)
    np.testing.assert_allclose(q, keyed[:, : shape.heads], atol=2e-6)
    expected = Cache(shape, [4 * PAGE_SIZE])
    expected.pages[...] = 7
    for i, slot in enumerate(slots):
        key = keyed[i, shape.heads : shape.heads + shape.kv_heads]
        value = qkv[i, shape.heads + shape.kv_heads :]
        expected.write(slot // PAGE_SIZE, slot % PAGE_SIZE, key, value)
    assert_pages_close(shape, cache.pages, expected.pages, atol=2e-6)


def test_copy_pages_copies_whole_pages(compiled: Compiled) -> None:
    shape = SHAPES[0]
    pages = np.random.default_rng(0).standard_normal((5, *shape.page_shape)).astype(np.float32)
    expected = pages.copy()
    expected[[4, 1]] = pages[[0, 3]]
    source, destination = (frozen(np.array(a, np.int32)) for a in ([0, 3], [4, 1]))
    compiled(attention.copy_pages(shape))(source, destination, pages)
    assert np.array_equal(pages, expected)


def test_rows_of_a_token_tree_see_their_paths(shape: AttentionShape, compiled: Compiled) -> None:
    rng = np.random.default_rng(6)
    copy = compiled(attention.copy_slots(shape))
    kernel = compiled(paged_attention.paged_attention(shape, shape.dim**-0.5))
    for history, count in ((0, 5), (13, 20), (31, 9)):
        tree = random_tree(rng, shape, history, count)
        q = rng.standard_normal((count, shape.heads, shape.dim)).astype(np.float32)
        copy(*tree.copies(), tree.pages)
        y = attend(kernel, tree, q, *tree.rows())
        np.testing.assert_allclose(y, tree.expected(q), rtol=0, atol=4e-6)


def test_memory_that_runs_out_is_an_error_that_says_so(backend: str) -> None:
    import tvm

    device = tvm.device(backend, 0)
    text = "out of memory" if backend == "cuda" else "has no room for"  # TVM's runtime, or ours
    with pytest.raises((MemoryError, RuntimeError), match=text):
        tvm.runtime.empty((2**40,), "float32", device)
    kept = [tvm.runtime.tensor(np.full(1000, i, np.float32), device) for i in range(20)]
    del kept[::2]  # to the pool, and out of it again
    kept += [tvm.runtime.tensor(np.full(990, i, np.float32), device) for i in range(20)]
    assert [float(t.numpy()[-1]) for t in kept] == [*range(1, 20, 2), *range(20)]
