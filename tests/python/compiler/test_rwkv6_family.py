"""Configs and weights of RWKV 5 and 6."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from family_fixtures import load
from test_mlc_folders import Folder

from mlc_llm.compiler import models, reference
from mlc_llm.errors import CorruptFileError, UnsupportedError

NAMES = ["rwkv5", "rwkv6"]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"head_size": 48}, "head_size"),
    ({"head_size_divisor": 0}, "head_size_divisor"),
    ({"attention_hidden_size": 256}, "attention_hidden_size"),
    ({"model_version": "4"}, "model_version"),
    ({"layer_norm_epsilon": "1"}, "layer_norm_epsilon"),
    ({"sliding_window_size": 64}, "sliding_window_size"),
]


def apart(name: str, spec: Any, params: Any) -> float:
    fixture = load(name)
    made = reference.logits(spec, params, fixture.ids)
    return float(np.abs(made - fixture.logits).max() / np.abs(fixture.logits).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_written_config_means_the_same(name):
    again = models.config_from_hf(load(name).typed.to_dict(), name)
    assert again == load(name).typed


@pytest.mark.parametrize("name", NAMES)
def test_a_published_config_is_read(name):
    published = {
        "architectures": [f"R{name[1:]}ForCausalLM"],
        "attention_hidden_size": 2048,
        "auto_map": {"AutoConfig": f"configuration_{name}.R{name[1:]}Config"},
        "bos_token_id": 0,
        "context_length": 4096,
        "eos_token_id": 0,
        "head_size": 64,
        "hidden_size": 2048,
        "intermediate_size": None,
        "layer_norm_epsilon": 1e-05,
        "model_type": name,
        "num_attention_heads": 64,
        "num_hidden_layers": 24,
        "rescale_every": 6,
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": 65536,
    }
    typed: Any = models.config_from_hf(published)
    spec = models.get(name).decoder(typed)
    mixer: Any = spec.layers[-1].parts[0]
    assert (typed.intermediate_size, mixer.heads, mixer.eps) == (7168, 32, pytest.approx(64e-5))
    assert spec.layers[-1].residual_scale == 1  # the files have the weights whole
    ranks = {"rwkv6": [(32, 64), (64, 128)]}.get(name, [(0, 0)] * 2)
    for width, expected in zip((2048, 4096), ranks, strict=True):
        sizes = {"hidden_size": width, "attention_hidden_size": width}
        wide: Any = models.get(name).decoder(models.config_from_hf({**published, **sizes}))
        mixer = wide.layers[0].parts[0]
        assert (mixer.mixes, mixer.decay) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=str)
def test_what_is_not_supported_is_refused_by_name(name, fields, param):
    with pytest.raises((UnsupportedError, CorruptFileError)) as caught:
        models.config_from_hf({**load(name).config, **fields})
    assert caught.value.param == param


@pytest.mark.parametrize("name", NAMES)
def test_every_small_weight_moves_the_logits(name):
    """One tensor of all layers at a time. The MLP's gate and mixes are among them."""
    fixture = load(name)
    params = fixture.params()
    layer = "model.blocks.1."
    roles = [key.removeprefix(layer) for key in params if key.startswith(layer)]
    assert len(roles) == {"rwkv5": 22, "rwkv6": 28}[name]
    for role in roles:
        changed = dict(params)
        for key in [key for key in params if key.endswith(f".{role}")]:
            changed[key] = params[key] + 0.5 * np.roll(np.sign(params[key]), 1, axis=-1)
        assert apart(name, fixture.spec, changed) > 0.01, role


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_by_mlc_llm_gives_the_references_logits(name):
    """Its converter divides weights, by `rescale_every`."""
    folder = Folder(name, "q0f32")
    spec, params = folder.family.decoder(folder.spec.config), folder.params()
    assert [one.residual_scale for one in spec.layers] == [1, 1, 2, 2]
    assert apart(name, spec, params) < 1e-3
    layers = tuple(replace(one, residual_scale=1.0) for one in spec.layers)
    assert apart(name, replace(spec, layers=layers), params) > 0.01
    own = load(name).params()
    near = {key: key.endswith("time_decay") for key in own}  # RWKV 5: the double logarithm is anew
    divided = {
        key
        for key, value in params.items()
        if not np.allclose(value, own[key], rtol=1e-5 * near[key], atol=1e-5 * near[key])
    }
    assert params.keys() == own.keys()
    assert divided == {
        f"model.blocks.{i}.{part}.weight"
        for i in (2, 3)
        for part in ("attention.output", "feed_forward.value")
    }
