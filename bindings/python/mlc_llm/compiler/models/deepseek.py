"""DeepSeek V2 and V3 (and R1): latent attention, and experts of which groups are chosen first. The
first layers have a plain MLP; in the others every row goes through shared experts too.

transformers' `models/deepseek_v2/` and `models/deepseek_v3/`. V2 makes scores by
softmax, and a group counts as much as its best expert. V3 makes them by sigmoid; a learned
correction takes part in the choice, and a group counts as much as its two best experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import RouterSpec
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import choice, flag, integer, number
from mlc_llm.compiler.models.experts import (
    SIGMOID,
    SOFTMAX,
    GroupedExpertsConfig,
    gguf_experts,
    size_or,
)
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.models.glm4_moe import GLM_NAMES
from mlc_llm.compiler.models.latent import LatentConfig, gguf_latent
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, LayerSpec, Source, TensorMap
from mlc_llm.errors import UnsupportedError

_LATENT_EPS = 1e-6  # of the norms of latent vectors, whatever the config says of the others
_SCORES = {"softmax": "softmax", "sigmoid": "sigmoid"}
_PLAIN, _LIMITED, _CORRECTED = "greedy", "group_limited_greedy", "noaux_tc"
_METHODS = {name: name for name in (_PLAIN, _LIMITED, _CORRECTED)}


@dataclass(frozen=True, kw_only=True)
class DeepseekConfig(LatentConfig, GroupedExpertsConfig):
    scoring_func: str = choice(of=_SCORES, default="softmax")
    topk_method: str = choice(of=_METHODS, default=_PLAIN)
    rope_interleave: bool = flag(default=True)
    n_shared_experts: int = integer(default=2, minimum=0)

    mtp_field = "num_nextn_predict_layers"
    only = {"mlp_bias": False}
    aliases = {"num_experts": ("n_routed_experts", "num_local_experts")}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.seen.add("num_mtp_layers")  # another name of its own `mtp_field`
        if read.integer("moe_layer_freq", default=1) != 1:
            raise unsupported("moe_layer_freq", "other than 1 is not supported")
        return super().fields(read)

    def grouped_router(self) -> RouterSpec:
        corrected, limited = self.topk_method == _CORRECTED, self.topk_method != _PLAIN
        return self.router(
            scores=self.scoring_func,
            correction=corrected,
            groups=self.n_group if limited else 1,
            chosen_groups=self.topk_group if limited else 1,
            group_best=2 if corrected else 1,
            factor=self.routed_scaling_factor,
        )


@dataclass(frozen=True, kw_only=True)
class DeepseekV3Config(DeepseekConfig):
    norm_topk_prob: bool = flag(default=True)
    n_shared_experts: int = integer(default=1, minimum=0)
    first_k_dense_replace: int = integer(default=3, minimum=0)
    n_group: int = integer(default=8)
    topk_group: int = integer(default=4)
    routed_scaling_factor: float = number(default=2.5)
    scoring_func: str = choice(of=_SCORES, default="sigmoid")
    topk_method: str = choice(of=_METHODS, default=_CORRECTED)


def decoder(c: DeepseekConfig) -> DecoderSpec:
    attention = c.latent(eps=_LATENT_EPS, pairs=c.rope_interleave)
    count = c.num_hidden_layers
    *layers, mtp = (LayerSpec((attention, c.mlp(i)), norm=c.rms) for i in range(count + 1))
    return c.decoder(layers, mtp, names=GLM_NAMES)


def tensors(c: DeepseekConfig) -> TensorMap:
    shared = "mlp.shared_experts"
    return HUGGING_FACE.renamed(
        shared_gate_up=f"{shared}.gate_proj {shared}.up_proj", shared_down=f"{shared}.down_proj"
    ).changed(
        correction=(Source("mlp.gate.e_score_correction_bias", is_whole=True),),
        **c.matrices("self_attn.kv_b_proj"),
    )


def gguf_config(fields: GGUFFields, *, first: int = 0) -> dict[str, Any]:
    """`first`: the first layer with attention."""
    if not fields.has_tensor(f"blk.{first}.attn_k_b.weight"):
        raise UnsupportedError(
            "this file was made before llama.cpp stored attn_k_b and attn_v_b (April 2025); "
            "convert or download the model again",
            param=f"blk.{first}.attn_k_b.weight",
        )
    gating = size_or(fields, "expert_gating_func", SOFTMAX)
    is_v3 = gating == SIGMOID
    dense = size_or(fields, "leading_dense_block_count", 0)
    corrected = fields.has_tensor(f"blk.{dense}.exp_probs_b.bias")
    groups = size_or(fields, "expert_group_count", 1)
    behind = size_or(fields, "nextn_predict_layers", 0)
    return {
        **gguf_experts(fields, gating=SIGMOID if is_v3 else SOFTMAX),
        **gguf_latent(fields),
        **_gguf_scaling(fields),
        "num_hidden_layers": fields.size("block_count") - behind,
        "num_nextn_predict_layers": behind,
        "n_shared_experts": size_or(fields, "expert_shared_count", 0),
        "first_k_dense_replace": dense,
        "n_group": groups,
        "topk_group": size_or(fields, "expert_group_used_count", 1),
        "routed_scaling_factor": fields.number("expert_weights_scale", 1.0),
        "norm_topk_prob": fields.flag("expert_weights_norm", False),
        "scoring_func": "sigmoid" if is_v3 else "softmax",
        "topk_method": _CORRECTED if corrected else _LIMITED if groups > 1 else _PLAIN,
        "attention_bias": fields.has_tensor(f"blk.{first}.attn_kv_a_mqa.bias"),
    }


def _gguf_scaling(fields: GGUFFields) -> dict[str, Any]:
    """The file has a tenth of `mscale_all_dim`, to which `mscale` is equal there."""
    key = "rope.scaling.yarn_log_multiplier"
    if key not in fields:
        return {}
    scale = round(10 * fields.number(key), 6)
    return {
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": fields.number("rope.scaling.factor"),
            "original_max_position_embeddings": fields.size("rope.scaling.original_context_length"),
            "mscale": scale,
            "mscale_all_dim": scale,
        }
    }


_MLC = MLCFormat(float8=frozenset(("keys_up", "values_up")))
FAMILY = ModelFamily(
    config_class=DeepseekV3Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("deepseek2", "DeepseekV3ForCausalLM", gguf_config),
    mlc=_MLC,
)
V2 = ModelFamily(config_class=DeepseekConfig, decoder=decoder, tensors=tensors, mlc=_MLC)
