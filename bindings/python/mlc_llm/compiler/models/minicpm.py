"""MiniCPM 1, 2, 4: Llama's block with three scales from the config.

`modeling_minicpm.py` of its repositories (transformers has no such family).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec

_NAMES = {"qkv": "self_attn.wqkv_pack"}


@dataclass(frozen=True, kw_only=True)
class MiniCPMConfig(DecoderConfig):
    scale_emb: float = number()
    scale_depth: float = number()  # what a half adds: multiplied by it, divided by sqrt(layers)
    dim_model_base: float = number()  # logits are divided by hidden_size / dim_model_base
    tied_by_default = True


def decoder(c: MiniCPMConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    scale = c.scale_depth / c.num_hidden_layers**0.5
    layers = c.layers(lambda i: (c.attention(i), mlp), residual_scale=scale)
    logits = c.dim_model_base / c.hidden_size
    return c.decoder(layers, embedding_scale=c.scale_emb, logit_scale=logits, names=_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """The scales as llama.cpp computes with them. The first files of the family have none of these
    keys, and are refused."""
    hidden, layers = fields.size("embedding_length"), fields.size("block_count")
    return {
        "scale_emb": fields.number("embedding_scale"),
        "scale_depth": fields.number("residual_scale") * layers**0.5,
        "dim_model_base": hidden / fields.number("logit_scale"),
    }


FAMILY = ModelFamily(
    config_class=MiniCPMConfig,
    decoder=decoder,
    gguf=GGUFFormat("minicpm", "MiniCPMForCausalLM", _gguf_config, llama.gguf_tensors),
)
