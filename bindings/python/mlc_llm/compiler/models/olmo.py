"""OLMo 1: Llama's block with layer norms that have neither a weight nor a bias. Models that clip
queries, keys and values (`clip_qkv`) are refused.

transformers' `models/olmo/modeling_olmo.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec, NormSpec


@dataclass(frozen=True, kw_only=True)
class OlmoConfig(DecoderConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    default_eps = 1e-5


def decoder(c: OlmoConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", weight=False)
    layers = c.layers(lambda i: (c.attention(i, bias=c.attention_bias), mlp), norm=norm)
    return c.decoder(layers, norm=norm)


FAMILY = ModelFamily(
    config_class=OlmoConfig,
    decoder=decoder,
    gguf=GGUFFormat("olmo", "OlmoForCausalLM", tensors=llama.gguf_tensors),
)
