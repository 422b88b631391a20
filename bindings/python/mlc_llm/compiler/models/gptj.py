"""GPT-J: one layer norm, then attention and the MLP in parallel; rotary pairs of neighbours in a
part of each head, biases in the MLP and in the head.

transformers' `models/gptj/modeling_gptj.py`. llama.cpp does not have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader, corrupt
from mlc_llm.compiler.models.family import MLCFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPT2FieldsConfig
from mlc_llm.compiler.models.mlc_folders import unpaired_qkv
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, RopeSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Unpaired

_NAMES = {
    "embedding": "transformer.wte",
    "norm": "transformer.ln_f",
    "layer": "transformer.h.{}",
    "attention_norm": "ln_1",
    "qkv": "attn.c_attn",
    "output": "attn.out_proj",
    "up": "mlp.fc_in",
    "down": "mlp.fc_out",
}


@dataclass(frozen=True, kw_only=True)
class GPTJConfig(GPT2FieldsConfig):
    rotary_dim: int  # the rotated part of a head
    only = {"rotary": True, "scale_attn_weights": True}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        fields = super().fields(read)
        rotated = read.integer("rotary_dim", default=64, maximum=fields["head_dim"])
        if rotated % 2:
            raise corrupt("rotary_dim", "must be even")
        return {**fields, "rotary_dim": rotated}


def decoder(c: GPTJConfig) -> DecoderSpec:
    rope = RopeSpec(dim=c.rotary_dim, theta=c.rope_theta)
    layers = c.layers(
        lambda i: (c.attention(i, rope=rope), c.mlp(bias=True)), norm=c.norm(), places="parallel"
    )
    return c.decoder(layers, norm=c.norm(), head_bias=True, names=_NAMES)


def _tensors(c: GPTJConfig) -> TensorMap:
    pairs = (Unpaired(c.head_dim, c.rotary_dim),)
    return HUGGING_FACE.named(_NAMES).changed(
        qkv=(
            Source("attn.q_proj", pairs),
            Source("attn.k_proj", pairs),
            Source("attn.v_proj"),
        ),
    )


def _mlc_tensors(c: GPTJConfig) -> TensorMap:
    qkv = unpaired_qkv("attn.c_attn", c, rotated=c.rotary_dim)
    return TensorMap("transformer.h.{}.", {"qkv": qkv})


FAMILY = ModelFamily(
    config_class=GPTJConfig, decoder=decoder, tensors=_tensors, mlc=MLCFormat(_mlc_tensors)
)
