"""The fields of configs with latent attention, and where files store its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import LatentSpec
from mlc_llm.compiler.layers.attention import VECTOR
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.spec import NormSpec, RopeSpec, Source
from mlc_llm.compiler.spec.transforms import HeadRows

Sources = Mapping[str, tuple[Source, ...]]


@dataclass(frozen=True, kw_only=True)
class LatentConfig(DecoderConfig):
    kv_lora_rank: int = integer(maximum=65536)
    q_lora_rank: int  # 0: queries are made by one linear layer
    qk_nope_head_dim: int = integer(maximum=4096)
    qk_rope_head_dim: int = integer(maximum=4096)
    v_head_dim: int
    attention_bias: bool = flag(default=False)

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(read)
        has_queries = read.config.get("q_lora_rank") not in (None, 0)
        read.seen.add("q_lora_rank")
        values = max(found["hidden_size"] // found["num_attention_heads"], 1)
        rotated, plain = found["qk_rope_head_dim"], found["qk_nope_head_dim"]
        if read.integer("qk_head_dim", default=plain + rotated) != plain + rotated:
            raise corrupt(
                "qk_head_dim", f"must be qk_nope_head_dim + qk_rope_head_dim, {plain + rotated}"
            )
        return {
            **found,
            "head_dim": rotated,
            "q_lora_rank": read.integer("q_lora_rank") if has_queries else 0,
            "v_head_dim": read.integer("v_head_dim", default=values, maximum=4096),
        }

    def check(self) -> None:
        super().check()
        for name in ("kv_lora_rank", "qk_rope_head_dim"):
            size = getattr(self, name)
            if size % VECTOR:
                raise unsupported(name, f"{size} is not a multiple of {VECTOR}")

    def latent(self, *, eps: float, **changes: Any) -> LatentSpec:
        rope = RopeSpec(dim=self.qk_rope_head_dim, theta=self.rope_theta, scaling=self.rope_scaling)
        query = self.qk_nope_head_dim + self.qk_rope_head_dim
        fields: dict[str, Any] = {
            "heads": self.num_attention_heads,
            "plain": self.qk_nope_head_dim,
            "values": self.v_head_dim,
            "latent": self.kv_lora_rank,
            "queries": self.q_lora_rank,
            "scale": query**-0.5 * self.rope_scaling.score_factor,
            "rope": rope,
            "norm": NormSpec(eps=eps),
            "bias": self.attention_bias,
            "window": self.sliding_window_size,
            "pinned": self.attention_sink_size,
        }
        return LatentSpec(**{**fields, **changes})

    def matrices(self, name: str) -> Sources:
        """Each head's two matrices, from the tensor in which they follow one another."""
        plain, values = self.qk_nope_head_dim, self.v_head_dim
        total = plain + values

        def source(start: int, stop: int, *, transposed: bool) -> tuple[Source, ...]:
            part = HeadRows(self.num_attention_heads, start, stop, total, transposed)
            return (Source(name, (part,)),)

        return {
            "keys_up": source(0, plain, transposed=True),
            "values_up": source(plain, total, transposed=False),
        }


def gguf_latent(fields: GGUFFields) -> dict[str, Any]:
    """The fields of latent attention. A file may have the sizes of a head under `_mla`, beside
    those of the row that all heads read."""
    rotated = fields.size("rope.dimension_count")
    row = fields.size("attention.key_length")
    queries = "attention.q_lora_rank" in fields
    usual = fields.size("embedding_length") // fields.size("attention.head_count")
    values = fields.size("attention.value_length", max(usual, 1))
    return {
        "kv_lora_rank": fields.size("attention.kv_lora_rank"),
        "q_lora_rank": fields.size("attention.q_lora_rank") if queries else None,
        "qk_rope_head_dim": rotated,
        "qk_nope_head_dim": fields.size("attention.key_length_mla", row) - rotated,
        "v_head_dim": fields.size("attention.value_length_mla", values),
        "partial_rotary_factor": 1.0,
        "num_key_value_heads": fields.size("attention.head_count"),
    }
