"""Baichuan: what tells its models apart. `test_family_fixtures.py` compares the logits."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_families
from family_fixtures import load

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.convert.gguf_weights import scheme_of_file
from mlc_llm.compiler.models import baichuan
from mlc_llm.errors import CorruptFileError, UnsupportedError

import gguf_file  # isort: skip  (its folder is in the path since family_fixtures)

SMALL, LARGE = load("baichuan_7b").config, load("baichuan2_13b").config


def test_the_length_and_the_loss_tell_the_models_apart():
    small, large = models.config_from_hf(SMALL), models.config_from_hf(LARGE)
    assert (small.alibi, small.normalized_head) == (False, False)
    assert (large.alibi, large.normalized_head) == (True, True)
    assert large.context_window_size == LARGE["model_max_length"]
    second = models.config_from_hf({**SMALL, "vocab_size": 125696})
    assert (second.alibi, second.normalized_head) == (False, True)


@pytest.mark.parametrize("config", [SMALL, LARGE], ids=["7b", "13b"])
def test_a_stored_config_is_the_same_config(config):
    typed = models.config_from_hf(config)
    assert models.config_from_hf({**typed.to_dict(), "model_type": "baichuan"}) == typed


@pytest.mark.parametrize("divided", [False, True], ids=["as it is", "divided"])
def test_a_gguf_file_of_baichuan_2_has_either_head(divided, tmp_path, monkeypatch):
    """llama.cpp's converter writes the head as it is, unless its user divided the rows before. A
    divided head can stay in its type."""
    fixture, path = load("baichuan2_13b"), tmp_path / "model.gguf"
    monkeypatch.setattr(baichuan, "_VOCABULARY_2", LARGE["vocab_size"])
    config = {key: value for key, value in LARGE.items() if divided or key != "z_loss_weight"}
    gguf_file.write(path, config, fixture.weights)
    model = GGUFModel(path)
    read = model.hf_config()
    typed = models.config_from_hf(read)
    assert typed.normalized_head != divided
    made = reference.logits(
        baichuan.decoder(typed), tiny_families.converted(model, read), fixture.ids
    )
    assert np.abs(made - fixture.logits).max() < 1e-3 * np.abs(fixture.logits).max()
    weights = baichuan.FAMILY.weight_map(typed, "gguf")
    if divided:
        assert scheme_of_file(model, weights, wanted="auto").name == "q0f32"
        return
    with pytest.raises(UnsupportedError, match="choose another --quantization") as error:
        scheme_of_file(model, weights, wanted="auto")
    assert error.value.param == "output.weight"


@pytest.mark.parametrize("shape", [(20,), (8, 64)], ids=str)
def test_a_head_that_is_too_small_is_refused(shape, tmp_path, monkeypatch):
    fixture, path = load("baichuan2_13b"), tmp_path / "model.gguf"
    monkeypatch.setattr(baichuan, "_VOCABULARY_2", LARGE["vocab_size"])
    head = {"lm_head.weight": np.zeros(shape, np.float32)}
    plain = {key: value for key, value in LARGE.items() if key != "z_loss_weight"}
    gguf_file.write(path, plain, {**fixture.weights, **head})
    with pytest.raises(CorruptFileError) as error:
        GGUFModel(path).hf_config()
    assert error.value.param == "output.weight"
