"""Matrix products and rows of tables on GPUs, against NumPy float64, on every backend here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
from kernel_tools import frozen, matrix_of, stored_weight  # noqa: E402

from mlc_llm.compiler import quantization  # noqa: E402
from mlc_llm.compiler.kernels.gpu import elementwise, linear  # noqa: E402
from mlc_llm.compiler.quantization.group import GroupScheme  # noqa: E402
from mlc_llm.compiler.quantization.schemes import INT3, INT4  # noqa: E402
from mlc_llm.compiler.targets import LinearSizes  # noqa: E402

# One of each layout, word width and group; the device of the tests has no 16-bit floats.
SCHEMES = ("q4f32_1", "q8f32_1", "q0f32")
BY_COLUMNS = GroupScheme(name="q4f32_0", model_dtype="float32", groups=INT4, layout="KN")
THREE_BITS = GroupScheme(name="q3f32_1", model_dtype="float32", groups=INT3)
ROWS = (1, 3, 16, 17, 70, 0)  # each way to multiply, and its edges
Compiled = Callable[[Any], Callable[..., None]]


@pytest.fixture(params=gpu_tools.BACKENDS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    gpu_tools.require(request.param)
    return partial(gpu_tools.compiled, backend=request.param)


def scheme_named(name: str) -> Any:
    own = {scheme.name: scheme for scheme in (BY_COLUMNS, THREE_BITS)}
    return own.get(name) or quantization.get(name)


@pytest.mark.parametrize("name", [*SCHEMES, BY_COLUMNS.name, THREE_BITS.name])
def test_linear(name: str, compiled: Compiled) -> None:
    rng = np.random.default_rng(len(name) + ord(name[1]))
    outs, ins = (int(n) for n in rng.integers(8, 150, 2))
    check_linear(name, (outs, ins), LinearSizes(), compiled, rng)


@pytest.mark.parametrize("name", ["q4f32_1", "q8f32_1"])
@pytest.mark.parametrize("steps", ["one step", "steps"])
@pytest.mark.parametrize("where", [name for name in gpu_tools.EVERY if name != "webgpu"])
def test_linear_reads_weights_in_chunks(name: str, steps: str, where: str) -> None:
    compiled = partial(gpu_tools.compiled, backend=where)
    sizes = LinearSizes(vectors=True, items=32, few_items=32)
    shape = (27, 32 * 5) if steps == "one step" else (6, 32 * 70)
    check_linear(name, shape, sizes, compiled, np.random.default_rng(5))


def check_linear(name: str, shape, sizes: LinearSizes, compiled: Compiled, rng: Any) -> None:
    scheme, (outs, ins) = scheme_named(name), shape
    bias, residual = rng.random(2) < 0.5
    stored, exact = stored_weight(
        scheme, rng.standard_normal((outs, ins)).astype(np.float32), "linear"
    )
    reader = matrix_of(scheme, (outs, ins)).on_gpu()
    kernel = compiled(
        linear.linear(
            reader,
            (outs, ins),
            sizes,
            bias="float32" if bias else None,
            residual=bool(residual),
        )
    )
    for rows in ROWS:
        x = rng.standard_normal((rows, ins)).astype(np.float32)
        expected, extras = x.astype(np.float64) @ exact.T, []
        if bias:
            extras.append(rng.standard_normal(outs).astype(np.float32))
            expected += extras[-1]
        if residual:
            extras.append(rng.standard_normal((rows, outs)).astype(np.float32))
            expected += extras[-1]
        y = np.full((rows, outs), np.nan, np.float32)
        kernel(*map(frozen, (x, *stored, *extras)), y)
        np.testing.assert_allclose(y, expected, atol=2e-6 * ins)


@pytest.mark.parametrize("name", ["q4f32_1", "q0f32", THREE_BITS.name])
def test_embedding(name: str, compiled: Compiled) -> None:
    rng = np.random.default_rng(3)
    scheme, shape = scheme_named(name), (50, 72)
    stored, exact = stored_weight(
        scheme, rng.standard_normal(shape).astype(np.float32), "embedding"
    )
    reader = matrix_of(scheme, shape, "embedding").on_gpu()
    ids = np.array([0, 49, 7, 7, 60, -1], np.int32)
    y = np.zeros((6, shape[1]), np.float32)
    kernel = compiled(elementwise.embedding(reader, shape, scale=3.0))
    kernel(*map(frozen, (ids, *stored)), y)
    np.testing.assert_allclose(y, 3 * exact[np.clip(ids, 0, 49)], atol=3e-6)
