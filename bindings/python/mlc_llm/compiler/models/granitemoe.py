"""Granite 3 MoE: Granite's block with experts instead of the MLP. A row's weights are the softmax
of the logits of its chosen experts. With `shared_intermediate_size` every row goes through an MLP
too.

transformers' `models/granitemoe/modeling_granitemoe.py`, `models/granitemoeshared`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MoESpec
from mlc_llm.compiler.models import granite, llama
from mlc_llm.compiler.models.declared import integer
from mlc_llm.compiler.models.experts import MoEConfig, gguf_experts, size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.granite import GraniteConfig
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, TensorMap


@dataclass(frozen=True, kw_only=True)
class GraniteMoEConfig(GraniteConfig, MoEConfig):
    shared_intermediate_size: int = integer(default=0, minimum=0)

    aliases = {"num_experts": ("num_local_experts",)}


def decoder(c: GraniteMoEConfig) -> DecoderSpec:
    return granite.decoder_with(c, experts(c))


def experts(c: GraniteMoEConfig) -> MoESpec:
    router = c.router(scores="chosen", normalize=False)
    return c.experts(router, shared_width=c.shared_intermediate_size)


def tensors(c: GraniteMoEConfig) -> TensorMap:
    moe = "block_sparse_moe"
    return HUGGING_FACE.renamed(
        router=f"{moe}.router.layer",
        experts_gate_up=f"{moe}.input_linear",
        experts_down=f"{moe}.output_linear",
        shared_gate_up="shared_mlp.input_linear",
        shared_down="shared_mlp.output_linear",
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    shared = size_or(fields, "expert_shared_feed_forward_length", 0)
    scales = granite.gguf_config(fields)
    return {**scales, **gguf_experts(fields), "shared_intermediate_size": shared}


FAMILY = ModelFamily(
    config_class=GraniteMoEConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("granitemoe", "GraniteMoeForCausalLM", _gguf_config, llama.gguf_tensors),
)
