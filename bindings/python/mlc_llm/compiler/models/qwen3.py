"""Qwen 3, dense: Llama's block; each head's query and key are normalized before the rotation.

transformers' `models/qwen3/modeling_qwen3.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlc_llm.compiler.layers import HeadNorms, MLPSpec
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen2 import QWEN_NAMES, Qwen2Config
from mlc_llm.compiler.spec import DecoderSpec


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(Qwen2Config):
    head_dim: int = integer(default=128)
    attention_bias: bool = flag(default=False)


def decoder(c: Qwen3Config) -> DecoderSpec:
    mlp, bias = MLPSpec(width=c.intermediate_size), c.attention_bias
    layers = c.layers(lambda i: (c.attention(i, head_norms=HeadNorms(c.rms), bias=bias), mlp))
    return c.decoder(layers, names=QWEN_NAMES)


FAMILY = ModelFamily(
    config_class=Qwen3Config,
    decoder=decoder,
    gguf=GGUFFormat("qwen3", "Qwen3ForCausalLM", others=("qwen3vl",)),
)
EMBEDDING = replace(FAMILY, pooling="last")
