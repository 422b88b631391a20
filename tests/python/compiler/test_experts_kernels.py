"""Kernels of mixtures of experts: routers against NumPy, and experts against the dense layers, bit
by bit."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

from gguf_random import random_blocks  # noqa: E402
from kernel_tools import FloatRows, compiled, frozen, host_device, taken  # noqa: E402
from test_activations import coded_rows  # noqa: E402

from mlc_llm.compiler import quantization  # noqa: E402
from mlc_llm.compiler.kernels.common.routing import RUN, Router, Stack  # noqa: E402
from mlc_llm.compiler.kernels.cpu import activations, experts, routing  # noqa: E402
from mlc_llm.compiler.quantization.gguf.blocks import read_blocks, strips_of  # noqa: E402
from mlc_llm.compiler.quantization.gguf.types import TYPES  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402

EXPERTS, CHOSEN, ROWS = 6, 2, 100  # an expert has more than two blocks of rows


def choices() -> np.ndarray:
    """Experts with no rows, with one, with a few, and with more than a few."""
    rng = np.random.default_rng(1)
    found = np.stack([rng.permutation([0, 2, 4])[:CHOSEN] for _ in range(ROWS)]).astype(np.int32)
    found[5, 0] = 5  # its only row
    return found


@cache
def sort_kernel(count: int, chosen: int):
    return compiled(routing.sort_pairs(count, chosen))


def sorted_pairs(chosen_experts: np.ndarray, count: int = EXPERTS):
    rows, chosen = chosen_experts.shape
    runs = np.full((count + 1, RUN), 77, np.int32)
    sources, places = (np.full((rows, chosen), 77, np.int32) for _ in range(2))
    sort_kernel(count, chosen)(frozen(chosen_experts), runs, sources, places)
    return runs, sources, places


def test_pairs_are_sorted_by_expert_and_keep_the_order_of_rows():
    found = choices()
    runs, sources, places = sorted_pairs(found)
    flat = found.reshape(-1)
    order = np.argsort(flat, kind="stable")
    assert np.array_equal(sources.reshape(-1), order // CHOSEN)
    assert np.array_equal(places.reshape(-1)[order], np.arange(flat.size))
    present, firsts, counts = np.unique(flat[order], return_index=True, return_counts=True)
    assert runs[0, 0] == len(present) < EXPERTS
    assert np.array_equal(runs[1 : 1 + len(present)], np.stack([present, firsts, counts], axis=1))


ROUTERS = {
    "softmax": Router(experts=20, chosen=3),
    "normalized": Router(experts=20, chosen=3, normalize=True, factor=2.5),
    "chosen": Router(experts=16, chosen=4, scores="chosen"),
    "sigmoid": Router(
        experts=24, chosen=4, scores="sigmoid", correction=True, groups=4, chosen_groups=2
    ),
    "one best": Router(experts=12, chosen=3, groups=4, chosen_groups=2, group_best=1),
}


def routed(router: Router, logits: np.ndarray, added: np.ndarray):
    """By the textbook, in float64, row by row."""
    found, weights = [], []
    for row in logits.astype(np.float64):
        scores = {
            "softmax": np.exp(row) / np.exp(row).sum(),
            "sigmoid": 1 / (1 + np.exp(-row)),
            "chosen": row,
        }[router.scores]
        ranks = scores + added if router.correction else scores.copy()
        groups = ranks.reshape(router.groups, -1)
        values = np.sort(groups, axis=1)[:, -router.group_best :].sum(1)
        kept = np.argsort(-values, kind="stable")[: router.chosen_groups]
        allowed = np.isin(np.arange(router.experts) // groups.shape[1], kept)
        best = np.argsort(-np.where(allowed, ranks, -np.inf), kind="stable")[: router.chosen]
        weight = scores[best]
        if router.scores == "chosen":
            weight = np.exp(weight - weight.max())
        if router.normalize or router.scores == "chosen":
            weight = weight / weight.sum()
        found.append(best)
        weights.append(weight * router.factor)
    return np.array(found), np.array(weights)


@pytest.mark.parametrize("name", ROUTERS)
def test_a_router_chooses_as_the_textbook(name):
    router = ROUTERS[name]
    rng = np.random.default_rng(2)
    logits = rng.standard_normal((70, router.experts)).astype(np.float32)
    added = rng.standard_normal(router.experts).astype(np.float32)
    kernel = compiled(routing.choose(router, "float32" if router.correction else None))
    found = np.full((70, router.chosen), 77, np.int32)
    weights = np.zeros((70, router.chosen), np.float32)
    kernel(frozen(logits), *([frozen(added)] if router.correction else []), found, weights)
    expected, shares = routed(router, logits, added)
    assert np.array_equal(found, expected)
    np.testing.assert_allclose(weights, shares, rtol=2e-6)


def test_learned_scales_multiply_the_weights_at_the_end():
    router = ROUTERS["chosen"]
    rng = np.random.default_rng(5)
    logits = rng.standard_normal((70, router.experts)).astype(np.float32)
    scales = rng.standard_normal(router.experts).astype(np.float32)
    found = np.full((70, router.chosen), 77, np.int32)
    weights = np.zeros((70, router.chosen), np.float32)
    compiled(routing.choose(router, None, "float32"))(
        frozen(logits), frozen(scales), found, weights
    )
    expected, shares = routed(router, logits, scales)
    assert np.array_equal(found, expected)
    np.testing.assert_allclose(weights, shares * scales[expected], rtol=2e-6)


def test_places_scaled_before_the_experts_are_summed_as_they_are():
    rng, rows, chosen, size = np.random.default_rng(7), 9, 3, 40
    x = rng.standard_normal((rows, chosen * size)).astype(np.float32)
    places = rng.permutation(rows * chosen).astype(np.int32).reshape(rows, chosen)
    weights = rng.standard_normal((rows, chosen)).astype(np.float32)
    pairs = (frozen(places), frozen(weights))
    scaled, added = np.zeros_like(x), np.zeros((rows, size), np.float32)
    compiled(experts.scale_places(size, chosen))(frozen(x), *pairs, scaled)
    expected = np.zeros((rows * chosen, size), np.float32)
    expected[places] = x.reshape(-1, size)[places] * weights[..., None]
    assert np.array_equal(scaled.reshape(-1, size), expected)
    compiled(experts.combine(size, chosen, weighted=False))(frozen(scaled), *pairs, added)
    np.testing.assert_allclose(added, expected[places].sum(1), atol=1e-6)


def test_sparsemixer_shares_a_weight_among_experts_that_are_nearly_as_good():
    """transformers' function of this name, without training, row by row."""
    router = Router(experts=12, chosen=2, scores="sparsemixer", jitter=0.2)
    logits = np.random.default_rng(6).standard_normal((70, 12)).astype(np.float32)
    found = np.full((70, 2), 77, np.int32)
    weights = np.zeros((70, 2), np.float32)
    compiled(routing.choose(router))(frozen(logits), found, weights)
    for row, best, shares in zip(logits.astype(np.float64), found, weights, strict=True):
        left = row.copy()
        for k in range(2):
            top = left.max()
            assert best[k] == left.argmax()
            far = (top - row) / np.maximum(np.abs(row), top) > 2 * router.jitter
            total = np.exp(np.where(far, -np.inf, left) - top).sum()
            np.testing.assert_allclose(shares[k], 1 / total, rtol=2e-6)
            left[best[k]] = -np.inf
    assert 0.02 < (weights < 0.99).mean() < 0.98


