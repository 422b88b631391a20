"""MLC-LLM's model keys: each is a family or refused with its reason, and the page says so. Each way
by which the page says that a family loads has a test that compares its tensors or logits, and each
family has one that turns its switches off."""

from __future__ import annotations

import json
from pathlib import Path

import family_fixtures
import gguf
import mlc_folder
import pytest
import test_encoder_fixtures
import test_experts_files
import test_families_gguf
import test_family_gguf_fixtures as gguf_fixtures
import test_mlc_folders
import tiny_encoders
import tiny_experts
from family_fixtures import stored

from mlc_llm.compiler import models
from mlc_llm.compiler.convert import open_source, write_config
from mlc_llm.compiler.models import mlc_keys
from mlc_llm.errors import UnsupportedError

PAGE = Path(__file__).parents[3] / "docs/model-keys.md"


def test_the_page_is_current():
    assert len(set(mlc_keys.KEYS)) == 47
    assert PAGE.read_text(encoding="utf-8") == mlc_keys.table(models.FAMILIES)


def test_what_is_supported_has_no_reason():
    assert mlc_keys.REASONS.keys().isdisjoint(models.FAMILIES)


@pytest.mark.parametrize("key", [key for key in mlc_keys.KEYS if key not in models.FAMILIES])
def test_a_refused_key_says_why(key):
    with pytest.raises(UnsupportedError) as caught:
        models.config_from_hf({"model_type": key})
    assert caught.value.param == "model_type"
    assert mlc_keys.REASONS[key] in str(caught.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [("mllama", "cross attention"), ("gemma3n", "Gemma 4"), ("moondream1", "see each other")],
)
def test_models_with_pictures_are_refused_with_a_reason(name, why, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": name, "text_config": {}}))
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", name)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    for path in (tmp_path, tmp_path / "model.gguf"):
        with pytest.raises(UnsupportedError, match=why):
            write_config(open_source(path), tmp_path / "out", quantization="q0f32")


def types_of(names: list[str]) -> set[str]:
    """The model types of fixtures."""
    return {stored(name)["config"]["model_type"] for name in names}


ENCODERS = {
    test_encoder_fixtures.stored(n)["config"]["model_type"] for n in test_encoder_fixtures.NAMES
}
SAME = {"roberta": "xlm-roberta", "granitemoeshared": "granitemoe"}  # one entry with two names
TESTED = {
    "Hugging Face": types_of(family_fixtures.NAMES)
    | tiny_experts.FAMILIES.keys()
    | tiny_encoders.FAMILIES.keys()
    | ENCODERS,
    "switches turned off": types_of(family_fixtures.NAMES)
    | tiny_experts.FAMILIES.keys()
    | ENCODERS,
    "GGUF": types_of([*gguf_fixtures.NAMES, *gguf_fixtures.CHANGED])
    | test_families_gguf.ARCHITECTURES.keys()
    | test_experts_files.ARCHITECTURES.keys()
    | tiny_encoders.FAMILIES.keys()
    | ENCODERS,
    "-MLC": types_of([*test_mlc_folders.NAMES, *test_mlc_folders.DIVIDED]) | {"bert"},
}


@pytest.mark.parametrize("way", TESTED)
def test_each_way_has_a_test(way):
    """(EmbeddingGemma's fixture has the type of Gemma 3.)"""
    lacks = set(mlc_keys.NOT_IN_LLAMA_CPP) if way == "GGUF" else set()
    if way == "-MLC":
        lacks = {name for name in models.FAMILIES if not mlc_keys.mlc_keys_of(name)}
    others = {*mlc_keys.OTHER_NAMES, "gemma-embedding"}
    names = {SAME.get(name, name) for name in models.FAMILIES.keys() - others}
    assert names - lacks == TESTED[way] & names - lacks
    for name, same in SAME.items():
        assert models.FAMILIES[name] is models.FAMILIES[same]


def test_the_rules_of_mlc_folders_are_of_its_keys():
    assert mlc_folder.RULES.keys() <= set(mlc_keys.KEYS)
