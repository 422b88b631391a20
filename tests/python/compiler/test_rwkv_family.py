"""Configs and weights of RWKV 7."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from family_fixtures import load

from mlc_llm.compiler import models, reference
from mlc_llm.errors import CorruptFileError, UnsupportedError

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"head_dim": 48}, "head_dim"),
    ({"head_dim": "64"}, "head_dim"),
    ({"hidden_act": "silu"}, "hidden_act"),
    ({"norm_first": False}, "norm_first"),
    ({"attn": {"layers": [0]}}, "attn"),  # attention in some layers
    ({"value_dim": [128, 128, 256]}, "value_dim"),
    ({"value_dim": [128]}, "value_dim"),
    ({"decay_low_rank_dim": 0}, "decay_low_rank_dim"),
    ({"sliding_window_size": 64}, "sliding_window_size"),
]


def test_a_written_config_means_the_same():
    typed = load("rwkv7").typed
    again = models.config_from_hf(typed.to_dict(), "rwkv7")
    assert again == typed
    assert models.get("rwkv7").decoder(again) == load("rwkv7").spec


def test_a_published_config_is_read():
    """Fields that a repository of flash-linear-attention has, and their values there."""
    published = {
        "a_low_rank_dim": 64,
        "architectures": ["RWKV7ForCausalLM"],
        "attn": None,
        "attn_mode": "chunk",
        "bos_token_id": 1,
        "decay_low_rank_dim": 64,
        "eos_token_id": 2,
        "fuse_cross_entropy": True,
        "fuse_norm": False,
        "gate_low_rank_dim": 128,
        "head_dim": 64,
        "hidden_act": "sqrelu",
        "hidden_ratio": 4.0,
        "hidden_size": 768,
        "initializer_range": 0.006,
        "intermediate_size": 3072,
        "max_position_embeddings": 2048,
        "model_type": "rwkv7",
        "norm_bias": True,
        "norm_eps": 1e-05,
        "norm_first": True,
        "num_heads": 32,
        "num_hidden_layers": 12,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "use_cache": True,
        "v_low_rank_dim": 32,
        "value_dim": [768] * 12,
        "vocab_size": 65536,
    }
    typed: Any = models.config_from_hf(published)
    assert (typed.heads, typed.v_low_rank_dim, typed.context_window_size) == (12, 32, 1 << 20)
    del published["intermediate_size"]
    assert models.config_from_hf(published) == typed


def test_sizes_that_a_config_leaves_out_are_those_of_flash_linear_attention():
    """Its layer computes ranks from the width. Those of 768 are the published ones."""
    names = [f"{name}_low_rank_dim" for name in ("decay", "a", "v", "gate")]
    for hidden, ranks in ((768, (64, 64, 32, 128)), (2048, (128, 128, 64, 224))):
        sizes = {"hidden_size": hidden, "num_hidden_layers": 2, "vocab_size": 128}
        own = {"value_dim": hidden, "hidden_ratio": 3.51, **dict.fromkeys(names)}
        typed: Any = models.config_from_hf({**sizes, **own}, "rwkv7")
        assert tuple(getattr(typed, name) for name in names) == ranks
        assert typed.intermediate_size == {768: 2720, 2048: 7200}[hidden]


@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=str)
def test_what_is_not_supported_is_refused_by_name(fields, param):
    with pytest.raises((UnsupportedError, CorruptFileError)) as caught:
        models.config_from_hf({**load("rwkv7").config, **fields})
    assert caught.value.param == param


_LORAS = [f"{one}_lora.lora.{end}" for one in "wavg" for end in ("0.weight", "2.weight", "2.bias")]
_WEIGHTS = ["k_k", "k_a", "r_k", "g_norm.weight", "g_norm.bias", "attn.mixes", "ffn.mixes"]
_WEIGHTS += ["embed_norm.bias", *_LORAS[:-1]]  # the gate has no bias


@pytest.mark.parametrize("weight", _WEIGHTS)
def test_every_small_weight_moves_the_logits(weight):
    fixture = load("rwkv7")
    params = fixture.params()
    found = [key for key in params if weight in key]
    assert found
    for key in found:
        params[key] = params[key] + 0.5 * np.roll(np.sign(params[key]), 1, axis=-1)
    made = reference.logits(fixture.spec, params, fixture.ids)
    assert np.abs(made - fixture.logits).max() > 0.01 * np.abs(fixture.logits).max()


@pytest.mark.parametrize("row", range(6))
def test_each_mixture_of_rows_counts(row):
    fixture = load("rwkv7")
    params = fixture.params()
    for key in [key for key in params if key.endswith("attn.mixes.weight")]:
        params[key] = params[key].copy()
        params[key][row] = 0
    made = reference.logits(fixture.spec, params, fixture.ids)
    assert np.abs(made - fixture.logits).max() > 0.01 * np.abs(fixture.logits).max()
