"""Granite 4: Granite's block whose mixer is Mamba 2's in most layers and attention in the others;
experts with a shared MLP, or that MLP alone. Models with `position_embedding_type` "nope" rotate
nothing.

transformers' `models/granitemoehybrid/modeling_granitemoehybrid.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec, StateSpaceSpec
from mlc_llm.compiler.models import granite, granitemoe, llama
from mlc_llm.compiler.models.config import FULL, ConfigReader
from mlc_llm.compiler.models.declared import choice, flag, integer
from mlc_llm.compiler.models.experts import gguf_experts, size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.granitemoe import GraniteMoEConfig
from mlc_llm.compiler.models.mamba2 import (
    HYBRID,
    check_heads,
    gguf_mixer_config,
    gguf_mixer_sources,
    mixer_of,
    mixer_sources,
    refuse_limits,
)
from mlc_llm.compiler.spec import DecoderSpec, LayerSpec, TensorMap

LINEAR = "linear_attention"  # Hugging Face's word in `layer_types`
# Older words for the kinds of layers.
_KINDS = {"mamba": LINEAR, LINEAR: LINEAR, "attention": FULL, FULL: FULL}
_DENSE = {"num_experts": 0, "num_experts_per_tok": 0}


def _head_width(found: Mapping[str, Any]) -> int:
    return max(found["mamba_expand"] * found["hidden_size"] // found["mamba_n_heads"], 1)


@dataclass(frozen=True, kw_only=True)
class GraniteHybridConfig(GraniteMoEConfig):
    """Without experts `num_experts` is 0, and `shared_intermediate_size` is the MLP's width."""

    shared_intermediate_size: int = integer(default=1024, minimum=0)
    position_embedding_type: str = choice(of={"rope": "rope", "nope": "nope"}, default="nope")
    mamba_expand: int = integer(default=2)
    mamba_n_heads: int = integer(default=128)
    mamba_d_head: int = integer(default=_head_width, or_auto=True)
    mamba_d_state: int = integer(default=256)
    mamba_n_groups: int = integer(default=1)
    mamba_d_conv: int = integer(default=4, minimum=2, maximum=16)
    mamba_conv_bias: bool = flag(default=True)
    mamba_proj_bias: bool = flag(default=False)
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        refuse_limits(read)
        is_dense = read.config.get("num_experts") == 0
        once = {"num_experts": 1, "num_experts_per_tok": 1} if is_dense else {}
        return {**super().fields(read.having(once)), **(_DENSE if is_dense else {})}

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        name = "layer_types" if read.config.get("layer_types") else "layers_block_type"
        read.seen.update(("layer_types", "layers_block_type"))
        kinds = read.words(name, layers, tuple(_KINDS)) or (LINEAR,) * layers
        windows = super().window_fields(read.without("layer_types"), layers)
        return {**windows, "layer_types": tuple(_KINDS[kind] for kind in kinds)}

    def check(self) -> None:
        super().check()
        if LINEAR in self.layer_types:
            inner = self.mamba_expand * self.hidden_size
            check_heads(self.mixer(), inner, "mamba_d_head", "mamba_n_groups")

    def mixer(self) -> StateSpaceSpec:
        bias = {"bias": self.mamba_proj_bias, "conv_bias": self.mamba_conv_bias}
        return mixer_of(self, HYBRID, norm=self.rms, **bias)

    def mlp(self) -> MLPSpec | MoESpec:
        if not self.num_experts:
            return MLPSpec(width=self.shared_intermediate_size)
        return granitemoe.experts(self)


def decoder(c: GraniteHybridConfig) -> DecoderSpec:
    rope: dict[str, Any] = {} if c.position_embedding_type == "rope" else {"rope": None}
    mixers = [
        c.mixer() if kind == LINEAR else granite.attention(c, i, **rope)
        for i, kind in enumerate(c.layer_types)
    ]
    same = {"norm": c.rms, "residual_scale": c.residual_multiplier}
    layers = [LayerSpec((mixer, c.mlp()), **same) for mixer in mixers]
    return granite.decoder_of(c, layers)


def tensors(c: GraniteHybridConfig) -> TensorMap:
    table = granitemoe.tensors(c)
    if not c.num_experts:
        table = table.renamed(gate_up="shared_mlp.input_linear", down="shared_mlp.output_linear")
    return table.changed(**mixer_sources(c.mixer(), "mamba"))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    sizes = gguf_mixer_config(fields, HYBRID)
    inner = sizes["mamba_n_heads"] * sizes["mamba_d_head"]
    kinds = [FULL if count else LINEAR for count in fields.sizes("attention.head_count_kv")]
    wide = fields.size("feed_forward_length")
    experts = _DENSE
    if size_or(fields, "expert_count", 0):
        experts = gguf_experts(fields)
        wide = size_or(fields, "expert_shared_feed_forward_length", 0)
    first = kinds.index(LINEAR) if LINEAR in kinds else 0
    rotates = fields.flag("rope.scaling.finetuned", True)  # llama.cpp takes it for this switch
    return {
        **granite.gguf_config(fields),
        **experts,
        "shared_intermediate_size": wide,
        "layer_types": kinds,
        "position_embedding_type": "rope" if rotates else "nope",
        **sizes,
        "mamba_expand": inner // fields.size("embedding_length"),
        "mamba_conv_bias": fields.has_tensor(f"blk.{first}.ssm_conv1d.bias"),
    }


FAMILY = ModelFamily(
    config_class=GraniteHybridConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "granitehybrid",
        "GraniteMoeHybridForCausalLM",
        _gguf_config,
        lambda c: llama.gguf_tensors(c).changed(**gguf_mixer_sources(c.mixer())),
    ),
)
