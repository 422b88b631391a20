"""GLM 4: Llama's block with four norms, rotary pairs of neighbours in a part of each head, and
gate and up fused. GLM 4 9B of 2024 ("glm") has two norms.

transformers' `models/glm4/modeling_glm4.py` and `models/glm/modeling_glm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.mlc_folders import unpaired_qkv
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Unpaired

_SANDWICH_NAMES = {
    "post_attention_norm": "post_self_attn_layernorm",
    "post_mlp_norm": "post_mlp_layernorm",
}


@dataclass(frozen=True, kw_only=True)
class Glm4Config(DecoderConfig):
    head_dim: int = integer(default=128)
    attention_bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")
    default_eps = 1.5625e-7
    default_partial = 0.5


@dataclass(frozen=True, kw_only=True)
class GlmConfig(Glm4Config):
    # q, k and v are one tensor: GGUF files of repositories that are not in transformers' form
    joined_qkv: bool = flag(default=False)

    def to_dict(self) -> dict[str, Any]:
        """Without how a file stores the weights: one library is for all of them."""
        return {name: value for name, value in super().to_dict().items() if name != "joined_qkv"}


def _decoder(c: Glm4Config, places: Any, names: Any) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(lambda i: (c.attention(i, qkv_bias=c.attention_bias), mlp), places=places)
    return c.decoder(layers, names=names)


def decoder(c: Glm4Config) -> DecoderSpec:
    return _decoder(c, "sandwich", _SANDWICH_NAMES)


def _unpaired(tensors: TensorMap, c: Glm4Config, names: list[str]) -> TensorMap:
    pairs = (Unpaired(c.head_dim, c.rope.dim),)
    query, key, value = names
    return tensors.changed(qkv=(Source(query, pairs), Source(key, pairs), Source(value)))


def _tensors(c: Glm4Config) -> TensorMap:
    named = HUGGING_FACE.named(_SANDWICH_NAMES).renamed(gate_up="mlp.gate_up_proj")
    return _unpaired(named, c, [f"self_attn.{name}_proj" for name in "qkv"])


def _gguf_tensors(c: Glm4Config) -> TensorMap:
    return _unpaired(GGUF.renamed(gate_up="ffn_up"), c, ["attn_q", "attn_k", "attn_v"])


FAMILY = ModelFamily(
    config_class=Glm4Config,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat("glm4", "Glm4ForCausalLM", tensors=_gguf_tensors),
)


def _chatglm_config(fields: GGUFFields) -> dict[str, Any]:
    is_joined = fields.has_tensor("blk.0.attn_qkv.weight")
    name = "attn_qkv" if is_joined else "attn_q"
    return {"attention_bias": fields.has_tensor(f"blk.0.{name}.bias"), "joined_qkv": is_joined}


def _chatglm_tensors(c: GlmConfig) -> TensorMap:
    found = _gguf_tensors(c)
    return (
        found.changed(qkv=unpaired_qkv("attn_qkv", c, rotated=c.rope.dim))
        if c.joined_qkv
        else found
    )


GLM = ModelFamily(
    config_class=GlmConfig,
    decoder=lambda c: _decoder(c, "pre", {}),
    tensors=_tensors,
    gguf=GGUFFormat("chatglm", "GlmForCausalLM", _chatglm_config, _chatglm_tensors),
)
