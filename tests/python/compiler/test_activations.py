"""Activations as integers: how near they are, alone and made with a norm or an activation."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("tvm")

from activation_codes import decoded, encoded, in_groups, of_groups  # noqa: E402
from kernel_tools import activated, compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.cpu import activations  # noqa: E402
from mlc_llm.compiler.kernels.cpu.activations import Codes  # noqa: E402


@cache
def quantize(codes: Codes):
    return compiled(activations.quantize(codes))


def coded_rows(codes, kernel, *inputs, rows: int | None = None):
    rows = len(inputs[0]) if rows is None else rows
    out = np.full((rows, codes.arg.shape[1]), 77, codes.arg.dtype)
    kernel(*map(frozen, inputs), out)
    return out


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("weight_bits", [4, 8])
@pytest.mark.parametrize("size", [128, 160, 320])
def test_codes_are_within_half_a_step(bits, weight_bits, size, halves, request):
    is_corner = size == 160 or (weight_bits, halves) == (4, False)
    if not is_corner and not request.config.getoption("--long"):
        pytest.skip("the form runs with a block and a group behind it; run with --long")
    codes = Codes(size=size, bits=bits, weight_bits=weight_bits, zero=7, halves=halves)
    rng = np.random.default_rng(size)
    x = (rng.standard_normal((20, size)) * 10.0 ** rng.integers(-6, 6, (20, 1))).astype(np.float32)
    x[3] = 0
    x[4, 5] = 1e9  # its group alone loses the others
    check_codes(codes, x)


def check_codes(codes: Codes, x) -> None:
    found = decoded(codes, coded_rows(codes, quantize(codes), x))
    largest = np.abs(in_groups(codes, x)).max(-1)
    step = np.repeat(largest / codes.largest, codes.group, axis=1)[:, : codes.size]
    assert (np.abs(found - x) <= 0.51 * step + 1e-30).all()


@pytest.mark.parametrize(("halves", "scaled"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("groups", [1, 2, 3, 4, 5, 6, 8, 67, 260])
def test_each_group_has_its_own_scale_and_offset(groups, halves, scaled):
    """However many groups of a row are made at a time, and where the scales of a row are no memory
    of the stack."""
    codes = Codes(32 * groups, bits=8, weight_bits=4, zero=7, halves=halves, scaled=scaled)
    rng = np.random.default_rng(groups)
    x = rng.standard_normal((3, groups, 32)) * 10.0 ** rng.integers(-6, 6, (3, groups, 1))
    rows = x.reshape(3, -1).astype(np.float32)
    found = coded_rows(codes, quantize(codes), rows)
    expected = encoded(codes, rows)
    np.testing.assert_array_equal(of_groups(codes, found), of_groups(codes, expected))


@pytest.mark.parametrize("size", [32, 576, 2048, 8192])
def test_neighbouring_rows_are_in_different_sets_of_a_cache(size):
    codes = Codes(size, bits=8, weight_bits=4, zero=7)
    (_, words), (_, of_three) = codes.arg.shape, codes.arg_of(3).shape
    assert 0 <= words - codes.place_of_scale(codes.groups) < 32 and of_three == 3 * words
    assert len({row * words // 16 % 64 for row in range(64)}) == 64


def test_rows_side_by_side_are_as_apart():
    codes = Codes(64, bits=8, weight_bits=4, zero=7)
    x = np.random.default_rng(2).standard_normal((12, 64)).astype(np.float32)
    whole = np.full((4, codes.arg_of(3).shape[1]), 77, np.int32)
    compiled(activations.quantize(codes, 3))(frozen(x.reshape(4, -1)), whole)
    np.testing.assert_array_equal(whole.reshape(12, -1), coded_rows(codes, quantize(codes), x))


@pytest.mark.parametrize(("size", "wide"), [(80, False), (96, False), (176, False), (96, True)])
def test_groups_of_40(size, wide):
    """Whole ones, and a last one of 16 inputs."""
    bits = 16 if wide else 8
    codes = Codes(size=size, bits=bits, weight_bits=3, zero=3, group=40, wide=wide)
    x = np.random.default_rng(size).standard_normal((9, size)).astype(np.float32)
    x[4, 39] = 1e9  # the last one of its group
    check_codes(codes, x)


@pytest.mark.parametrize("gather", [False, True])
def test_norm_and_quantize_is_the_norm_then_the_codes(gather):
    codes = Codes(size=160, bits=16, weight_bits=4, zero=7)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((6, 160)).astype(np.float32) * 3
    weight = rng.standard_normal(160).astype(np.float16)
    picked = np.array([5, 0, 3], np.int32) if gather else np.arange(6, dtype=np.int32)
    kernel = compiled(activations.norm_and_quantize(codes, 1e-5, "float16", gather=gather))
    inputs = [x, *([picked] if gather else []), weight]
    found = decoded(codes, coded_rows(codes, kernel, *inputs, rows=len(picked)))
    exact = x.astype(np.float64)[picked]
    exact *= weight.astype(np.float64) / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-5 * np.abs(exact).max())


# 67 groups are two pieces, and a rest of three groups.
@pytest.mark.parametrize(("activation", "groups"), [("silu", 3), ("silu", 67), ("gelu_tanh", 3)])
def test_gate_and_quantize_is_the_activation_then_the_codes(activation, groups):
    codes = Codes(size=32 * groups, bits=16, weight_bits=4, zero=7)
    x = (np.random.default_rng(4).standard_normal((5, 2 * codes.size)) * 4).astype(np.float32)
    kernel = compiled(activations.gate_and_quantize(codes, activation))
    found = decoded(codes, coded_rows(codes, kernel, x))
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    exact = activated(gate, activation) * up
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-5 * np.abs(exact).max())
