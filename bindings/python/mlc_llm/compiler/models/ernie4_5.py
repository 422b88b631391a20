"""Ernie 4.5: Llama's block with rotary pairs of neighbours. In the models with experts the first
layers have a plain MLP; in the others experts are chosen by softmax and a correction, and every row
goes through shared experts too.

transformers' `models/ernie4_5/` and `models/ernie4_5_moe/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import SOFTMAX, MoEConfig, gguf_experts, size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.glm4_moe import GLM_NAMES
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.transforms import Reshaped, Unpaired


@dataclass(frozen=True, kw_only=True)
class Ernie45Config(DecoderConfig):
    use_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")

    default_eps = 1e-5
    default_theta = 500000.0
    tied_by_default = True

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        return MLPSpec(width=self.intermediate_size, bias=self.use_bias)


@dataclass(frozen=True, kw_only=True)
class Ernie45MoEConfig(Ernie45Config, MoEConfig):
    norm_topk_prob: bool = flag(default=True)
    moe_num_shared_experts: int = integer(default=2, minimum=0)
    moe_layer_start_index: int = integer(default=1, minimum=0)
    moe_layer_end_index: int  # the last layer that may have experts
    moe_layer_interval: int = integer(default=1)

    aliases = {"num_experts": ("moe_num_experts",), "num_experts_per_tok": ("moe_k",)}
    only = {"use_bias": False, "moe_use_aux_free": True, "moe_gate": "topk"}
    # the least sum of weights that is divided by, and the room for experts while training
    unused = ("moe_norm_min", "moe_capacity", "num_nextn_predict_layers")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(read)
        last = found["num_hidden_layers"] - 1
        end = read.integer("moe_layer_end_index", default=-1, minimum=-1)
        return {**found, "moe_layer_end_index": last if end == -1 else end}

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        inside = self.moe_layer_start_index <= layer <= self.moe_layer_end_index
        if not inside or (layer + 1) % self.moe_layer_interval:
            return super().mlp(layer)
        shared = self.moe_num_shared_experts * self.moe_intermediate_size
        return self.experts(self.router(correction=True), shared_width=shared)


def decoder(c: Ernie45Config) -> DecoderSpec:
    layers = c.layers(lambda i: (c.attention(i, bias=c.use_bias), c.mlp(i)))
    return c.decoder(layers, names=GLM_NAMES)


def _qkv(c: Ernie45Config, query: str, key: str, value: str) -> tuple[Source, ...]:
    pairs = (Unpaired(c.head_dim),)
    return Source(query, pairs), Source(key, pairs), Source(value)


def _tensors(c: Ernie45Config) -> TensorMap:
    shared = "mlp.shared_experts"
    flat = Reshaped((1, c.num_experts)) if isinstance(c, Ernie45MoEConfig) else Reshaped((1,))
    corrected = Source("mlp.moe_statics.e_score_correction_bias", (flat,), is_whole=True)
    return HUGGING_FACE.renamed(
        shared_gate_up=f"{shared}.gate_proj {shared}.up_proj", shared_down=f"{shared}.down_proj"
    ).changed(qkv=_qkv(c, *(f"self_attn.{name}_proj" for name in "qkv")), correction=(corrected,))


def _gguf_tensors(c: Ernie45Config) -> TensorMap:
    return GGUF.changed(qkv=_qkv(c, "attn_q", "attn_k", "attn_v"))


def _gguf_moe_config(fields: GGUFFields) -> dict[str, Any]:
    experts = gguf_experts(fields, gating=SOFTMAX)
    size_or(fields, "expert_shared_feed_forward_length", 0)  # the count says it
    return {
        **experts,
        "moe_num_shared_experts": size_or(fields, "expert_shared_count", 0),
        "moe_layer_start_index": size_or(fields, "leading_dense_block_count", 0),
        "moe_layer_interval": size_or(fields, "interleave_moe_layer_step", 1),
    }


FAMILY = ModelFamily(
    config_class=Ernie45Config,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat("ernie4_5", "Ernie4_5ForCausalLM", tensors=_gguf_tensors),
)
MOE = ModelFamily(
    config_class=Ernie45MoEConfig,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat("ernie4_5-moe", "Ernie4_5_MoeForCausalLM", _gguf_moe_config, _gguf_tensors),
)
