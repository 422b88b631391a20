"""The fixtures of families by way of GGUF: a file as llama.cpp writes it gives the same logits.

`test_families_gguf.py` compares the weights one by one; here the whole config comes from the file.
"""

from __future__ import annotations

import family_fixtures
import numpy as np
import pytest
import tiny_families
from family_fixtures import load

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.gguf import GGUFModel

import gguf_file  # isort: skip  (its folder is in the path since family_fixtures)

# What a file of the architecture cannot say: another pattern or theta of windows, windows of Qwen;
# yarn with a ramp of whole pairs. These families, and gpt-oss with its own ramp, are in
# `test_families_gguf.py` and `test_experts_files.py`.
CANNOT_SAY = (
    "gemma3_text",
    "gpt_oss",
    "gpt_oss_ramp",
    "nemotron_h_experts",  # another architecture, which is not read
    "qwen2_window",
    "qwen3_moe_window",
    "qwen3_window",
)
NOT_IN_LLAMA_CPP = ("gptj", "opt", "rwkv5")
# Fixtures of which a file can say all but some fields: these as llama.cpp takes them to be.
_FACTORS = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0]
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
CHANGED = {
    "deepseek_v2": {"rope_scaling": {**_YARN, "mscale": 0.7, "mscale_all_dim": 0.7}},
    "lfm2_moe": {"routed_scaling_factor": 1.0},
    "llama4_text": {"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1},
    "phimoe": {
        "router_jitter_noise": 0.01,
        "rope_scaling": {"type": "longrope", "short_factor": _FACTORS, "long_factor": _FACTORS},
    },
}
NAMES = [
    name for name in family_fixtures.NAMES if name not in (*CANNOT_SAY, *NOT_IN_LLAMA_CPP, *CHANGED)
]


def logits_of_file(path, config, weights, ids):
    gguf_file.write(path, config, weights)
    model = GGUFModel(path)
    found = model.hf_config()
    spec = models.get(found["model_type"]).decoder(models.config_from_hf(found))
    return reference.logits(spec, tiny_families.converted(model, found), ids)


def assert_same(made, expected):
    assert np.abs(made - expected).max() < 1e-3 * np.abs(expected).max()


@pytest.mark.parametrize("name", NAMES)
def test_a_gguf_file_gives_the_references_logits(name, tmp_path):
    fixture = load(name)
    made = logits_of_file(tmp_path / "m.gguf", fixture.config, fixture.weights, fixture.ids)
    assert_same(made, fixture.logits)


@pytest.mark.parametrize("name", CHANGED)
def test_a_gguf_file_gives_the_logits_of_the_folder(name, tmp_path):
    fixture = load(name)
    config = {**fixture.config, **CHANGED[name]}
    params = tiny_families.converted(tiny_families.Source(fixture.weights), config)
    spec = fixture.family.decoder(models.config_from_hf(config))
    expected = reference.logits(spec, params, fixture.ids)
    assert_same(logits_of_file(tmp_path / "m.gguf", config, fixture.weights, fixture.ids), expected)


def test_files_of_glm_4_may_have_queries_keys_and_values_in_one_tensor(tmp_path):
    """Those of its first repositories, which are not in transformers' form."""
    fixture, weights = load("glm"), dict(load("glm").weights)
    for layer in range(fixture.config["num_hidden_layers"]):
        for kind in ("weight", "bias"):
            names = [f"model.layers.{layer}.self_attn.{part}_proj.{kind}" for part in "qkv"]
            joined = np.concatenate([weights.pop(name) for name in names])
            weights[f"blk.{layer}.attn_qkv.{kind}"] = joined
    made = logits_of_file(tmp_path / "m.gguf", fixture.config, weights, fixture.ids)
    assert_same(made, fixture.logits)
