"""Gemma 2: Gemma with norms before and after both halves of a block, softcaps, and a window in
every second layer.

transformers' `models/gemma2/modeling_gemma2.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, Scores
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.declared import number, switch
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gemma import GemmaConfig
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import PlusOne

SANDWICH_NAMES = {"mlp_norm": "pre_feedforward_layernorm"}
_LARGE = 46  # layers of the 27B model, whose scale does not come from the head's size


@dataclass(frozen=True, kw_only=True)
class Gemma2Config(GemmaConfig):
    query_pre_attn_scalar: float = number(default=256.0)
    attn_logit_softcapping: float = switch(default=50.0)
    final_logit_softcapping: float = switch(default=30.0)
    default_window = 4096

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        return [FULL if i % 2 else SLIDING for i in range(layers)]


def decoder(c: Gemma2Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, activation="gelu_tanh")
    scores = Scores(softcap=c.attn_logit_softcapping)
    options = {"scale": c.query_pre_attn_scalar**-0.5, "scores": scores}
    layers = c.layers(lambda i: (c.attention(i, **options), mlp), places="sandwich")
    return c.decoder(
        layers,
        embedding_scale=c.hidden_size**0.5,
        logit_softcap=c.final_logit_softcapping,
        names=SANDWICH_NAMES,
    )


def tensors(c: Gemma2Config) -> TensorMap:
    return HUGGING_FACE.changed(norm=(PlusOne(),), mlp_norm=(Source("pre_feedforward_layernorm"),))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    hidden, heads = fields.size("embedding_length"), fields.size("attention.head_count")
    dim = fields.size("attention.key_length", 256)
    return {
        "hidden_act": "gelu",
        "query_pre_attn_scalar": hidden / heads if fields.size("block_count") == _LARGE else dim,
        "attn_logit_softcapping": fields.number("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": fields.number("final_logit_softcapping", 30.0),
    }


FAMILY = ModelFamily(
    config_class=Gemma2Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("gemma2", "Gemma2ForCausalLM", _gguf_config),
)
