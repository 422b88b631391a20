"""Phi-3.5-MoE: layer norms, biases around the attention, and experts that are chosen one after
another; the weight of each is its share among those that are left and nearly as good.

transformers' `models/phimoe/modeling_phimoe.py` (`sparsemixer`). llama.cpp runs its files with a
plain softmax; we run them as the model was trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.declared import flag, number
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.phi3 import Phi3Config, gguf_longrope
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, NormSpec, TensorMap


@dataclass(frozen=True, kw_only=True)
class PhimoeConfig(Phi3Config, MoEConfig):
    # how much worse an expert may be to share the weight, halved
    router_jitter_noise: float = number(default=0.01)
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    lm_head_bias: bool = flag(default=False, gguf="output.bias")

    default_eps = 1e-5
    default_theta = 1e6


def decoder(c: PhimoeConfig) -> DecoderSpec:
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", bias=True)
    router = c.router(scores="sparsemixer", jitter=c.router_jitter_noise, normalize=False)
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.attention_bias), c.experts(router)), norm=norm
    )
    return c.decoder(layers, norm=norm, head_bias=c.lm_head_bias)


def tensors(c: PhimoeConfig) -> TensorMap:
    moe = "block_sparse_moe"
    return HUGGING_FACE.renamed(
        router=f"{moe}.gate",
        experts_gate_up=f"{moe}.experts.{{}}.w1 {moe}.experts.{{}}.w3",
        experts_down=f"{moe}.experts.{{}}.w2",
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {**gguf_longrope(fields), **gguf_experts(fields)}


FAMILY = ModelFamily(
    config_class=PhimoeConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("phimoe", "PhimoeForCausalLM", _gguf_config),
)
