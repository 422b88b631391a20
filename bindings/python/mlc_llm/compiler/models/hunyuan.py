"""Hunyuan, dense: Llama's block; each head's query and key are normalized after the rotation, and
the base of the rotation grows by a fixed `alpha`.

transformers' `models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec

_NAMES = {"q_norm": "self_attn.query_layernorm", "k_norm": "self_attn.key_layernorm"}


@dataclass(frozen=True, kw_only=True)
class HunyuanConfig(DecoderConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    use_qk_norm: bool = flag(default=True, gguf="blk.0.attn_q_norm.weight")
    aliases = {"head_dim": ("attention_head_dim",)}
    default_eps = 1e-5

    only = {"norm_type": "rms", "use_rotary_pos_emb": True, "use_cla": False}
    unused = ("cla_share_factor",)  # counts with use_cla


def decoder(c: HunyuanConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    options: dict[str, Any] = {"bias": c.attention_bias}
    if c.use_qk_norm:
        options["head_norms"] = HeadNorms(c.rms, rotated=True)
    layers = c.layers(lambda i: (c.attention(i, **options), mlp))
    return c.decoder(layers, names=_NAMES)


FAMILY = ModelFamily(
    config_class=HunyuanConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.named(_NAMES),
    # llama.cpp stores the base of the rotation with `alpha` in it
    gguf=GGUFFormat("hunyuan-dense", "HunYuanDenseV1ForCausalLM"),
)
