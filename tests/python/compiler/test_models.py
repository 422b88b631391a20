"""Configurations and weight maps: what is read, and what is refused. Needs no TVM."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.quantization import schemes
from mlc_llm.compiler.spec.rope import RopeScaling, inverse_frequencies
from mlc_llm.errors import CorruptFileError, MLCError, UnsupportedError

TINY = {
    "model_type": "llama",
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 99,
    "max_position_embeddings": 4096,
    "rope_theta": 5000.0,
    "tie_word_embeddings": True,
}
# Fields that families with experts, latent attention, Mamba 2's mixers or scales need.
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "shared_expert_intermediate_size": 48}
LATENT = {"kv_lora_rank": 32, "qk_rope_head_dim": 16, "qk_nope_head_dim": 24}
MAMBA = {"mamba_n_heads": 6, "mamba_d_ssm": 96}
GROUPS = {"n_group": 1, "topk_group": 1}
SCALES = {"scale_emb": 12.0, "scale_depth": 1.4, "dim_model_base": 256.0}
# Their word in `layer_types` for layers that are no full attention.
LINEAR = (
    "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "granitemoehybrid", "jamba", "kimi_linear",
    "nemotron_h",
)  # fmt: skip
OTHERS = {
    "lfm2": "conv",
    "lfm2_moe": "conv",
    "llama4_text": "chunked_attention",
    **dict.fromkeys(LINEAR, "linear_attention"),
}


def test_a_config_survives_the_way_through_mlc_chat_config():
    scaling = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 1024}
    for family in sorted(
        models.FAMILIES.keys() - {"mamba2", "rwkv5", "rwkv6", "rwkv7"}
    ):  # they have no attention
        fields = models.get(family).config_class.__dataclass_fields__
        needed = EXPERTS | LATENT | MAMBA | GROUPS | SCALES
        own = {name: value for name, value in needed.items() if name in fields}
        if family == "gptj":
            own["rotary_dim"] = 8
        if family == "nemotron_h":
            own["layers_block_type"] = ["mlp", "full_attention"]
        # ModernBERT's windows have another field, nomic-bert has none: they refuse this one
        last = {"sliding_window": None} if family in ("modernbert", "nomic_bert") else {}
        mixed = ["full_attention", OTHERS.get(family, "sliding_attention")]
        for change in (
            {},
            {"rope_scaling": scaling},
            {"sliding_window": 512},
            {"sliding_window": None},
            {"head_dim": None},
            {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
            {"use_sliding_window": True, "sliding_window": 5, "layer_types": mixed},
        ):
            config = models.config_from_hf({**TINY, **own, **change, **last, "model_type": family})
            again = models.config_from_hf(config.to_dict(), family)
            assert again == config, (family, change)


# Fields of published configs that say what their family always does, and one value that it cannot.
ALWAYS = {
    "gptj": ({"rotary": True, "rotary_dim": 8, "scale_attn_weights": True}, {"rotary": False}),
    "hunyuan_v1_dense": (
        {"norm_type": "rms", "use_cla": False, "cla_share_factor": 2, "use_rotary_pos_emb": True},
        {"use_cla": True},
    ),
    "cohere2": (
        {"use_gated_activation": True, "position_embedding_type": "rope_gptj"},
        {"use_gated_activation": "no"},
    ),
    "gpt_bigcode": ({"multi_query": True, "scale_attn_weights": True}, {"multi_query": False}),
    "olmo": ({"clip_qkv": None}, {"clip_qkv": 8.0}),
    "stablelm": ({"qk_layernorm": False}, {"qk_layernorm": True}),
    "internlm": (
        {"rotary": {"base": 10000, "type": "dynamic"}},
        {"rotary": {"base": 10000, "type": "xpos"}},
    ),
    "internlm2": (
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}, "context_window_size": 10**6},
    ),
    "nemotron": ({"hidden_act": "relu2"}, {"hidden_act": "silu"}),
}


@pytest.mark.parametrize("family", ALWAYS)
def test_the_fields_of_published_configs_are_read_and_other_values_refused(family):
    fields, other = ALWAYS[family]
    models.config_from_hf({**TINY, **fields, "model_type": family})
    with pytest.raises(UnsupportedError) as caught:
        models.config_from_hf({**TINY, **fields, **other, "model_type": family})
    assert str(caught.value.param).startswith(next(iter(other)))


def test_the_first_configs_of_lfm2_say_the_same_in_other_words():
    kinds = ["conv", "full_attention"]
    new = {**TINY, "model_type": "lfm2", "norm_eps": 1e-4, "layer_types": kinds, "conv_bias": True}
    old = {k: v for k, v in new.items() if k not in ("norm_eps", "layer_types")}
    old |= {"block_norm_eps": 1e-4, "full_attn_idxs": [1], "num_heads": 6, "block_dim": 48}
    assert models.config_from_hf(old) == models.config_from_hf(new)
    both = {**new, "full_attn_idxs": [1], "block_ff_dim": TINY["intermediate_size"]}
    assert models.config_from_hf({**both, "intermediate_size": 7}) == models.config_from_hf(new)
    assert models.config_from_hf(new).intermediate_size == 256  # 53, rounded up
    exact = models.config_from_hf({**new, "block_auto_adjust_ff_dim": False})
    assert exact.intermediate_size == TINY["intermediate_size"]
    by_kind = {"full_attention": {"rope_theta": 123.0}, "conv": None}
    plain = {k: v for k, v in new.items() if k != "rope_theta"}
    assert models.config_from_hf({**plain, "rope_parameters": by_kind}).rope_theta == 123.0
    for change in ({"conv_dim": 96}, {"layer_types": ["conv", "conv"]}, {"conv_L_cache": 1}):
        with pytest.raises(MLCError) as caught:
            models.config_from_hf({**new, **change})
        assert caught.value.param == next(iter(change))


def test_transformers_5_rope_parameters_are_read():
    fields = {k: v for k, v in TINY.items() if k != "rope_theta"}
    rope = {"rope_type": "linear", "factor": 4.0, "rope_theta": 123.0}
    config = models.config_from_hf({**fields, "rope_parameters": rope})
    assert (config.rope_theta, config.rope_scaling.kind) == (123.0, "linear")


def test_yarn_may_say_its_magnitude_by_two_scales():
    fields = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}
    plain = RopeScaling.from_dict(fields, context=512)
    both = RopeScaling.from_dict({**fields, "mscale": 2.0, "mscale_all_dim": 0.5}, context=512)
    log = 0.1 * math.log(8.0)
    assert plain.magnitude == pytest.approx(log + 1)
    assert both.magnitude == pytest.approx((2 * log + 1) / (log / 2 + 1))
    assert RopeScaling.from_dict(both.to_dict(), context=512) == both
    alone = RopeScaling.from_dict({**fields, "mscale": 2.0}, context=512)  # counts with the other
    assert alone.magnitude == plain.magnitude
    given = RopeScaling.from_dict({**both.to_dict(), "attention_factor": 1.5}, context=512)
    assert given.magnitude == 1.5


def test_a_dynamic_rotation_with_alpha_has_a_larger_base():
    fields = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    scaling = RopeScaling.from_dict(fields, context=512)
    base = 1e4 * 1000.0 ** (16 / 14)
    expected = base ** (-np.arange(0, 16, 2) / 16)
    np.testing.assert_allclose(inverse_frequencies(16, 1e4, scaling), expected, rtol=1e-12)
    assert RopeScaling.from_dict(scaling.to_dict(), context=512) == scaling


@pytest.mark.parametrize(
    ("family", "fields"),
    [
        ("internlm", {"rotary": {"base": 50000, "type": "dynamic"}}),
        ("internlm2", {"rope_theta": 50000, "rope_scaling": {"type": "dynamic", "factor": 2.0}}),
        ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2, "rope_theta": 50000}}),
    ],
)
def test_a_dynamic_rotation_is_the_usual_one_within_the_trained_length(family, fields):
    own = {**TINY, "rope_theta": None, "model_type": family, "max_position_embeddings": 512}
    config = models.config_from_hf({**own, **fields})
    usual = models.config_from_hf({**own, "rope_theta": 50000})
    assert config.rope.frequencies == usual.rope.frequencies
    assert config.rope.scaling.magnitude == 1.0
    again = models.config_from_hf({**config.to_dict(), "context_window_size": 256}, family)
    assert again.rope.frequencies == usual.rope.frequencies
    for longer in ({**own, **fields}, config.to_dict()):
        with pytest.raises(UnsupportedError, match="at most 512") as caught:
            models.config_from_hf({**longer, "context_window_size": 1024}, family)
        assert caught.value.param in ("rope_scaling", "rope_parameters")


def test_the_first_rotation_of_internlm_has_the_base_of_its_field():
    rotary = {"base": 20000, "type": "origin"}
    own = {**TINY, "rope_theta": None, "model_type": "internlm", "context_window_size": 10**6}
    config = models.config_from_hf({**own, "rotary": rotary})
    assert config.rope_theta == 20000 and config.rope_scaling == RopeScaling()


@pytest.mark.parametrize("field", ["rope_scaling", "rope_parameters"])
def test_a_wrong_field_of_a_rotation_is_named_where_it_is(field):
    for scaling, name in (
        ({"rope_type": "linear", "factor": -1}, "factor"),
        ({"rope_type": "linear", "factor": 2, "new_scale": 1.5}, "new_scale"),
        ({"rope_type": "longrope", "long_factor": [1.0], "factor": 2}, "short_factor"),
    ):
        with pytest.raises((CorruptFileError, UnsupportedError), match=f"{field}.{name}") as caught:
            models.config_from_hf({**TINY, field: scaling})
        assert caught.value.param == f"{field}.{name}"


@pytest.mark.parametrize("inside", [0, 4096, None])
def test_phi_3s_original_context_may_be_0_where_mlc_llm_copies_it(inside):
    scaling = {"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    if inside is not None:
        scaling["original_max_position_embeddings"] = inside
    own = {**TINY, "model_type": "phi3", "max_position_embeddings": 8192, "rope_scaling": scaling}
    config = models.config_from_hf({**own, "original_max_position_embeddings": 0})
    assert config.rope_scaling.original_context == 4096 and config.rope_scaling.is_long


def test_a_given_magnitude_needs_no_original_context():
    scaling = RopeScaling(kind="longrope", original_context=1, attention_factor=1.5)
    assert scaling.magnitude == 1.5


def test_a_rotation_by_parts_of_a_picture_is_the_usual_one_for_text():
    fields = {"type": "mrope", "mrope_section": [16, 24, 24]}
    assert RopeScaling.from_dict(fields, context=512) == RopeScaling()


def test_the_weight_map_names_fused_tensors_and_their_sources():
    config = models.config_from_hf({**TINY, "tie_word_embeddings": False, "attention_bias": True})
    weights = {w.name: w for w in models.weight_map(config)}
    qkv = weights["model.layers.1.self_attn.qkv_proj.weight"]
    assert qkv.shape == (10 * 16, 48)
    assert [part.tensor.rsplit(".", 2)[1] for part in qkv.parts] == ["q_proj", "k_proj", "v_proj"]
    assert weights["model.layers.0.self_attn.qkv_proj.bias"].shape == (160,)
    assert "model.layers.0.mlp.gate_up_proj.bias" not in weights
    assert weights["lm_head.weight"].quantizable == "lm_head"
    assert len(weights) == 2 * 8 + 3


def test_stored_shapes_follow_layout_and_padding():
    shapes = {
        name: [(p.shape, p.dtype) for p in scheme.stored_params("w.weight", (6, 45), use="linear")]
        for name, scheme in ((s.name, s) for s in schemes.OF_FLOATS)
    }
    assert shapes["q4f32_1"] == [((6, 8), "uint32"), ((6, 2), "float32")]
    assert shapes["q4f16_0"] == [((8, 6), "uint32"), ((2, 6), "float16")]
    assert shapes["q3f16_1"] == [((6, 8), "uint32"), ((6, 2), "float16")]
    assert shapes["q0bf16"] == [((6, 45), "bfloat16")]


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"hidden_size": None}, CorruptFileError, "hidden_size"),
        ({"hidden_size": "48"}, CorruptFileError, "hidden_size"),
        ({"num_hidden_layers": 10**9}, CorruptFileError, "num_hidden_layers"),
        ({"num_attention_heads": True}, CorruptFileError, "num_attention_heads"),
        ({"num_key_value_heads": 4}, CorruptFileError, "num_key_value_heads"),
        ({"rms_norm_eps": -1}, CorruptFileError, "rms_norm_eps"),
        ({"rope_scaling": [1]}, CorruptFileError, "rope_scaling"),
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2}, "context_window_size": 10**6},
            UnsupportedError,
            "rope_scaling",
        ),
        (
            {"model_type": "internlm", "rotary": {"type": ["dynamic"]}},
            UnsupportedError,
            "rotary.type",
        ),
        ({"model_type": "internlm", "rotary": {"base": -1}}, CorruptFileError, "rotary.base"),
        ({"rope_scaling": {"type": "longrope"}}, CorruptFileError, "rope_scaling.short_factor"),
        ({"rope_scaling": {"type": "axial"}}, UnsupportedError, "rope_scaling"),
        (
            {"rope_scaling": {"type": "proportional", "partial_rotary_factor": 2}},
            CorruptFileError,
            "rope_scaling.partial_rotary_factor",
        ),
        ({"rope_parameters": {"full_attention": {}}}, UnsupportedError, "rope_parameters"),
        ({"hidden_act": "gelu"}, UnsupportedError, "hidden_act"),
        ({"model_type": "rwkv4"}, UnsupportedError, "model_type"),
        ({"partial_rotary_factor": 1.5}, CorruptFileError, "partial_rotary_factor"),
        ({"head_dim": 16, "partial_rotary_factor": 0.34}, CorruptFileError, "partial_rotary"),
        ({"head_dim": 16, "partial_rotary_factor": 0.01}, CorruptFileError, "partial_rotary"),
        (
            {"model_type": "gpt_neox", "head_dim": 16, "rotary_pct": 0.34},
            CorruptFileError,
            "rotary_pct",
        ),
        ({"model_type": "gptj", "head_dim": 16, "rotary_dim": 5}, CorruptFileError, "rotary_dim"),
        ({"layer_types": ["full_attention"]}, CorruptFileError, "layer_types"),
        ({"layer_types": ["chunked_attention"] * 2}, UnsupportedError, "layer_types"),
        # Keys that would change the result, and that the family does not read.
        ({"attn_logit_softcapping": 50.0}, UnsupportedError, "attn_logit_softcapping"),
        ({"num_local_experts": 8}, UnsupportedError, "num_local_experts"),
        ({"embedding_multiplier": 12.0}, UnsupportedError, "embedding_multiplier"),
        ({"use_qk_norm": True}, UnsupportedError, "use_qk_norm"),
        ({"a_scale_of_tomorrow": 0.5}, UnsupportedError, "a_scale_of_tomorrow"),
        ({"is_causal": False}, UnsupportedError, "is_causal"),  # gte-Qwen2-7B-instruct
        ({"per_layer_config": {"1": {"head_dim": 32}}}, UnsupportedError, "per_layer_config"),
    ],
)
def test_what_cannot_be_run_is_refused_by_field(change, error, field):
    with pytest.raises(error) as caught:
        models.config_from_hf({**TINY, **change})
    assert caught.value.param.startswith(field)


def test_keys_that_change_nothing_or_are_off_are_no_fault():
    idle = {
        "attention_dropout": 0.1,
        "initializer_range": 0.02,
        "rope_interleaved": False,
        "residual_multiplier": 1.0,
        "attn_logit_softcapping": None,
        "transformers_version": "5.0",
        "_attn_implementation_autoset": True,
    }
    assert models.config_from_hf({**TINY, **idle}) == models.config_from_hf(TINY)


def test_layers_may_have_different_windows():
    window = {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1}
    config = models.config_from_hf({**TINY, **window, "model_type": "qwen2"})
    layers = models.get("qwen2").decoder(config).layers
    assert [layer.parts[0].look_back for layer in layers] == [-1, 64]
    assert config.sliding_window_size == -1


def test_layers_of_smollm3_that_do_not_rotate_have_the_window():
    window = {"use_sliding_window": True, "sliding_window": 64, "no_rope_layers": [1, 0]}
    config = models.config_from_hf({**TINY, **window, "model_type": "smollm3"})
    layers = models.get("smollm3").decoder(config).layers
    assert [layer.parts[0].look_back for layer in layers] == [-1, 64]


def test_a_model_type_is_no_class():
    with pytest.raises(UnsupportedError) as caught:
        models.config_from_hf({**TINY, "model_type": None, "architectures": ["llama"]})
    assert caught.value.param == "architectures"


@pytest.mark.parametrize(
    ("given", "field", "meant"),
    [
        ({"model_type": "qwen33"}, "model_type", "qwen3"),
        ({"model_type": "lama"}, "model_type", "llama"),
        ({"model_type": None}, "architectures", "Qwen3ForCausalLM"),
    ],
)
def test_a_misspelt_family_is_refused_with_the_nearest_one(given, field, meant):
    """Also where the class is known: nobody knows which of the two is right."""
    known = "Qwen3ForCausalLM" if given["model_type"] else "Qwen33ForCausalLM"
    with pytest.raises(UnsupportedError, match=f"did you mean '{meant}'") as caught:
        models.config_from_hf({**TINY, **given, "architectures": [known]})
    assert caught.value.param == field


def test_an_unknown_type_or_scheme_is_told_what_there_is():
    with pytest.raises(UnsupportedError, match="llama, mistral"):
        models.get("rwkv4")
    with pytest.raises(UnsupportedError, match="did you mean 'mistral'"):
        models.get("mistral3")  # the text part of a folder has a name of its own
    with pytest.raises(UnsupportedError, match="q4f32_1"):
        quantization.get("q5")


def test_llama3_scaling_keeps_short_waves_and_stretches_long_ones():
    scaling = RopeScaling(kind="llama3", factor=8.0, original_context=8192)
    plain = inverse_frequencies(128, 5e5, RopeScaling())
    scaled = inverse_frequencies(128, 5e5, scaling)
    assert scaled[0] == plain[0]
    assert math.isclose(scaled[-1], plain[-1] / 8)
    assert all(p / 8 <= s <= p for s, p in zip(scaled, plain, strict=True))


def test_configurations_and_weight_maps_do_not_import_tvm():
    code = "import sys, mlc_llm.compiler.models; sys.exit('tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
