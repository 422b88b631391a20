"""Nemotron 3 and 4, Minitron: layer norms whose weight is 1 + w, an MLP without a gate whose
activation is the square of relu, and a rotation of a part of each head.

transformers' `models/nemotron/modeling_nemotron.py`. Our stored norms include the 1, like those of
llama.cpp and unlike those of MLC-LLM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig, rotated_part
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, TensorMap
from mlc_llm.compiler.spec.transforms import PlusOne


@dataclass(frozen=True, kw_only=True)
class NemotronConfig(GPTConfig):
    hidden_act: str = "relu2"
    attention_bias: bool
    mlp_bias: bool
    aliases = {"rms_norm_eps": ("norm_eps",)}
    activations = {"relu2": "relu2"}
    default_partial = 0.5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        return {
            **super().fields(read),
            "attention_bias": read.flag("attention_bias", default=False),
            "mlp_bias": read.flag("mlp_bias", default=False),
        }


def decoder(c: NemotronConfig) -> DecoderSpec:
    bias = {"qkv_bias": c.attention_bias, "output_bias": c.attention_bias}
    layers = [
        LayerSpec((c.attention(i, **bias), c.mlp(bias=c.mlp_bias)), norm=c.norm())
        for i in range(c.num_hidden_layers)
    ]
    return c.decoder(layers, norm=c.norm())


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        "hidden_act": "relu2",
        "partial_rotary_factor": rotated_part(fields),
        "attention_bias": fields.has_tensor("blk.0.attn_q.bias"),
        "mlp_bias": fields.has_tensor("blk.0.ffn_up.bias"),
    }


FAMILY = ModelFamily(
    config_class=NemotronConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.changed(norm=(PlusOne(),)),
    gguf=GGUFFormat("nemotron", "NemotronForCausalLM", _gguf_config, lambda c: GGUF),
    mlc=MLCFormat(lambda c: TensorMap("", {}, norm=(PlusOne(),))),
)
