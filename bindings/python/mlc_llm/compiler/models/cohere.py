"""Cohere's Command R, Aya: one layer norm without a bias, then attention and the MLP in parallel;
rotary pairs of neighbours, and scaled logits.

transformers' `models/cohere/modeling_cohere.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag, number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.models.mlc_folders import unpaired_qkv
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    NormSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.transforms import Unpaired

NAMES = {"output": "self_attn.out_proj"}


@dataclass(frozen=True, kw_only=True)
class CohereConfig(DecoderConfig):
    logit_scale: float = number(default=0.0625)
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    aliases = {"rms_norm_eps": ("layer_norm_eps",)}
    default_eps = 1e-5
    tied_by_default = True


def norm(c: CohereConfig) -> NormSpec:
    return NormSpec(eps=c.rms_norm_eps, kind="layer")


def decoder(c: CohereConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.attention_bias), mlp), norm=norm(c), places="parallel"
    )
    return c.decoder(layers, norm=norm(c), logit_scale=c.logit_scale, names=NAMES)


def _unpaired(tensors: TensorMap, c: CohereConfig, query: str, key: str, value: str) -> TensorMap:
    pairs = (Unpaired(c.head_dim),)
    return tensors.changed(qkv=(Source(query, pairs), Source(key, pairs), Source(value)))


def tensors(c: CohereConfig) -> TensorMap:
    return _unpaired(HUGGING_FACE, c, *(f"self_attn.{name}_proj" for name in "qkv"))


def _mlc_tensors(c: CohereConfig) -> TensorMap:
    qkv = unpaired_qkv("self_attn.qkv_proj", c)
    return TensorMap(HUGGING_FACE.layer, {"qkv": qkv, **MLPSpec.sources("gate_up")})


def gguf_tensors(c: CohereConfig) -> TensorMap:
    return _unpaired(GGUF, c, "attn_q", "attn_k", "attn_v")


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {"logit_scale": fields.number("logit_scale", 0.0625)}


FAMILY = ModelFamily(
    config_class=CohereConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("command-r", "CohereForCausalLM", gguf_config, gguf_tensors),
    mlc=MLCFormat(_mlc_tensors),
)
