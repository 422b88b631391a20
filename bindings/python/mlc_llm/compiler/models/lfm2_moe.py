"""LFM2 with experts: the first layers have a plain MLP; in the others experts are chosen by sigmoid
and a correction.

transformers' `models/lfm2_moe/modeling_lfm2_moe.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.compiler.models import lfm2
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.declared import flag, integer, number
from mlc_llm.compiler.models.experts import SIGMOID, MoEConfig, gguf_experts, size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.lfm2 import Lfm2Config
from mlc_llm.compiler.spec import DecoderSpec, Source


@dataclass(frozen=True, kw_only=True)
class Lfm2MoEConfig(Lfm2Config, MoEConfig):
    num_dense_layers: int = integer(default=2, minimum=0)
    use_expert_bias: bool = flag(default=True)
    routed_scaling_factor: float = number(default=1.0)
    norm_topk_prob: bool = flag(default=True)

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        return super().fields(read.having({"block_auto_adjust_ff_dim": False}))


def decoder(c: Lfm2MoEConfig) -> DecoderSpec:
    made, factor = lfm2.decoder(c), c.routed_scaling_factor
    router = c.router(scores="sigmoid", correction=c.use_expert_bias, factor=factor)
    first = made.layers[: c.num_dense_layers]
    experts = c.experts(router)
    others = (replace(one, parts=(one.parts[0], experts)) for one in made.layers[len(first) :])
    return replace(made, layers=(*first, *others))


_EXPERTS = "feed_forward.experts.{}"
_HUGGING_FACE = lfm2.TENSORS.renamed(
    router="feed_forward.gate",
    experts_gate_up=f"{_EXPERTS}.w1 {_EXPERTS}.w3",
    experts_down=f"{_EXPERTS}.w2",
).changed(correction=(Source("feed_forward.expert_bias", is_whole=True),))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    dense = size_or(fields, "leading_dense_block_count", 0)
    return {
        **lfm2.gguf_config(fields),
        **gguf_experts(fields, gating=SIGMOID),
        "num_dense_layers": dense,
        "use_expert_bias": fields.has_tensor(f"blk.{dense}.exp_probs_b.bias"),
    }


FAMILY = ModelFamily(
    config_class=Lfm2MoEConfig,
    decoder=decoder,
    tensors=lambda c: _HUGGING_FACE,
    gguf=GGUFFormat("lfm2moe", "Lfm2MoeForCausalLM", _gguf_config, lambda c: lfm2.GGUF_TENSORS),
)
