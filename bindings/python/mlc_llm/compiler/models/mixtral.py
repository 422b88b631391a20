"""Mixtral: Mistral's block with experts instead of the MLP. The weights of a row's experts add up
to 1.

transformers' `models/mixtral/modeling_mixtral.py`. llama.cpp writes these files as "llama".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec

MIXTRAL_NAMES = {
    "router": "moe.gate",
    "experts_gate_up": "moe.e1_e3",
    "experts_down": "moe.e2",
}


@dataclass(frozen=True, kw_only=True)
class MixtralConfig(MoEConfig):
    norm_topk_prob: bool = flag(default=True)
    default_eps = 1e-5
    default_theta = 1e6


def decoder(c: MixtralConfig) -> DecoderSpec:
    mlp = c.experts()
    layers = c.layers(lambda i: (c.attention(i), mlp))
    return c.decoder(layers, names=MIXTRAL_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    llama.gguf_config(fields)  # refuses a partial rotation
    return gguf_experts(fields)


FAMILY = ModelFamily(
    config_class=MixtralConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.renamed(
        router="block_sparse_moe.gate",
        experts_gate_up="block_sparse_moe.experts.{}.w1 block_sparse_moe.experts.{}.w3",
        experts_down="block_sparse_moe.experts.{}.w2",
    ),
    gguf=GGUFFormat("llama", "MixtralForCausalLM", _gguf_config, llama.gguf_tensors, experts=True),
)
