"""Linear and embedding kernels against NumPy float64, for every scheme, and their bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import (  # noqa: E402
    compiled,
    frozen,
    host_device,
    matrix_of,
    schemes_with_own_kernels,
    stored_weight,
    taken,
)

from mlc_llm.compiler import quantization  # noqa: E402
from mlc_llm.compiler.quantization.pack import numpy_dtype  # noqa: E402

SCHEMES = [scheme.name for scheme in schemes_with_own_kernels()]
# outs, ins: whole vectors and groups; tails of everything; inputs shorter than a vector
SHAPES = [(32, 160), (19, 77), (17, 40), (33, 9)]


def make(scheme, shape, tile=(2, 2), **options):  # larger ones take longer to compile
    unit = replace(host_device().vectors, dot_tile=tile, column_tile=(tile[0], 2))
    return matrix_of(scheme, shape).on_cpu().linear(unit, **options)


def run(kernel, x, stored, extras, outs):
    y = np.zeros((len(x), outs), np.float32)
    kernel(frozen(x), *map(frozen, stored), *map(frozen, extras), y)
    return y


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_linear_equals_numpy_and_rows_do_not_depend_on_their_batch(name, shape, request):
    """The usual run has two shapes for each scheme, and each shape for half of the schemes."""
    if (SCHEMES.index(name) + SHAPES.index(shape)) % 2 and not request.config.getoption("--long"):
        pytest.skip("another shape of the same scheme runs; run with --long")
    scheme = quantization.get(name)
    rng = np.random.default_rng(SCHEMES.index(name))
    outs, ins = shape
    stored, exact = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    stored = taken(matrix_of(scheme, shape).on_cpu(), stored)
    kernel = compiled(make(scheme, shape))
    x = rng.standard_normal((13, ins)).astype(np.float32)
    whole = run(kernel, x, stored, [], outs)
    expected = x.astype(np.float64) @ exact.T
    np.testing.assert_allclose(whole, expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    for rows in (1, 3, 4, 6):
        assert np.array_equal(run(kernel, x[:rows], stored, [], outs), whole[:rows])
    assert np.array_equal(run(kernel, x[5:6], stored, [], outs), whole[5:6])


@pytest.mark.parametrize("name", ["q0f16", "q4f16_1", "q4f16_0", "q4bf16_1"])
def test_bias_and_residual_are_added(name):
    scheme = quantization.get(name)
    rng = np.random.default_rng(1)
    shape = (21, 48)
    stored, exact = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    bias = rng.standard_normal(21).astype(numpy_dtype(scheme.model_dtype))
    residual = rng.standard_normal((6, 21)).astype(np.float32)
    kernel = compiled(make(scheme, shape, bias=scheme.model_dtype, residual=True))
    x = rng.standard_normal((6, 48)).astype(np.float32)
    y = run(kernel, x, stored, [bias, residual], 21)
    expected = x.astype(np.float64) @ exact.T + bias.astype(np.float64) + residual
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("tile", [(1, 1), (2, 1), (4, 4), (5, 3)])
def test_bits_do_not_depend_on_the_tile(tile):
    scheme = quantization.get("q4f32_1")
    rng = np.random.default_rng(2)
    stored, _ = stored_weight(scheme, rng.standard_normal((23, 96)).astype(np.float32), "linear")
    stored = taken(matrix_of(scheme, (23, 96)).on_cpu(), stored)
    x = rng.standard_normal((7, 96)).astype(np.float32)
    usual = run(compiled(make(scheme, (23, 96))), x, stored, [], 23)
    assert np.array_equal(run(compiled(make(scheme, (23, 96), tile)), x, stored, [], 23), usual)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("shape", [(50, 96), (7, 45)])
def test_embedding_reads_rows_of_the_table(name, shape):
    scheme = quantization.get(name)
    rng = np.random.default_rng(3)
    table = rng.standard_normal(shape).astype(np.float32)
    stored, exact = stored_weight(scheme, table, "embedding")
    kernel = compiled(matrix_of(scheme, shape, "embedding").on_cpu().embedding())
    ids = np.array([3, 0, shape[0] - 1, 3], np.int32)
    y = np.zeros((4, shape[1]), np.float32)
    kernel(frozen(ids), *map(frozen, stored), y)
    np.testing.assert_allclose(y, exact[ids], rtol=2e-7)


def test_embedding_of_an_id_outside_the_table_stays_inside_memory():
    scheme, shape = quantization.get("q0f32"), (5, 16)
    table = np.arange(80, dtype=np.float32).reshape(shape)
    y = np.zeros((2, 16), np.float32)
    kernel = compiled(matrix_of(scheme, shape, "embedding").on_cpu().embedding())
    kernel(frozen(np.array([-7, 9], np.int32)), frozen(table), y)
    assert np.array_equal(y, table[[0, 4]])


@pytest.mark.parametrize("name", ["q4f32_1", "q8f32_1", "q4f16_1"])
def test_scales_in_strips_may_be_rounded_to_float16(name):
    scheme, shape = quantization.get(name), (21, 96)
    rng = np.random.default_rng(3)
    arrays, _ = stored_weight(scheme, rng.standard_normal(shape).astype(np.float32), "linear")
    matrix = matrix_of(scheme, shape)
    reader = matrix.on_cpu().coarser()
    stored = taken(reader, arrays)
    assert [param.dtype for param in reader.stored] == ["uint32", "float16"]
    assert [array.dtype for array in stored] == [np.uint32, np.float16]
    exact = matrix.floats([arrays[0], arrays[1].astype(np.float16)]).astype(np.float64)
    unit = replace(host_device().vectors, dot_tile=(2, 2))
    x = rng.standard_normal((3, 96)).astype(np.float32)
    found = run(compiled(reader.linear(unit)), x, stored, [], 21)
    expected = x.astype(np.float64) @ exact.T
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())
