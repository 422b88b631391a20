"""Linear layers of experts on GPUs, against NumPy float64: few rows and tiles, for schemes whose
scales and codes have axes of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

import gpu_tools  # noqa: E402
from gguf_random import exact, random_blocks  # noqa: E402
from kernel_tools import frozen  # noqa: E402

from mlc_llm.compiler import quantization  # noqa: E402
from mlc_llm.compiler.kernels.common.routing import RUN, Stack  # noqa: E402
from mlc_llm.compiler.kernels.gpu import experts  # noqa: E402
from mlc_llm.compiler.quantization.gguf.blocks import read_blocks, strips_of  # noqa: E402
from mlc_llm.compiler.quantization.gguf.types import TYPES  # noqa: E402
from mlc_llm.compiler.quantization.pack import numpy_dtype  # noqa: E402
from mlc_llm.compiler.targets import LinearSizes  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402

Array = np.ndarray[Any, Any]
EXPERTS, CHOSEN = 3, 2
BLOCKS = "fp8_e4m3fn_bf16_block_scale"


def stored(name: str, outs: int, ins: int) -> tuple[Any, list[Array], Array]:
    """The reader of a stack, its tensors, and what they mean: (experts, outs, ins)."""
    rng, rows = np.random.default_rng(3), EXPERTS * outs
    if name == BLOCKS:
        codes = rng.integers(0, 0x7B, (rows, ins), np.uint8)
        codes |= rng.integers(0, 2, codes.shape, np.uint8) << 7
        scales = rng.standard_normal((rows // 128, -(-ins // 128))).astype(np.float32)
        tensors = [codes.view(numpy_dtype("float8_e4m3fn")), scales]
        wide = np.repeat(np.repeat(scales, 128, axis=0), 128, axis=1)[:, :ins]
        meaning = tensors[0].astype(np.float32) * wide
    else:
        kind = name.removeprefix("gguf_").upper()
        raw = random_blocks(kind, rows, ins, rng)
        tensors, meaning = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw)), exact(kind, raw)
    (matrix,) = quantization.get(name).stacked("a.weight", (EXPERTS, outs, ins), "experts")
    reader = matrix.on_gpu()
    seen = [np.ascontiguousarray(t).view(p.dtype).reshape(p.shape)
            for t, p in zip(tensors, reader.stored, strict=True)]  # fmt: skip
    return reader, seen, meaning.reshape(EXPERTS, outs, ins)


def places(rows: int) -> tuple[Array, Array, Array]:
    """Runs, owners, and the expert of each place; the second expert has one place alone."""
    chosen = np.tile([0, 2], rows)[: rows * CHOSEN].astype(np.int32)
    chosen[-1] = 1
    owners = np.sort(chosen)
    runs = np.zeros((EXPERTS + 1, RUN), np.int32)
    present, firsts, counts = np.unique(owners, return_index=True, return_counts=True)
    runs[0, 0] = len(present)
    runs[1 : 1 + len(present)] = np.stack([present, firsts, counts], axis=1)
    return runs, owners.reshape(rows, CHOSEN), owners


@pytest.mark.parametrize("backend", gpu_tools.EVERY)
@pytest.mark.parametrize(("name", "outs", "ins"), [(BLOCKS, 256, 160), ("gguf_nvfp4", 48, 128)])
def test_a_place_is_what_its_expert_makes_of_it(
    backend: str, name: str, outs: int, ins: int
) -> None:
    gpu_tools.require(backend)
    reader, tensors, meaning = stored(name, outs, ins)
    stack = Stack(EXPERTS, CHOSEN, outs, ins, reader.stored)
    kernel = gpu_tools.compiled(experts.linear(stack, reader, LinearSizes()), backend)
    rng = np.random.default_rng(4)
    for rows in (2, 45):  # below and above LinearSizes.few_rows_until
        x = rng.standard_normal((rows, CHOSEN * ins)).astype(np.float32)
        runs, owners, flat = places(rows)
        y = np.full((rows, CHOSEN * outs), np.nan, np.float32)
        kernel(*map(frozen, (x, runs, owners, *tensors)), y)
        wide = x.reshape(-1, ins).astype(np.float64)
        expected = np.stack([meaning[e] @ row for e, row in zip(flat, wide, strict=True)])
        found = y.reshape(-1, outs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_experts_whose_outputs_end_inside_of_a_block_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="a multiple of 128 outputs, not 200"):
        quantization.get(BLOCKS).stacked("a.weight", (EXPERTS, 200, 160), "experts")
