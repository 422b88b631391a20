"""Repositories that also take pictures: their text part becomes a model of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

pytest.importorskip("tvm")  # the helpers of the compiler's tests import it
sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))

import family_fixtures  # noqa: E402
import tiny_families  # noqa: E402

from mlc_llm.compiler import models  # noqa: E402
from mlc_llm.compiler.convert import notes  # noqa: E402
from mlc_llm.compiler.convert.hf import HuggingFaceFolder  # noqa: E402
from mlc_llm.errors import CorruptFileError, UnsupportedError  # noqa: E402

# The fixture of the text model, the repository's model_type, and what stands before tensors.
CASES = [
    ("gemma3_text", "gemma3", ("", "language_model.")),
    ("gemma3_text", "gemma3", ("model.", "model.language_model.")),
    ("qwen3_5", "qwen3_5", ("model.", "model.language_model.")),
    ("qwen3_5_moe", "qwen3_5_moe", ("model.", "model.language_model.")),
    ("gemma4_text", "gemma4", ("model.", "model.language_model.")),
    ("gemma4_experts", "gemma4", ("model.", "model.language_model.")),
    ("llama4_text", "llama4", ("", "language_model.")),
    ("ministral3", "mistral3", ("", "language_model.")),
]


def write(
    folder: Path, name: str, whole: str, prefix: tuple[str, str], **changes: Any
) -> dict[str, Any]:
    """Returns the config of the text model. `changes`: of its part in the repository."""
    fixture = family_fixtures.load(name)
    own, theirs = prefix
    tensors = {"vision_tower.patch.weight": np.zeros((4, 4), np.float32)}
    for key, value in fixture.weights.items():
        inside = key.startswith(own)
        tensors[theirs + key.removeprefix(own) if inside else key] = value
    save_file(tensors, folder / "model.safetensors")
    text = {k: v for k, v in fixture.config.items() if k not in ("architectures", "eos_token_id")}
    config = {
        "architectures": ["SomeForConditionalGeneration"],
        "model_type": whole,
        "text_config": {**text, **changes},
        "vision_config": {"model_type": "some_vision", "hidden_size": 4},
        "eos_token_id": fixture.config["eos_token_id"],
    }
    (folder / "config.json").write_text(json.dumps(config))
    return fixture.config


@pytest.mark.parametrize(
    ("name", "whole", "prefix", "has_head"),
    [
        ("ministral3", "mistral3", ("", "language_model."), True),
        ("gemma3_text", "gemma3", ("", "language_model."), False),
    ],
)
@pytest.mark.parametrize("said", [True, False])
def test_the_files_decide_where_the_config_is_unsure_of_the_head(
    name: str, whole: str, prefix: tuple[str, str], has_head: bool, said: bool, tmp_path: Path
) -> None:
    """The repository says one thing, its text the other. Saved fine-tunes of Mistral have a head
    beside a config that ties it."""
    plain = write(tmp_path, name, whole, prefix, tie_word_embeddings=not said)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tie_word_embeddings": said}))
    read = HuggingFaceFolder(tmp_path).hf_config()
    assert read["tie_word_embeddings"] is not has_head
    assert models.config_from_hf(read) == models.config_from_hf(plain)


@pytest.mark.parametrize(("name", "whole", "prefix"), CASES)
def test_the_text_model_comes_out(
    name: str, whole: str, prefix: tuple[str, str], tmp_path: Path
) -> None:
    plain = write(tmp_path, name, whole, prefix)
    source = HuggingFaceFolder(tmp_path)
    read = source.hf_config()
    assert models.model_type_of(read) == models.model_type_of(plain)
    assert models.config_from_hf(read) == models.config_from_hf(plain)
    assert read["eos_token_id"] == plain["eos_token_id"]
    wanted = family_fixtures.load(name).params()
    found = tiny_families.converted(source, read)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[key], value) for key, value in wanted.items())
    (note,) = notes(source, "q0f32")
    assert "text part" in note and whole in note and "pictures" in note


def test_a_null_in_the_text_part_is_no_value(tmp_path: Path) -> None:
    plain = write(tmp_path, *CASES[0], eos_token_id=None, tie_word_embeddings=None)
    read = HuggingFaceFolder(tmp_path).hf_config()
    assert read["eos_token_id"] == plain["eos_token_id"]
    assert models.config_from_hf(read) == models.config_from_hf(plain)


def test_a_damaged_word_about_the_head_is_named(tmp_path: Path) -> None:
    write(tmp_path, *CASES[0], tie_word_embeddings={})
    with pytest.raises(CorruptFileError) as error:
        models.config_from_hf(HuggingFaceFolder(tmp_path).hf_config())
    assert error.value.param == "tie_word_embeddings"


def test_a_damaged_name_of_the_text_is_named(tmp_path: Path) -> None:
    write(tmp_path, *CASES[0], model_type=["gemma3_text"])
    config = HuggingFaceFolder(tmp_path).hf_config()
    with pytest.raises(UnsupportedError, match="gemma3_text"):
        models.get(models.model_type_of(config))


def test_gemma_3_has_its_usual_sizes(tmp_path: Path) -> None:
    """google's 4B model gives no numbers of heads."""
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    text |= {"model_type": "gemma3_text", "sliding_window": 1024}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gemma3", "text_config": text}))
    typed: Any = models.config_from_hf(HuggingFaceFolder(tmp_path).hf_config())
    heads = typed.num_attention_heads, typed.num_key_value_heads, typed.head_dim
    assert heads == (8, 4, 256) and typed.vocab_size == 262208
    path.write_text(json.dumps({"model_type": "gemma3"}))
    with pytest.raises(CorruptFileError) as error:
        HuggingFaceFolder(tmp_path).hf_config()
    assert error.value.param == "text_config"
