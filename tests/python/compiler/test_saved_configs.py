"""Models that transformers 5 has saved: its config.json says more than that of the repository, and
some in other words (`tests/fixtures/saved`)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spec_switches
import tiny_families
from family_fixtures import load

from mlc_llm.compiler import models
from mlc_llm.compiler.layers import AttentionSpec, Growth
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.errors import MLCError

SAVED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures/saved/saved.json").read_text("utf-8")
)
VERSION = SAVED.pop("transformers")
FULL, SLIDING = "full_attention", "sliding_attention"


def spec_of(config: dict[str, Any]) -> DecoderSpec:
    """Without an MTP layer: transformers writes that there is one, and saves none."""
    name = models.model_type_of(config)
    typed = models.config_from_hf(config)
    assert models.config_from_hf(typed.to_dict(), name) == typed, "our own folder says it too"
    return replace(models.get(name).decoder(typed), draft=None)


def changed(name: str, **fields: Any) -> DecoderSpec:
    return spec_of({**load(name).config, **fields})


# transformers takes the length of the training from `rope_scaling` alone, and the fixture has it
# outside; published configs have it in both places.
_LENGTH_OUTSIDE = "phimoe"


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_config_is_the_same_model(name: str) -> None:
    config, found = load(name).config, SAVED[name]
    if name == _LENGTH_OUTSIDE:
        length = {"original_max_position_embeddings": config["original_max_position_embeddings"]}
        found = {**found, "rope_parameters": {**found["rope_parameters"], **length}}
    assert spec_of(found) == spec_of(config)


def test_most_families_are_there() -> None:
    assert VERSION.startswith("5.") and len(SAVED) >= 61
    assert any("layer_types" in config for config in SAVED.values())
    assert all("rope_scaling" not in config for config in SAVED.values())


@pytest.mark.parametrize("name", ["qwen2", "qwen3", "qwen2_moe"])
def test_layer_types_count_beside_the_field_they_were_made_from(name: str) -> None:
    """transformers 4.53 and later write both."""
    window = {"use_sliding_window": True, "sliding_window": 8}
    plain = changed(name, **window, max_window_layers=2)
    kinds = [FULL, FULL, SLIDING, SLIDING]
    assert changed(name, **window, max_window_layers=2, layer_types=kinds) == plain
    assert [layer.parts[0].look_back for layer in plain.layers] == [-1, -1, 8, 8]
    whole = {"use_sliding_window": False, "max_window_layers": 28, "layer_types": [FULL] * 4}
    assert changed(name, **whole) == changed(name)


def test_every_layer_of_qwen3_moe_has_its_window() -> None:
    window = {"use_sliding_window": True, "sliding_window": 8}
    for more in ({}, {"max_window_layers": 28}):
        made = changed("qwen3_moe", **window, **more)
        assert [layer.parts[0].look_back for layer in made.layers] == [8] * 4


@pytest.mark.parametrize("name", ["deepseek_v2", "deepseek_v3", "minicpm3"])
def test_a_heads_whole_width_is_checked(name: str) -> None:
    config = load(name).config
    whole = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    assert changed(name, qk_head_dim=whole) == changed(name)
    with pytest.raises(MLCError) as caught:
        changed(name, qk_head_dim=whole + 1)
    assert caught.value.param == "qk_head_dim"


@pytest.mark.parametrize(
    ("fields", "turned"),
    [
        ({"sliding_window": 8, "layer_types": [FULL] * 4}, [False] * 4),
        ({"sliding_window": 8, "layer_types": [SLIDING] * 4}, [True] * 4),
        ({"sliding_window": None, "layer_types": [FULL] * 4}, [True] * 4),
        ({"sliding_window": None, "layer_types": None}, [True] * 4),
        ({"sliding_window": None, "sliding_window_pattern": 0}, [True] * 4),
        ({"sliding_window": 8, "layer_types": None}, [True] * 3 + [False]),
    ],
    ids=str,
)
def test_layers_of_exaone4_without_the_window_have_no_rotation(
    fields: dict[str, Any], turned: list[bool]
) -> None:
    made = changed("exaone4", **fields)
    assert [a.rope is not None for a in spec_switches.parts_of(made, AttentionSpec)] == turned


def test_ministral3_grows_with_the_usual_rotation_too() -> None:
    usual = {"rope_type": "default", "rope_theta": 1e4, "llama_4_scaling_beta": 0.4}
    made = changed("ministral3", rope_parameters={**usual, "original_max_position_embeddings": 6})
    first = made.layers[0].parts[0]
    assert first.growth == Growth(0.4, 6)
    inside = {**usual, "original_max_position_embeddings": 6}
    made = changed("ministral3", rope_parameters=inside, original_max_position_embeddings=9)
    assert made.layers[0].parts[0].growth.length == 6  # as the rotation has it
    nothing = {**usual, "original_max_position_embeddings": None}
    made = changed("ministral3", rope_parameters=nothing, original_max_position_embeddings=9)
    assert made.layers[0].parts[0].growth.length == 9
    with pytest.raises(MLCError) as caught:
        changed("ministral3", rope_parameters=usual)
    assert caught.value.param == "rope_parameters"


@pytest.mark.parametrize("name", ["phi", "gptj", "phimoe"])
def test_a_tied_head_with_a_bias_is_refused(name: str) -> None:
    """The bias was left out without a word."""
    with pytest.raises(MLCError) as caught:
        changed(name, tie_word_embeddings=True)
    assert caught.value.param == "tie_word_embeddings"


@pytest.mark.parametrize("whole", ["qwen3_5", "gemma3", "mistral3", "llama4"])
@pytest.mark.parametrize("tied", [True, False])
def test_whose_word_about_the_head_counts(whole: str, tied: bool) -> None:
    config = {
        "model_type": whole,
        "tie_word_embeddings": tied,
        "text_config": {"tie_word_embeddings": not tied},
    }
    found = text_part(config)
    assert found is not None
    assert found["tie_word_embeddings"] == (tied if whole != "llama4" else not tied)
    for has_head in (True, False):
        found = text_part(config, has_head)
        assert found is not None
        own = not tied if whole == "llama4" else not has_head
        assert found["tie_word_embeddings"] == own


def test_experts_that_lie_apart_are_those_of_one_tensor() -> None:
    """So transformers saves a Qwen 3.5-MoE that it did not load."""
    fixture = load("qwen3_5_moe")
    apart: dict[str, Any] = {}
    for name, value in fixture.weights.items():
        head, is_stacked, last = name.rpartition(".experts.")
        if not is_stacked:
            apart[name] = value
            continue
        halves = ("gate_proj", "up_proj") if last == "gate_up_proj" else ("down_proj",)
        for i, expert in enumerate(value):
            for half, rows in zip(halves, np.split(expert, len(halves)), strict=True):
                apart[f"{head}.experts.{i}.{half}.weight"] = rows
    assert len(apart) > len(fixture.weights)
    found = tiny_families.converted(tiny_families.Source(apart), fixture.config)
    wanted = fixture.params()
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)
