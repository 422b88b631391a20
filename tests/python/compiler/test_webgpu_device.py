"""What WebGPU does not offer and what it refuses: copies of odd bytes, many work-groups."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
from kernel_tools import frozen  # noqa: E402

from mlc_llm.compiler.kernels.gpu import elementwise  # noqa: E402


@pytest.fixture(scope="module")
def device() -> Any:
    gpu_tools.require("webgpu")
    return tvm.device("webgpu", 0)


def normalized(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    exact = x.astype(np.float64)
    return exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5) * weight


def test_copies_of_any_bytes(device: Any) -> None:
    """WebGPU's are of words, and not within a buffer."""
    rng = np.random.default_rng(0)
    expected = rng.integers(0, 256, 1003, np.uint8)
    whole = tvm.runtime.tensor(expected, device)
    other = tvm.runtime.tensor(expected[::-1].copy(), device)
    for _ in range(60):
        size = int(rng.integers(1, 40))
        begin, end = (int(n) for n in rng.integers(0, len(expected) - size, 2))
        part = whole._create_view((size,), "uint8", begin)
        if rng.random() < 0.5:
            data = rng.integers(0, 256, size, np.uint8)
            part.copyfrom(data)
            expected[begin : begin + size] = data
        elif rng.random() < 0.5:
            part.copyfrom(other._create_view((size,), "uint8", end))
            expected[begin : begin + size] = other.numpy()[end : end + size]
        elif abs(begin - end) >= size:
            part.copyfrom(whole._create_view((size,), "uint8", end))
            expected[begin : begin + size] = expected[end : end + size]
        assert np.array_equal(part.numpy(), expected[begin : begin + size])
        assert np.array_equal(whole.numpy(), expected)


def test_large_copies_come_in_pieces(device: Any) -> None:
    data = np.random.default_rng(1).integers(0, 2**32, 5_000_001, np.uint32)
    assert np.array_equal(tvm.runtime.tensor(data, device).numpy(), data)


def test_more_work_groups_than_a_side_takes(device: Any) -> None:
    rows = 140_001
    x = np.random.default_rng(2).standard_normal((rows, 2)).astype(np.float32)
    weight, y = np.ones(2, np.float32), np.zeros((rows, 2), np.float32)
    gpu_tools.compiled(elementwise.rms_norm(2, 1e-5, "float32"), "webgpu")(
        frozen(x), frozen(weight), y
    )
    np.testing.assert_allclose(y, normalized(x, weight), atol=1e-5)


def test_more_than_folding_helps_with_is_an_error(device: Any) -> None:
    x, y = np.zeros((70_000, 4), np.float32), np.zeros((70_000, 2), np.float32)
    with pytest.raises(RuntimeError, match="work-groups, and the device offers"):
        gpu_tools.compiled(elementwise.gate_and_multiply(2), "webgpu")(frozen(x), y)


def test_a_tensor_that_a_kernel_cannot_take_whole_is_an_error(device: Any) -> None:
    with pytest.raises(MemoryError, match="in one piece"):
        tvm.runtime.empty((2**40,), "uint8", device)


def test_one_tensor_read_and_written_is_an_error_that_is_over_with_the_call(device: Any) -> None:
    x, weight = np.ones((3, 70), np.float32), np.full(70, 2, np.float32)
    tensors = [tvm.runtime.tensor(a, device) for a in (x, weight, x)]
    kernel = gpu_tools.on_device(elementwise.rms_norm(70, 1e-5, "float32"), "webgpu")
    with pytest.raises(RuntimeError, match="recording kernels"):
        kernel(tensors[0], tensors[1], tensors[0])
        tensors[0].numpy()
    kernel(*tensors)
    np.testing.assert_allclose(tensors[2].numpy(), normalized(x, weight), atol=1e-5)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def test_kernels_that_do_not_compile_are_an_error(device: Any) -> None:
    pointer, one = struct.pack("<BBH", 3, 64, 1), struct.pack("<Q", 1)
    info = text("f") + one + pointer + one + text("paramWriteAccess:[1]") + struct.pack("<Q", 0)
    load = tvm.get_global_func("ffi.Module.load_from_bytes.webgpu")
    for source in ("fn f(", "@compute @workgroup_size(4096) fn f() {}"):
        module = load(one + text("f") + info + one + text("f") + text(source))
        with pytest.raises(RuntimeError, match="f: Validation Error"):
            module["mlc_prepare"](0)
