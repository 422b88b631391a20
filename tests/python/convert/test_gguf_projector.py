"""GGUF models with the file of a tower beside them ("mmproj"): what their -MLC folder holds is what
that of the Hugging Face repository holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tiny_models
import tiny_pictures

from mlc_llm.compiler.convert import convert_model, notes, open_source
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError
from mlc_llm.prepare.local_model import projector_beside
from mlc_llm.prepare.model_source import resolve_folder, resolve_model
from mlc_llm.sdk.draft_model import ModelChoice, core_config

import tower_gguf  # isort: skip


def opened(path: Path) -> Any:
    return open_source(path, projector=projector_beside(path))


def converted(source: Any, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    convert_model(source, folder, quantization="q0f16")
    chat = json.loads((folder / "mlc-chat-config.json").read_text())
    return chat, tiny_models.read_mlc_folder(folder)


# What the files do not say: how a picture is resized, and LFM2-VL's tiles.
UNSAID = ["filter"]
PIXELS = ["min_pixels", "max_pixels"]
UNSAID_OF = {
    "lfm2_vl": ["tile", "min_tiles", "max_tiles", "split_above", *PIXELS],
    "gemma4": PIXELS,
    "minicpmv": ["max_tiles"],
}


@pytest.mark.parametrize("case", tower_gguf.KINDS)
def test_the_folder_is_that_of_the_repository(case: str, tmp_path: Path) -> None:
    repository = open_source(tiny_pictures.write_hf_folder(tmp_path / "hf", case))
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", case)
    source = opened(path)
    assert notes(source, "q0f16") == []
    chat, weights = converted(source, tmp_path / "one")
    expected, theirs = converted(repository, tmp_path / "two")
    said = dict.fromkeys(UNSAID + UNSAID_OF.get(case, []))
    assert chat["pictures"] | said == expected["pictures"] | said
    assert chat["image_token_id"] == expected["image_token_id"]
    assert weights.keys() == theirs.keys()
    towers = [name for name in weights if name.startswith(("vision_tower", "multi_modal"))]
    assert len(towers) > 15
    for name in towers:
        # the norm of Gemma 3 is stored plus one, so its last bit is lost
        np.testing.assert_allclose(weights[name], theirs[name], atol=2e-3, rtol=0, err_msg=name)
        assert (weights[name] == theirs[name]).mean() > 0.98, name


def test_the_types_of_the_file_are_those_of_its_text(tmp_path: Path) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf")
    convert_model(opened(path), tmp_path / "out", quantization="auto")
    chat = json.loads((tmp_path / "out/mlc-chat-config.json").read_text())
    assert chat["quantization"] == "q0f32"


def test_a_model_is_prepared_with_the_tower_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf")
    for model in (path, path.parent):
        folder = resolve_folder(model, progress=lambda _: None)
        chat = json.loads((folder / "mlc-chat-config.json").read_text())
        assert chat["pictures"]["layout"] == "tiles"
    (path.parent / "mmproj-F16.gguf").unlink()
    alone = resolve_folder(path, progress=lambda _: None)
    assert "pictures" not in json.loads((alone / "mlc-chat-config.json").read_text())


def test_a_model_is_prepared_with_the_tower_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As llama.cpp's --mmproj: for the CLI, the server and an engine's settings."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf")
    tower = (path.parent / "mmproj-F16.gguf").rename(tmp_path / "tower.gguf")

    said: list[str] = []

    def layout(mmproj: str) -> Any:
        config = {"mmproj": mmproj}
        choice = ModelChoice(path, None).library_settings(core_config(None, config))
        found = resolve_model(path, device="fake", **choice, progress=said.append)
        return found.config.get("pictures", {}).get("layout")

    assert layout(str(tower)) == "tiles"
    assert layout("none") is None
    with pytest.raises(UnsupportedError, match="some_merger") as refused:
        layout(str(unknown_tower(tmp_path)))
    assert refused.value.param == "mmproj"
    assert not [line for line in said if "some_merger" in line], "no other types are tried"
    unknown_tower(tmp_path).rename(path.parent / "mmproj-F16.gguf")
    text = resolve_folder(path, progress=lambda _: None)
    with pytest.raises(UnsupportedError, match="some_merger"):  # though the text is kept
        layout(str(path.parent / "mmproj-F16.gguf"))
    assert resolve_folder(path, progress=lambda _: None) == text


def unknown_tower(folder: Path) -> Path:
    writer = gguf.GGUFWriter(folder / "other.gguf", "clip")
    writer.add_clip_projector_type("some_merger")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return folder / "other.gguf"


def test_an_unknown_kind_of_tower_leaves_the_text(tmp_path: Path) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf")
    source = open_source(path, projector=unknown_tower(tmp_path))
    assert notes(source, "q0f16") == [
        "Only the text part of this model (other.gguf: some_merger) is read: it takes no pictures."
    ]
    chat, _ = converted(source, tmp_path / "out")
    assert "pictures" not in chat


def test_files_with_swapped_names_are_read(tmp_path: Path) -> None:
    """Those of llama.cpp's first converters."""
    pairs = [
        tiny_pictures.write_gguf_pair(tmp_path / str(swapped), swapped=swapped)
        for swapped in (False, True)
    ]
    right, other = (converted(opened(p), tmp_path / f"out-{p.parent.name}")[1] for p in pairs)
    for name, value in right.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("num_hidden_layers", 0, "clip.vision.block_count"),
        ("num_hidden_layers", 3, "model.vision_model.encoder.layers.2.layer_norm1.weight"),
        ("image_size", 4, "image_size"),
        ("num_attention_heads", 5, "num_attention_heads"),
        ("hidden_size", 32, "model.vision_model.embeddings.patch_embedding.weight"),
    ],
)
def test_a_damaged_file_is_a_typed_error(
    tmp_path: Path, field: str, value: int, param: str
) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", said={field: value})
    with pytest.raises(CorruptFileError) as error:
        convert_model(opened(path), tmp_path / "out", quantization="q0f16")
    assert error.value.param == param


