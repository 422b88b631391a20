"""Phi 1, 1.5 and 2: one layer norm, then attention and the MLP in parallel; biases everywhere, and
a rotation of a part of each head.

transformers' `models/phi/modeling_phi.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig, rotated_part
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec

_NAMES = {
    "embedding": "transformer.embd",
    "norm": "lm_head.ln",
    "head": "lm_head.linear",
    "layer": "transformer.h.{}",
    "attention_norm": "ln",
    "qkv": "mixer.Wqkv",
    "output": "mixer.out_proj",
    "up": "mlp.fc1",
    "down": "mlp.fc2",
}


@dataclass(frozen=True, kw_only=True)
class PhiConfig(GPTConfig):
    default_partial = 0.5


def decoder(c: PhiConfig) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, bias=True), c.mlp(bias=True)), norm=c.norm(), places="parallel"
    )
    return c.decoder(layers, norm=c.norm(), head_bias=True, names=_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {"hidden_act": "gelu_tanh", "partial_rotary_factor": rotated_part(fields)}


FAMILY = ModelFamily(
    config_class=PhiConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.renamed(
        norm="model.final_layernorm", output="self_attn.dense", up="mlp.fc1", down="mlp.fc2"
    ),
    gguf=GGUFFormat("phi2", "PhiForCausalLM", _gguf_config),
)
