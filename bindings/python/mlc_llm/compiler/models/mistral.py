"""Mistral 7B and similar models: Llama's block; all layers have the same window, or none has one.

transformers' `models/mistral/modeling_mistral.py`. llama.cpp writes these files as "llama".
"""

from __future__ import annotations

from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, LayerSpec, MLPSpec


def decoder(c: DecoderConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    return c.decoder(
        LayerSpec(attention=c.attention(i), mlp=mlp, norm=c.rms) for i in range(c.num_hidden_layers)
    )


FAMILY = ModelFamily(
    config_class=DecoderConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE,
)
