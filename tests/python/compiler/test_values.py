"""Conversions of numbers by operations on whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import compiled, frozen  # noqa: E402
from tvm.tirx.script import builder as T  # noqa: E402

from mlc_llm.compiler.kernels.common.function import Arg, kernel  # noqa: E402
from mlc_llm.compiler.kernels.common.values import half_to_float  # noqa: E402
from mlc_llm.compiler.kernels.cpu.vector import at  # noqa: E402


def test_every_finite_half_becomes_the_same_float() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)]

    def body(x, y) -> None:
        with T.serial(len(halves) // 16) as i:
            T.buffer_store(y, half_to_float(x[at(i * 16)]), [at(i * 16)])

    found = np.zeros(len(halves), np.float32)
    args = [Arg("x", halves.shape, "float16"), Arg("y", halves.shape)]
    compiled(kernel(args, body))(frozen(halves), found)
    assert np.array_equal(found.view(np.uint32), halves.astype(np.float32).view(np.uint32))
