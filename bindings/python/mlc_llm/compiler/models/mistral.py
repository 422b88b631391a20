"""Mistral 7B and similar models: Llama's block; all layers have the same window, or none has one.

transformers' `models/mistral/modeling_mistral.py`. llama.cpp writes these files as "llama".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import DecoderSpec

_WINDOW = 4096  # of configs that have no field for it


@dataclass(frozen=True, kw_only=True)
class MistralConfig(DecoderConfig):
    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        return super().window_fields(cls.with_window(read, _WINDOW), layers)


def decoder(c: MistralConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    return c.decoder(c.layers(lambda i: (c.attention(i), mlp)))


FAMILY = ModelFamily(
    config_class=MistralConfig,
    decoder=decoder,
)
