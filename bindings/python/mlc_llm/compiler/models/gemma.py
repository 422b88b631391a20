"""Gemma 1: Llama's block with gelu, a scaled embedding, and norms whose weight is 1 + w.

transformers' `models/gemma/modeling_gemma.py`. Our stored weights include the 1, like those of
MLC-LLM and llama.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import integer
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, TensorMap
from mlc_llm.compiler.spec.transforms import PlusOne


@dataclass(frozen=True, kw_only=True)
class GemmaConfig(DecoderConfig):
    head_dim: int = integer(default=256)
    hidden_act = "gelu_pytorch_tanh"
    activations = {"gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu_tanh"}  # Gemma never means erf
    tied_by_default = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.choice("hidden_act", of=cls.activations, default=cls.hidden_act)
        only = {cls.hidden_act: ""}  # `hidden_act` of older configs means it whatever it says
        read.choice("hidden_activation", of=only, default=cls.hidden_act)
        return super().fields(read)


def decoder(c: GemmaConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, activation="gelu_tanh")
    layers = c.layers(lambda i: (c.attention(i), mlp))
    return c.decoder(layers, embedding_scale=c.hidden_size**0.5)


def tensors(c: GemmaConfig) -> TensorMap:
    return HUGGING_FACE.changed(norm=(PlusOne(),))


FAMILY = ModelFamily(
    config_class=GemmaConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("gemma", "GemmaForCausalLM", lambda fields: {"hidden_act": "gelu"}),
)
