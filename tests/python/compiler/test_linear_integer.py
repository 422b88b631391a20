"""Linear layers in whole numbers: against NumPy float64, and the same bits on every machine."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("tvm")

from activation_codes import decoded  # noqa: E402
from kernel_tools import (  # noqa: E402
    activated,
    compiled,
    entry_of,
    frozen,
    host_device,
    matrix_of,
    stored_weight,
)

from mlc_llm.compiler import quantization, targets  # noqa: E402
from mlc_llm.compiler.kernels.cpu import activations, linear_integer  # noqa: E402
from mlc_llm.compiler.kernels.cpu.activations import Codes  # noqa: E402
from mlc_llm.compiler.quantization.pack import numpy_dtype  # noqa: E402

# outs, ins: whole blocks of 128 inputs (of 64 with 8-bit weights); one, two and three groups behind
SHAPES = [(32, 256), (16, 160), (48, 192), (16, 352), (16, 128)]
ROWS = (1, 2, 3, 8, 9, 16, 21)  # few, and many in tiles and behind them
# Instruction sets that this machine may lack, and what /proc/cpuinfo calls them.
FLAGS = {
    "avx512vnni": "avx512_vnni",
    "avx512bw": "avx512bw",
    "avxvnni": "avx_vnni",
    "avx2": "avx2",
    "ssse3": "ssse3",
}


def codes_of(scheme, ins: int, bits: int = 16) -> Codes:
    return Codes(size=ins, bits=bits, weight_bits=scheme.groups.bits, zero=scheme.groups.qmax)


@cache
def quantize(codes: Codes):
    return compiled(activations.quantize(codes))


def run(kernel, codes, x, stored, extras, outs):
    coded = coded_rows(codes, quantize(codes), x)
    y = np.zeros((len(x), outs), np.float32)
    kernel(frozen(coded), *map(frozen, stored), *map(frozen, extras), y)
    return y


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
    found = decoded(codes, coded_rows(codes, quantize(codes), x))
    largest = np.abs(x).reshape(20, -1, 32).max(-1)
    step = np.repeat(largest / codes.largest, 32, axis=1)
    assert (np.abs(found - x) <= 0.51 * step + 1e-30).all()


@pytest.mark.parametrize("name", ["q4f16_1", "q4f32_1", "q4bf16_1", "q8f32_1"])
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_product_equals_numpy_and_rows_do_not_depend_on_their_batch(name, shape, request):
    """The schemes of 4 bits differ in the type of their scales alone."""
    is_other = name in ("q4f32_1", "q4bf16_1") and shape != SHAPES[2]
    if is_other and not request.config.getoption("--long"):
        pytest.skip("another shape of the same scheme runs; run with --long")
    check(name, shape, 16, 6e-5)


@pytest.mark.parametrize("shape", SHAPES[3:])
def test_borders_of_blocks(shape):
    check("q4f16_1", shape, 16, 6e-5)


def test_eight_bits_are_coarser():
    check("q4f16_1", SHAPES[0], 8, 2e-2)


def make(scheme, shape, bits=16, unit=None, tile=None, **options):
    vectors = host_device().vectors
    rows = matrix_of(scheme, shape)
    return linear_integer.linear_integer(
        codes_of(scheme, shape[1], bits),
        rows.stored,
        unit=unit or vectors.dot,
        tile=tile or vectors.integer_tile,
        **options,
    )


def check(name, shape, bits, tolerance):
    scheme = quantization.get(name)
    outs, ins = shape
    rng = np.random.default_rng(ins)
    stored, exact = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    codes = codes_of(scheme, ins, bits)
    kernel = compiled(make(scheme, shape, bits))
    x = rng.standard_normal((max(ROWS), ins)).astype(np.float32)
    whole = run(kernel, codes, x, stored, [], outs)
    expected = x.astype(np.float64) @ exact.T
    np.testing.assert_allclose(whole, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    # Of the codes, as they are: no error but that of adding up.
    meant = decoded(codes, coded_rows(codes, quantize(codes), x)) @ exact.T
    np.testing.assert_allclose(whole, meant, rtol=0, atol=2e-6 * np.abs(meant).max())
    for rows in ROWS:
        assert np.array_equal(run(kernel, codes, x[:rows], stored, [], outs), whole[:rows])
        assert np.array_equal(run(kernel, codes, x[-rows:], stored, [], outs), whole[-rows:])


def test_a_product_of_no_rows_writes_nothing():
    """A step may want no logits; what is behind their place is another tensor's."""
    import tvm

    scheme, (outs, ins) = quantization.get("q4f16_1"), SHAPES[0]
    weights, _ = stored_weight(scheme, np.ones(SHAPES[0], np.float32), "linear")
    behind = tvm.runtime.tensor(np.full((2, outs), 77, np.float32))
    codes = tvm.runtime.tensor(coded_rows(codes_of(scheme, ins), quantize(codes_of(scheme, ins)),
                                          np.ones((1, ins), np.float32)))  # fmt: skip
    entry, stored = entry_of(make(scheme, SHAPES[0])), [tvm.runtime.tensor(w) for w in weights]
    for rows in (1, 0):
        x = codes._create_view((rows, codes.shape[1]))
        entry(x, *stored, behind._create_view((rows, outs)))
        assert (behind.numpy()[rows:] == 77).all()
        behind = tvm.runtime.tensor(np.full((2, outs), 77, np.float32))


