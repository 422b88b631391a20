"""The quantizer against a per-element reference, TVM's arithmetic and its error bounds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mlc_llm.compiler.quantization import schemes
from mlc_llm.compiler.quantization.pack import (
    dequantize_rows,
    numpy_dtype,
    quantize_chunks,
    quantize_rows,
)

GROUP_SCHEMES = schemes.GROUPS


def reference(weight, bits, group_size, dtype):
    """One element at a time, in the words of the format: slow and plain."""
    kind = numpy_dtype(dtype).type
    rows, columns = weight.shape
    groups = -(-columns // group_size)
    per_word = 32 // bits
    words = [[0] * (groups * group_size // per_word) for _ in range(rows)]
    scales = np.zeros((rows, groups), numpy_dtype(dtype))
    qmax = kind(2 ** (bits - 1) - 1)
    for row in range(rows):
        for group in range(groups):
            span = range(group * group_size, min((group + 1) * group_size, columns))
            largest = max(abs(kind(weight[row, column])) for column in span)
            scale = kind(largest / qmax)
            scales[row, group] = scale
            for column in span:
                word, lane = divmod(column, per_word)
                words[row][word] |= code(kind(weight[row, column]), scale, qmax) << (lane * bits)
    return np.array(words, np.uint32), scales


def code(value, scale, qmax):
    with np.errstate(all="ignore"):
        shifted = float(value / scale + qmax)  # rounded to the dtype after each operation
    if shifted != shifted:
        return 0
    top = int(2 * qmax)
    if shifted >= top:
        return top
    return max(0, int(round(shifted)))  # Python rounds halves to even


def random_matrix(shape, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal(shape, dtype=np.float32) * np.float32(0.05)
    matrix[0, : shape[1] // 2] = 0  # whole groups of zeros
    matrix[1] = np.float32(1e-8)  # its float16 scale underflows to zero
    matrix[2] = np.arange(shape[1]) % 15 - 7  # every code, exactly representable
    return matrix


@pytest.mark.parametrize("scheme", GROUP_SCHEMES, ids=lambda s: s.name)
@pytest.mark.parametrize("columns", [96, 120, 90, 7])
def test_equals_the_reference_bit_for_bit(scheme, columns):
    weight = random_matrix((9, columns))
    words, scales = quantize_rows(
        weight, bits=scheme.groups.bits, group_size=scheme.groups.size, dtype=scheme.model_dtype
    )
    expected_words, expected_scales = reference(
        weight, scheme.groups.bits, scheme.groups.size, scheme.model_dtype
    )
    np.testing.assert_array_equal(words, expected_words)
    assert scales.tobytes() == expected_scales.tobytes()
    use = "linear" if scheme.layout == "NK" else "embedding"
    stored = scheme.stored_params("m", weight.shape, use=use)
    assert [words.shape, scales.shape] == [param.shape for param in stored]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_equals_the_formula_compiled_by_tvm(dtype):
    """Rounding, division by zero and NaN as the compiled original does them."""
    tvm = pytest.importorskip("tvm")
    from tvm import te, tirx

    shape, group = (9, 64), 32
    weight = random_matrix(shape).astype(dtype)
    w = te.placeholder(shape, dtype, name="w")
    s = te.placeholder((shape[0], shape[1] // group), dtype, name="s")
    seven, zero = tirx.const(7, dtype), tirx.const(0, dtype)

    def one(i, j):
        shifted = tirx.round(w[i, j] / s[i, j // group] + seven)
        return tirx.min(tirx.max(shifted, zero), seven * 2).astype("uint32")

    function = te.create_prim_func([w, s, te.compute(shape, one)])
    words, scales = quantize_rows(weight, bits=4, group_size=group, dtype=dtype)
    codes = tvm.runtime.tensor(np.zeros(shape, "uint32"))
    compiled = tvm.compile(function, target="llvm")
    compiled(tvm.runtime.tensor(weight), tvm.runtime.tensor(scales), codes)
    lanes = np.arange(8, dtype=np.uint32) * 4
    ours = (words[..., None] >> lanes & 15).reshape(shape)
    np.testing.assert_array_equal(ours, codes.numpy())


@pytest.mark.parametrize("scheme", GROUP_SCHEMES, ids=lambda s: s.name)
def test_dequantized_weights_are_within_half_a_step(scheme):
    weight = np.random.default_rng(1).standard_normal((64, 240), dtype=np.float32)
    options = {"bits": scheme.groups.bits, "group_size": scheme.groups.size}
    words, scales = quantize_rows(weight, **options, dtype=scheme.model_dtype)
    back = dequantize_rows(words, scales, **options, columns=240).astype(np.float32)
    step = np.repeat(scales.astype(np.float32), scheme.groups.size, axis=1)[:, :240]
    # Beside half a step: the rounding of w, of w / s + qmax and of the product, in the dtype.
    epsilon = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}[scheme.model_dtype]
    bound = step * (0.5 + 16 * epsilon) + np.abs(weight) * 2 * epsilon
    assert (np.abs(back - weight) <= bound).all()


def test_zero_rows_come_back_as_zero():
    words, scales = quantize_rows(
        np.zeros((2, 64), np.float32), bits=4, group_size=32, dtype="float32"
    )
    assert not words.any() and not scales.any()
    back = dequantize_rows(words, scales, bits=4, group_size=32, columns=64)
    assert not back.any()


def test_python_without_assertions_gives_the_same():
    program = """
import numpy as np
from mlc_llm.compiler.quantization import pack
weight = np.random.RandomState(0).standard_normal((40, 64)).astype(np.float32)
options = {"bits": 4, "group_size": 32, "dtype": "float32"}
made = pack.quantize_chunks([weight], weight.shape, **options, transpose=False)
whole = pack.quantize_rows(weight, **options)
print(all(np.array_equal(a, b) for a, b in zip(made, whole)))
"""
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("scheme", GROUP_SCHEMES, ids=lambda s: s.name)
def test_chunks_and_layouts(scheme):
    """Chunking changes nothing, and the (in, out) layout is the transpose of the other."""
    weight = random_matrix((50, 80))
    options = {
        "bits": scheme.groups.bits,
        "group_size": scheme.groups.size,
        "dtype": scheme.model_dtype,
    }
    whole = quantize_rows(weight, **options)
    for transpose in (False, True):
        chunks = (weight[start : start + 7] for start in range(0, 50, 7))
        parts = quantize_chunks(chunks, weight.shape, **options, transpose=transpose)
        for part, expected in zip(parts, whole, strict=True):
            np.testing.assert_array_equal(part.T if transpose else part, expected)
            assert part.flags.c_contiguous


def test_low_bits_come_first():
    weight = np.array([[-7, -6, -5, -4, -3, -2, -1, 0] + [7] * 24], np.float32)
    words, scales = quantize_rows(weight, bits=4, group_size=32, dtype="float32")
    assert scales[0, 0] == 1.0
    assert hex(words[0, 0]) == "0x76543210"
    assert hex(words[0, 1]) == "0xeeeeeeee"
