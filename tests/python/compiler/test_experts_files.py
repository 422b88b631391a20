"""Models with experts in GGUF files, in gpt-oss's own MXFP4, and by MLC-LLM's names. Needs no
compiler."""

from __future__ import annotations

from typing import Any

import gguf
import numpy as np
import pytest
import spec_switches
import tiny_experts
import tiny_models
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize, quantize
from tiny_families import Collector, Source, converted

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.convert import notes, open_source
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.convert.gguf_weights import scheme_of_file
from mlc_llm.compiler.convert.hf_mxfp4 import mxfp4_weights
from mlc_llm.compiler.convert.hf_quantized import Repository, read_rows
from mlc_llm.compiler.convert.source import TensorInfo
from mlc_llm.compiler.convert.weights import as_in_files, convert_weights
from mlc_llm.compiler.layers import AttentionSpec
from mlc_llm.errors import CorruptFileError, UnsupportedError

Array = np.ndarray[Any, Any]

ARCHITECTURES = {
    "mixtral": ("llama", gguf.MODEL_ARCH.LLAMA),
    "qwen2_moe": ("qwen2moe", gguf.MODEL_ARCH.QWEN2MOE),
    "qwen3_moe": ("qwen3moe", gguf.MODEL_ARCH.QWEN3MOE),
    "gpt_oss": ("gpt-oss", gguf.MODEL_ARCH.GPT_OSS),
    "glm4_moe": ("glm4moe", gguf.MODEL_ARCH.GLM4_MOE),
    "granitemoe": ("granitemoe", gguf.MODEL_ARCH.GRANITE_MOE),
}
# What a GGUF file of the architecture cannot say is as llama.cpp takes it to be.
DENSE_LAYERS = {"qwen3_moe": {"decoder_sparse_step": 1, "mlp_only_layers": []}}


def config_of(family: str) -> dict[str, Any]:
    return {**tiny_experts.config(family), **DENSE_LAYERS.get(family, {})}


def as_written(family: str, c: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Array]:
    """The tensors by llama.cpp's names: experts stacked, gate and up apart."""
    table = gguf.get_tensor_name_map(ARCHITECTURES[family][1], c["num_hidden_layers"])
    found: dict[str, Array] = {}
    stacks: dict[str, list[Array]] = {}
    for key, value in arrays.items():
        block = f"blk.{key.split('.')[2]}" if ".layers." in key else ""
        part = key.rsplit(".", 2)
        if ".experts." in key and key.endswith(".weight"):
            names = {"gate_proj": "gate", "up_proj": "up", "down_proj": "down"}
            names |= {"w1": "gate", "w3": "up", "w2": "down"}
            stacks.setdefault(f"{block}.ffn_{names[part[1]]}_exps.weight", []).append(value)
        elif family == "gpt_oss" and ".experts." in key:
            found |= _gpt_oss(block, key, value)
        elif "input_linear" in key:
            kind = "shexp" if "shared" in key else "exps"
            gate, up = np.split(value, 2, axis=-2)
            found |= {f"{block}.ffn_gate_{kind}.weight": gate, f"{block}.ffn_up_{kind}.weight": up}
        elif "output_linear" in key:
            found[f"{block}.ffn_down_{'shexp' if 'shared' in key else 'exps'}.weight"] = value
        elif "e_score_correction_bias" in key:
            found[f"{block}.exp_probs_b.bias"] = value
        elif "shared_expert_gate" in key:
            found[f"{block}.ffn_gate_inp_shexp.weight"] = value[0]
        else:
            ours = table.get_name(key, try_suffixes=(".weight", ".bias"))
            assert ours is not None, key
            if key.endswith("sinks"):
                ours += ".weight"
            heads = {"q_proj.w": "num_attention_heads", "k_proj.w": "num_key_value_heads"}
            for name, count in heads.items():
                if name in key and family in ("mixtral", "granitemoe"):
                    value = tiny_models.interleave(value, c[count])
            found[ours] = value
    return found | {name: np.stack(stack) for name, stack in stacks.items()}


def _gpt_oss(block: str, key: str, value: Array) -> dict[str, Array]:
    kind = "bias" if key.endswith("bias") else "weight"
    value = value if kind == "bias" else value.swapaxes(1, 2)
    if "down" in key:
        return {f"{block}.ffn_down_exps.{kind}": value}
    return {
        f"{block}.ffn_gate_exps.{kind}": value[:, 0::2],
        f"{block}.ffn_up_exps.{kind}": value[:, 1::2],
    }


