"""Granite 3, dense: Llama's block with four scales from the config.

transformers' `models/granite/modeling_granite.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import AttentionSpec, MLPSpec, MoESpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.declared import number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.llama import LlamaConfig
from mlc_llm.compiler.spec import DecoderSpec, LayerSpec


@dataclass(frozen=True, kw_only=True)
class GraniteConfig(LlamaConfig):
    embedding_multiplier: float = number(default=1.0)
    attention_multiplier: float = number(default=1.0)
    residual_multiplier: float = number(default=1.0)
    logits_scaling: float = number(default=1.0)  # logits are divided by it


def decoder(c: GraniteConfig) -> DecoderSpec:
    return decoder_with(c, MLPSpec(width=c.intermediate_size, bias=c.mlp_bias))


def decoder_with(c: GraniteConfig, mlp: MLPSpec | MoESpec) -> DecoderSpec:
    """The same `mlp` in all layers."""
    layers = c.layers(lambda i: (attention(c, i), mlp), residual_scale=c.residual_multiplier)
    return decoder_of(c, layers)


def attention(c: GraniteConfig, layer: int, **changes: Any) -> AttentionSpec:
    bias = c.attention_bias
    options = {"scale": c.attention_multiplier, "bias": bias}
    return c.attention(layer, **options, **changes)


def decoder_of(c: GraniteConfig, layers: list[LayerSpec]) -> DecoderSpec:
    scales = {"embedding_scale": c.embedding_multiplier, "logit_scale": 1 / c.logits_scaling}
    return c.decoder(layers, **scales)


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        **llama.gguf_config(fields),
        "embedding_multiplier": fields.number("embedding_scale", 1.0),
        "attention_multiplier": fields.number("attention.scale", 1.0),
        "residual_multiplier": fields.number("residual_scale", 1.0),
        "logits_scaling": fields.number("logit_scale", 1.0),
    }


FAMILY = ModelFamily(
    config_class=GraniteConfig,
    decoder=decoder,
    gguf=GGUFFormat("granite", "GraniteForCausalLM", gguf_config, llama.gguf_tensors),
)
