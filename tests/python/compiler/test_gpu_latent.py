"""The kernels of latent attention on GPUs against NumPy in float64."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
from kernel_tools import frozen  # noqa: E402
from test_latent import (  # noqa: E402
    SCALE,
    Cache,
    attend,
    check_rotation,
    expected_row,
    shape_of,
)

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE  # noqa: E402
from mlc_llm.compiler.kernels.common.latent import LatentShape  # noqa: E402
from mlc_llm.compiler.kernels.gpu import latent, paged_attention  # noqa: E402


@pytest.fixture(params=gpu_tools.BACKENDS)
def compiled(request: pytest.FixtureRequest):
    gpu_tools.require(request.param)
    return partial(gpu_tools.compiled, backend=request.param)


def test_every_head_attends_to_the_same_rows(compiled):
    shape = shape_of(10, sliding_window=40, sinks=5)
    cache, rng = Cache(shape, [150, 20]), np.random.default_rng(6)
    places = [(p, 0) for p in (0, 15, 63, 64, 149)] + [(p, 1) for p in (3, 19)]
    q = rng.standard_normal((len(places), shape.heads, shape.row)).astype(np.float32)
    kernel = compiled(latent.attention(shape, SCALE))
    y = attend(kernel, shape, cache, q, places)
    for i, place in enumerate(places):
        expected = expected_row(shape, cache, q[i], *place)
        np.testing.assert_allclose(y[i], expected, rtol=0, atol=1e-5)
    assert np.array_equal(attend(kernel, shape, cache, q[4:5], places[4:5])[0], y[4])


@pytest.mark.parametrize("pairs", [True, False])
def test_rows_and_queries_are_rotated_alike(compiled, pairs):
    check_rotation(latent, compiled, pairs=pairs, count=7)


def test_results_leave_the_space_of_the_latents(compiled):
    shape, size, rng = shape_of(3), 20, np.random.default_rng(8)
    x = rng.standard_normal((5, 3, shape.dim)).astype(np.float32)
    up = rng.standard_normal((3, size, shape.dim)).astype(np.float32)
    y = np.zeros((5, 3 * size), np.float32)
    compiled(latent.values(shape, size, "float32"))(frozen(x.reshape(5, -1)), frozen(up), y)
    expected = np.einsum("nhc,hvc->nhv", x.astype(np.float64), up.astype(np.float64))
    np.testing.assert_allclose(y, expected.reshape(5, -1), rtol=0, atol=1e-5)


def test_slots_and_pages_are_copied_whole(compiled):
    shape, rng = shape_of(3), np.random.default_rng(9)
    pages = rng.standard_normal((5, *shape.page_shape)).astype(np.float32)
    rows = pages.copy().reshape(5 * PAGE_SIZE, shape.row)
    source, destination = np.array([3, 40], np.int32), np.array([17, 70], np.int32)
    rows[destination] = rows[source]
    compiled(latent.copy_slots(shape))(frozen(source), frozen(destination), pages)
    assert np.array_equal(pages.reshape(rows.shape), rows)
    wanted = pages.copy()
    wanted[[4, 0]] = pages[[1, 2]]
    copy = compiled(latent.copy_pages(shape))
    copy(frozen(np.array([1, 2], np.int32)), frozen(np.array([4, 0], np.int32)), pages)
    assert np.array_equal(pages, wanted)


@pytest.mark.parametrize(("dim", "rotary"), [(512, 64), (256, 32), (2048, 64)])
def test_a_work_group_keeps_within_its_memory(dim, rotary):
    """The sizes of DeepSeek V2 and V3, of MiniCPM 3, and larger ones."""
    shape = LatentShape(heads=128, kv_heads=16, dim=dim, rotary=rotary)
    buffers = dict.fromkeys(arg.name for arg in shape.attend_args)
    attends = latent._AttendLatents(shape, 1.0, **buffers)
    floats = attends.heads * (shape.row + 2 * latent.ITEMS)
    assert attends.heads >= 1 and floats <= paged_attention.SHARED_FLOATS
    assert shape.group % attends.heads == 0
