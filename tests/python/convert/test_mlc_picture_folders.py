"""`-MLC` folders that MLC-LLM's converter made of models with towers: what is converted from
them is what the Hugging Face folder gives.

(Facts: mlc-ai/mlc-llm, python/mlc_llm/model: llava, phi3v.)
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_pictures
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.cli import parser_of
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.convert.mlc_folder import TYPES, MLCFolder
from mlc_llm.compiler.convert.mlc_writer import WeightWriter
from mlc_llm.compiler.quantization import StoredParam
from mlc_llm.compiler.quantization.pack import quantize_rows
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError
from mlc_llm.prepare.model_source import CONVERTED_FIRST, resolve_folder

sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))

from mlc_folder import mlc_tensors  # noqa: E402

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
CASES = ("llava", "phi3_v")
TEMPLATE = {
    "name": "llava",
    "system_template": "{system_message}",
    "system_message": "",
    "roles": {"user": "USER", "assistant": "ASSISTANT"},
    "role_templates": {"user": "{user_message}", "assistant": "{assistant_message}"},
    "seps": [" "],
    "role_content_sep": ": ",
    "role_empty_sep": ":",
    "stop_str": [],
    "stop_token_ids": [2],
}


def llava_tensors(weights: Arrays) -> Arrays:
    at = "language_model."
    text = {k.removeprefix(at): v for k, v in weights.items() if k.startswith(at)}
    found = {at + k: v for k, v in mlc_tensors({"model_type": "llama"}, text).items()}
    return found | {k: v for k, v in weights.items() if not k.startswith(at)}


def phi3_v_tensors(weights: Arrays) -> Arrays:
    found = {}
    for name, value in weights.items():
        if "vision_embed_tokens" in name:
            name = name.removeprefix("model.")
            for index, word in (("0", "linear_1"), ("2", "linear_2")):
                name = name.replace(f"img_projection.{index}.", f"img_projection.{word}.")
        else:
            for theirs, ours in {
                "model.embed_tokens": "model.embd",
                "model.layers.": "model.h.",
                ".input_layernorm.": ".ln.",
                ".self_attn.qkv_proj.": ".mixer.qkv_proj.",
                ".self_attn.o_proj.": ".mixer.out_proj.",
            }.items():
                name = name.replace(theirs, ours)
        found[name] = value
    return found


def llava_config(c: dict[str, Any]) -> dict[str, Any]:
    """As `ConfigBase.asdict` writes it: what a class does not know is in `kwargs`."""
    text, vision = dict(c["text_config"]), dict(c["vision_config"])
    known = ("hidden_size intermediate_size num_attention_heads num_hidden_layers rms_norm_eps "
             "vocab_size tie_word_embeddings num_key_value_heads head_dim").split()  # fmt: skip
    kept = {name: text.pop(name) for name in known}
    kept |= {
        "position_embedding_base": text.pop("rope_theta"),
        "rope_scaling": None,
        "context_window_size": text.pop("max_position_embeddings"),
        "prefill_chunk_size": 64,
        "kwargs": text,
    }
    sizes = ("hidden_size image_size intermediate_size num_attention_heads num_hidden_layers "
             "patch_size projection_dim num_channels").split()  # fmt: skip
    clip = {name: vision.pop(name) for name in sizes}
    del vision["layer_norm_eps"]
    return {
        "image_token_index": c["image_token_index"],
        "text_config": kept,
        "vision_config": {**clip, "vocab_size": None, "layer_norm_eps": 1e-6, "kwargs": vision},
        "vocab_size": c["text_config"]["vocab_size"],
        "sliding_window_size": -1,
        "text_architecture": "LlamaForCausalLM",
    }


def phi3_v_config(c: dict[str, Any]) -> dict[str, Any]:
    names = ("hidden_size vocab_size num_hidden_layers num_attention_heads intermediate_size "
             "rms_norm_eps num_key_value_heads max_position_embeddings "
             "original_max_position_embeddings head_dim").split()  # fmt: skip
    clip = {k: v for k, v in c["img_processor"].items() if k not in ("hidden_act", "name")}
    return {
        "model_type": "phi3_v",
        **{name: c[name] for name in names},
        "vision_config": {**clip, "projection_dim": 768, "vocab_size": None, "kwargs": {}},
        "img_processor": c["img_processor"],
        "position_embedding_base": c["rope_theta"],
        "rope_scaling": None,
    }


def is_quantized(name: str, value: Array) -> bool:
    is_tower = re.search("vision_tower|img_processor", name)
    return name.endswith(".weight") and value.ndim == 2 and not is_tower


def write_mlc(folder: Path, case: str, scheme: str = "q4f16_1") -> Path:
    folder.mkdir()
    c = tiny_pictures.config(case)
    tensors = globals()[f"{case}_tensors"](tiny_pictures.weights(c))
    dtype = "float32" if scheme.endswith("f32") or "f32" in scheme else "float16"
    writer = WeightWriter(folder)
    for name, value in tensors.items():
        if scheme[1] == "0" or not is_quantized(name, value):
            writer.add(StoredParam(name, value.shape, dtype), [value.astype(dtype)])
            continue
        module = name.removesuffix(".weight")
        words, scales = quantize_rows(value, bits=4, group_size=32, dtype=dtype)
        writer.add(StoredParam(f"{module}.q_weight", words.shape, "uint32"), [words])
        writer.add(StoredParam(f"{module}.q_scale", scales.shape, dtype), [scales])
    writer.finish(original_elements=1)
    inner = globals()[f"{case}_config"](c)
    context = c.get("text_config", c)["max_position_embeddings"]
    sizes = {"context_window_size": context, "prefill_chunk_size": 64, "sliding_window_size": -1}
    chat = {
        "version": "0.1.0",
        "model_type": case,
        "quantization": scheme,
        "model_config": {**inner, **sizes, "tensor_parallel_shards": 1, "max_batch_size": 1},
        "vocab_size": inner["vocab_size"],
        **sizes,
        "attention_sink_size": -1,
        "temperature": 0.25,
        "top_p": 0.5,
        "conv_template": TEMPLATE,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "tokenizer_files": ["tokenizer.json"],
    }
    (folder / "mlc-chat-config.json").write_text(json.dumps(chat))
    (folder / "tokenizer.json").write_bytes(tiny_pictures.tokenizer_json())
    return folder


def converted(source: Path, output: Path, scheme: str) -> tuple[dict[str, Any], Arrays]:
    """The config and the tensors."""
    convert_model(open_source(source), output, quantization=scheme)
    index, found = json.loads((output / "tensor-cache.json").read_text()), {}
    for shard in index["records"]:
        data = (output / shard["dataPath"]).read_bytes()
        for one in shard["records"]:
            part = data[one["byteOffset"] : one["byteOffset"] + one["nbytes"]]
            found[one["name"]] = np.frombuffer(part, one["dtype"]).reshape(one["shape"])
    return json.loads((output / "mlc-chat-config.json").read_text()), found


@pytest.mark.parametrize("scheme", ["q0f32", "q4f16_1"])
@pytest.mark.parametrize("case", CASES)
def test_it_becomes_what_the_repository_becomes(case: str, scheme: str, tmp_path: Path) -> None:
    theirs = write_mlc(tmp_path / "theirs", case, scheme)
    repository = tiny_pictures.write_hf_folder(tmp_path / "repository", case)
    chat, made = converted(theirs, tmp_path / "ours", scheme)
    expected, wanted = converted(repository, tmp_path / "expected", scheme)
    assert made.keys() == wanted.keys()
    for name, value in wanted.items():
        if made[name].dtype == np.uint32:
            assert np.array_equal(made[name], value), name
        elif name.endswith(".q_scale"):  # of weights that are rounded already
            np.testing.assert_array_max_ulp(made[name], value, 1)
        elif name.startswith("multi_modal_projector") and made[name].ndim == 2 and scheme[1] == "4":
            step = np.abs(value).max() / 7  # the folder has it in 4 bits
            assert np.abs(made[name] - value).max() <= step / 2 * 1.01, name
        else:
            assert np.array_equal(made[name], value), name
    assert chat["image_token_id"] == expected["image_token_id"]
    # of preprocessor_config.json, which the folder lacks
    own = {"mean", "std", "filter", "max_tiles", "shortest_edge"}
    for field, value in expected["pictures"].items():
        assert field in own or chat["pictures"][field] == value, field
    ours, sizes = chat["model_config"], expected["model_config"]
    assert {k: v for k, v in ours.items() if "tower" not in k} == {
        k: v for k, v in sizes.items() if "tower" not in k
    }
    assert chat["conv_template"] == TEMPLATE
    assert (chat["temperature"], chat["top_p"], chat["eos_token_id"]) == (0.25, 0.5, 2)
    if case == "phi3_v":
        assert chat["pictures"]["max_tiles"] == 16, "as MLC-LLM's code has it"


def test_the_toolchain_and_the_search_for_models_know_the_same_ones() -> None:
    assert sorted(TYPES) == sorted(CONVERTED_FIRST)


def test_a_model_argument_is_converted_to_its_own_quantization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    theirs = write_mlc(tmp_path / "theirs", "llava")
    folder = resolve_folder(str(theirs))
    chat = json.loads((folder / "mlc-chat-config.json").read_text())
    assert folder != theirs
    assert (chat["quantization"], chat["model_type"]) == ("q4f16_1", "llama")
    assert chat["pictures"]["layout"] == "cropped"
    assert resolve_folder(str(theirs)) == folder, "kept"


def test_the_command_converts_it(tmp_path: Path) -> None:
    theirs = write_mlc(tmp_path / "theirs", "llava")
    convert_model(open_source(theirs), tmp_path / "expected", quantization="q4f16_1")
    for words in (("convert_weight", theirs), ("gen_config", theirs / "mlc-chat-config.json")):
        run_command(*words, "-o", tmp_path / "ours")
    for path in (tmp_path / "expected").iterdir():
        ours = (tmp_path / "ours" / path.name).read_bytes()
        assert path.name == "mlc-chat-config.json" or ours == path.read_bytes(), path.name
    chat = json.loads((tmp_path / "ours/mlc-chat-config.json").read_text())
    assert (chat["quantization"], chat["pictures"]["layout"]) == ("q4f16_1", "cropped")
    with pytest.raises(InvalidRequestError, match="converted already"):
        run_command("convert_weight", tmp_path / "ours", "-o", tmp_path / "again")


def run_command(*words: Any) -> None:
    arguments = parser_of(words[0]).parse_args([str(word) for word in words])
    arguments.run(arguments)


def test_a_picture_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands on a line of its own, where MLC-LLM's conversation has it."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    picture = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(picture, "png")
    url = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
    text = {"type": "text", "text": "ab"}
    shown = [text, {"type": "image_url", "image_url": {"url": url}}]
    lengths = []
    with MLCEngine(write_mlc(tmp_path / "theirs", "llava"), device="cpu") as engine:
        for content in ("ab\n", shown):
            answer = engine.chat.completions.create(
                messages=[{"role": "user", "content": content}], max_tokens=1
            )
            assert answer.usage is not None
            lengths.append(answer.usage.prompt_tokens)
    assert lengths[1] == lengths[0] + 64


def test_damage_is_named(tmp_path: Path) -> None:
    theirs = write_mlc(tmp_path / "theirs", "llava")
    path, index = theirs / "mlc-chat-config.json", theirs / "tensor-cache.json"
    whole, places = path.read_text(), index.read_text()
    for scheme in ("q3f16_1", "q4f16_autoawq", "e4m3_e4m3_f16", "e5m2_e5m2_f16"):
        path.write_text(whole.replace("q4f16_1", scheme))
        with pytest.raises(UnsupportedError, match="groups of 32"):
            open_source(theirs)
    path.write_text(whole.replace("LlamaForCausalLM", "GPT"))
    with pytest.raises(UnsupportedError, match="text_architecture"):
        open_source(theirs).hf_config()
    path.write_text(whole)
    for old, new in (("linear_1.q_scale", "linear_1.q_x"), ("uint32", "uint8"), ("0.bin", "9.bin")):
        index.write_text(places.replace(old, new))
        with pytest.raises(CorruptFileError):
            MLCFolder(theirs).tensors()
    index.write_text(re.sub(r'("byteOffset": ?)[1-9]\d*', r"\g<1>0", places, count=1))
    with pytest.raises(CorruptFileError, match=r"tensor-cache.json: tensors .* share bytes"):
        MLCFolder(theirs).tensors()
    index.write_text(places)
    (theirs / "params_shard_0.bin").write_bytes(b"")
    with pytest.raises(CorruptFileError, match="cut off or damaged"):
        MLCFolder(theirs).tensors()
