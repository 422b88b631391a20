"""8-bit floats in blocks of 128 x 128: stored bytes by a definition of the test's own, and FP8
repositories, which are kept bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tiny_models
from test_float8 import FORMATS, nearest

from mlc_llm.compiler import quantization
from mlc_llm.compiler.convert import convert_model, notes, open_source
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.errors import CorruptFileError, MLCError, UnsupportedError

Array = np.ndarray[Any, Any]
NAME = "fp8_e4m3fn_bf16_block_scale"
STATIC = f"{NAME}_static_activation"
SIZES = {"hidden_size": 128, "intermediate_size": 320, "head_dim": 64}  # 4 heads, 2 of keys
SHAPES = {
    "q_proj": (256, 128), "k_proj": (128, 128), "v_proj": (128, 128), "o_proj": (128, 256),
    "gate_proj": (320, 128), "up_proj": (320, 128), "down_proj": (128, 320),
}  # fmt: skip
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
TENSORS = {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}
_Q = "model.layers.0.self_attn.q_proj"
_UP = "model.layers.1.mlp.up_proj"


def shape_of(name: str, shape: tuple[int, ...], wide: int) -> tuple[int, ...]:
    kind = name.removesuffix(".weight").rsplit(".", 1)[-1]
    found = SHAPES.get(kind) or tuple({64: 128}.get(n, n) for n in shape)
    return tuple(wide if n == 320 else n for n in found)


def write_repository(
    folder: Path, config: dict[str, Any] | None, *, wide: int = 384, **changes: Array | None
) -> dict[str, Array]:
    """A tiny Llama whose linear layers have 128 x 128 blocks (or one scale for all, if the config
    says so; or are floats without a config). Returns what is in the file."""
    rng = np.random.default_rng(4)
    tensors: dict[str, Array] = {}
    for name, (_, plain) in tiny_models.names().items():
        shape = shape_of(name, plain, wide)
        if len(shape) == 1 or "embed" in name or "lm_head" in name or config is None:
            tensors[name] = rng.standard_normal(shape).astype(np.float32)
            continue
        module = name.removesuffix(".weight")
        size = config["weight_block_size"] or [128, 128]
        blocks = [-(-n // each) for n, each in zip(shape, size, strict=True)]
        tensors[name] = rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
        whole = config["weight_block_size"] is None
        scale = np.asarray(rng.random(() if whole else blocks) * 0.01 + 0.001, np.float32)
        tensors[f"{module}.weight_scale_inv"] = scale
        if whole:
            tensors[f"{module}.activation_scale"] = np.float32(0.25 + 0.5 * ("k_proj" in name))
    tensors |= changes  # type: ignore[arg-type]
    present = {name: np.asarray(v) for name, v in tensors.items() if v is not None}
    extra = {} if config is None else {"quantization_config": config}
    tiny_models.write_hf_folder(folder, present, **SIZES | {"intermediate_size": wide}, **extra)
    return present


def converted(folder: Path, output: Path, quantization: str = NAME) -> dict[str, Array]:
    convert_model(open_source(folder), output, quantization=quantization)
    assert verify(output) == []
    return tiny_models.read_mlc_folder(output)


def codes(values: Array) -> Array:
    return values.view(np.uint8)


@pytest.mark.parametrize("name", [NAME, STATIC])
def test_floats_become_the_nearest_codes_of_each_block(name: str, tmp_path: Path) -> None:
    weights = write_repository(tmp_path / "hf", None, wide=320)
    weights["model.layers.1.mlp.down_proj.weight"][:, 128:256] = 0
    write_repository(tmp_path / "hf", None, wide=320, **weights)
    stored = converted(tmp_path / "hf", tmp_path / "out", name)
    attention, mlp = "model.layers.1.self_attn", "model.layers.1.mlp"
    for module, parts in (
        (f"{attention}.qkv_proj", [f"{attention}.{n}_proj" for n in "qkv"]),
        (f"{mlp}.gate_up_proj", [f"{mlp}.gate_proj", f"{mlp}.up_proj"]),
        (f"{mlp}.down_proj", [f"{mlp}.down_proj"]),
    ):
        exact = np.concatenate([weights[f"{part}.weight"] for part in parts])
        exact = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
        found, scales = stored[f"{module}.weight"], stored[f"{module}.weight_scale_inv"]
        assert found.shape == exact.shape and str(found.dtype) == "float8_e4m3fn"
        assert scales.shape == tuple(-(-n // 128) for n in exact.shape)
        for row, column in np.ndindex(scales.shape):
            here = np.s_[row * 128 : row * 128 + 128, column * 128 : column * 128 + 128]
            scale = np.maximum(np.abs(exact[here]).max(), np.float32(1e-10)) / np.float32(448)
            assert scales[row, column] == scale
            expected = nearest((exact[here] / scale).astype(np.float64), *FORMATS["e4m3_e4m3_f16"])
            assert np.array_equal(codes(found[here]), expected)
        assert (f"{module}.activation_scale" in stored) == (name == STATIC)
        if name == STATIC:
            assert stored[f"{module}.activation_scale"].tolist() == [1.0] * scales.shape[1]
    assert str(stored["lm_head.weight"].dtype) == "bfloat16"


@pytest.mark.parametrize("name", [NAME, STATIC])
def test_experts_have_no_scale_of_activations(name: str) -> None:
    """As in MLC-LLM. Three blocks of inputs could not be divided among eight experts."""
    stored = quantization.get(name).stored_params("e.weight", (8, 256, 384), use="experts")
    assert [(param.name, param.shape) for param in stored] == [
        ("e.weight", (8, 256, 384)),
        ("e.weight_scale_inv", (8, 2, 3)),
    ]


def test_a_repository_of_blocks_is_kept_bit_for_bit(tmp_path: Path) -> None:
    theirs = write_repository(tmp_path / "hf", BLOCKS)
    assert notes(open_source(tmp_path / "hf"), NAME) == []
    assert "fp8" in str(notes(open_source(tmp_path / "hf"), "q4f32_1"))
    stored = converted(tmp_path / "hf", tmp_path / "out")
    for module, parts in (("self_attn.qkv_proj", "qkv"), ("self_attn.o_proj", "o")):
        for suffix in ("weight", "weight_scale_inv"):
            names = [f"model.layers.0.self_attn.{part}_proj.{suffix}" for part in parts]
            expected = np.concatenate([theirs[name] for name in names])
            assert stored[f"model.layers.0.{module}.{suffix}"].tobytes() == expected.tobytes()
    assert "model.layers.0.self_attn.o_proj.activation_scale" not in stored


def test_one_scale_for_a_tensor_is_repeated(tmp_path: Path) -> None:
    theirs = write_repository(tmp_path / "hf", TENSORS)
    stored = converted(tmp_path / "hf", tmp_path / "out", STATIC)
    attention = "model.layers.0.self_attn"
    q, k, v = (theirs[f"{attention}.{part}_proj.weight_scale_inv"] for part in "qkv")
    assert stored[f"{attention}.qkv_proj.weight_scale_inv"][:, 0].tolist() == [q, q, k, v]
    weights = [theirs[f"{attention}.{part}_proj.weight"] for part in "qkv"]
    assert np.array_equal(codes(stored[f"{attention}.qkv_proj.weight"]), codes(np.vstack(weights)))
    assert stored[f"{attention}.qkv_proj.activation_scale"].tolist() == [0.75]  # the largest
    assert stored["model.layers.0.mlp.down_proj.activation_scale"].tolist() == [0.25] * 3


def test_other_blocks_are_quantized_again_and_the_user_is_told(tmp_path: Path) -> None:
    theirs = write_repository(tmp_path / "hf", BLOCKS | {"weight_block_size": [192, 128]})
    assert "fp8" in str(notes(open_source(tmp_path / "hf"), NAME))
    stored = converted(tmp_path / "hf", tmp_path / "out")
    scale = theirs[f"{_Q}.weight_scale_inv"]  # (2, 1), as for blocks of 128
    wide = np.repeat(scale, 192, axis=0)[:256] * theirs[f"{_Q}.weight"].astype(np.float32)
    (found,) = stored["model.layers.0.self_attn.qkv_proj.weight_scale_inv"][0]
    largest = np.abs(wide[:128].astype(ml_dtypes.bfloat16)).max().astype(np.float32)
    assert found == largest / np.float32(448)


@pytest.mark.parametrize(
    ("changes", "error", "tensor"),
    [
        ({f"{_Q}.weight_scale_inv": None}, CorruptFileError, f"{_Q}.weight"),
        ({f"{_Q}.weight_scale_inv": np.ones((3, 1), np.float32)}, CorruptFileError,
         f"{_Q}.weight_scale_inv"),
        ({f"{_Q}.weight_scale_inv": np.full((2, 1), np.inf, np.float32)}, CorruptFileError,
         f"{_Q}.weight"),
        ({f"{_Q}.weight": np.full((256, 128), 0x7F, np.uint8).view(ml_dtypes.float8_e4m3fn)},
         CorruptFileError, f"{_Q}.weight"),
        ({f"{_Q}.weight": np.zeros((256, 96), ml_dtypes.float8_e4m3fn)}, CorruptFileError,
         f"{_Q}.weight"),
        ({f"{_UP}.weight": None}, CorruptFileError, f"{_UP}.weight"),
    ],
)  # fmt: skip
def test_a_damaged_repository_is_refused_by_tensor(
    changes: dict[str, Any], error: type[MLCError], tensor: str, tmp_path: Path
) -> None:
    write_repository(tmp_path / "hf", BLOCKS, **changes)
    with pytest.raises(error) as caught:
        converted(tmp_path / "hf", tmp_path / "out")
    assert caught.value.param == tensor


def test_an_activation_scale_of_another_size_is_refused(tmp_path: Path) -> None:
    wrong = {"model.layers.0.mlp.down_proj.activation_scale": np.ones(2, np.float32)}
    write_repository(tmp_path / "hf", TENSORS, **wrong)
    with pytest.raises(CorruptFileError, match=r"one number or \[3\]") as caught:
        converted(tmp_path / "hf", tmp_path / "out", STATIC)
    assert caught.value.param == "model.layers.0.mlp.down_proj.activation_scale"


def test_blocks_that_would_end_inside_of_others_are_refused(tmp_path: Path) -> None:
    write_repository(tmp_path / "hf", BLOCKS, wide=320)  # gate and up are stacked
    with pytest.raises(UnsupportedError, match="gate_proj.weight has 320 outputs") as caught:
        converted(tmp_path / "hf", tmp_path / "out")
    assert caught.value.param == "model.layers.0.mlp.gate_proj.weight"
    convert_model(open_source(tmp_path / "hf"), tmp_path / "again", quantization="q8f32_1")
    config = json.loads((tmp_path / "again" / "mlc-chat-config.json").read_text())
    assert config["quantization"] == "q8f32_1"
