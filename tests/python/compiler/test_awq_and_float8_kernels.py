"""AWQ and floats of 8 bits in kernels of the CPU and of GPUs, against NumPy float64."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

import gpu_tools  # noqa: E402
import quick_code  # noqa: E402
import test_float8_blocks  # noqa: E402
from kernel_tools import compiled, frozen, host_device, matrix_of, taken  # noqa: E402
from test_awq import write_repository  # noqa: E402
from test_gguf_schemes import meaning  # noqa: E402
from tiny_llama import Tiny  # noqa: E402
from tiny_models import read_mlc_folder  # noqa: E402

from mlc_llm.compiler import models, quantization  # noqa: E402
from mlc_llm.compiler.compile import library_spec, read_chat_config  # noqa: E402
from mlc_llm.compiler.convert import convert_model, open_source  # noqa: E402
from mlc_llm.compiler.kernels.gpu import linear  # noqa: E402
from mlc_llm.compiler.quantization.pack import numpy_dtype  # noqa: E402
from mlc_llm.compiler.targets import LinearSizes  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402

SHAPE = (40, 256)  # two vectors of outputs and a half, two groups
BLOCKS = "fp8_e4m3fn_bf16_block_scale"
NAMES = ("q4f16_autoawq", "e4m3_e4m3_f16", "e5m2_e5m2_f16", BLOCKS)


def stored(name: str) -> tuple[Any, list[Any], Any]:
    """The matrix, random tensors of its kernels, and what they mean."""
    rng = np.random.default_rng(0)
    shape = (200, 300) if name.startswith(BLOCKS) else SHAPE  # parts of blocks, at both ends
    matrix = matrix_of(quantization.get(name), shape)
    arrays = [_random(rng, param.shape, param.dtype) for param in matrix.stored]
    meaning = matrix.floats(arrays).astype(np.float64)
    return matrix, arrays, meaning


def _random(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "uint32":
        return rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    if not dtype.startswith("float8"):
        return rng.standard_normal(shape).astype(dtype)
    codes = rng.integers(0, 0x7B, shape, dtype=np.uint8)  # all finite ones, of both signs
    return (codes | rng.integers(0, 2, shape, dtype=np.uint8) << 7).view(numpy_dtype(dtype))


def check(kernel: Any, arrays: list[Any], meaning: Any) -> None:
    rng = np.random.default_rng(1)
    outs, ins = meaning.shape
    for rows in (1, 3, 17, 70):
        x = rng.standard_normal((rows, ins)).astype(np.float32)
        y = np.full((rows, outs), np.nan, np.float32)
        kernel(*map(frozen, (x, *arrays)), y)
        expected = x.astype(np.float64) @ meaning.T
        np.testing.assert_allclose(y, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_on_the_cpu(name: str) -> None:
    matrix, arrays, meaning = stored(name)
    reader = matrix.on_cpu()
    check(compiled(reader.linear(host_device().vectors)), taken(reader, arrays), meaning)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", gpu_tools.EVERY)
def test_on_gpus(backend: str, name: str) -> None:
    gpu_tools.require(backend)
    matrix, arrays, meaning = stored(name)
    reader = matrix.on_gpu()
    kernel = gpu_tools.compiled(linear.linear(reader, meaning.shape, LinearSizes()), backend)
    check(kernel, taken(reader, arrays), meaning)


@pytest.mark.parametrize("name", [NAMES[0], BLOCKS])
def test_a_whole_model_computes_what_its_weights_say(name: str, tmp_path: Path) -> None:
    if name == BLOCKS:
        test_float8_blocks.write_repository(tmp_path / "hf", test_float8_blocks.BLOCKS)
    else:
        write_repository(tmp_path / "hf")
    convert_model(open_source(tmp_path / "hf"), tmp_path / "m", quantization=name)
    config = read_chat_config(tmp_path / "m")
    spec = library_spec(config, device="cpu")
    module = quick_code.build(spec, models.get("llama"))
    stored_weights = read_mlc_folder(tmp_path / "m")
    model = Tiny(spec.config, module, stored_weights, meaning(tmp_path / "m", config))
    ids = [int(i) for i in np.random.default_rng(2).integers(0, 300, 21)]
    runner = model.runner()
    found = np.concatenate([runner.forward([("a", part)]) for part in (ids[:20], ids[20:])])
    expected = model.expected(ids)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_a_part_of_awq_is_some_columns() -> None:
    part = matrix_of(quantization.get(NAMES[0]), SHAPE).cut(range(16, 40)).on_gpu().stored
    assert [p.span for p in part] == [range(2, 5), range(2, 5), range(8, 20)]
    assert [(p.shape, p.extent) for p in part] == [((256, 3), 5), ((2, 3), 5), ((2, 12), 20)]


def test_a_part_of_blocks_begins_with_a_block() -> None:
    matrix = matrix_of(quantization.get(BLOCKS), (600, 300))
    part = matrix.cut(range(256, 600)).on_cpu().stored
    assert [(p.span, p.shape) for p in part] == [
        (range(256, 600), (344, 300)), (range(2, 5), (3, 3)),
    ]  # fmt: skip


def test_kernels_do_not_read_scales_of_activations() -> None:
    matrix = matrix_of(quantization.get(f"{BLOCKS}_static_activation"), (600, 300))
    assert [p.name for p in matrix.stored][2:] == ["a.activation_scale"]
    for reader in (matrix.on_cpu(), matrix.on_gpu()):
        assert [p.name for p in reader.stored] == ["a.weight", "a.weight_scale_inv"]


@pytest.mark.parametrize("name", ["e5m2_e5m2_f16", BLOCKS])
def test_float8_of_odd_widths_is_refused_on_gpus(name: str) -> None:
    with pytest.raises(UnsupportedError, match="a.*multiple of 4, not 30"):
        matrix_of(quantization.get(name), (8, 30)).on_gpu()
