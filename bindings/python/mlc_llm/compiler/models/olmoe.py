"""OLMoE: Llama's block with one norm for the queries of all heads (another for the keys), and
experts whose weights are not divided by their sum.

transformers' `models/olmoe/modeling_olmoe.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.layers import HeadNorms
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec


@dataclass(frozen=True, kw_only=True)
class OlmoeConfig(MoEConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    default_eps = 1e-5


def decoder(c: OlmoeConfig) -> DecoderSpec:
    mlp = c.experts()
    norms = HeadNorms(c.rms, all_heads=True)
    return c.decoder(
        c.layers(lambda i: (c.attention(i, head_norms=norms, bias=c.attention_bias), mlp))
    )


FAMILY = ModelFamily(
    config_class=OlmoeConfig,
    decoder=decoder,
    gguf=GGUFFormat("olmoe", "OlmoeForCausalLM", gguf_experts),
)
