"""Qwen 1.5, 2, 2.5, and models distilled into them: Llama's block; q, k and v have biases.

transformers' `models/qwen2/modeling_qwen2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec

QWEN_NAMES = {"qkv": "self_attn.c_attn"}


@dataclass(frozen=True, kw_only=True)
class Qwen2Config(DecoderConfig):
    window_by_default = False

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        first = read.integer("max_window_layers", default=28, minimum=0)
        return [SLIDING if i >= first else FULL for i in range(layers)]


def decoder(c: Qwen2Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(lambda i: (c.attention(i, qkv_bias=True), mlp))
    return c.decoder(layers, names=QWEN_NAMES)


FAMILY = ModelFamily(
    config_class=Qwen2Config,
    decoder=decoder,
    gguf=GGUFFormat("qwen2", "Qwen2ForCausalLM", others=("qwen2vl",)),
)
