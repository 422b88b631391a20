"""Gemma 3, text: Gemma 2 without softcaps. Queries and keys are normalized. Five layers with a
window, then one without; the two kinds have different rotations.

transformers' `models/gemma3/modeling_gemma3.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import gemma2
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gemma import GemmaConfig
from mlc_llm.compiler.spec import (
    GGUF,
    AttentionSpec,
    DecoderSpec,
    LayerSpec,
    MLPSpec,
    RopeSpec,
)

_LARGE = 62  # layers of the 27B model, whose scale does not come from the head's size


@dataclass(frozen=True, kw_only=True)
class Gemma3Config(GemmaConfig):
    query_pre_attn_scalar: float
    rope_local_base_freq: float  # theta of layers with a window
    default_theta = 1e6
    default_window = 4096
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        base = ConfigReader(_with_one_rope(read.config), read.seen)
        return {
            **super().fields(base),
            "query_pre_attn_scalar": base.number("query_pre_attn_scalar", default=256.0),
            "rope_local_base_freq": base.number("rope_local_base_freq", default=10000.0),
        }

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        period = read.integer("sliding_window_pattern", "_sliding_window_pattern", default=6)
        return [SLIDING if (i + 1) % period else FULL for i in range(layers)]

    def layer_attention(self, layer: int) -> AttentionSpec:
        scale = self.query_pre_attn_scalar**-0.5
        local = RopeSpec(dim=self.head_dim, theta=self.rope_local_base_freq)
        rope = local if self.is_sliding(layer) else self.rope
        return self.attention(layer, scale=scale, rope=rope, qk_norm=self.rms)


def _with_one_rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """transformers 5 has `rope_parameters` for each kind of layer. Converts them to the fields of
    earlier versions."""
    rope = config.get("rope_parameters")
    fields = dict(config)
    if not isinstance(rope, Mapping) or not isinstance(rope.get(FULL), Mapping):
        return fields
    local = rope.get(SLIDING)
    if isinstance(local, Mapping) and local.get("rope_theta"):
        fields["rope_local_base_freq"] = local["rope_theta"]
    return {**fields, "rope_parameters": rope[FULL], "rope_theta": rope[FULL].get("rope_theta")}


def decoder(c: Gemma3Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, activation="gelu_tanh")
    layers = [
        LayerSpec(attention=c.layer_attention(i), mlp=mlp, norm=c.rms, places="sandwich")
        for i in range(c.num_hidden_layers)
    ]
    scale = c.hidden_size**0.5
    return c.decoder(layers, embedding_scale=scale, names=gemma2.SANDWICH_NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    hidden, heads = fields.size("embedding_length"), fields.size("attention.head_count")
    dim = fields.size("attention.key_length", 256)
    return {
        "hidden_act": "gelu",
        "query_pre_attn_scalar": hidden / heads if fields.size("block_count") == _LARGE else dim,
        "rope_theta": fields.number("rope.freq_base", 1e6),
        "rope_local_base_freq": fields.number("rope.freq_base_swa", 10000.0),
        "sliding_window_pattern": fields.size("attention.sliding_window_pattern", 6),
    }


FAMILY = ModelFamily(
    config_class=Gemma3Config,
    decoder=decoder,
    tensors=gemma2.tensors,
    gguf=GGUFFormat("gemma3", "Gemma3ForCausalLM", _gguf_config, lambda c: GGUF),
)
