"""Configs and weights of Mamba 2 and Granite 4. Needs no compiler."""

from __future__ import annotations

from typing import Any

import gguf
import numpy as np
import pytest
from family_fixtures import load

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.errors import CorruptFileError, UnsupportedError

import gguf_file  # isort: skip  (its folder is in the path since family_fixtures)

NAMES = ["mamba2", "granitemoehybrid", "granitemoehybrid_dense"]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("mamba2", {"expand": 3}, "head_dim"),
    ("mamba2", {"n_groups": 3}, "n_groups"),
    ("mamba2", {"rms_norm": False}, "rms_norm"),
    ("mamba2", {"hidden_act": "gelu"}, "hidden_act"),
    ("mamba2", {"sliding_window_size": 64}, "sliding_window_size"),
    ("mamba2", {"time_step_limit": [0.01, 0.1]}, "time_step_limit"),
    ("granitemoehybrid", {"time_step_limit": [0.0, 0.1]}, "time_step_limit"),
    ("granitemoehybrid", {"time_step_limit": 0.1}, "time_step_limit"),
    ("granitemoehybrid", {"mamba_d_head": 32}, "mamba_d_head"),
    ("granitemoehybrid", {"mamba_n_groups": 3}, "mamba_n_groups"),
    ("granitemoehybrid", {"position_embedding_type": "alibi"}, "position_embedding_type"),
    ("granitemoehybrid", {"layer_types": ["mamba"] * 3 + ["window"]}, "layer_types"),
    ("granitemoehybrid", {"num_local_experts": None}, "num_experts"),
]


def kind(name: str) -> str:
    return str(load(name).config["model_type"])


@pytest.mark.parametrize("name", NAMES)
def test_a_written_config_means_the_same(name):
    typed = load(name).typed
    again = models.config_from_hf(typed.to_dict(), kind(name))
    assert again == typed
    assert models.get(kind(name)).decoder(again) == load(name).spec


@pytest.mark.parametrize(("name", "fields", "param"), REFUSED, ids=str)
def test_what_is_not_supported_is_refused_by_name(name, fields, param):
    with pytest.raises((UnsupportedError, CorruptFileError)) as caught:
        models.config_from_hf({**load(name).config, **fields})
    assert caught.value.param == param


@pytest.mark.parametrize(
    "fields",
    [
        {"layer_types": None, "layers_block_type": ["mamba", "mamba", "attention", "mamba"]},
        {"layer_types": ["linear_attention"] * 2 + ["full_attention", "linear_attention"]},
        {"mamba_d_head": "auto"},
        {"position_embedding_type": None},
        {"time_step_limit": [0.0, {"__float__": "Infinity"}]},
    ],
    ids=str,
)
def test_the_other_words_of_configs_mean_the_same(fields):
    fixture = load("granitemoehybrid")
    assert models.config_from_hf({**fixture.config, **fields}) == fixture.typed


@pytest.mark.parametrize("is_said", [True, False])
def test_a_gguf_file_that_does_not_say_so_is_rotated(is_said, tmp_path, monkeypatch):
    fixture, path = load("granitemoehybrid"), tmp_path / "model.gguf"
    if not is_said:
        monkeypatch.setattr(gguf.GGUFWriter, "add_rope_scaling_finetuned", lambda *_: None)
    gguf_file.write(path, fixture.config, fixture.weights)
    typed: Any = models.config_from_hf(GGUFModel(path).hf_config())
    assert typed.position_embedding_type == ("nope" if is_said else "rope")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [".A.", ".dt_bias.", ".D.", ".norm."])
def test_every_weight_of_a_mixer_moves_the_logits(name, weight):
    fixture = load(name)
    params = fixture.params()
    found = [key for key in params if "linear_attn" in key and weight in key]
    assert found
    for key in found:
        params[key] = np.full_like(params[key], 1.0 if weight == ".norm." else -0.1)
    made = reference.logits(fixture.spec, params, fixture.ids)
    assert np.abs(made - fixture.logits).max() > 0.01 * np.abs(fixture.logits).max()
