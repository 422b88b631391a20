"""Each key of a config that changes the result is read or refused, in every family.

`tests/fixtures/config_keys` has the keys that transformers' classes know (or those of the
repositories), with their defaults. Each key gets other values in the config of a tiny model. Then
the model must be another one, or an error must name a field, or the key stands in a table below
with the reason. A key that is left out must mean the default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_experts

from mlc_llm.compiler import models
from mlc_llm.compiler.models import mlc_folders
from mlc_llm.errors import MLCError

FIXTURES = Path(__file__).parents[2] / "fixtures"
KEYS: dict[str, dict[str, Any]] = {
    family: keys
    for name in ("keys.json", "by_hand.json")
    for family, keys in json.loads((FIXTURES / "config_keys" / name).read_text("utf-8")).items()
}
SAME_AS = {"bert-bge": "bert", "qwen3-embedding": "qwen3", "gemma-embedding": "gemma3_text"}

_TRAINING = "for training alone"
_TOKEN = "a token's number, which the tokenizer's files and the chat config say"
_LOSS = "a loss of the training"
_START = "how random weights begin"
_SPEED = "how transformers computes, not what"
# Keys that change nothing in the families that do not read them.
HARMLESS = {
    **dict.fromkeys(
        "attention_dropout attention_probs_dropout_prob attn_pdrop classifier_dropout emb_pdrop "
        "embd_pdrop embedding_dropout gradient_checkpointing hidden_dropout hidden_dropout_prob "
        "input_jitter_noise resid_pdrop residual_dropout router_jitter_noise "
        "summary_first_dropout".split(),
        _TRAINING,
    ),
    **dict.fromkeys(
        "bos_token_id cls_token_id eod_token_id eos_token_id pad_token_id sep_token_id".split(),
        _TOKEN,
    ),
    **dict.fromkeys(
        "aux_loss_alpha output_router_logits router_aux_loss_coef seq_aux "
        "sparse_pred_ignore_index".split(),
        _LOSS,
    ),
    **dict.fromkeys(
        "initializer_cutoff_factor initializer_range rescale_prenorm_residual time_step_floor "
        "time_step_max time_step_min".split(),
        _START,
    ),
    **dict.fromkeys(
        "attention_softmax_in_fp32 attn_implementation attn_mode chunk_size fuse_cross_entropy "
        "fuse_norm mamba_chunk_size num_logits_to_keep pretraining_tp reference_compile "
        "residual_in_fp32 "
        "scale_attention_softmax_in_fp32 use_mamba_kernels mamba_ssm_cache_dtype "
        "use_mambapy use_associative_scan".split(),
        _SPEED,
    ),
    "num_mtp_layers": "layers that guess a second token: the files say whether they are there",
    "time_step_rank": "of Mamba 1",
}
_HEAD = "of heads for other tasks"
_NO_HEAD = "an encoder has no head"
_LENGTH = "a state has no length"
_DRAFTS = "layers that predict a second token, which are not used"
_INDEXER = "of the indexer, which is not used: a note says so"
_RESCALED = "for activations of 16 bits; these are float32"
# And those that change nothing in one family.
IN_FAMILY = {
    ("gpt2", "summary_proj_to_labels"): _HEAD,
    ("gpt2", "summary_type"): _HEAD,
    ("gpt2", "summary_use_proj"): _HEAD,
    ("modernbert", "decoder_bias"): _HEAD,
    ("bert", "tie_word_embeddings"): _NO_HEAD,
    ("modernbert", "tie_word_embeddings"): _NO_HEAD,
    ("roberta", "tie_word_embeddings"): _NO_HEAD,
    ("xlm-roberta", "tie_word_embeddings"): _NO_HEAD,
    ("deepseek_v2", "head_dim"): "transformers sets it to qk_rope_head_dim",
    ("deepseek_v32", "head_dim"): "transformers sets it to qk_rope_head_dim",
    ("deepseek_v32", "index_head_dim"): _INDEXER,
    ("deepseek_v32", "index_n_heads"): _INDEXER,
    ("falcon_h1", "mamba_expand"): "mamba_d_ssm says it",
    ("nemotron_h", "mtp_layers_block_type"): _DRAFTS,
    ("nemotron_h", "num_nextn_predict_layers"): _DRAFTS,
    ("nemotron_h", "expand"): "mamba_num_heads and mamba_head_dim say it",
    ("nemotron_h", "moe_shared_expert_overlap"): _SPEED,
    ("minicpm3", "head_dim"): "transformers sets it to qk_rope_head_dim",
    ("bloom", "slow_but_exact"): _SPEED,
    ("ernie4_5_moe", "moe_norm_min"): "against a division by zero alone",
    ("opt", "dropout"): _TRAINING,
    ("opt", "init_std"): _START,
    ("opt", "layerdrop"): _TRAINING,
    ("kimi_linear", "num_local_experts"): "num_experts says it",
    ("mpt", "attn_config"): "its fields are read one by one",
    ("mpt", "embedding_fraction"): _TRAINING,
    ("mpt", "init_device"): _START,
    ("mpt", "learned_pos_emb"): "the positions count only without ALiBi",
    ("mpt", "norm_type"): "transformers has one kind for all its values",
    ("mpt", "verbose"): "what the program prints",
    ("gpt_neox", "is_decoder"): "it says what the family always is",
    ("minicpm", "mup_denominator"): _TRAINING,
    ("minicpm", "num_experts"): "1: such a model's tensors have other names",
    ("rwkv5", "num_attention_heads"): "hidden_size and head_size say it",
    ("rwkv5", "rescale_every"): _RESCALED,
    ("rwkv6", "rescale_every"): _RESCALED,
    ("rwkv5", "use_cache"): _SPEED,
    ("rwkv6", "use_cache"): _SPEED,
    ("rwkv7", "hidden_ratio"): "the width of the MLP, if intermediate_size does not say it",
    ("rwkv7", "max_position_embeddings"): _LENGTH,
    ("rwkv7", "num_heads"): "hidden_size and head_dim say it",
}
# Values that mean what is there already.
SAME = {
    ("deepseek_v2", "q_lora_rank"): [0],
    ("granitemoehybrid", "num_experts_per_tok"): [3],
    ("nemotron_h", "num_experts_per_tok"): [3],
    ("nemotron_h", "topk_group"): [2],
}
# Other configs of a family: fields that count only beside others.
_WINDOWS = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
MORE: dict[str, list[dict[str, Any]]] = {
    **dict.fromkeys(
        ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3"),
        [_WINDOWS, {**_WINDOWS, "use_sliding_window": False}],
    ),
    "exaone4": [{"layer_types": None, "sliding_window_pattern": 2}],
    "lfm2": [{"layer_types": None}, {"block_ff_dim": None}],
    "kimi_linear": [
        {
            "linear_attn_config": None,
            "layer_types": ["linear_attention", "full_attention"] * 2,
            "linear_head_dim": 16,
            "linear_num_heads": 4,
            "linear_conv_kernel_dim": 4,
        }
    ],
    "baichuan": [{"max_position_embeddings": None, "model_max_length": 64}],
    "mistral": [{"sliding_window": 8}],
}
# A key that is left out has another value than transformers' default. Sizes of tensors: a wrong one
# does not fit the file. Lengths: the user sees and sets them.
SIZES = frozenset(
    "a_low_rank_dim decay_low_rank_dim gate_low_rank_dim head_dim intermediate_size "
    "intermediate_size_mlp max_position_embeddings moe_intermediate_size n_positions "
    "num_key_value_heads q_lora_rank v_head_dim v_low_rank_dim vocab_size_per_layer_input".split()
)
OTHER_DEFAULTS = {
    ("olmo3", "rope_theta"): "transformers 4 had another one",
    **dict.fromkeys(
        [("kimi_linear", name) for name in ("n_shared_experts", "num_experts_per_tok")],
        "the tiny model has another name of it too",
    ),
    ("gpt_oss", "num_experts_per_tok"): "the tiny model has experts_per_token too",
}


@cache
def configs(family: str) -> list[dict[str, Any]]:
    """Of tiny models."""
    found: list[dict[str, Any]] = []
    for folder in ("families", "encoders"):
        for path in sorted((FIXTURES / folder).glob("*.json")):
            config = json.loads(path.read_text("utf-8"))["config"]
            if models.model_type_of(config) == family:
                found.append(config)
    if family in tiny_experts.FAMILIES:
        found.append(tiny_experts.config(family))
    if not found:  # one that differs from another by its name
        other = {"roberta": "xlm-roberta", "granitemoeshared": "granitemoe"}[family]
        return [{**config, "model_type": family} for config in configs(other)]
    return found + [{**found[0], **change} for change in MORE.get(family, [])]


def model_of(config: dict[str, Any]) -> Any:
    """What the compiler makes of a config, or the error's field."""
    try:
        typed = models.config_from_hf(config)
        return typed, models.get(models.model_type_of(config)).decoder(typed)
    except MLCError as error:
        assert error.param, f"the error names no field: {error}"
        return error.param


