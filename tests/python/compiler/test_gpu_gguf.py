"""GGUF's own types on GPUs: kernels against NumPy float64 on every backend here, and libraries for
devices that are not here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

import gpu_tools  # noqa: E402
from gguf_random import EVERY, HALVES, exact, random_blocks, write_mixed  # noqa: E402
from kernel_tools import frozen  # noqa: E402

from mlc_llm.compiler import models, nvrtc, pipeline, programs  # noqa: E402
from mlc_llm.compiler.compile import library_spec, read_chat_config  # noqa: E402
from mlc_llm.compiler.convert import convert_model, open_source  # noqa: E402
from mlc_llm.compiler.kernels.gpu import elementwise, linear  # noqa: E402
from mlc_llm.compiler.library import build_module  # noqa: E402
from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling  # noqa: E402
from mlc_llm.compiler.quantization.gguf.blocks import read_blocks, strips_of  # noqa: E402
from mlc_llm.compiler.quantization.gguf.types import TYPES  # noqa: E402
from mlc_llm.compiler.targets import LinearSizes  # noqa: E402

ROWS = (1, 3, 17, 70)  # each way to multiply
SHAPE = (37, 512)  # two strips and a part of one
CASES = [("opencl", kind) for kind in HALVES] + [("webgpu", kind) for kind in ("Q4_1", "Q4_K")]
PLAIN = ("F16", "BF16")


def stored(kind: str, rows: int, ins: int) -> tuple[Any, list[Any], Any]:
    """The reader, the tensors as the device takes them, and what they mean."""
    rng = np.random.default_rng(len(kind) + ins)
    matrix = TYPES[kind].matrix("w", (rows, ins))
    if kind in PLAIN:
        halves = rng.standard_normal((rows, ins)).astype(np.float16)
        halves[0, :3] = [6e-8, 65504, -3e-5]  # the smallest, the largest, and below the normal ones
        tensors, meaning = [halves], halves.astype(np.float32)
        if kind == "BF16":
            tensors = [(meaning.view(np.uint32) >> 16).astype(np.uint16)]
            meaning = (tensors[0].astype(np.uint32) << 16).view(np.float32)
    else:
        raw = random_blocks(kind, rows, ins, rng)
        tensors, meaning = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw)), exact(kind, raw)
    reader = matrix.on_gpu()
    seen = [
        np.ascontiguousarray(t).view(p.dtype) for t, p in zip(tensors, reader.stored, strict=True)
    ]
    assert [t.shape for t in seen] == [p.shape for p in reader.stored]
    return reader, seen, meaning


@pytest.mark.parametrize(("backend", "kind"), [*CASES, *(("opencl", kind) for kind in PLAIN)])
def test_linear(backend: str, kind: str) -> None:
    gpu_tools.require(backend)
    rng = np.random.default_rng(1)
    reader, tensors, meaning = stored(kind, *SHAPE)
    if kind == "F16":
        meaning[0, 1] = tensors[0].view(np.float16)[0, 1] = 1
    function = linear.linear(reader, SHAPE, LinearSizes(), residual=True)
    kernel = gpu_tools.compiled(function, backend)
    for rows in ROWS:
        x = rng.standard_normal((rows, SHAPE[1])).astype(np.float32)
        residual = rng.standard_normal((rows, SHAPE[0])).astype(np.float32)
        y = np.full((rows, SHAPE[0]), np.nan, np.float32)
        kernel(*map(frozen, (x, *tensors, residual)), y)
        expected = x.astype(np.float64) @ meaning.T.astype(np.float64) + residual
        np.testing.assert_allclose(y, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("backend", "kind"), [*CASES, *(("opencl", kind) for kind in PLAIN)])
def test_embedding_reads_what_the_file_says(backend: str, kind: str) -> None:
    gpu_tools.require(backend)
    reader, tensors, meaning = stored(kind, 37, 256)
    ids = np.array([0, 36, 5, 16, 15, 99, -3], np.int32)
    y = np.zeros((len(ids), 256), np.float32)
    kernel = gpu_tools.compiled(elementwise.embedding(reader, (37, 256)), backend)
    kernel(frozen(ids), *map(frozen, tensors), y)
    np.testing.assert_allclose(y, meaning[np.clip(ids, 0, 36)], rtol=2e-7, atol=1e-12)


@pytest.mark.parametrize("kind", ["Q4_0", "Q6_K"])
def test_a_part_is_some_strips(kind: str) -> None:
    """Of a device that takes no large tensors."""
    gpu_tools.require("opencl")
    _, tensors, meaning = stored(kind, *SHAPE)
    part = range(16, 37)
    reader = TYPES[kind].matrix("w", SHAPE).cut(part).on_gpu()
    assert [param.shape[0] for param in reader.stored] == [2] * len(tensors)
    kernel = gpu_tools.compiled(linear.linear(reader, SHAPE, LinearSizes(), part=part))
    x = np.random.default_rng(1).standard_normal((3, SHAPE[1])).astype(np.float32)
    y = np.full((3, SHAPE[0]), 7, np.float32)
    kernel(frozen(x), *(frozen(tensor[1:]) for tensor in tensors), y)
    assert (y[:, :16] == 7).all()
    expected = x.astype(np.float64) @ meaning.T.astype(np.float64)
    np.testing.assert_allclose(y[:, 16:], expected[:, 16:], atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("device", ["webgpu", "metal", "cuda"])
def test_libraries_are_generated(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    if device != "cuda" and not pytestconfig.getoption("--long"):
        pytest.skip("compiles a library for each device; run with --long")
    if device == "cuda" and not nvrtc.is_installed():
        pytest.skip("NVRTC is not installed")
    monkeypatch.setattr(gpu_sampling, "build", lambda nn, columns: None)
    write_mixed(tmp_path / "m.gguf", EVERY, default="Q4_0")
    convert_model(open_source(tmp_path / "m.gguf"), tmp_path / "m", quantization="auto")
    spec = library_spec(read_chat_config(tmp_path / "m"), device=device)
    module = build_module(spec, models.get("llama"))
    pipeline.build(module, spec.device).export_library(str(tmp_path / "m.so"))
    assert (tmp_path / "m.so").stat().st_size > 10_000


def test_a_product_in_parts_keeps_its_memory_until_it_is_read(tmp_path: Path) -> None:
    """The parts write one tensor in turn. No kernel writes where it reads."""
    write_mixed(tmp_path / "m.gguf", EVERY, default="Q4_0")
    convert_model(open_source(tmp_path / "m.gguf"), tmp_path / "m", quantization="auto")
    spec = library_spec(read_chat_config(tmp_path / "m"), device="cuda", opt="O3")
    decode = build_module(spec, models.get("llama"))["batch_decode_tokens"]
    program = programs.program_of(decode, [])
    for name, *arguments in program["calls"]:
        tensors = {a for a in arguments if a.startswith(programs.TEMPORARY)}
        buffers = {program["temporaries"][int(t[1:])]["buffer"] for t in tensors}
        assert len(buffers) == len(tensors), name
