"""Phi-3.5-MoE: its configs, and the way through GGUF. `test_family_fixtures.py` compares the logits
with those of programs that are not ours."""

from __future__ import annotations

import numpy as np
import tiny_families
from family_fixtures import load

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.gguf import GGUFModel

import gguf_file  # isort: skip  (its folder is in the path since family_fixtures)

CONFIG = load("phimoe").config


def logits(config, source):
    spec = models.get("phimoe").decoder(models.config_from_hf(config))
    return reference.logits(spec, tiny_families.converted(source, config), load("phimoe").ids)


def test_a_stored_config_is_the_same_config():
    typed = models.config_from_hf(CONFIG)
    assert models.config_from_hf({**typed.to_dict(), "model_type": "phimoe"}) == typed


def test_the_magnitude_follows_the_length_that_the_model_will_run_with():
    scaling = {**CONFIG["rope_scaling"], "short_mscale": 1.1}
    for context, magnitude in ((8, 1.1), (9, 1.3)):
        changes = {"rope_scaling": scaling, "context_window_size": context}
        typed = models.config_from_hf({**CONFIG, **changes})
        assert typed.rope.scaling.magnitude == magnitude


def test_a_gguf_file_gives_the_logits_of_the_folder(tmp_path):
    """A file has neither the router's limit nor magnitudes by length: the usual ones."""
    usual = {"short_mscale": 0.0, "long_mscale": 0.0}
    config = {**CONFIG, "rope_scaling": {**CONFIG["rope_scaling"], **usual}}
    del config["router_jitter_noise"]
    weights = load("phimoe").weights
    gguf_file.write(tmp_path / "m.gguf", config, weights)
    model = GGUFModel(tmp_path / "m.gguf")
    found, expected = (
        logits(model.hf_config(), model),
        logits(config, tiny_families.Source(weights)),
    )
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
