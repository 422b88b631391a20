"""Phi 3, 3.5, 4 and 4-mini: Llama's block. In the files q, k and v are fused, gate and up too.

transformers' `models/phi3/modeling_phi3.py`. Variants with a long context have longrope. 4-mini
rotates three quarters of a head.
"""

from __future__ import annotations

from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source

_NAMES = {
    "embedding": "transformer.embd",
    "norm": "transformer.norm",
    "layer": "transformer.h.{}",
    "attention_norm": "ln",
    "qkv": "mixer.qkv_proj",
    "output": "mixer.out_proj",
}


_ORIGINAL = 4096  # context of the training, of configs that leave it out


class Phi3Config(DecoderConfig):
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config = dict(read.config)
        name = "original_max_position_embeddings"
        # MLC-LLM writes 0 for none.
        original = read.integer(name, default=0, minimum=0) or _ORIGINAL
        for field in ("rope_scaling", "rope_parameters"):
            if isinstance(config.get(field), dict):
                inside = config[field].get(name) or original  # MLC-LLM copies its 0 into this field
                config[field] = {**config[field], name: inside}
        return super().fields(ConfigReader(config, read.seen))


def decoder(c: Phi3Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(lambda i: (c.attention(i), mlp))
    return c.decoder(layers, names=_NAMES)


def gguf_longrope(fields: GGUFFields) -> dict[str, Any]:
    if not fields.has_tensor("rope_factors_long.weight"):
        return {}
    return {
        "rope_scaling": {
            "rope_type": "longrope",
            "long_factor": fields.values("rope_factors_long.weight"),
            "short_factor": fields.values("rope_factors_short.weight"),
            "attention_factor": fields.number("rope.scaling.attn_factor", 1.0),
            "original_max_position_embeddings": fields.size("rope.scaling.original_context_length"),
        }
    }


_FUSED = (Source("self_attn.qkv_proj"),), (Source("mlp.gate_up_proj"),)
FAMILY = ModelFamily(
    config_class=Phi3Config,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.changed(qkv=_FUSED[0], gate_up=_FUSED[1]),
    gguf=GGUFFormat(
        "phi3",
        "Phi3ForCausalLM",
        gguf_longrope,
        lambda c: GGUF.changed(qkv=(Source("attn_qkv"),), gate_up=(Source("ffn_up"),)),
    ),
)
