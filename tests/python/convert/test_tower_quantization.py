"""`tower_quantization`: weights of 8 bits for what reads pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tiny_models
import tiny_pictures

from mlc_llm.compiler import quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert import convert_model, open_source, write_config
from mlc_llm.compiler.convert.tower import text_alone
from mlc_llm.errors import InvalidRequestError, UnsupportedError


def config_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "mlc-chat-config.json").read_text())
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tiny_pictures.write_hf_folder(tmp_path / "smolvlm")


def test_the_tower_has_weights_of_8_bits_if_they_are_asked_for(
    repository: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"quantization": "q4f16_1", "tower_quantization": "q8f32_1"}
    out, alone, same = (tmp_path / name for name in ("out", "config", "same"))
    convert_model(open_source(repository), out, **options)
    chat = config_of(out)
    assert chat["tower_quantization"] == "q8f32_1"
    index = json.loads((out / "tensor-cache.json").read_text())
    stored = {r["name"] for shard in index["records"] for r in shard["records"]}
    layer = "vision_tower.encoder.layers.0"
    assert {f"{layer}.mlp.fc1.{end}" for end in ("q_weight", "q_scale", "bias")} <= stored
    assert "vision_tower.embeddings.patch_embedding.weight" in stored, "108 inputs"
    write_config(open_source(repository), alone, **options)
    assert config_of(alone) == chat
    options["tower_quantization"] = "q0f16"
    convert_model(open_source(repository), same, **options)
    assert "tower_quantization" not in config_of(same)


def test_other_weights_of_a_tower_are_typed_errors(repository: Path, tmp_path: Path) -> None:
    def refused(source: Any, named: Any) -> None:
        with pytest.raises((UnsupportedError, InvalidRequestError)) as error:
            options: dict[str, Any] = {"quantization": "q0f32", "tower_quantization": named}
            convert_model(source, tmp_path / "out", **options)
        assert error.value.param == "tower_quantization"

    refused(open_source(repository), "q4f16_1")
    refused(text_alone(open_source(repository)), "q8f32_1")
    write_config(open_source(repository), tmp_path / "out", quantization="q0f32")
    for damaged in (8, ["q8f32_1"], ""):
        chat = config_of(tmp_path / "out") | {"tower_quantization": damaged}
        with pytest.raises(UnsupportedError) as error:
            library_spec(chat, device="cpu")
        assert error.value.param == "tower_quantization"


MODULE = "vision_tower.encoder.layers.0.self_attn.out_proj"  # in files: v.blk.0.attn_out


@pytest.mark.parametrize("in_octets", [False, True])
def test_the_tower_of_a_gguf_file_has_floats_unless_8_bits_are_asked_for(
    tmp_path: Path, in_octets: bool
) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", "smolvlm", in_octets=in_octets)
    tower = path.parent / "mmproj-F16.gguf"
    for asked in (None, "q0f16", "q8f32_1"):
        out = tmp_path / str(asked)
        source = open_source(path, projector=tower)
        convert_model(source, out, quantization="q4f16_1", tower_quantization=asked)
        weights = tiny_models.read_mlc_folder(out)
        if asked == "q8f32_1":
            assert config_of(out)["tower_quantization"] == asked
            assert f"{MODULE}.q_weight" in weights
        else:
            assert "tower_quantization" not in config_of(out)
            assert weights[f"{MODULE}.weight"].dtype == np.float16


def test_matrices_in_q8_0_keep_their_numbers_if_8_bits_are_asked_for(tmp_path: Path) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", "smolvlm", in_octets=True)
    tower, out = path.parent / "mmproj-F16.gguf", tmp_path / "out"
    options: dict[str, Any] = {"quantization": "q0f16", "tower_quantization": "q8f32_1"}
    convert_model(open_source(path, projector=tower), out, **options)
    weights, stored = tiny_models.read_mlc_folder(out), gguf.GGUFReader(tower).tensors
    (matrix,) = (tensor for tensor in stored if tensor.name == "v.blk.0.attn_out.weight")
    assert matrix.tensor_type == gguf.GGMLQuantizationType.Q8_0
    ins, outs = map(int, matrix.shape)
    (scheme,) = quantization.get("q8f32_1").matrices("a.weight", (outs, ins), "linear")
    made = scheme.floats([weights[f"{MODULE}.{end}"] for end in ("q_weight", "q_scale")])
    assert np.array_equal(made, gguf.quants.dequantize(matrix.data, matrix.tensor_type))


@pytest.mark.parametrize(
    ("text", "dtype"), [("q0f32", "float32"), ("q0bf16", "bfloat16"), ("q4f16_1", "float16")]
)
def test_floats_of_a_tower_are_those_of_the_text(
    repository: Path, tmp_path: Path, text: str, dtype: str
) -> None:
    """Where its scheme has floats; `q0f16` asks for floats, not for 16 bits."""
    options: dict[str, Any] = {"quantization": text, "tower_quantization": "q0f16"}
    convert_model(open_source(repository), tmp_path / "out", **options)
    index = json.loads((tmp_path / "out/tensor-cache.json").read_text())
    types = {r["name"]: r["dtype"] for shard in index["records"] for r in shard["records"]}
    assert types[f"{MODULE}.weight"] == dtype
