"""Repositories that take pictures: their tower stays, if it is a known one and its weights are
there, and their text answers as the text model alone does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import tiny_pictures
from safetensors.numpy import load_file, save_file

from mlc_llm import MLCEngine
from mlc_llm.cli import parser_of
from mlc_llm.compiler.calibrate import importance_of
from mlc_llm.compiler.convert import convert_model, notes, open_source, write_config
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError
from mlc_llm.prepare.model_source import resolve_model

TEXT_ALONE = "Only the text part of this model (smolvlm) is read: it takes no pictures."


def config_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "mlc-chat-config.json").read_text())
    return found


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def without(folder: Path, word: str) -> None:
    """Takes the tensors with this word out of the files."""
    path = folder / "model.safetensors"
    save_file({k: v for k, v in load_file(path).items() if word not in k}, path)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tiny_pictures.write_hf_folder(tmp_path / "smolvlm")


def test_the_tower_is_converted_and_described(repository: Path, tmp_path: Path) -> None:
    source, out = open_source(repository), tmp_path / "out"
    assert notes(source, "q4f16_1") == []
    convert_model(source, out, quantization="q4f16_1")
    chat = config_of(out)
    pictures = chat["pictures"]
    assert pictures["layout"] == "tiles"
    assert (pictures["tile"], pictures["longest_edge"]) == (48, 192)
    assert (pictures["patch_size"], pictures["merge"], pictures["columns"]) == (6, 2, 8)
    assert (pictures["mean"], pictures["filter"]) == ([0.5, 0.4, 0.6], "lanczos")
    assert chat["image_token_id"] == tiny_pictures.TOKENS.index("<image>")
    index = json.loads((out / "tensor-cache.json").read_text())
    stored = {r["name"]: r["dtype"] for shard in index["records"] for r in shard["records"]}
    tower = {k: v for k, v in stored.items() if k.startswith(("vision_tower.", "multi_modal"))}
    assert set(tower.values()) == {"float16"}
    assert len(tower) == 5 + 2 * 12 + 1
    alone = tmp_path / "config"
    write_config(open_source(repository), alone, quantization="q4f16_1")
    assert config_of(alone) == chat


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("idefics3", {"layout": "tiles", "tile": 48, "merge": 2}),
        ("gemma3", {"layout": "stretched", "size": [48, 48], "merge": 2, "filter": "lanczos"}),
        ("gemma3", {"split": False, "max_tiles": 4, "min_tile": 256, "split_ratio": 1.2}),
        ("llava", {"layout": "cropped", "shortest_edge": 48, "crop": [48, 48], "merge": 1}),
        ("llava_next", {"layout": "any_resolution", "tile": 48, "merge": 1}),
        ("phi3_v", {"layout": "high_definition", "tile": 48, "max_tiles": 4, "merge": 2}),
        ("internvl", {"layout": "closest_grid", "tile": 32, "max_tiles": 4, "merge": 2}),
        ("internvl_chat", {"layout": "closest_grid", "tile": 32, "max_tiles": 4, "merge": 2}),
        ("lfm2_vl", {"layout": "closest_grid", "tile": 32, "split_above": 2048, "columns": 0}),
        ("gemma4", {"layout": "filled", "merge": 3, "max_pixels": 70 * 144, "mean": [0.5] * 3}),
        ("pixtral", {"layout": "bounded", "longest_edge": 48, "merge": 1, "columns": 0}),
        ("mistral3", {"layout": "bounded", "longest_edge": 48, "merge": 2, "columns": 0}),
    ],
)
def test_each_family_is_described(case: str, expected: dict[str, Any], tmp_path: Path) -> None:
    source = open_source(tiny_pictures.write_hf_folder(tmp_path / case, case))
    assert notes(source, "q0f32") == []
    side = expected.get("tile", 48)
    edit(tmp_path / case / "preprocessor_config.json", size=side, crop_size=48)
    convert_model(source, tmp_path / "out", quantization="q0f32")
    chat = config_of(tmp_path / "out")
    assert {name: chat["pictures"][name] for name in expected} == expected
    assert chat["image_token_id"] == tiny_pictures.TOKENS.index(tiny_pictures.row_word(case))
    assert chat["pictures"].get("rows_see_each_other", False) == (case == "gemma3")


@pytest.mark.parametrize("case", tiny_pictures.tower_qwen.CASES)
def test_qwens_are_described(case: str, tmp_path: Path) -> None:
    folder = tiny_pictures.write_hf_folder(tmp_path / case, case)
    assert notes(open_source(folder), "q0f32") == []
    convert_model(open_source(folder), tmp_path / "out", quantization="q0f32")
    chat = config_of(tmp_path / "out")
    expected = {"layout": "multiples", "rotary": True, "marker": "<|image_pad|>", "columns": 0}
    expected |= {"min_pixels": 144, "max_pixels": 16384, "merge": 2, "patch_size": 6}
    assert {name: chat["pictures"][name] for name in expected} == expected
    assert chat["image_token_id"] == tiny_pictures.TOKENS.index("<|image_pad|>")


def test_qwens_of_transformers_5_are_the_same(tmp_path: Path) -> None:
    """It saves the text's fields apart, with other names of tensors and of the text model."""
    old = tiny_pictures.write_hf_folder(tmp_path / "old", "qwen2_vl")
    new = tiny_pictures.write_hf_folder(tmp_path / "new", "qwen2_vl")
    config = json.loads((new / "config.json").read_text())
    kept = ("architectures", "model_type", "vision_config", "image_token_id")
    text = {k: v for k, v in config.items() if k not in kept}
    text["rope_parameters"] = {"rope_theta": text.pop("rope_theta"), **text.pop("rope_scaling")}
    text |= {"model_type": "qwen2_vl_text", "layer_types": ["full_attention"] * 2}
    vision = {**config["vision_config"], "model_type": "qwen2_vl_vision", "in_channels": 3}
    vision["rope_parameters"] = {"rope_theta": 10000.0, "rope_type": "axial"}
    whole = {k: config[k] for k in kept} | {"text_config": text, "vision_config": vision}
    (new / "config.json").write_text(json.dumps(whole))
    path = new / "model.safetensors"
    renamed = {
        f"model.{k}" if k.startswith("visual.") else k.replace("model.", "model.language_model."): v
        for k, v in load_file(path).items()
    }
    save_file(renamed, path)
    for folder in (old, new):
        convert_model(open_source(folder), folder / "out", quantization="q4f16_1")
    one, other = (config_of(folder / "out") for folder in (old, new))
    for chat in (one, other):
        assert chat["model_config"]["tower_config"].pop("vision_config")
    assert one == other
    weights = [path.name for path in (old / "out").glob("params*")]
    assert weights and all(
        (old / "out" / name).read_bytes() == (new / "out" / name).read_bytes() for name in weights
    )


