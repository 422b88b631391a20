"""Cohere 2 (Command R7B, Command A): Cohere with three layers that have a window, then one that has
none; layers without a window have no rotary positions.

transformers' `models/cohere2/modeling_cohere2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import cohere
from mlc_llm.compiler.models.cohere import CohereConfig
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec

# Fields of its configs that only say what the family always does.
_ALWAYS = ("use_embedding_sharing", "use_gated_activation", "use_parallel_embedding")


@dataclass(frozen=True, kw_only=True)
class Cohere2Config(CohereConfig):
    kinds_matter = True
    default_window = 4096
    only = {
        "position_embedding_type": "rope_gptj",
        "order_of_interleaved_layers": "local_attn_first",
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.seen.update(name for name in _ALWAYS if read.config.get(name) is True)
        return super().fields(read)

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        period = read.integer("sliding_window_pattern", "_sliding_window_pattern", default=4)
        return [SLIDING if (i + 1) % period else FULL for i in range(layers)]


def decoder(c: Cohere2Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(
        lambda i: (
            c.attention(i, rope=c.rope if c.is_sliding(i) else None, bias=c.attention_bias),
            mlp,
        ),
        norm=cohere.norm(c),
        places="parallel",
    )
    return c.decoder(layers, norm=cohere.norm(c), logit_scale=c.logit_scale, names=cohere.NAMES)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    period = fields.size("attention.sliding_window_pattern", 4)
    return {**cohere.gguf_config(fields), "sliding_window_pattern": period}


FAMILY = ModelFamily(
    config_class=Cohere2Config,
    decoder=decoder,
    tensors=cohere.tensors,
    gguf=GGUFFormat("cohere2", "Cohere2ForCausalLM", _gguf_config, cohere.gguf_tensors),
)
