"""q4f16_autoawq: what an AWQ repository holds is kept bit for bit; others are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from mlc_llm.compiler import quantization
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

Array = np.ndarray[Any, Any]
SIZES = {"hidden_size": 128, "intermediate_size": 256, "head_dim": 32}


def packed(codes: Array) -> Array:
    """AutoAWQ's order, one nibble at a time: output 8 w + j is nibble ORDER[j] of word w."""
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    words = np.zeros((codes.shape[0], codes.shape[1] // 8), np.int64)
    for column in range(codes.shape[1]):
        words[:, column // 8] |= codes[:, column].astype(np.int64) << (4 * order[column % 8])
    return words.astype(np.uint32).view(np.int32)


def write_repository(folder: Path, **changes: Any) -> dict[str, Array]:
    """A tiny Llama whose linear layers are quantized; returns what these mean, (out, in)."""
    rng = np.random.default_rng(3)
    hidden, wide = SIZES["hidden_size"], SIZES["intermediate_size"]
    weights, meaning = {}, {}
    for name, (_, shape) in tiny_models.names().items():
        sizes = {64: hidden, 96: wide, 32: hidden // 2}
        shape = tuple(sizes.get(n, n) for n in shape)
        if len(shape) == 1 or "embed" in name or "lm_head" in name:
            weights[name] = rng.standard_normal(shape).astype(np.float16)
            continue
        outs, ins = shape
        codes, zeros = rng.integers(0, 16, (ins, outs)), rng.integers(0, 16, (ins // 128, outs))
        scales = (rng.random((ins // 128, outs)) * 0.02 + 0.001).astype(np.float16)
        module = name.removesuffix(".weight")
        parts = {"qweight": packed(codes), "qzeros": packed(zeros), "scales": scales}
        weights |= {f"{module}.{part}": value for part, value in parts.items()}
        centred = codes - np.repeat(zeros, 128, axis=0)
        meaning[module] = (centred * np.repeat(scales, 128, axis=0).astype(np.float32)).T
    for name, value in changes.items():
        weights[name] = value
    tiny_models.write_hf_folder(folder, {k: v for k, v in weights.items() if v is not None})
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | SIZES))
    return meaning


def converted(folder: Path, output: Path) -> None:
    convert_model(open_source(folder), output, quantization="q4f16_autoawq")


def test_a_repository_is_kept_bit_for_bit(tmp_path: Path) -> None:
    theirs = write_repository(tmp_path / "awq")
    converted(tmp_path / "awq", tmp_path / "out")
    assert verify(tmp_path / "out") == []
    stored = tiny_models.read_mlc_folder(tmp_path / "out")
    scheme = quantization.get("q4f16_autoawq")
    attention = "model.layers.1.self_attn"
    expected = [theirs[f"{attention}.{name}_proj"] for name in "qkv"]
    for name, value in (
        (f"{attention}.qkv_proj", np.concatenate(expected)),
        ("model.layers.0.mlp.down_proj", theirs["model.layers.0.mlp.down_proj"]),
    ):
        (matrix,) = scheme.matrices(f"{name}.weight", value.shape, "linear")
        arrays = [stored[param.name] for param in matrix.stored]
        assert [a.shape for a in arrays] == [param.shape for param in matrix.stored]
        assert np.array_equal(matrix.floats(arrays), value)
    assert stored["lm_head.weight"].dtype == np.float16
    assert stored["model.embed_tokens.weight"].dtype == np.float16


_Q = "model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize(
    ("changes", "error", "tensor"),
    [
        ({f"{_Q}.qzeros": None}, CorruptFileError, f"{_Q}.qzeros"),
        ({f"{_Q}.qweight": np.zeros((128, 8), np.int32)}, CorruptFileError, "qkv_proj.qweight"),
        ({f"{_Q}.qweight": np.zeros((128, 16), np.float32)}, CorruptFileError, "qweight"),
        ({f"{_Q}.scales": np.full((1, 128), np.nan, np.float16)}, CorruptFileError, "scales"),
        ({f"{_Q}.scales": np.ones((2, 128), np.float16)}, CorruptFileError, "scales"),
    ],
)
def test_a_damaged_repository_is_refused_by_tensor(
    changes: dict[str, Any], error: type[MLCError], tensor: str, tmp_path: Path
) -> None:
    write_repository(tmp_path / "awq", **changes)
    with pytest.raises(error) as caught:
        converted(tmp_path / "awq", tmp_path / "out")
    assert tensor in caught.value.param


def test_models_that_are_not_quantized_are_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    with pytest.raises(InvalidRequestError, match="choose another one, such as q4f16_1"):
        converted(folder, tmp_path / "out")


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="multiples of 128 inputs"):
        quantization.get("q4f16_autoawq").stored_params("a.weight", (16, 96), use="linear")


@pytest.mark.parametrize(("name", "instead"), [("q4f16_ft", "q4f16_1"), ("q8f16_ft", "q8f32_1")])
def test_schemes_of_one_vendors_kernels_are_refused_with_another_name(
    name: str, instead: str
) -> None:
    with pytest.raises(UnsupportedError, match=f"FasterTransformer.* to {instead} instead"):
        quantization.get(name)
