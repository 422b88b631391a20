"""Qwen 3-MoE: Qwen 3's attention with experts instead of the MLP.

transformers' `models/qwen3_moe/modeling_qwen3_moe.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms
from mlc_llm.compiler.models.config import SLIDING, ConfigReader
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.experts import gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen2 import QWEN_NAMES
from mlc_llm.compiler.models.qwen2_moe import QwenMoEConfig
from mlc_llm.compiler.spec import DecoderSpec


@dataclass(frozen=True, kw_only=True)
class Qwen3MoEConfig(QwenMoEConfig):
    attention_bias: bool = flag(default=False)

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        """Unlike in Qwen 2-MoE, no layer is left out of a window."""
        read.seen.add("max_window_layers")
        return [SLIDING] * layers


def decoder(c: Qwen3MoEConfig) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, head_norms=HeadNorms(c.rms), bias=c.attention_bias), c.mlp(i))
    )
    return c.decoder(layers, names=QWEN_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {**gguf_experts(fields), "norm_topk_prob": True}  # as llama.cpp takes it to be


FAMILY = ModelFamily(
    config_class=Qwen3MoEConfig,
    decoder=decoder,
    gguf=GGUFFormat("qwen3moe", "Qwen3MoeForCausalLM", _gguf_config),
)
