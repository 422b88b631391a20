"""Norm, activation and exp2 kernels against NumPy float64."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import activated, compiled, frozen  # noqa: E402
from tvm.tirx.script import builder as T  # noqa: E402

from mlc_llm.compiler.kernels.common.function import Arg, kernel  # noqa: E402
from mlc_llm.compiler.kernels.common.values import LANES  # noqa: E402
from mlc_llm.compiler.kernels.cpu import elementwise  # noqa: E402
from mlc_llm.compiler.kernels.cpu.vector import at, emit_over, exp2_less, exp2_whole  # noqa: E402


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


@pytest.mark.parametrize("factor", [1.0, 0.18, 1.44])
@pytest.mark.parametrize("whole", [0.0, -37.0, 1e6])
def test_powers_of_two_of_scores(factor, whole):
    """`x` are scores so that `x * factor - whole` is in -120 .. 0.5."""
    x = ((np.linspace(-120, 0.5, 200 * LANES) + whole) / factor).astype(np.float32)

    def body(x, y) -> None:
        def one(i, n: int) -> None:
            assert n == LANES
            T.buffer_store(y, exp2_less(x[at(i)], factor, T.float32(whole)), [at(i)])

        emit_over(200 * LANES, one)

    y = np.zeros_like(x)
    compiled(kernel([Arg("x", x.shape), Arg("y", x.shape)], body))(frozen(x), y)
    expected = np.exp2(x.astype(np.float64) * np.float64(np.float32(factor)) - whole)
    np.testing.assert_allclose(y, expected, rtol=2.5e-7)


def test_whole_powers_of_two_are_exact():
    x = np.arange(-120, 121, dtype=np.float32)

    def body(x, y) -> None:
        with T.serial(241) as i:
            T.buffer_store(y, exp2_whole(x[i]), [i])

    y = np.zeros_like(x)
    compiled(kernel([Arg("x", x.shape), Arg("y", x.shape)], body))(frozen(x), y)
    assert np.array_equal(y, np.exp2(x))