def test_qwens_pictures_have_a_cap(tmp_path: Path) -> None:
    """Published files allow 16,384 rows; a row is 12 x 12 pixels here."""
    folder = tiny_pictures.write_hf_folder(tmp_path / "a", "qwen3_vl")
    size = {"shortest_edge": 65536, "longest_edge": 16777216}
    edit(folder / "preprocessor_config.json", size=size, min_pixels=None, max_pixels=None)
    write_config(open_source(folder), tmp_path / "out", quantization="q0f32")
    pictures = config_of(tmp_path / "out")["pictures"]
    assert (pictures["min_pixels"], pictures["max_pixels"]) == (65536, 1280 * 12 * 12)


@pytest.mark.parametrize(
    ("case", "field", "value"),
    [
        ("qwen2_vl", "num_heads", 3),
        ("qwen2_5_vl", "window_size", 6),
        ("qwen2_5_vl", "fullatt_block_indexes", [3]),
        ("qwen2_5_vl", "out_hidden_size", 32),
        ("qwen3_vl", "num_position_embeddings", 24),
        ("qwen3_vl", "deepstack_visual_indexes", [2, 0]),
    ],
)
def test_errors_of_qwens_tower_name_the_field(
    case: str, field: str, value: Any, tmp_path: Path
) -> None:
    vision = {**tiny_pictures.config(case)["vision_config"], field: value}
    folder = tiny_pictures.write_hf_folder(tmp_path / "a", case, vision_config=vision)
    with pytest.raises(CorruptFileError) as error:
        notes(open_source(folder), "q0f32")
    assert error.value.param == field


@pytest.mark.parametrize(("sections", "when"), [([2, 3], "notes"), ([2, 3, 4], "compile")])
def test_qwens_three_positions_are_checked(sections: Any, when: str, tmp_path: Path) -> None:
    rope = {"type": "mrope", "mrope_section": sections}
    folder = tiny_pictures.write_hf_folder(tmp_path / "a", "qwen2_vl", rope_scaling=rope)
    with pytest.raises(CorruptFileError) as error:
        if when == "notes":
            notes(open_source(folder), "q0f32")
        else:
            resolve_model(str(folder), quantization="q0f32", progress=lambda _: None)
    assert error.value.param == "mrope_section"


