"""StableLM 3B, 2: Llama's block with layer norms and a rotation of a part of each head; some models
have attention and the MLP in parallel.

transformers' `models/stablelm/modeling_stablelm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import rotated_part
from mlc_llm.compiler.spec import DecoderSpec, NormSpec


@dataclass(frozen=True, kw_only=True)
class StableLMConfig(DecoderConfig):
    use_qkv_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    use_parallel_residual: bool = flag(default=False)
    aliases = {
        "rms_norm_eps": ("layer_norm_eps", "norm_eps"),
        "partial_rotary_factor": ("rope_pct",),
    }
    default_eps = 1e-5
    default_partial = 0.25


def decoder(c: StableLMConfig) -> DecoderSpec:
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", bias=True)
    layers = c.layers(
        lambda i: (c.attention(i, qkv_bias=c.use_qkv_bias), MLPSpec(width=c.intermediate_size)),
        norm=norm,
        places="parallel" if c.use_parallel_residual else "pre",
    )
    return c.decoder(layers, norm=norm)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        "partial_rotary_factor": rotated_part(fields),
        "use_parallel_residual": fields.flag(
            "use_parallel_residual", not fields.has_tensor("blk.0.ffn_norm.weight")
        ),
    }


FAMILY = ModelFamily(
    config_class=StableLMConfig,
    decoder=decoder,
    gguf=GGUFFormat("stablelm", "StableLmForCausalLM", _gguf_config),
)
