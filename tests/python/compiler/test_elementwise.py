"""Norm, activation and exp2 kernels against NumPy float64."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import activated, compiled, frozen  # noqa: E402
from tvm.tirx.script import builder as T  # noqa: E402

from mlc_llm.compiler.kernels.common.function import Arg, kernel  # noqa: E402
from mlc_llm.compiler.kernels.common.values import LANES, NEVER  # noqa: E402
from mlc_llm.compiler.kernels.cpu import elementwise  # noqa: E402
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, exp2_below  # noqa: E402


@pytest.mark.parametrize("size", [16, 45, 7, 576])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_rms_norm_equals_numpy(size, rows):
    rng = np.random.default_rng(size + rows)
    x = (rng.standard_normal((rows, size)) * 3).astype(np.float32)
    weight = rng.standard_normal(size).astype(np.float32)
    y = np.zeros_like(x)
    compiled(elementwise.rms_norm(size, 1e-5, "float32"))(frozen(x), frozen(weight), y)
    exact = x.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


def test_rms_norm_gathers_the_rows_that_are_named():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((9, 32)).astype(np.float32), np.ones(32, np.float16)
    rows = np.array([8, 0, 8], np.int32)
    y = np.zeros((3, 32), np.float32)
    kernel = compiled(elementwise.rms_norm(32, 1e-5, "float16", gather=True))
    kernel(frozen(x), frozen(rows), frozen(weight), y)
    expected = x[rows] / np.sqrt((x[rows] ** 2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert np.array_equal(y[0], y[2])


@pytest.mark.parametrize(("size", "activation"), [(48, "silu"), (21, "silu"), (21, "gelu_tanh")])
def test_gate_and_multiply_is_exact_far_out_too(size, activation):
    rng = np.random.default_rng(size)
    x = (rng.standard_normal((18, 2 * size)) * 20).astype(np.float32)
    x[0, :4] = [0.0, -200.0, 200.0, -80.0]
    y = np.zeros((18, size), np.float32)
    compiled(elementwise.gate_and_multiply(size, activation))(frozen(x), y)
    gate, up = x[:, :size].astype(np.float64), x[:, size:].astype(np.float64)
    np.testing.assert_allclose(y, activated(gate, activation) * up, rtol=5e-6, atol=1e-12)


def test_powers_of_two_below_1():
    x = np.linspace(-126, 0, 200 * LANES - 2, dtype=np.float32)
    x = np.concatenate([x, np.float32([NEVER, -np.inf])])

    def body(x, y) -> None:
        def one(i, n: int) -> None:
            T.buffer_store(y, exp2_below(x[at(i, n)], n), [at(i, n)])

        emit_over(len(expected), one)

    expected = np.exp2(np.maximum(x.astype(np.float64), -125))
    y = np.zeros_like(x)
    compiled(kernel([Arg("x", x.shape), Arg("y", x.shape)], body))(frozen(x), y)
    np.testing.assert_allclose(y, expected, rtol=2.5e-7)
    assert y[x == 0] == 1
