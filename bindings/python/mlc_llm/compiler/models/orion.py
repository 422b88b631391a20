"""Orion 14B: Llama's block with layer norms.

`modeling_orion.py` of its repositories (transformers has no such family).
"""

from __future__ import annotations

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec, NormSpec


class OrionConfig(DecoderConfig):
    default_eps = 1e-5


def decoder(c: OrionConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", bias=True)
    layers = c.layers(lambda i: (c.attention(i), mlp), norm=norm)
    return c.decoder(layers, norm=norm)


FAMILY = ModelFamily(
    config_class=OrionConfig,
    decoder=decoder,
    gguf=GGUFFormat("orion", "OrionForCausalLM"),
)
