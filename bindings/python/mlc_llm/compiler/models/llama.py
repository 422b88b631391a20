"""Llama 1 to 3, SmolLM, TinyLlama and all models with the same blocks.

Grouped-query attention with rotary positions, RMS norms before both halves of a block and a gated
MLP. The layers are described in transformers' `models/llama/modeling_llama.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Unpaired
from mlc_llm.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(DecoderConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    mlp_bias: bool = flag(default=False, gguf="blk.0.ffn_gate.bias")


def decoder(c: LlamaConfig) -> DecoderSpec:
    mlp, bias = MLPSpec(width=c.intermediate_size, bias=c.mlp_bias), c.attention_bias
    return c.decoder(c.layers(lambda i: (c.attention(i, bias=bias), mlp)))


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """No field that other families lack; a partial rotation is refused."""
    hidden, heads = fields.size("embedding_length"), fields.size("attention.head_count")
    dim = fields.size("attention.key_length", max(1, hidden // heads))
    rotated = fields.size("rope.dimension_count", dim)
    if rotated != dim:  # the order of the rows would differ
        raise UnsupportedError(
            f"rotary embedding over {rotated} of {dim} dimensions is not supported",
            param="rope.dimension_count",
        )
    return {}


def gguf_tensors(c: LlamaConfig) -> TensorMap:
    pairs = (Unpaired(c.head_dim),)
    return GGUF.changed(qkv=(Source("attn_q", pairs), Source("attn_k", pairs), Source("attn_v")))


FAMILY = ModelFamily(
    config_class=LlamaConfig,
    decoder=decoder,
    gguf=GGUFFormat("llama", "LlamaForCausalLM", gguf_config, gguf_tensors),
)