def test_the_tower_of_another_text_is_left_out(tmp_path: Path) -> None:
    """Qwen 2.5's texts have the token of the pictures too, and may have the same width."""
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", "qwen2_vl", architecture="qwen2")
    source = opened(path)
    assert len(notes(source, "q0f16")) == 1
    chat, _ = converted(source, tmp_path / "out")
    assert "pictures" not in chat


@pytest.mark.parametrize(
    ("case", "said", "param"),
    [
        ("qwen2_5_vl", {"depth": 2**31 - 1}, "clip.vision.block_count"),
        ("qwen3_vl", {"deepstack_visual_indexes": [0]}, "clip.vision.is_deepstack_layers"),
        ("minicpmv", {"patch_size": 0}, "clip.vision.patch_size"),
    ],
)
def test_damaged_files_of_other_kinds_are_typed_errors(
    tmp_path: Path, case: str, said: dict[str, Any], param: str
) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf", case, said=said)
    with pytest.raises(CorruptFileError) as error:
        notes(opened(path), "q0f16")
    assert error.value.param == param


def test_other_versions_of_minicpmv_are_read_as_texts(tmp_path: Path) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path, "minicpmv", said={"minicpmv_version": 4})
    (note,) = notes(opened(path), "q0f16")
    assert "(mmproj-F16.gguf: resampler 4)" in note


def test_another_file_is_no_projector(tmp_path: Path) -> None:
    path = tiny_pictures.write_gguf_pair(tmp_path / "gguf")
    with pytest.raises(CorruptFileError, match="no projector"):
        notes(open_source(path, projector=path), "q0f16")
    with pytest.raises(NotFoundError):
        open_source(path, projector=tmp_path / "none.gguf")
