"""Nemotron 3 and 4, Minitron: layer norms whose weight is 1 + w, an MLP without a gate whose
activation is the square of relu, and a rotation of a part of each head.

transformers' `models/nemotron/modeling_nemotron.py`. Our stored norms include the 1, like those of
llama.cpp and unlike those of MLC-LLM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig, rotated_part
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, TensorMap
from mlc_llm.compiler.spec.transforms import PlusOne


@dataclass(frozen=True, kw_only=True)
class NemotronConfig(GPTConfig):
    hidden_act: str = "relu2"
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    mlp_bias: bool = flag(default=False, gguf="blk.0.ffn_up.bias")
    aliases = {"rms_norm_eps": ("norm_eps",)}
    activations = {"relu2": "relu2"}
    default_partial = 0.5


def decoder(c: NemotronConfig) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.attention_bias), c.mlp(bias=c.mlp_bias)), norm=c.norm()
    )
    return c.decoder(layers, norm=c.norm())


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {"hidden_act": "relu2", "partial_rotary_factor": rotated_part(fields)}


FAMILY = ModelFamily(
    config_class=NemotronConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.changed(norm=(PlusOne(),)),
    gguf=GGUFFormat("nemotron", "NemotronForCausalLM", _gguf_config),
    mlc=MLCFormat(lambda c: TensorMap("", {}, norm=(PlusOne(),))),
)
