"""MiniMax M2: one norm for the queries of all heads (another for the keys), a rotation of a part of
each head, and experts that are chosen by sigmoid and a correction.

transformers' `models/minimax_m2/modeling_minimax_m2.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.experts import SIGMOID, MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, Source

_ATTENTION = 1  # in `attn_type_list`; 0 was the linear attention of MiniMax 1


@dataclass(frozen=True, kw_only=True)
class MiniMaxM2Config(MoEConfig):
    norm_topk_prob: bool = flag(default=True)
    aliases = {"num_experts": ("num_local_experts",)}
    default_theta = 5e6
    only = {
        "use_qk_norm": True,
        "use_routing_bias": True,
        "scoring_func": "sigmoid",
        "qk_norm_type": "per_layer",
    }
    # parts that predict more tokens, and a shared expert that no published model has
    unused = ("use_mtp", "num_mtp_modules", "mtp_transformer_layers", "shared_moe_mode")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        if read.integer("shared_intermediate_size", default=0, minimum=0):
            raise unsupported(
                "shared_intermediate_size", "other than 0 is not supported in this family"
            )
        found = super().fields(read)
        read.words("attn_type_list", found["num_hidden_layers"], (_ATTENTION,))
        if read.config.get("rotary_dim") is not None:  # counts before partial_rotary_factor
            rotated = read.integer("rotary_dim", maximum=found["head_dim"])
            found["partial_rotary_factor"] = rotated / found["head_dim"]
        return found


def decoder(c: MiniMaxM2Config) -> DecoderSpec:
    mlp = c.experts(c.router(scores="sigmoid", correction=True))
    norms = HeadNorms(c.rms, all_heads=True)
    return c.decoder(c.layers(lambda i: (c.attention(i, head_norms=norms), mlp)))


_EXPERTS = "block_sparse_moe.experts.{}"
_HUGGING_FACE = HUGGING_FACE.renamed(
    router="block_sparse_moe.gate",
    experts_gate_up=f"{_EXPERTS}.w1 {_EXPERTS}.w3",
    experts_down=f"{_EXPERTS}.w2",
).changed(correction=(Source("block_sparse_moe.e_score_correction_bias", is_whole=True),))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    experts = gguf_experts(fields, gating=SIGMOID)
    dim = fields.size("attention.key_length")
    rotated = fields.size("rope.dimension_count", dim)
    return {**experts, "rotary_dim": rotated, "intermediate_size": experts["moe_intermediate_size"]}


FAMILY = ModelFamily(
    config_class=MiniMaxM2Config,
    decoder=decoder,
    tensors=lambda c: _HUGGING_FACE,
    gguf=GGUFFormat("minimax-m2", "MiniMaxM2ForCausalLM", _gguf_config),
)
