"""Qwen 3.5-MoE and 3.6-MoE (text): Qwen 3.5's layers with experts, and a gated MLP that every row
goes through, instead of the MLP.

transformers' `models/qwen3_5_moe/modeling_qwen3_5_moe.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import qwen3_5
from mlc_llm.compiler.models.config import SLIDING, ConfigReader
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen2_moe import QwenMoEConfig
from mlc_llm.compiler.models.qwen3_5 import Qwen35Config
from mlc_llm.compiler.spec import DecoderSpec, Source, TensorMap


@dataclass(frozen=True, kw_only=True)
class Qwen35MoEConfig(Qwen35Config, QwenMoEConfig):
    shared_expert_intermediate_size: int = integer()
    norm_topk_prob: bool = flag(default=True)

    aliases = {
        **QwenMoEConfig.aliases,
        "intermediate_size": ("moe_intermediate_size",),  # where no layer has a plain MLP
    }

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        """Unlike in Qwen 2-MoE, no layer is left out of a window."""
        read.seen.add("max_window_layers")
        return [SLIDING] * layers


def decoder(c: Qwen35MoEConfig) -> DecoderSpec:
    shared = {"shared_width": c.shared_expert_intermediate_size, "shared_gate": True}
    mlps = [c.mlp(i, **shared) for i in range(c.num_hidden_layers)]
    return qwen3_5.decoder_with(c, [*mlps, c.experts(**shared)])


def tensors(c: Qwen35MoEConfig) -> TensorMap:
    """The files have the experts of a layer in one tensor."""
    table = qwen3_5.tensors(c)
    return table.changed(
        norm=table.norm,
        experts_gate_up=(Source("mlp.experts.gate_up_proj", is_whole=True),),
        experts_down=(Source("mlp.experts.down_proj", is_whole=True),),
    )


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    shared = fields.size("expert_shared_feed_forward_length")
    return {
        **qwen3_5.gguf_config(fields),
        **gguf_experts(fields),
        "shared_expert_intermediate_size": shared,
        "norm_topk_prob": True,  # as llama.cpp takes it to be
    }


FAMILY = ModelFamily(
    config_class=Qwen35MoEConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("qwen35moe", "Qwen3_5MoeForCausalLM", gguf_config, qwen3_5.gguf_tensors),
)
