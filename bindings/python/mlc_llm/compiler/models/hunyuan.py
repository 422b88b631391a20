"""Hunyuan, dense: Llama's block; each head's query and key are normalized after the rotation, and
the base of the rotation grows by a fixed `alpha`.

transformers' `models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec

_NAMES = {"q_norm": "self_attn.query_layernorm", "k_norm": "self_attn.key_layernorm"}


@dataclass(frozen=True, kw_only=True)
class HunyuanConfig(DecoderConfig):
    attention_bias: bool
    use_qk_norm: bool
    aliases = {"head_dim": ("attention_head_dim",)}
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.choice("norm_type", of={"rms": ""}, default="rms")
        read.always("use_rotary_pos_emb", True)
        read.always("use_cla", False)
        read.seen.add("cla_share_factor")  # counts with use_cla
        return {
            **super().fields(read),
            "attention_bias": read.flag("attention_bias", default=False),
            "use_qk_norm": read.flag("use_qk_norm", default=True),
        }


def decoder(c: HunyuanConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    options: dict[str, Any] = {"qkv_bias": c.attention_bias, "output_bias": c.attention_bias}
    if c.use_qk_norm:
        options["head_norms"] = HeadNorms(c.rms, rotated=True)
    layers = [
        LayerSpec((c.attention(i, **options), mlp), norm=c.rms) for i in range(c.num_hidden_layers)
    ]
    return c.decoder(layers, names=_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """The base of the rotation is stored with `alpha` in it."""
    return {
        "attention_bias": fields.has_tensor("blk.0.attn_q.bias"),
        "use_qk_norm": fields.has_tensor("blk.0.attn_q_norm.weight"),
    }


FAMILY = ModelFamily(
    config_class=HunyuanConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.renamed(
        q_norm="self_attn.query_layernorm", k_norm="self_attn.key_layernorm"
    ),
    gguf=GGUFFormat("hunyuan-dense", "HunYuanDenseV1ForCausalLM", _gguf_config, lambda c: GGUF),
)
