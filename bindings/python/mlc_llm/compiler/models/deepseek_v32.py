"""DeepSeek V3.2: V3's layers, and beside each attention an indexer, which chooses the tokens that a
row attends to in texts longer than `index_topk`. Here every row attends to all tokens, so up to
that length the result is the same.

transformers' `models/deepseek_v32/modeling_deepseek_v32.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import deepseek
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.declared import integer, number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.glm4_moe_lite import Glm4MoeLiteConfig

INDEXED = "indexed_attention"  # Hugging Face's word in `layer_types`


@dataclass(frozen=True, kw_only=True)
class DeepseekV32Config(Glm4MoeLiteConfig):
    index_topk: int = integer(default=2048)
    first_k_dense_replace: int = integer(default=3, minimum=0)
    n_group: int = integer(default=8)
    topk_group: int = integer(default=4)
    routed_scaling_factor: float = number(default=2.5)
    default_eps = 1e-6

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        # of the indexer; the kind of its rotation
        read.seen.update(("index_head_dim", "index_n_heads", "indexer_rope_interleave"))
        kinds = read.config.get("layer_types")
        indexed = isinstance(kinds, (list, tuple)) and set(kinds) == {INDEXED}
        return super().fields(read.having({"layer_types": None}) if indexed else read)

    def note(self) -> str:
        return (
            f"The indexer of this model is not used: behind {self.index_topk:,} tokens every token "
            "attends to all before it, where the model would attend to "
            f"{self.index_topk:,} of them."
        )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    for name in ("head_count", "key_length"):
        fields.size(f"attention.indexer.{name}")
    return {
        **deepseek.gguf_config(fields),
        "index_topk": fields.size("attention.indexer.top_k"),
    }


FAMILY = ModelFamily(
    config_class=DeepseekV32Config,
    decoder=deepseek.decoder,
    tensors=deepseek.tensors,
    gguf=GGUFFormat("deepseek32", "DeepseekV32ForCausalLM", _gguf_config),
    unused=".indexer.",
    note=DeepseekV32Config.note,
)
