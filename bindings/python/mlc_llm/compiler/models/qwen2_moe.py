"""Qwen 1.5-MoE and Qwen 2-MoE: Qwen 2's attention, experts, and an MLP that every row goes through.

transformers' `models/qwen2_moe/modeling_qwen2_moe.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen2 import QWEN_NAMES, Qwen2Config
from mlc_llm.compiler.spec import DecoderSpec


@dataclass(frozen=True, kw_only=True)
class QwenMoEConfig(MoEConfig):
    """What Qwen 2-MoE and Qwen 3-MoE share: which layers have experts."""

    decoder_sparse_step: int = integer(default=1)
    mlp_only_layers: tuple[int, ...]

    window_by_default = False
    aliases = {"num_experts": ("num_local_experts",)}

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        return Qwen2Config.layer_kinds(read, layers)

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.seen.add("mlp_only_layers")
        dense = read.config.get("mlp_only_layers") or []
        if not isinstance(dense, (list, tuple)) or not all(type(i) is int for i in dense):
            raise corrupt("mlp_only_layers", "must be a list of layers")
        return {**super().fields(read), "mlp_only_layers": tuple(dense)}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "mlp_only_layers": list(self.mlp_only_layers)}

    def mlp(self, layer: int, **changes: Any) -> MLPSpec | MoESpec:
        """The experts of a layer; a plain MLP where the config says so."""
        is_sparse = (layer + 1) % self.decoder_sparse_step == 0
        if is_sparse and layer not in self.mlp_only_layers:
            return self.experts(**changes)
        return MLPSpec(width=self.intermediate_size)


@dataclass(frozen=True, kw_only=True)
class Qwen2MoEConfig(QwenMoEConfig):
    shared_expert_intermediate_size: int = integer()
    qkv_bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")


def decoder(c: Qwen2MoEConfig) -> DecoderSpec:
    shared = {"shared_width": c.shared_expert_intermediate_size, "shared_gate": True}
    layers = c.layers(lambda i: (c.attention(i, qkv_bias=c.qkv_bias), c.mlp(i, **shared)))
    return c.decoder(layers, names=QWEN_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    shared = fields.size("expert_shared_feed_forward_length")
    return {**gguf_experts(fields), "shared_expert_intermediate_size": shared}


FAMILY = ModelFamily(
    config_class=Qwen2MoEConfig,
    decoder=decoder,
    gguf=GGUFFormat("qwen2moe", "Qwen2MoeForCausalLM", _gguf_config),
)
