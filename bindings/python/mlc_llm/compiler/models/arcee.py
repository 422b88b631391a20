"""Arcee (AFM): Llama's block with an MLP without a gate, whose activation is the square of relu.

transformers' `models/arcee/modeling_arcee.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.llama import LlamaConfig
from mlc_llm.compiler.spec import DecoderSpec


@dataclass(frozen=True, kw_only=True)
class ArceeConfig(LlamaConfig):
    mlp_bias: bool = flag(default=False, gguf="blk.0.ffn_up.bias")
    hidden_act = "relu2"
    activations = {"relu2": "relu2"}
    default_eps = 1e-5


def decoder(c: ArceeConfig) -> DecoderSpec:
    width, bias = c.intermediate_size, c.attention_bias
    mlp = MLPSpec(width=width, activation="relu2", bias=c.mlp_bias, gated=False)
    return c.decoder(c.layers(lambda i: (c.attention(i, bias=bias), mlp)))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {**llama.gguf_config(fields), "hidden_act": "relu2"}


FAMILY = ModelFamily(
    config_class=ArceeConfig,
    decoder=decoder,
    gguf=GGUFFormat("arcee", "ArceeForCausalLM", _gguf_config, llama.gguf_tensors),
)
