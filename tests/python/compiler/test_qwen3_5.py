"""Configs of Qwen 3.5, its MoE and Qwen 3-Next. Needs no compiler."""

from __future__ import annotations

from typing import Any

import pytest
from family_fixtures import load

from mlc_llm.compiler import models
from mlc_llm.compiler.layers import MLPSpec, MoESpec
from mlc_llm.compiler.models.qwen3_5 import LINEAR
from mlc_llm.errors import CorruptFileError, UnsupportedError

FULL = "full_attention"


@pytest.mark.parametrize("name", ["qwen3_5", "qwen3_5_moe", "qwen3_next"])
def test_a_written_config_means_the_same(name):
    typed, kind = load(name).typed, load(name).config["model_type"]
    again = models.config_from_hf(typed.to_dict(), kind)
    assert again == typed
    assert models.get(kind).decoder(again) == load(name).spec


def test_layers_without_experts_have_a_plain_mlp():
    config = load("qwen3_next").config
    typed: Any = models.config_from_hf({**config, "mlp_only_layers": [1], "intermediate_size": 80})
    mlps = [layer.parts[1] for layer in models.get("qwen3_next").decoder(typed).layers]
    assert mlps[1] == MLPSpec(width=80)
    assert all(isinstance(mlp, MoESpec) for mlp in (mlps[0], *mlps[2:]))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"shared_expert_intermediate_size": None}, "shared_expert_intermediate_size"),
        ({"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ({"attn_output_gate": False}, "attn_output_gate"),
        ({"expert_bias_scale": 2.0}, "expert_bias_scale"),
    ],
    ids=str,
)
def test_what_the_moe_does_not_support_is_refused_by_name(fields, param):
    with pytest.raises((UnsupportedError, CorruptFileError)) as caught:
        models.config_from_hf({**load("qwen3_5_moe").config, **fields})
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({}, [LINEAR, FULL] * 2),
        ({"layer_types": None}, [LINEAR, FULL] * 2),
        ({"layer_types": None, "full_attention_interval": None}, [LINEAR] * 3 + [FULL]),
    ],
    ids=str,
)
def test_the_kinds_of_layers_are_read_or_come_from_their_interval(fields, kinds):
    typed: Any = models.config_from_hf({**load("qwen3_5").config, **fields})
    assert list(typed.layer_types) == kinds


def test_the_first_quarter_of_a_head_is_rotated_unless_the_config_says_otherwise():
    config = load("qwen3_5").config
    rope = {**config["rope_parameters"], "partial_rotary_factor": 0.5}
    given: Any = models.config_from_hf({**config, "rope_parameters": rope})
    del rope["partial_rotary_factor"]
    usual: Any = models.config_from_hf({**config, "rope_parameters": rope})
    assert (given.rope.dim, usual.rope.dim) == (16, 8)


def test_attention_without_its_gate_is_refused_by_name():
    with pytest.raises(UnsupportedError) as caught:
        models.config_from_hf({**load("qwen3_5").config, "attn_output_gate": False})
    assert caught.value.param == "attn_output_gate"
