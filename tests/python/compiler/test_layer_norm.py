"""Layer norm and activations without a gate against NumPy in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import Array, activated, compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.cpu import layer_norm  # noqa: E402

EPS = 1e-5


def normed(x: Array, weight: Array, bias: Any) -> Array:
    centred = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + EPS)
    return centred / deviation * weight + bias


@pytest.mark.parametrize("size", [16, 45, 7, 576])
@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("is_biased", [True, False])
def test_layer_norm_equals_numpy(size: int, rows: int, is_biased: bool) -> None:
    rng = np.random.default_rng(size + rows)
    x = (rng.standard_normal((rows, size)) * 3 + 20).astype(np.float32)
    weight, bias = (rng.standard_normal(size).astype(np.float32) for _ in range(2))
    kernel = compiled(layer_norm.layer_norm(size, EPS, "float32", "float32" if is_biased else None))
    y, given = np.zeros_like(x), [weight, bias][: 1 + is_biased]
    kernel(frozen(x), *map(frozen, given), y)
    expected = normed(x, weight, bias if is_biased else 0.0)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=2e-5)
    alone = np.zeros_like(x[-1:])
    kernel(frozen(x[-1:]), *map(frozen, given), alone)
    assert np.array_equal(alone, y[-1:])


def test_layer_norm_of_named_rows_and_beside_a_residual() -> None:
    rng = np.random.default_rng(0)
    x, residual = rng.standard_normal((2, 9, 32)).astype(np.float32)
    weight = rng.standard_normal(32).astype(np.float16)
    rows, y = np.array([8, 0, 8], np.int32), np.zeros((3, 32), np.float32)
    kernel = compiled(layer_norm.layer_norm(32, EPS, "float16", gather=True))
    kernel(frozen(x), frozen(rows), frozen(weight), y)
    expected = normed(x, weight.astype(np.float64), 0.0)
    np.testing.assert_allclose(y, expected[rows], rtol=1e-5, atol=1e-6)
    y = np.zeros_like(x)
    kernel = compiled(layer_norm.layer_norm(32, EPS, "float16", residual=True))
    kernel(frozen(x), frozen(weight), frozen(residual), y)
    np.testing.assert_allclose(y, residual + expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [48, 21])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu", "quick_gelu"])
def test_activations_are_exact_far_out_too(size: int, activation: str) -> None:
    x = (np.random.default_rng(size).standard_normal((18, size)) * 4).astype(np.float32)
    x[0, :6] = [0.0, -200.0, 200.0, -80.0, -1e-3, 1e-3]
    y = np.zeros_like(x)
    compiled(layer_norm.activate(size, activation))(frozen(x), y)
    exact = x.astype(np.float64)
    if activation == "gelu":
        expected = exact * np.vectorize(math.erfc)(-exact / math.sqrt(2)) / 2
    else:
        expected = activated(exact, activation)
    np.testing.assert_allclose(y, expected, rtol=5e-6, atol=1e-6)
