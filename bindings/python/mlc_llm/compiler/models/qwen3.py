"""Qwen 3, dense: Llama's block; each head's query and key are normalized before the rotation.

transformers' `models/qwen3/modeling_qwen3.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, MLPSpec
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen2 import QWEN_NAMES, Qwen2Config
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(Qwen2Config):
    attention_bias: bool = False

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        return {
            **super().fields(read),
            "head_dim": read.integer("head_dim", default=128),
            "attention_bias": read.flag("attention_bias", default=False),
        }


def decoder(c: Qwen3Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    bias = {"qkv_bias": c.attention_bias, "output_bias": c.attention_bias}
    layers = [
        LayerSpec((c.attention(i, head_norms=HeadNorms(c.rms), **bias), mlp), norm=c.rms)
        for i in range(c.num_hidden_layers)
    ]
    return c.decoder(layers, names=QWEN_NAMES)


FAMILY = ModelFamily(
    config_class=Qwen3Config,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE,
    gguf=GGUFFormat(
        "qwen3", "Qwen3ForCausalLM", lambda fields: {}, lambda c: GGUF, others=("qwen3vl",)
    ),
)
