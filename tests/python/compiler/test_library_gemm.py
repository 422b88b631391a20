"""Products that go through a library where it is: the same kernel with and without it, on every
backend here, with NumPy for a library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import tvm_ffi  # noqa: E402
from kernel_tools import frozen, matrix_of, stored_weight  # noqa: E402
from test_gpu_linear import THREE_BITS, scheme_named  # noqa: E402

from mlc_llm.compiler import targets  # noqa: E402
from mlc_llm.compiler.kernels.gpu import library_gemm, linear  # noqa: E402
from mlc_llm.compiler.kernels.gpu.library_gemm import GemmCall  # noqa: E402

LIBRARY = targets.LibraryGemm(is_there="mlc.test.has_gemm", function="mlc.test.gemm")
CASES = [  # the last: whether a bias and a residual are added
    ("q4f32_1", "opencl", 2e-4, True),
    ("q0f32", "opencl", 2e-4, False),
    (THREE_BITS.name, "opencl", 2e-4, False),
    ("q4f16_1", "webgpu", 2e-2, False),
    ("q0f16", "webgpu", 2e-2, True),
]


@dataclass
class Library:
    """`calls`: the first column of y and the number of columns, of each call."""

    is_there: bool = True
    calls: list[tuple[int, int]] = field(default_factory=list)

    def gemm(self, x: Any, w: Any, y: Any, first: int, count: int, adds: int) -> None:
        assert x.dtype == w.dtype
        left, right, out = (tensor.numpy() for tensor in (x, w, y))
        product = left.astype(np.float32) @ right[:count].astype(np.float32).T
        part = out[:, first : first + count]
        out[:, first : first + count] = product + (part if adds else 0)
        y.copyfrom(out)
        self.calls.append((first, count))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setattr(library_gemm, "_SLICE_BYTES", 4096)
    found = Library()
    tvm_ffi.register_global_func(LIBRARY.is_there, lambda: int(found.is_there), override=True)
    tvm_ffi.register_global_func(LIBRARY.function, found.gemm, override=True)
    yield found
    for name in (LIBRARY.is_there, LIBRARY.function):
        tvm_ffi.get_global_func("ffi.FunctionRemoveGlobal")(name)


@pytest.mark.parametrize(("name", "backend", "tolerance", "summands"), CASES)
def test_a_product_is_the_same_with_and_without_it(
    name: str, backend: str, tolerance: float, summands: bool, library: Library
) -> None:
    gpu_tools.require(backend)
    rng = np.random.default_rng(len(name))
    scheme, shape, rows = scheme_named(name), (70, 72), 21
    outs, ins = shape
    matrix = rng.standard_normal(shape).astype(np.float32)
    stored, exact = stored_weight(scheme, matrix, "linear")
    reader = matrix_of(scheme, shape).on_gpu()
    call = GemmCall.of(LIBRARY, reader, shape)
    assert call is not None
    bias = "float32" if summands else None
    function = linear.linear(
        reader, shape, targets.LinearSizes(), bias=bias, residual=summands, library=call
    )
    kernel = gpu_tools.compiled(function, backend)
    x = rng.standard_normal((rows, ins)).astype(np.float32)
    x[0, 0] = 1e6 if tolerance > 1e-3 else 1  # beyond float16
    rounded = x.clip(-65504, 65504)
    extras = [rng.standard_normal(outs), rng.standard_normal((rows, outs))] if summands else []
    expected = rounded.astype(np.float64) @ exact.T + sum(extras)
    for library.is_there in (True, False):
        y = np.full((rows, outs), np.nan, np.float32)
        scratch = [
            np.zeros([rows if e == "n" else e for e in arg.shape], arg.dtype)
            for arg in call.scratch
        ]
        given = map(frozen, (x, *stored, *(e.astype(np.float32) for e in extras)))
        kernel(*given, y, *scratch)
        np.testing.assert_allclose(y[1:], expected[1:], atol=tolerance * ins**0.5)
        if library.is_there:
            np.testing.assert_allclose(y[0], expected[0], rtol=2e-3, atol=tolerance * ins**0.5)
    covered = [out for first, count in library.calls for out in range(first, first + count)]
    assert covered == list(range(outs))  # once, and never without it
    assert (len(library.calls) > 1) == (not reader.is_plain)


def test_few_rows_never_go_through_it(library: Library) -> None:
    gpu_tools.require("opencl")
    reader = matrix_of(scheme_named("q0f32"), (8, 16)).on_gpu()
    call = GemmCall.of(LIBRARY, reader, (8, 16))
    kernel = gpu_tools.compiled(
        linear.linear(reader, (8, 16), targets.LinearSizes(), library=call), "opencl"
    )
    weight = np.ones((8, 16), np.float32)
    for rows in (0, 1, 16):
        y = np.full((rows, 8), np.nan, np.float32)
        kernel(frozen(np.ones((rows, 16), np.float32)), frozen(weight), y)
        np.testing.assert_allclose(y, 16)
    assert library.calls == []


def test_types_that_it_does_not_multiply() -> None:
    reader = matrix_of(scheme_named("q0bf16"), (8, 16)).on_gpu()
    assert GemmCall.of(LIBRARY, reader, (8, 16)) is None
    assert GemmCall.of(None, reader, (8, 16)) is None