def others(usual: Any) -> list[Any]:
    """Values that are not the default."""
    if isinstance(usual, bool):
        return [not usual]
    if isinstance(usual, int):
        return [usual + 1, 0 if usual else 7, 2 * usual + 3]
    if isinstance(usual, float):
        return [1.5 * usual + 0.25, 0.5 * usual + 0.125]
    kinds = {str: ["other"], list: [[3]], dict: [{"x": 5}]}
    return kinds.get(type(usual), [True, 7, 0.5, "other", [3], {"x": 5}])


def ignored(family: str, key: str) -> Iterator[Any]:
    """The values with which every config of the family means the same as without."""
    for value in others(KEYS[family][key]):
        changed = [
            model_of({**config, key: value}) != usual
            for config, usual in zip(configs(family), usual_models(family), strict=True)
            if config.get(key) != value
        ]
        if changed and not any(changed) and value not in SAME.get((family, key), []):
            yield value


@cache
def usual_models(family: str) -> list[Any]:
    made = [model_of(config) for config in configs(family)]
    assert not any(isinstance(one, str) for one in made), made
    return made


def test_the_keys_of_all_families_are_known() -> None:
    assert {SAME_AS.get(family, family) for family in models.FAMILIES} == set(KEYS)
    assert sum(map(len, KEYS.values())) > 1400


