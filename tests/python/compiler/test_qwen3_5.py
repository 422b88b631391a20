"""Configs of Qwen 3.5. Needs no compiler."""

from __future__ import annotations

from typing import Any

import pytest
from family_fixtures import load

from mlc_llm.compiler import models
from mlc_llm.compiler.models.qwen3_5 import LINEAR
from mlc_llm.errors import UnsupportedError

FULL = "full_attention"


def test_a_written_config_means_the_same():
    typed = load("qwen3_5").typed
    again = models.config_from_hf(typed.to_dict(), "qwen3_5_text")
    assert again == typed
    assert models.get("qwen3_5_text").decoder(again) == load("qwen3_5").spec


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
