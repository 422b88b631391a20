"""GLM-4.5 and GLM-4.6: half of each head is rotated. The first layers have a plain MLP. In the
others experts are chosen by sigmoid and a correction, and every row goes through shared experts
too.

transformers' `models/glm4_moe/modeling_glm4_moe.py`. DeepSeek-V3's router is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.experts import SIGMOID, MoEConfig, gguf_experts, size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    LayerSpec,
    MLPSpec,
    MoESpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.decoder import NAMES
from mlc_llm.errors import CorruptFileError

GLM_NAMES = {
    **NAMES,
    "shared_gate_up": "mlp.shared_experts.gate_up_proj",
    "shared_down": "mlp.shared_experts.down_proj",
}


@dataclass(frozen=True, kw_only=True)
class Glm4MoEConfig(MoEConfig):
    n_shared_experts: int
    first_k_dense_replace: int
    n_group: int
    topk_group: int
    routed_scaling_factor: float
    attention_bias: bool
    use_qk_norm: bool

    normalized_by_default = True
    default_eps = 1e-5
    aliases = {"num_experts": ("n_routed_experts",)}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        # the layers that predict a second token lie behind the others and are not used
        read.seen.add("num_nextn_predict_layers")
        flags = ("attention_bias", "use_qk_norm")
        return {
            **super().fields(read),
            "n_shared_experts": read.integer("n_shared_experts", default=1, minimum=0),
            "first_k_dense_replace": read.integer("first_k_dense_replace", default=1, minimum=0),
            "n_group": read.integer("n_group", default=1),
            "topk_group": read.integer("topk_group", default=1),
            "routed_scaling_factor": read.number("routed_scaling_factor", default=1.0),
            **{name: read.flag(name, default=False) for name in flags},
        }

    def check(self) -> None:
        super().check()
        if self.num_experts % self.n_group or self.topk_group > self.n_group:
            raise CorruptFileError(
                f"config: n_group is {self.n_group} and topk_group {self.topk_group}; groups must "
                f"divide {self.num_experts} experts, and topk_group is at most n_group",
                param="n_group",
            )

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        if layer < self.first_k_dense_replace:
            return MLPSpec(width=self.intermediate_size)
        router = self.router(
            scores="sigmoid",
            correction=True,
            groups=self.n_group,
            chosen_groups=self.topk_group,
            factor=self.routed_scaling_factor,
        )
        return self.experts(router, shared_width=self.n_shared_experts * self.moe_intermediate_size)


def decoder(c: Glm4MoEConfig) -> DecoderSpec:
    norm = c.rms if c.use_qk_norm else None
    layers = [
        LayerSpec(
            attention=c.attention(i, qkv_bias=c.attention_bias, qk_norm=norm),
            mlp=c.mlp(i),
            norm=c.rms,
        )
        for i in range(c.num_hidden_layers)
    ]
    return c.decoder(layers, names=GLM_NAMES)


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
        "n_shared_experts": size_or(fields, "expert_shared_count", 1),
        "first_k_dense_replace": size_or(fields, "leading_dense_block_count", 0),
        "n_group": fields.size("expert_group_count", 1),
        "topk_group": fields.size("expert_group_used_count", 1),
        "routed_scaling_factor": fields.number("expert_weights_scale", 1.0),
        "norm_topk_prob": fields.flag("expert_weights_norm", True),
        "attention_bias": fields.has_tensor("blk.0.attn_q.bias"),
        "use_qk_norm": fields.has_tensor("blk.0.attn_q_norm.weight"),
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