@pytest.mark.parametrize("family", KEYS)
def test_each_key_is_read_or_refused_or_harmless(family: str) -> None:
    found = {key: list(ignored(family, key)) for key in KEYS[family]}
    found = {key: values for key, values in found.items() if values}
    harmless = {key for key in found if key in HARMLESS or (family, key) in IN_FAMILY}
    assert found.keys() == harmless, {key: found[key] for key in found.keys() - harmless}


def test_every_harmless_key_is_ignored_somewhere() -> None:
    def is_ignored(family: str, key: str) -> bool:
        return any(True for _ in ignored(family, key))

    for key in HARMLESS:
        assert any(is_ignored(family, key) for family in KEYS if key in KEYS[family]), key
    for family, key in IN_FAMILY:
        assert is_ignored(family, key), (family, key)


@pytest.mark.parametrize("family", KEYS)
def test_a_key_that_is_left_out_means_its_default(family: str) -> None:
    for key, usual in KEYS[family].items():
        if usual is None or key in SIZES or (family, key) in OTHER_DEFAULTS | IN_FAMILY:
            continue
        without = {name: value for name, value in configs(family)[0].items() if name != key}
        made = model_of(without)
        if not isinstance(made, str):  # a key that must be given
            assert made == model_of({**without, key: usual}), key


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"rope_parameters": True}, "rope_parameters"),
        ({"rope_parameters": {"new_scale": 2.0}}, "rope_parameters.new_scale"),
        ({"rope_scaling": {"type": "yarn", "factor": 2.0, "attn_factor": 2.0}},
         "rope_scaling.attn_factor"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"x": 1}},
         "rope_parameters.x"),
        ({"rotary_pct": 2.0}, "rotary_pct"),
        ({"rotary_emb_base": -1}, "rotary_emb_base"),
    ],
)  # fmt: skip
def test_errors_name_the_field_as_the_config_does(config: dict[str, Any], field: str) -> None:
    base = configs("gpt_neox")[0]
    with pytest.raises(MLCError, match=field.split(".")[-1]) as caught:
        models.config_from_hf({**base, **config})
    assert caught.value.param == field


@pytest.mark.parametrize(
    "field",
    [{"alibi": False}, {"alibi_bias_max": 16}, {"clip_qkv": 6.0}, {"qk_ln": True},
     {"prefix_lm": True}, {"softmax_scale": 0.5}, {"attn_type": "multiquery_attention"}],
    ids=str,
)  # fmt: skip
def test_what_mpts_attention_cannot_do_is_refused(field: dict[str, Any]) -> None:
    base = configs("mpt")[0]
    with pytest.raises(MLCError) as caught:
        models.config_from_hf({**base, "attn_config": {**base["attn_config"], **field}})
    assert caught.value.param == f"attn_config.{next(iter(field))}"


def test_the_rotation_of_layers_with_a_window_is_read_or_refused() -> None:
    def rope(**local: Any) -> dict[str, Any]:
        usual = {"rope_type": "default", "rope_theta": 5000.0}
        return {"full_attention": usual, "sliding_attention": {**usual, **local}}

    def read(family: str, parameters: dict[str, Any]) -> Any:
        own = ("rope_scaling", "rope_theta", "rope_local_base_freq")
        config = {k: v for k, v in configs(family)[0].items() if k not in own}
        return models.config_from_hf({**config, "rope_parameters": parameters})

    assert read("gemma3_text", rope(rope_theta=77.0)).rope_local_base_freq == 77.0
    assert read("gemma3_text", rope(rope_theta=None)).rope_local_base_freq == 10000.0
    assert read("olmo3", rope()).rope_theta == 5000.0
    scaled = rope(rope_type="linear", factor=2.0)
    for family, parameters in (
        ("gemma3_text", scaled),
        ("modernbert", scaled),
        ("olmo3", scaled),
        ("olmo3", rope(rope_theta=77.0)),
    ):
        with pytest.raises(MLCError) as caught:
            read(family, parameters)
        assert caught.value.param == "rope_parameters"


def test_values_that_mlc_llm_writes_for_none_are_read() -> None:
    phi = {**configs("phi3")[0], "rope_scaling": None}
    unset = models.config_from_hf({**phi, "original_max_position_embeddings": 0})
    assert unset == models.config_from_hf(phi)


def test_gemmas_of_mlc_llm_have_the_activation_of_older_configs() -> None:
    config = {k: v for k, v in configs("gemma")[0].items() if k != "hidden_act"}
    found = mlc_folders.as_ours("gemma", {**config, "hidden_activation": "gelu"}, ())
    assert model_of(found) == model_of({**config, "hidden_act": "gelu"})
    assert not isinstance(model_of(found), str)
