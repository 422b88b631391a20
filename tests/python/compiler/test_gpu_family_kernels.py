"""Kernels of single families on every backend of GPUs here, against NumPy or the CPU's kernels:
windows on both sides, routers, and what layers get of a token besides."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import kernel_tools  # noqa: E402
from kernel_tools import activated, frozen  # noqa: E402
from test_attention import Cache  # noqa: E402
from test_experts_kernels import ROUTERS, routed  # noqa: E402

from mlc_llm.compiler.kernels.common.attention_shape import (  # noqa: E402
    AttentionShape,
    rope_table,
)
from mlc_llm.compiler.kernels.common.routing import Router  # noqa: E402
from mlc_llm.compiler.kernels.cpu import attention as cpu_attention  # noqa: E402
from mlc_llm.compiler.kernels.cpu import routing as cpu_routing  # noqa: E402
from mlc_llm.compiler.kernels.gpu import (  # noqa: E402
    attention,
    draft_logits,
    experts,
    layer_inputs,
    paged_attention,
    positions,
    routing,
    rows,
)

Array = np.ndarray[Any, Any]
Compiled = Callable[[Any], Callable[..., None]]


@pytest.fixture(params=gpu_tools.BACKENDS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    gpu_tools.require(request.param)
    return partial(gpu_tools.compiled, backend=request.param)


def test_rows_of_an_encoder_see_a_window_on_both_sides(compiled: Compiled) -> None:
    """Whole texts and single rows: both kinds of work-group."""
    ahead, lengths = 5, [83, 33]
    shape = AttentionShape(heads=4, kv_heads=2, dim=16, sliding_window=2 * ahead + 1, ahead=ahead)
    cache = Cache(shape, lengths)
    ends_of = compiled(positions.near_ends(ahead))
    attend = compiled(paged_attention.paged_attention(shape, 0.25))
    everything = [(p, s) for s, n in enumerate(lengths) for p in range(n)]
    for chosen in (everything, [(40, 0), (31, 1)]):
        own, sequences = (np.array(column, np.int32) for column in zip(*chosen, strict=True))
        last = np.array([lengths[s] - 1 for s in sequences], np.int32)
        seen = np.zeros_like(own)
        ends_of(frozen(own), frozen(last), seen)
        assert np.array_equal(seen, np.minimum(own + ahead, last))
        q = np.random.default_rng(1).standard_normal((len(chosen), 4, 16)).astype(np.float32)
        y = np.zeros((len(chosen), 64), np.float32)
        where = (seen, sequences, *cache.indices(), cache.pages, own)
        attend(frozen(q), *map(frozen, where), y)
        for i, (position, sequence) in enumerate(chosen):
            expected = _near(cache, q[i], position, sequence, ahead)
            np.testing.assert_allclose(y[i], expected, atol=1e-5, err_msg=str(chosen[i]))


def test_rows_with_a_window_see_later_ones(compiled: Compiled) -> None:
    """The rows of each text from 20 on see each other; their windows end at their own place."""
    window, lengths = 9, [83, 33]
    shape = AttentionShape(heads=4, kv_heads=2, dim=16, sliding_window=window, rows_ahead=True)
    cache = Cache(shape, lengths)
    attend = compiled(paged_attention.paged_attention(shape, 0.25))
    everything = [(p, s) for s, n in enumerate(lengths) for p in range(n)]
    for chosen in (everything, [(40, 0), (31, 1)]):
        own, sequences = (np.array(column, np.int32) for column in zip(*chosen, strict=True))
        last = np.array([lengths[s] - 1 for s in sequences], np.int32)
        seen = np.where(own >= 20, last, own).astype(np.int32)
        q = np.random.default_rng(1).standard_normal((len(chosen), 4, 16)).astype(np.float32)
        y = np.zeros((len(chosen), 64), np.float32)
        where = (seen, sequences, *cache.indices(), cache.pages, own)
        attend(frozen(q), *map(frozen, where), y)
        for i, (position, sequence) in enumerate(chosen):
            places = slice(max(position - window + 1, 0), seen[i] + 1)
            expected = _attended(cache, q[i], places, sequence)
            np.testing.assert_allclose(y[i], expected, atol=1e-5, err_msg=str(chosen[i]))


def test_pairs_turn_by_the_positions_of_their_axes(compiled: Compiled) -> None:
    """The bits of words decide, so 40 pairs take two words. As on the CPU."""
    axes = tuple(int(axis) for axis in np.random.default_rng(4).integers(0, 3, 40))
    shape = AttentionShape(heads=2, kv_heads=1, dim=96, rotated=80, axes=axes)
    rng, rows = np.random.default_rng(3), 19
    table = rope_table([50.0 ** (-i / 40) for i in range(40)])
    given = rng.standard_normal((rows, 4 * 96)).astype(np.float32)
    where = (np.arange(rows, dtype=np.int32), rng.integers(0, 70000, (rows, 3), np.int32))
    slots = np.arange(rows, dtype=np.int32)
    made = []
    for kernel in (attention.rope_and_append, cpu_attention.rope_and_append):
        pages = np.zeros((2, *shape.page_shape), np.float32)
        q = np.zeros((rows, 2, 96), np.float32)
        own = compiled if kernel is attention.rope_and_append else kernel_tools.compiled
        own(kernel(shape))(*map(frozen, (given, *where, slots, table)), pages, q)
        made.append((q, pages))
    for mine, theirs in zip(*made, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_rows_of_layers_stand_side_by_side(compiled: Compiled) -> None:
    x = np.random.default_rng(5).standard_normal((9, 70)).astype(np.float32)
    chosen = np.array([8, 0, 0, 3], np.int32)
    y = np.full((4, 200), 7, np.float32)
    compiled(rows.take_rows(70, 100, 200))(frozen(x), frozen(chosen), y)
    assert np.array_equal(y[:, 100:170], x[chosen])
    assert (y[:, :100] == 7).all() and (y[:, 170:] == 7).all()


def test_logits_of_some_tokens_become_those_of_the_vocabulary(compiled: Compiled) -> None:
    tokens, rng = np.array([300, 0, 7]), np.random.default_rng(6)
    heads = rng.standard_normal((2, 5, 3)).astype(np.float32)
    places = np.full(301, -1, np.int32)
    places[tokens] = range(3)
    y = np.zeros((5, 602), np.float32)
    compiled(draft_logits.spread(2, 3, 301))(*map(frozen, heads), frozen(places), y)
    found = y.reshape(5, 2, 301).swapaxes(0, 1)
    assert np.array_equal(found[..., tokens], heads)
    assert (np.delete(found, tokens, axis=2) < -1e38).all()


def _near(cache: Cache, q: Array, position: int, sequence: int, ahead: int) -> Array:
    return _attended(cache, q, slice(max(position - ahead, 0), position + ahead + 1), sequence)


def _attended(cache: Cache, q: Array, places: slice, sequence: int) -> Array:
    group = cache.shape.group
    keys, values = (
        np.repeat(kept[sequence][places], group, axis=1).astype(np.float64)
        for kept in (cache.keys, cache.values)
    )
    weights = np.exp(np.einsum("hd,mhd->hm", q, keys) * 0.25)
    weights /= weights.sum(1, keepdims=True)
    return np.asarray(np.einsum("hm,mhd->hd", weights, values).reshape(-1))


def test_learned_scales_multiply_the_weights_of_experts(compiled: Compiled) -> None:
    router, rng = ROUTERS["sigmoid"], np.random.default_rng(2)
    logits = rng.standard_normal((9, router.experts)).astype(np.float32)
    added, scales = rng.standard_normal((2, router.experts)).astype(np.float32)
    found, weights = np.full((9, 4), 77, np.int32), np.zeros((9, 4), np.float32)
    kernel = compiled(routing.choose(router, "float32", "float32"))
    kernel(*map(frozen, (logits, added, scales)), found, weights)
    expected, shares = routed(router, logits, added)
    assert np.array_equal(found, expected)
    np.testing.assert_allclose(weights, shares * scales[expected], rtol=1e-5)


def test_sparsemixer_is_that_of_the_cpu(compiled: Compiled) -> None:
    router = Router(experts=12, chosen=2, scores="sparsemixer", jitter=0.2)
    logits = np.random.default_rng(6).standard_normal((70, 12)).astype(np.float32)
    made = []
    theirs = kernel_tools.compiled(cpu_routing.choose(router))
    for kernel in (compiled(routing.choose(router)), theirs):
        found, weights = np.full((70, 2), 77, np.int32), np.zeros((70, 2), np.float32)
        kernel(frozen(logits), found, weights)
        made.append((found, weights))
    assert np.array_equal(made[0][0], made[1][0])
    np.testing.assert_allclose(made[0][1], made[1][1], rtol=1e-5)
    assert 0.02 < (made[0][1] < 0.99).mean() < 0.98


def test_places_scaled_before_the_experts_are_summed_as_they_are(compiled: Compiled) -> None:
    rng, rows, chosen, size = np.random.default_rng(7), 9, 3, 70
    x = rng.standard_normal((rows, chosen * size)).astype(np.float32)
    places = rng.permutation(rows * chosen).astype(np.int32).reshape(rows, chosen)
    weights = rng.standard_normal((rows, chosen)).astype(np.float32)
    pairs = (frozen(places), frozen(weights))
    scaled, added = np.zeros_like(x), np.zeros((rows, size), np.float32)
    compiled(experts.scale_places(size, chosen))(frozen(x), *pairs, scaled)
    expected = np.zeros((rows * chosen, size), np.float32)
    expected[places] = x.reshape(-1, size)[places] * weights[..., None]
    np.testing.assert_allclose(scaled.reshape(-1, size), expected, rtol=1e-6)
    compiled(experts.combine(size, chosen, weighted=False))(frozen(scaled), *pairs, added)
    np.testing.assert_allclose(added, expected[places].sum(1), atol=1e-5)


def test_inputs_of_layers(compiled: Compiled) -> None:
    layers, size, hidden, rows, eps = 3, 70, 40, 5, 0.1
    wide, rng = layers * size, np.random.default_rng(8)

    def random(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    x, mixed, embedded = random(rows, hidden), random(rows, wide), random(rows, hidden + wide)
    gate, layer, weight, factor = (
        random(rows, size),
        np.array([1], np.int32),
        random(size),
        random(1),
    )
    split = mixed.reshape(rows, layers, size).astype(np.float64)
    normed = split / np.sqrt((split * split).mean(-1, keepdims=True) + eps) * weight
    added = normed.reshape(rows, wide) / np.sqrt(2) + embedded[:, hidden:]
    gated = activated(gate.astype(np.float64), "gelu_tanh") * mixed[:, size : 2 * size]
    cases: list[tuple[Any, tuple[Array, ...], Array]] = [
        (layer_inputs.join((hidden, wide)), (x, mixed), np.hstack([x, mixed])),
        (layer_inputs.first_columns(hidden + wide, hidden), (embedded,), embedded[:, :hidden]),
        (
            layer_inputs.add_inputs(layers, size, hidden, eps, "float32"),
            (mixed, embedded, weight),
            added,
        ),
        (layer_inputs.gate_input(layers, size, "gelu_tanh"), (gate, layer, mixed), gated),
        (layer_inputs.times(hidden, "float32"), (x, factor), x * factor),
        (layer_inputs.widen(hidden, 100), (x,), np.pad(x, ((0, 0), (0, 60)))),
        (
            layer_inputs.add_columns(hidden, hidden + wide, 50),
            (x, embedded),
            x + embedded[:, 50 : 50 + hidden],
        ),
    ]
    for number, (kernel, given, expected) in enumerate(cases):
        y = np.full(expected.shape, np.nan, np.float32)
        compiled(kernel)(*map(frozen, given), y)
        np.testing.assert_allclose(y, expected, atol=5e-6, err_msg=str(number))
