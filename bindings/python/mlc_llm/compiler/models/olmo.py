"""OLMo 1: Llama's block with layer norms that have neither a weight nor a bias. Models that clip
queries, keys and values (`clip_qkv`) are refused.

transformers' `models/olmo/modeling_olmo.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, LayerSpec, NormSpec


@dataclass(frozen=True, kw_only=True)
class OlmoConfig(DecoderConfig):
    attention_bias: bool
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        bias = read.flag("attention_bias", default=False)
        return {**super().fields(read), "attention_bias": bias}


def decoder(c: OlmoConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", weight=False)
    bias = {"qkv_bias": c.attention_bias, "output_bias": c.attention_bias}
    layers = [
        LayerSpec((c.attention(i, **bias), mlp), norm=norm) for i in range(c.num_hidden_layers)
    ]
    return c.decoder(layers, norm=norm)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {"attention_bias": fields.has_tensor("blk.0.attn_q.bias")}


FAMILY = ModelFamily(
    config_class=OlmoConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE,
    gguf=GGUFFormat("olmo", "OlmoForCausalLM", _gguf_config, llama.gguf_tensors),
)
