"""Every family that llama.cpp has, written as its converter writes it: the same model comes out.

The names are those of the `gguf` package. Needs no compiler.
"""

from __future__ import annotations

import math
from typing import Any

import gguf
import numpy as np
import pytest
import spec_switches
import tiny_families
import tiny_models
from gguf import GGUFWriter
from tiny_families import size

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.layers import AttentionSpec
from mlc_llm.errors import UnsupportedError

# What a GGUF file of the architecture cannot say is as llama.cpp takes it to be.
ARCHITECTURES: dict[str, tuple[str, gguf.MODEL_ARCH, dict[str, Any]]] = {
    "qwen2": ("qwen2", gguf.MODEL_ARCH.QWEN2, {"use_sliding_window": False}),
    "qwen3": ("qwen3", gguf.MODEL_ARCH.QWEN3, {"attention_bias": False}),
    "gemma": ("gemma", gguf.MODEL_ARCH.GEMMA, {}),
    "gemma2": ("gemma2", gguf.MODEL_ARCH.GEMMA2, {"query_pre_attn_scalar": 32}),
    "gemma3_text": (
        "gemma3",
        gguf.MODEL_ARCH.GEMMA3,
        {
            "query_pre_attn_scalar": 32,
            "sliding_window_pattern": 6,
            "num_hidden_layers": 7,
            "rope_local_base_freq": 10000.0,
        },
    ),
    "phi3": ("phi3", gguf.MODEL_ARCH.PHI3, {}),
    "granite": ("granite", gguf.MODEL_ARCH.GRANITE, {}),
    "smollm3": ("smollm3", gguf.MODEL_ARCH.SMOLLM3, {}),
    "lfm2": ("lfm2", gguf.MODEL_ARCH.LFM2, {}),
    "starcoder2": ("starcoder2", gguf.MODEL_ARCH.STARCODER2, {}),
    "phi": ("phi2", gguf.MODEL_ARCH.PHI2, {}),
    "gpt_neox": ("gptneox", gguf.MODEL_ARCH.GPTNEOX, {}),
    "cohere": ("command-r", gguf.MODEL_ARCH.COMMAND_R, {}),
    "gpt2": ("gpt2", gguf.MODEL_ARCH.GPT2, {}),
}


