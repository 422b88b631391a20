"""Qwen 3-Next: the layers of Qwen 3.5-MoE, whose linear layers are stored by key head.

transformers' `models/qwen3_next/modeling_qwen3_next.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import qwen3_5, qwen3_5_moe
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.qwen3_5_moe import Qwen35MoEConfig
from mlc_llm.compiler.spec import Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped, Members


@dataclass(frozen=True, kw_only=True)
class Qwen3NextConfig(Qwen35MoEConfig):
    mtp_unsaid = True


def tensors(c: Qwen35MoEConfig) -> TensorMap:
    """A key head has its query's rows, its key's, then those of the values and gates of its
    heads."""
    r, table = c.recurrent(), qwen3_5.tensors(c)
    values = r.heads // r.key_heads * r.value_dim
    sizes = (r.key_dim, r.key_dim, values, values)
    qkvz = "linear_attn.in_proj_qkvz"
    return table.changed(
        norm=table.norm,
        recurrent_in=(
            Source(qkvz, (Members(r.key_heads, sizes, (0, 1, 2)),)),
            Source(qkvz, (Grouped(r.key_heads, sizes, 3),)),
            *_steps(c, "linear_attn.in_proj_ba"),
        ),
    )


def _steps(c: Qwen35MoEConfig, name: str) -> tuple[Source, Source]:
    """Beta and the time steps."""
    r = c.recurrent()
    sizes = (r.heads // r.key_heads,) * 2
    beta, step = (Source(name, (Grouped(r.key_heads, sizes, i),)) for i in (0, 1))
    return beta, step


def _gguf_tensors(c: Qwen35MoEConfig) -> TensorMap:
    table = qwen3_5.gguf_tensors(c)
    parts = (Source("attn_qkv"), Source("attn_gate"), *_steps(c, "ssm_ba"))
    return table.changed(norm=table.norm, recurrent_in=parts)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {**qwen3_5_moe.gguf_config(fields), "tiled_heads": False}


FAMILY = ModelFamily(
    config_class=Qwen3NextConfig,
    decoder=qwen3_5_moe.decoder,
    tensors=tensors,
    gguf=GGUFFormat("qwen3next", "Qwen3NextForCausalLM", _gguf_config, _gguf_tensors),
)