def written(path: Any, family: str, c: dict[str, Any], kinds: dict[str, str]) -> dict[str, Array]:
    """Writes the file; returns its tensors as floats. `kinds`: the types of tensors by a part of
    their names."""
    writer = GGUFWriter(path, ARCHITECTURES[family][0])
    _add_fields(writer, family, c)
    meaning = {}
    for name, value in as_written(family, c, tiny_experts.weights(c)).items():
        kind = next((k for part, k in kinds.items() if part in name), None)
        value = np.ascontiguousarray(value, np.float32)
        if kind is None:
            writer.add_tensor(name, value)
            meaning[name] = value
            continue
        dtype = GGMLQuantizationType[kind]
        raw = quantize(value, dtype)
        writer.add_tensor(name, raw, raw_dtype=dtype)
        meaning[name] = dequantize(raw, dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return meaning


def _add_fields(writer: GGUFWriter, family: str, c: dict[str, Any]) -> None:
    writer.add_block_count(c["num_hidden_layers"])
    writer.add_context_length(c["max_position_embeddings"])
    writer.add_embedding_length(c["hidden_size"])
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(c["num_attention_heads"])
    writer.add_head_count_kv(c["num_key_value_heads"])
    writer.add_key_length(c["head_dim"])
    writer.add_value_length(c["head_dim"])
    writer.add_layer_norm_rms_eps(c["rms_norm_eps"])
    writer.add_rope_freq_base(c["rope_theta"])
    writer.add_expert_count(tiny_experts.count(c))
    writer.add_expert_used_count(c["num_experts_per_tok"])
    if "moe_intermediate_size" in c:
        writer.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if c.get("rope_scaling"):
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(c["rope_scaling"]["factor"])
        original = c["rope_scaling"]["original_max_position_embeddings"]
        writer.add_rope_scaling_orig_ctx_len(original)
    if family == "gpt_oss":
        writer.add_sliding_window(c["sliding_window"])
    if family == "qwen2_moe":
        writer.add_expert_shared_feed_forward_length(c["shared_expert_intermediate_size"])
    if family == "granitemoe":
        writer.add_expert_shared_feed_forward_length(c["shared_intermediate_size"])
        writer.add_embedding_scale(c["embedding_multiplier"])
        writer.add_attention_scale(c["attention_multiplier"])
        writer.add_residual_scale(c["residual_multiplier"])
        writer.add_logit_scale(c["logits_scaling"])
    if family == "glm4_moe":
        writer.add_rope_dimension_count(int(c["head_dim"] * c["partial_rotary_factor"]))
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_shared_count(c["n_shared_experts"])
        writer.add_leading_dense_block_count(c["first_k_dense_replace"])
        writer.add_expert_weights_scale(c["routed_scaling_factor"])
        writer.add_expert_weights_norm(c["norm_topk_prob"])
        writer.add_expert_group_count(c["n_group"])
        writer.add_expert_group_used_count(c["topk_group"])


def _plain(config: dict[str, Any]) -> Any:
    """The decoder, with the numbers of its rotations rounded."""
    spec = models.get(config["model_type"]).decoder(models.config_from_hf(config))
    turned = [a.rope for a in spec_switches.parts_of(spec, AttentionSpec)]
    ropes = [[*rope.frequencies, rope.scaling.magnitude] for rope in turned]
    plain = spec_switches.with_fields(spec, AttentionSpec, rope=None)
    return plain, np.round(ropes, 6).tolist()


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_a_gguf_file_is_the_model_of_the_folder(family, tmp_path):
    config = config_of(family)
    written(tmp_path / "m.gguf", family, config, {})
    model = GGUFModel(tmp_path / "m.gguf")
    found = model.hf_config()
    assert found["model_type"] == family
    assert _plain(found) == _plain(config)
    ours = converted(model, found)
    theirs = converted(Source(tiny_experts.weights(config)), config)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert np.array_equal(ours[name], value), name


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_a_config_survives_the_folder(family):
    config = models.config_from_hf(tiny_experts.config(family))
    again = models.config_from_hf({**config.to_dict(), "model_type": family})
    assert again == config


def test_experts_keep_the_types_of_their_file(tmp_path):
    config = tiny_experts.config("mixtral")
    kinds = {"down_exps": "Q8_0", "_exps": "Q4_0", "attn_q.": "Q8_0"}
    meaning = written(tmp_path / "m.gguf", "mixtral", config, kinds)
    model = GGUFModel(tmp_path / "m.gguf")
    family = models.get("mixtral")
    weights = family.weight_map(models.config_from_hf(model.hf_config()), "gguf")
    scheme = scheme_of_file(model, weights, wanted="auto")
    assert scheme.name == "gguf_q4_0"
    found = _Values(scheme, weights)
    convert_weights(model, weights, scheme, found, lambda _: None)
    gate, up = (meaning[f"blk.2.ffn_{part}_exps.weight"] for part in ("gate", "up"))
    joined = np.concatenate([gate, up], axis=1)
    assert np.array_equal(found.values["model.layers.2.moe.e1_e3.weight"], joined)
    down = meaning["blk.2.ffn_down_exps.weight"]
    assert np.array_equal(found.values["model.layers.2.moe.e2.weight"], down)
    again = quantization.get(scheme.name, weight_types=scheme.config_fields()["weight_types"])
    assert again == scheme


class _Values:
    """A writer that keeps what stored experts mean."""

    def __init__(self, scheme: Any, weights: Any) -> None:
        self.arrays: dict[str, Array] = {}
        self.scheme, self.weights = scheme, weights
        self.values: dict[str, Array] = {}

    def add(self, param: Any, chunks: Any) -> None:
        self.arrays[param.name] = np.concatenate(list(chunks))

    def finish(self, **_: Any) -> None:
        for weight in self.weights:
            if weight.experts and weight.quantizable is not None:
                (matrix,) = self.scheme.stacked(weight.name, weight.shape, weight.quantizable)
                arrays = [self.arrays[param.name] for param in matrix.stored]
                self.values[weight.name] = matrix.floats(arrays).reshape(weight.shape)


def test_experts_of_two_types_are_refused(tmp_path):
    config = tiny_experts.config("mixtral")
    written(tmp_path / "m.gguf", "mixtral", config, {"gate_exps": "Q4_0", "up_exps": "Q8_0"})
    model = GGUFModel(tmp_path / "m.gguf")
    weights = models.get("mixtral").weight_map(models.config_from_hf(model.hf_config()), "gguf")
    with pytest.raises(UnsupportedError, match="ffn_gate_exps.*different types") as caught:
        scheme_of_file(model, weights, wanted="auto")
    assert caught.value.param == "blk.0.ffn_gate_exps.weight"


def test_an_unknown_way_to_make_scores_is_refused_by_name(tmp_path):
    writer = GGUFWriter(tmp_path / "m.gguf", "qwen3moe")
    _add_fields(writer, "qwen3_moe", config_of("qwen3_moe"))
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_tensor("token_embd.weight", np.zeros((128, 64), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedError, match="expert_gating_func") as caught:
        GGUFModel(tmp_path / "m.gguf").hf_config()
    assert caught.value.param == "expert_gating_func"


# MLC-LLM's names and shapes in q4f16_1, of one layer (mixtral_model.py, qwen3_moe_model.py, ...).
MLC_NAMES = {
    "mixtral": {
        "moe.gate.weight": (8, 64),
        "moe.e1_e3.q_weight": (8, 192, 8),
        "moe.e1_e3.q_scale": (8, 192, 2),
        "moe.e2.q_weight": (8, 64, 12),
        "moe.e2.q_scale": (8, 64, 3),
    },
    "qwen2_moe": {
        "mlp.gate.weight": (6, 64),
        "mlp.moe_gate_up_proj.q_weight": (6, 96, 8),
        "mlp.moe_down_proj.q_weight": (6, 64, 8),
        "mlp.shared_expert.gate_up_proj.q_weight": (160, 8),
        "mlp.shared_expert_gate.weight": (1, 64),
        "self_attn.c_attn.bias": (128,),
    },
    "qwen3_moe": {
        "mlp.gate.weight": (20, 64),
        "mlp.moe_gate_up_proj.q_weight": (20, 96, 8),
        "mlp.moe_down_proj.q_scale": (20, 64, 2),
    },
}


@pytest.mark.parametrize("family", MLC_NAMES)
def test_parameters_have_mlc_llms_names(family):
    config = tiny_experts.config(family)
    source = Source(tiny_experts.weights(config))
    found = converted(source, config, "q4f16_1")
    for name, shape in MLC_NAMES[family].items():
        assert found[f"model.layers.1.{name}"].shape == shape, name


def test_gate_rows_lie_before_up_rows_of_each_expert():
    config = tiny_experts.config("mixtral")
    arrays = tiny_experts.weights(config)
    found = converted(Source(arrays), config)
    stack = found["model.layers.1.moe.e1_e3.weight"]
    prefix = "model.layers.1.block_sparse_moe.experts.5"
    expected = np.concatenate([arrays[f"{prefix}.{part}.weight"] for part in ("w1", "w3")])
    assert np.array_equal(stack[5], expected)


@pytest.mark.parametrize(
    ("family", "change", "param"),
    [
        ("mixtral", {"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ("mixtral", {"num_local_experts": None}, "num_experts"),
        ("qwen3_moe", {"mlp_only_layers": "all"}, "mlp_only_layers"),
        ("qwen3_moe", {"moe_layer_pattern": [1]}, "moe_layer_pattern"),
        ("glm4_moe", {"n_group": 3}, "n_group"),
    ],
)
def test_a_wrong_config_names_the_field(family, change, param):
    with pytest.raises((CorruptFileError, UnsupportedError)) as caught:
        models.config_from_hf({**tiny_experts.config(family), **change})
    assert caught.value.param == param


def test_another_limit_of_the_activation_is_refused():
    config = {**tiny_experts.config("gpt_oss"), "swiglu_limit": 5.0}
    with pytest.raises(UnsupportedError, match="swiglu_limit"):
        models.config_from_hf(config)


def _repository(arrays: dict[str, Array]) -> Repository:
    infos = {name: TensorInfo(name, a.shape, "U8") for name, a in arrays.items()}
    config = {"quant_method": "mxfp4"}
    return Repository(config, infos, lambda name, *rows: arrays[name][slice(*rows or (None,))])


def test_mxfp4_of_a_folder_is_read_as_its_definition_says():
    rng = np.random.default_rng(6)
    name = "model.layers.0.mlp.experts.gate_up_proj"
    blocks = rng.integers(0, 256, (3, 6, 2, 16), np.uint8)  # 3 experts, 6 outputs, 64 inputs
    scales = rng.integers(110, 135, (3, 6, 2)).astype(np.uint8)
    repository = _repository({f"{name}_blocks": blocks, f"{name}_scales": scales})
    (weight,) = mxfp4_weights(repository)
    assert (weight.info.name, weight.info.shape) == (name, (3, 6, 64))
    found = read_rows(weight, 1, 3)
    # llama.cpp's blocks hold inputs 0 to 15 in the low halves, and the exponent first
    codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(3, 6, 2, 32)
    packed = codes[..., :16] | codes[..., 16:] << 4
    raw = np.concatenate([scales[..., None], packed], axis=-1).reshape(18, -1)
    expected = dequantize(raw, GGMLQuantizationType.MXFP4).reshape(3, 6, 64)
    assert np.array_equal(found, expected[1:])
    assert np.array_equal(weight.blocks(0, 3).reshape(18, -1), raw)


@pytest.mark.parametrize("prefix", ["model.", ""])  # a bare model's weights have none
def test_mxfp4_of_a_folder_is_kept_bit_for_bit(prefix, tmp_path):
    config = {**tiny_experts.config("gpt_oss"), "quantization_config": {"quant_method": "mxfp4"}}
    arrays, rng = tiny_experts.weights(config), np.random.default_rng(7)
    for name in [n for n in arrays if ".experts." in n and n.endswith("_proj")]:
        experts, ins, outs = arrays.pop(name).shape
        shape = (experts, outs, ins // 32)
        arrays[f"{name}_blocks"] = rng.integers(0, 256, (*shape, 16), np.uint8)
        arrays[f"{name}_scales"] = rng.integers(115, 130, shape).astype(np.uint8)
    arrays = {name.replace("model.", prefix, 1): array for name, array in arrays.items()}
    source = open_source(tiny_models.write_hf_folder(tmp_path, arrays, **config))
    assert all("mxfp4" in str(notes(source, name)) for name in ("auto", "q4f32_1"))
    weights = models.get("gpt_oss").weight_map(models.config_from_hf(config))
    weights = as_in_files(weights, source.tensors())
    scheme = scheme_of_file(source, weights, wanted="auto")
    assert scheme.name == "gguf_mxfp4"
    kept, floats = _Values(scheme, weights), Collector()
    convert_weights(source, weights, scheme, kept, lambda _: None)
    convert_weights(source, weights, quantization.get("q0f32"), floats, lambda _: None)
    assert kept.values
    for name, value in kept.values.items():
        assert np.array_equal(value, floats.arrays[name]), name
        layer = name.split(".")[2]
        stored = "gate_up_proj" if "gate_up" in name else "down_proj"
        turned = source.read(f"{prefix}layers.{layer}.mlp.experts.{stored}")
        pairs = [turned[:, 0::2], turned[:, 1::2]] if stored != "down_proj" else [turned]
        assert np.array_equal(value, np.concatenate(pairs, axis=1)), name


def test_mxfp4_blocks_of_another_shape_are_refused():
    with pytest.raises(CorruptFileError, match="a_blocks") as caught:
        mxfp4_weights(_repository({"a_blocks": np.zeros((2, 3, 16), np.uint8)}))
    assert caught.value.param == "a_blocks"