@pytest.mark.parametrize(
    ("case", "fields", "param"),
    [
        ("internvl", {"size": 48}, "size"),
        ("llava_next", {"size": {"shortest_edge": 96}}, "size"),
        ("llava_next", {"crop_size": {"height": 48, "width": 24}}, "crop_size"),
        ("llava_next", {"do_pad": False}, "do_pad"),
        ("lfm2_vl", {"tile_size": 64}, "tile_size"),
        ("mistral3", {"size": {"height": 32, "width": 48}}, "size"),
        ("mistral3", {"size": {"longest_edge": 80}}, "longest_edge"),
        ("gemma4", {"max_soft_tokens": 140}, "max_soft_tokens"),
        ("minicpmv", {"scale_resolution": 48}, "scale_resolution"),
        ("minicpmv", {"scale_resolution": 26}, "scale_resolution"),
    ],
)
def test_tiles_fit_the_tower(case: str, fields: dict, param: str, tmp_path: Path) -> None:
    source = open_source(tiny_pictures.write_hf_folder(tmp_path / case, case))
    edit(tmp_path / case / "preprocessor_config.json", **fields)
    with pytest.raises(UnsupportedError) as error:
        write_config(source, tmp_path / "out", quantization="q0f32")
    assert error.value.param == param


@pytest.mark.parametrize(
    ("case", "fields", "param"),
    [
        ("internvl", {"min_patches": 9, "max_patches": 2}, "min_tiles"),
        ("llava_next", {"image_grid_pinpoints": [[24 * 17, 24 * 16]]}, "image_grid_pinpoints"),
        ("llava_next", {"image_grid_pinpoints": 257 * [[24, 24]]}, "image_grid_pinpoints"),
        ("gemma3", {"do_pan_and_scan": 1}, "do_pan_and_scan"),
        ("gemma3", {"pan_and_scan_max_num_crops": 300}, "pan_and_scan_max_num_crops"),
        ("gemma3", {"pan_and_scan_min_crop_size": 3}, "pan_and_scan_min_crop_size"),
        (
            "gemma3",
            {"pan_and_scan_min_ratio_to_activate": "1.2"},
            "pan_and_scan_min_ratio_to_activate",
        ),
    ],
)
def test_numbers_of_tiles_are_the_cores(
    case: str, fields: dict, param: str, tmp_path: Path
) -> None:
    source = open_source(tiny_pictures.write_hf_folder(tmp_path / case, case))
    edit(tmp_path / case / "preprocessor_config.json", **fields)
    with pytest.raises(CorruptFileError) as error:
        write_config(source, tmp_path / "out", quantization="q0f32")
    assert error.value.param == param


@pytest.mark.parametrize("layer", [[-2, -3], 4, "-2"])
def test_llavas_layer_is_checked(tmp_path: Path, layer: Any) -> None:
    folder = tiny_pictures.write_hf_folder(tmp_path / "a", "llava", vision_feature_layer=layer)
    with pytest.raises((CorruptFileError, UnsupportedError)) as error:
        notes(open_source(folder), "q0f32")
    assert getattr(error.value, "param", None) == "vision_feature_layer"


def test_a_text_measures_the_weights_of_a_model_with_a_tower(repository: Path) -> None:
    found = importance_of(open_source(repository), list(range(3, 40)))
    assert "model.layers.0.mlp.down_proj.weight" in found
    assert not any(name.startswith("vision_tower") for name in found)


def test_newer_repositories_say_it_in_processor_config(repository: Path, tmp_path: Path) -> None:
    (repository / "preprocessor_config.json").unlink()
    processor = {"image_processor": {"resample": 3, "do_image_splitting": False}}
    (repository / "processor_config.json").write_text(json.dumps(processor))
    write_config(open_source(repository), tmp_path / "out", quantization="q0f32")
    pictures = config_of(tmp_path / "out")["pictures"]
    assert (pictures["filter"], pictures["split"]) == ("bicubic", False)
    assert (pictures["mean"], pictures["tile"]) == ([0.5, 0.5, 0.5], 48)


def test_a_repository_without_its_tower_is_a_text_model(repository: Path, tmp_path: Path) -> None:
    without(repository, "vision_model")
    without(repository, "connector")
    source = open_source(repository)
    assert notes(source, "q4f16_1") == [TEXT_ALONE]
    convert_model(source, tmp_path / "out", quantization="q4f16_1")
    assert "pictures" not in config_of(tmp_path / "out")