def test_of_equal_experts_the_first_is_chosen():
    router = ROUTERS["softmax"]
    logits = np.zeros((2, router.experts), np.float32)
    logits[1, [4, 9, 17]] = 1.0
    logits[1, 3] = 2.0
    found = np.full((2, router.chosen), 77, np.int32)
    weights = np.zeros((2, router.chosen), np.float32)
    compiled(routing.choose(router))(frozen(logits), found, weights)
    assert found.tolist() == [[0, 1, 2], [3, 4, 9]]


class StackedRows(FloatRows):
    """The rows of all experts."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (EXPERTS, len(self.matrix) // EXPERTS, self.matrix.shape[1])


def stack_of(kind: str, outs: int, ins: int):
    """Random experts as a scheme stores them: the reader, and the tensors with an axis for
    experts."""
    rng = np.random.default_rng(3)
    if kind in TYPES and not TYPES[kind].is_float:
        scheme = quantization.get(f"gguf_{kind.lower()}")
        raw = random_blocks(kind, EXPERTS * outs, ins, rng)
        arrays = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw))
    else:
        scheme = quantization.get(kind)
        weight = rng.standard_normal((EXPERTS * outs, ins)).astype(np.float32)
        made = scheme.convert(StackedRows(weight), use="experts")
        arrays = [np.concatenate(list(chunks)) for _, chunks in made]
    (matrix,) = scheme.stacked("a.weight", (EXPERTS, outs, ins), "experts")
    params = [param.shape for param in matrix.stored]
    assert all(shape[0] == EXPERTS for shape in params)
    (dense,) = scheme.matrices("a.weight", (outs, ins), "linear")
    return matrix.on_cpu(), dense.on_cpu(), [
        array.reshape(param.shape)
        for array, param in zip(taken(matrix.on_cpu(), arrays), matrix.on_cpu().stored, strict=True)
    ]  # fmt: skip


# Schemes, bits of activations, outputs and inputs. Floats with outputs behind whole tiles.
@pytest.mark.parametrize(
    ("kind", "bits", "outs", "ins"),
    [
        ("q4f16_1", 8, 32, 128),
        ("q4f16_1", 16, 48, 160),
        ("q3f16_1", 32, 21, 88),
        ("q0f32", 32, 21, 40),
        ("Q4_0", 8, 32, 128),
        ("Q6_K", 16, 32, 256),
        ("fp8_e4m3fn_bf16_block_scale", 32, 128, 160),
    ],
)
def test_a_place_is_what_the_dense_layer_makes_of_it(kind, bits, outs, ins):
    stack, dense, stored = stack_of(kind, outs, ins)
    unit, codes = host_device().vectors, stack.codes(bits)
    rng = np.random.default_rng(4)
    runs, sources, _ = sorted_pairs(choices())
    x = rng.standard_normal((ROWS, ins)).astype(np.float32)
    bias = rng.standard_normal((EXPERTS, outs)).astype(np.float32)
    if codes is not None:
        x = coded_rows(codes, compiled(activations.quantize(codes)), x)
    gather = compiled(experts.gather(x.shape[1], CHOSEN, str(x.dtype)))
    given = np.zeros((ROWS, CHOSEN * x.shape[1]), x.dtype)
    gather(frozen(x), frozen(sources), given)
    sizes = Stack(EXPERTS, CHOSEN, outs, ins, stack.stored)
    kernel = compiled(stack.experts(sizes, codes, unit, "float32"))
    y = np.full((ROWS, CHOSEN * outs), 77, np.float32)
    kernel(frozen(given), frozen(runs), *map(frozen, stored), frozen(bias), y)
    options = {"bias": "float32"}
    made = dense.linear(unit, **options)
    if codes is not None:
        made = dense.linear_of_codes(codes, unit, **options)
    plain = compiled(made)
    for expert, first, count in runs[1 : 1 + runs[0, 0]]:
        rows = given.reshape(ROWS * CHOSEN, -1)[first : first + count]
        expected = np.zeros((count, outs), np.float32)
        plain(frozen(rows), *(frozen(a[expert]) for a in stored), frozen(bias[expert]), expected)
        found = y.reshape(ROWS * CHOSEN, outs)[first : first + count]
        assert np.array_equal(found, expected), (expert, count)


def test_results_are_added_by_weight():
    rng = np.random.default_rng(5)
    size = 37
    _, _, places = sorted_pairs(choices())
    x = rng.standard_normal((ROWS, CHOSEN * size)).astype(np.float32)
    weights, (shared, residual) = rng.random((ROWS, CHOSEN)), rng.random((2, ROWS, size))
    gate = rng.standard_normal((ROWS, 1))
    arrays = [a.astype(np.float32) for a in (weights, shared, gate, residual)]
    kernel = compiled(experts.combine(size, CHOSEN, shared=True, residual=True))
    y = np.zeros((ROWS, size), np.float32)
    kernel(frozen(x), frozen(places), *map(frozen, arrays), y)
    found = x.reshape(-1, size)[places]  # (rows, chosen, size)
    expected = residual + (weights[..., None] * found).sum(1) + shared / (1 + np.exp(-gate))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["q4f16_0", "q4f16_autoawq", "e4m3_e4m3_f16"])
def test_schemes_without_a_form_for_experts_refuse_them(name):
    with pytest.raises(UnsupportedError, match="experts") as caught:
        quantization.get(name).stored_params("a.weight", (4, 32, 64), use="experts")
    assert caught.value.param == "quantization"


def test_a_router_stays_plain():
    (param,) = quantization.get("q4f16_1").stored_params("a.gate.weight", (8, 64), use="router")
    assert (param.name, param.shape, param.dtype) == ("a.gate.weight", (8, 64), "float16")
