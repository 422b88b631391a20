"""OLMoE: Llama's block with one norm for the queries of all heads (another for the keys), and
experts whose weights are not divided by their sum.

transformers' `models/olmoe/modeling_olmoe.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec


@dataclass(frozen=True, kw_only=True)
class OlmoeConfig(MoEConfig):
    attention_bias: bool
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        bias = read.flag("attention_bias", default=False)
        return {**super().fields(read), "attention_bias": bias}


def decoder(c: OlmoeConfig) -> DecoderSpec:
    mlp = c.experts()
    bias = {"qkv_bias": c.attention_bias, "output_bias": c.attention_bias}
    norms = HeadNorms(c.rms, all_heads=True)
    return c.decoder(
        LayerSpec((c.attention(i, head_norms=norms, **bias), mlp), norm=c.rms)
        for i in range(c.num_hidden_layers)
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {**gguf_experts(fields), "attention_bias": fields.has_tensor("blk.0.attn_q.bias")}


FAMILY = ModelFamily(
    config_class=OlmoeConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE,
    gguf=GGUFFormat("olmoe", "OlmoeForCausalLM", _gguf_config, lambda c: GGUF),
)
