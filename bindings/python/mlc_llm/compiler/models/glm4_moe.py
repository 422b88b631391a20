"""GLM-4.5 and GLM-4.6: half of each head is rotated. The first layers have a plain MLP. In the
others experts are chosen by sigmoid and a correction, and every row goes through shared experts
too.

transformers' `models/glm4_moe/modeling_glm4_moe.py`. DeepSeek-V3's router is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, RouterSpec
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import (
    SIGMOID,
    GroupedExpertsConfig,
    gguf_experts,
    size_or,
)
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, Source, TensorMap

GLM_NAMES = {
    "shared_gate_up": "mlp.shared_experts.gate_up_proj",
    "shared_down": "mlp.shared_experts.down_proj",
}


@dataclass(frozen=True, kw_only=True)
class Glm4MoEConfig(GroupedExpertsConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    use_qk_norm: bool = flag(default=False, gguf="blk.0.attn_q_norm.weight")
    norm_topk_prob: bool = flag(default=True)
    first_k_dense_replace: int = integer(default=1, minimum=0)

    mtp_field = "num_nextn_predict_layers"
    default_eps = 1e-5
    default_partial = 0.5
    aliases = {"num_experts": ("n_routed_experts",)}

    def grouped_router(self) -> RouterSpec:
        return self.router(
            scores="sigmoid",
            correction=True,
            groups=self.n_group,
            chosen_groups=self.topk_group,
            factor=self.routed_scaling_factor,
        )


def decoder(c: Glm4MoEConfig) -> DecoderSpec:
    norms = HeadNorms(c.rms) if c.use_qk_norm else None
    *layers, mtp = (
        LayerSpec(
            (c.attention(i, qkv_bias=c.attention_bias, head_norms=norms), c.mlp(i)), norm=c.rms
        )
        for i in range(c.num_hidden_layers + 1)
    )
    return c.decoder(layers, mtp, names=GLM_NAMES)


def tensors(c: Glm4MoEConfig) -> TensorMap:
    shared = "mlp.shared_experts"
    return HUGGING_FACE.renamed(
        shared_gate_up=f"{shared}.gate_proj {shared}.up_proj", shared_down=f"{shared}.down_proj"
    ).changed(correction=(Source("mlp.gate.e_score_correction_bias", is_whole=True),))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    behind = size_or(fields, "nextn_predict_layers", 0)
    return {
        **gguf_experts(fields, gating=SIGMOID),
        "num_hidden_layers": fields.size("block_count") - behind,
        "num_nextn_predict_layers": behind,
        "n_shared_experts": size_or(fields, "expert_shared_count", 1),
        "first_k_dense_replace": size_or(fields, "leading_dense_block_count", 0),
        "n_group": fields.size("expert_group_count", 1),
        "topk_group": fields.size("expert_group_used_count", 1),
        "routed_scaling_factor": fields.number("expert_weights_scale", 1.0),
        "norm_topk_prob": fields.flag("expert_weights_norm", True),
    }


FAMILY = ModelFamily(
    config_class=Glm4MoEConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "glm4moe",
        "Glm4MoeForCausalLM",
        _gguf_config,
        lambda c: GGUF.renamed(mlp_norm="post_attention_norm"),
    ),
)