def test_a_folder_without_its_tower_if_the_user_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--mmproj none`."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    said: list[str] = []
    options: dict[str, Any] = {"quantization": "q0f32", "device": "fake"}
    alone, again = (
        resolve_model(repository, mmproj="none", progress=said.append, **options) for _ in "12"
    )
    whole = resolve_model(repository, progress=said.append, **options)
    assert "pictures" in whole.config and "pictures" not in alone.config
    assert "tower_config" not in alone.config["model_config"]
    assert alone.folder == again.folder != whole.folder
    assert said.count(TEXT_ALONE) == 1
    with pytest.raises(InvalidRequestError, match="its text alone") as refused:
        resolve_model(whole.folder, mmproj="none", device="fake")
    assert refused.value.param == "mmproj"
    mlc_llm = ("gen_config", str(repository), "--mmproj", "none", "-o", str(tmp_path / "out"))
    arguments = parser_of("gen_config").parse_args(mlc_llm)
    arguments.run(arguments)
    assert "pictures" not in config_of(tmp_path / "out")


def test_a_folder_that_has_no_tower_is_converted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    source = tiny_models.write_hf_folder(tmp_path / "text", tiny_models.random_weights())
    options: dict[str, Any] = {
        "quantization": "q0f32",
        "device": "fake",
        "progress": lambda _: None,
    }
    alone = resolve_model(source, mmproj="none", **options)
    assert resolve_model(source, **options).folder == alone.folder


def test_an_unknown_kind_of_tower_is_left_out(repository: Path) -> None:
    edit(repository / "config.json", vision_config={"model_type": "some_vision"})
    assert notes(open_source(repository), "q4f16_1") == [TEXT_ALONE]


def test_a_missing_tensor_of_a_tower_is_named(repository: Path, tmp_path: Path) -> None:
    without(repository, "layers.1.mlp.fc1.bias")
    with pytest.raises(CorruptFileError) as error:
        convert_model(open_source(repository), tmp_path / "out", quantization="q4f16_1")
    assert error.value.param == "model.vision_model.encoder.layers.1.mlp.fc1.bias"


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("image_mean", [0.5, 0.5], CorruptFileError),
        ("image_std", [0.5, 0, 0.5], CorruptFileError),
        ("image_std", [0.5, "0.5", 0.5], CorruptFileError),
        ("resample", 0, UnsupportedError),
        ("do_image_splitting", "yes", CorruptFileError),
        ("max_image_size", -1, CorruptFileError),
        ("size", {"longest_edge": "48"}, CorruptFileError),
    ],
)
def test_errors_name_the_field(
    repository: Path, tmp_path: Path, name: str, value: Any, kind: type[Exception]
) -> None:
    edit(repository / "preprocessor_config.json", **{name: value})
    with pytest.raises(kind) as error:
        write_config(open_source(repository), tmp_path / "out", quantization="q0f32")
    inner = next(iter(value)) if isinstance(value, dict) else name
    assert getattr(error.value, "param", None) == inner
    assert str(error.value).startswith("preprocessor_config.json: ")


@pytest.mark.parametrize("changes", [{"hidden_size": 63}, {"image_size": 4}, {"patch_size": "6"}])
def test_errors_of_the_towers_config_name_the_field(
    repository: Path, changes: dict[str, Any]
) -> None:
    vision = {**tiny_pictures.config()["vision_config"], **changes}
    edit(repository / "config.json", vision_config=vision)
    with pytest.raises(CorruptFileError) as error:
        notes(open_source(repository), "q4f16_1")
    assert error.value.param in {*changes, "num_attention_heads"}


def test_texts_are_answered_as_by_the_text_model(
    repository: Path, tmp_path: Path, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
    c = tiny_pictures.config()
    text = {
        name.replace("model.text_model.", "model."): value
        for name, value in tiny_pictures.weights(c).items()
        if "text_model" in name or name == "lm_head.weight"
    }
    ids = {name: c[name] for name in ("bos_token_id", "eos_token_id")}
    alone = tiny_models.write_hf_folder(tmp_path / "text", text, **c["text_config"], **ids)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (alone / name).write_bytes((repository / name).read_bytes())
    answers = []
    for folder in (repository, alone):
        model = resolve_model(folder, quantization="q4f32_1", progress=lambda _: None)
        with MLCEngine(str(model.folder), model_lib=str(model.model_lib)) as engine:
            made = engine.chat.completions.create(
                messages=[{"role": "user", "content": "th"}], max_tokens=12, temperature=0.0
            )
            answers.append(made.choices[0].message.content)
    assert answers[0] == answers[1]
    assert answers[0]
    assert np.mean([len(answer) for answer in answers]) > 4
