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
    options = {"quantization": "q4f16_1", "tower_quantization": "q8f32_1"}
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
    convert_model(open_source(repository), same, **{**options, "tower_quantization": "q0f16"})
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


def test_a_tower_of_8_bits_keeps_its_numbers(tmp_path: Path) -> None:
    """And is float16 if that is asked for."""
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", "smolvlm", in_octets=True)
    tower = path.parent / "mmproj-F16.gguf"
    out, half = tmp_path / "out", tmp_path / "half"
    convert_model(open_source(path, projector=tower), out, quantization="q0f16")
    chat, weights = config_of(out), tiny_models.read_mlc_folder(out)
    assert chat["tower_quantization"] == "q8f32_1"
    stored = gguf.GGUFReader(tower).tensors
    matrices = {t.name: t for t in stored if t.tensor_type == gguf.GGMLQuantizationType.Q8_0}
    (matrix,) = (t for name, t in matrices.items() if name == "v.blk.0.attn_out.weight")
    shape = tuple(int(n) for n in matrix.shape[::-1])
    scheme = quantization.get("q8f32_1")
    (found,) = scheme.matrices("a.weight", shape, "linear")
    module = "vision_tower.encoder.layers.0.self_attn.out_proj"
    made = found.floats([weights[f"{module}.{end}"] for end in ("q_weight", "q_scale")])
    expected = gguf.quants.dequantize(matrix.data, matrix.tensor_type)
    assert np.array_equal(made, expected)
    convert_model(
        open_source(path, projector=tower), half, quantization="auto", tower_quantization="q0f16"
    )
    assert "tower_quantization" not in config_of(half)