def test_bias_and_residual_are_added():
    scheme, shape = quantization.get("q4f16_1"), (32, 128)
    rng = np.random.default_rng(1)
    stored, exact = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    bias = rng.standard_normal(32).astype(numpy_dtype("float16"))
    residual = rng.standard_normal((5, 32)).astype(np.float32)
    kernel = compiled(make(scheme, shape, bias="float16", residual=True))
    x = rng.standard_normal((5, 128)).astype(np.float32)
    y = run(kernel, codes_of(scheme, 128), x, stored, [bias, residual], 32)
    expected = x.astype(np.float64) @ exact.T + bias.astype(np.float64) + residual
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-3)


@cache
def usual_kernel(name: str, shape: tuple[int, int], bits: int):
    """What this processor runs."""
    return compiled(make(quantization.get(name), shape, bits))


@pytest.mark.parametrize("unit", [*FLAGS, "portable"])
@pytest.mark.parametrize("name", ["q4f16_1", "q8f32_1"])
def test_every_instruction_set_gives_the_same_bits(name, unit):
    if unit in FLAGS and FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    scheme, shape = quantization.get(name), (16, 160)
    rng = np.random.default_rng(7)
    stored, _ = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    bits = 8 if unit == "portable" else 16  # which compiles for long
    codes = codes_of(scheme, 160, bits)
    x = (rng.standard_normal((11, 160)) * 9).astype(np.float32)
    x[:2, :40] = np.abs(x[:2, :40]).max() * np.sign(x[:2, :40])  # codes at both ends
    usual = run(usual_kernel(name, shape, bits), codes, x, stored, [], 16)
    other = compiled(make(scheme, shape, bits, unit=unit, tile=2))
    assert np.array_equal(run(other, codes, x, stored, [], 16), usual)
    assert np.array_equal(run(other, codes, x[:3], stored, [], 16), usual[:3])


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


@pytest.mark.parametrize("activation", ["silu", "gelu_tanh"])
def test_gate_and_quantize_is_the_activation_then_the_codes(activation):
    codes = Codes(size=96, bits=16, weight_bits=4, zero=7)
    x = (np.random.default_rng(4).standard_normal((5, 192)) * 4).astype(np.float32)
    kernel = compiled(activations.gate_and_quantize(codes, activation))
    found = decoded(codes, coded_rows(codes, kernel, x))
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    exact = activated(gate, activation) * up
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-5 * np.abs(exact).max())


def test_matrices_that_do_not_fit_are_left_to_floats():
    scheme = quantization.get("q4f16_1")
    assert linear_integer.fits(scheme.groups, (48, 160))
    assert not linear_integer.fits(scheme.groups, (40, 160))
    assert not linear_integer.fits(scheme.groups, (48, 144))
    assert not linear_integer.fits(scheme.groups, (48, 96))
    assert linear_integer.fits(quantization.get("q8f32_1").groups, (48, 96))
    assert not linear_integer.fits(quantization.get("q3f16_1").groups, (48, 120))
