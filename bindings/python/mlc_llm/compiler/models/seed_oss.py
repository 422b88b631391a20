"""Seed-OSS: Llama's block with biases of queries, keys and values.

transformers' `models/seed_oss/modeling_seed_oss.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.llama import LlamaConfig
from mlc_llm.compiler.spec import GGUF, DecoderSpec


@dataclass(frozen=True, kw_only=True)
class SeedOssConfig(LlamaConfig):
    attention_bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")
    attention_out_bias: bool = flag(default=False, gguf="blk.0.attn_output.bias")

    unused = ("residual_dropout",)  # only for training


def decoder(c: SeedOssConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, bias=c.mlp_bias)
    bias = {"qkv_bias": c.attention_bias, "output_bias": c.attention_out_bias}
    return c.decoder(c.layers(lambda i: (c.attention(i, **bias), mlp)))


FAMILY = ModelFamily(
    config_class=SeedOssConfig,
    decoder=decoder,
    gguf=GGUFFormat(
        "seed_oss",
        "SeedOssForCausalLM",
        tensors=lambda c: GGUF.renamed(mlp_norm="post_attention_norm"),
    ),
)