def written(path: Any, family: str, add: Any = lambda writer: None) -> dict[str, Any]:
    """The file of that family's tiny model; returns its config.json."""
    name, arch, changes = ARCHITECTURES[family]
    config = {**tiny_families.config(family), **changes}
    arrays = {
        key: value for key, value in tiny_families.weights(config).items()
        if family != "qwen3" or not key.endswith("bias")
    }  # fmt: skip
    writer = GGUFWriter(path, name)
    _add_sizes(writer, config)
    _add_rope(writer, config)
    add(writer)
    table = gguf.get_tensor_name_map(arch, size(config, "num_hidden_layers", "n_layer"))
    for key, value in arrays.items():
        ours = table.get_name(key, try_suffixes=(".weight", ".bias"))
        assert ours is not None, key
        if "norm" in key and "gemma" in name:
            value = value + 1
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
        for part, count in heads.items():
            if part in key and name in ("granite", "smollm3"):  # rows in rotary pairs
                value = tiny_models.interleave(value, config[count])
        value = _as_stored(key, value, config)
        writer.add_tensor(ours, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return config


def _as_stored(key: str, value: Any, c: dict[str, Any]) -> Any:
    if "conv.conv.weight" in key:
        return value[:, 0]
    if "query_key_value" in key:  # head by head, to one behind another
        heads = value.reshape(c["num_attention_heads"], 3, -1, *value.shape[1:])
        return np.ascontiguousarray(heads.swapaxes(0, 1).reshape(value.shape))
    is_conv1d = c["model_type"] == "gpt2" and value.ndim == 2 and ".h." in key
    return np.ascontiguousarray(value.T) if is_conv1d else value


def _add_sizes(writer: GGUFWriter, c: dict[str, Any]) -> None:
    hidden, heads = size(c, "hidden_size", "n_embd"), size(c, "num_attention_heads", "n_head")
    dim = c.get("head_dim") or hidden // heads
    writer.add_block_count(size(c, "num_hidden_layers", "n_layer"))
    writer.add_context_length(size(c, "max_position_embeddings", "n_positions"))
    writer.add_embedding_length(hidden)
    wide = 4 * hidden if c["model_type"] == "gpt2" else c.get("intermediate_size", 96)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(heads)
    kv_heads = c.get("num_key_value_heads", heads)
    if c["model_type"] == "lfm2":
        kinds = c["layer_types"]
        writer.add_head_count_kv([kv_heads * (kind != "conv") for kind in kinds])
        writer.add_shortconv_l_cache(c["conv_L_cache"])
    else:
        writer.add_head_count_kv(kv_heads)
    writer.add_key_length(dim)
    writer.add_value_length(dim)
    eps = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
    if own := [c[name] for name in eps if name in c]:
        writer.add_layer_norm_eps(own[0])
    else:
        writer.add_layer_norm_rms_eps(c.get("rms_norm_eps") or c["norm_eps"])
    if c["model_type"] == "gpt_neox":
        writer.add_parallel_residual(c["use_parallel_residual"])
    if c["model_type"] == "cohere":
        writer.add_logit_scale(c["logit_scale"])
    if c.get("sliding_window") and c.get("use_sliding_window", True):
        writer.add_sliding_window(c["sliding_window"])
    if c["model_type"] == "granite":
        writer.add_embedding_scale(c["embedding_multiplier"])
        writer.add_attention_scale(c["attention_multiplier"])
        writer.add_residual_scale(c["residual_multiplier"])
        writer.add_logit_scale(c["logits_scaling"])
    if c["model_type"] == "gemma2":
        writer.add_attn_logit_softcapping(c["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(c["final_logit_softcapping"])


def _add_rope(writer: GGUFWriter, c: dict[str, Any]) -> None:
    if c["model_type"] == "gpt2":
        return
    writer.add_rope_freq_base(c.get("rope_theta") or c["rotary_emb_base"])
    partial = c.get("rotary_pct") or c.get("partial_rotary_factor")
    if partial and c["model_type"] != "phi3":
        dim = c["hidden_size"] // c["num_attention_heads"]
        writer.add_rope_dimension_count(int(partial * dim))
    scaling = c.get("rope_scaling")
    if c["model_type"] == "phi3":
        original = c["original_max_position_embeddings"]
        factor = c["max_position_embeddings"] / original
        writer.add_rope_dimension_count(12)
        writer.add_rope_scaling_orig_ctx_len(original)
        stretched = math.sqrt(1 + math.log(factor) / math.log(original))
        writer.add_rope_scaling_attn_factors(stretched)
        for kind in ("long", "short"):
            values = np.array(scaling[f"{kind}_factor"], np.float32)
            writer.add_tensor(f"rope_factors_{kind}.weight", values)
    elif scaling:
        writer.add_rope_scaling_type(gguf.RopeScalingType(scaling["rope_type"]))
        writer.add_rope_scaling_factor(scaling["factor"])
        if "original_max_position_embeddings" in scaling:
            writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])


def _plain(config: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The decoder without its rotations, and these as numbers."""
    typed = models.config_from_hf(config)
    spec = models.get(config["model_type"]).decoder(typed)
    ropes = [a.rope for a in spec_switches.parts_of(spec, AttentionSpec)]
    numbers = [[*rope.frequencies, rope.scaling.magnitude] if rope else [0.0] for rope in ropes]
    return spec_switches.with_fields(spec, AttentionSpec, rope=None), numbers


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_a_gguf_file_is_the_model_of_the_folder(family, tmp_path):
    config = written(tmp_path / "m.gguf", family)
    model = GGUFModel(tmp_path / "m.gguf")
    found = model.hf_config()
    assert found["model_type"] == family
    (spec, ropes), (expected, angles) = _plain(found), _plain(config)
    assert spec == expected
    assert list(map(len, ropes)) == list(map(len, angles))
    np.testing.assert_allclose(np.concatenate(ropes), np.concatenate(angles), rtol=1e-6)
    ours = tiny_families.converted(model, {**found, "model_type": family})
    source = tiny_families.Source(tiny_families.weights(config))
    theirs = tiny_families.converted(source, config)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert np.array_equal(ours[name], value), name


def test_metadata_that_no_family_reads_is_refused_by_name(tmp_path):
    written(tmp_path / "m.gguf", "qwen2", lambda writer: writer.add_expert_count(4))
    with pytest.raises(UnsupportedError, match="expert_count") as caught:
        GGUFModel(tmp_path / "m.gguf").hf_config()
    assert caught.value.param == "expert_count"
