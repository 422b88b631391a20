"""Apertus: Llama's block with norms of queries and keys, and an MLP without a gate whose activation
is learned.

transformers' `models/apertus/modeling_apertus.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, XIELUSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source
from mlc_llm.compiler.spec.transforms import Reshaped, Softplus

# What a config without any says. (Facts: transformers' `configuration_apertus.py`.)
_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 8192,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


@dataclass(frozen=True, kw_only=True)
class ApertusConfig(DecoderConfig):
    attention_bias: bool = flag(default=False)
    hidden_act = "xielu"
    activations = {"xielu": "xielu"}
    default_eps = 1e-5
    default_theta = 12000000.0
    only = {"mlp_bias": False, "post_norm": False, "qk_norm": True}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        says = any(read.config.get(name) for name in ("rope_parameters", "rope_scaling"))
        rope = {} if says else {"rope_parameters": _ROPE}
        return super().fields(read.having(rope))


def decoder(c: ApertusConfig) -> DecoderSpec:
    mlp, bias = XIELUSpec(width=c.intermediate_size), c.attention_bias
    own = {"head_norms": HeadNorms(c.rms), "bias": bias}
    return c.decoder(c.layers(lambda i: (c.attention(i, **own), mlp)))


def _curve(prefix: str, shape: tuple[int, ...]) -> tuple[Source, ...]:
    """`shape`: that of the two numbers that are not trained."""

    def source(name: str, *transforms: Any) -> Source:
        return Source(f"{prefix}.{name}", transforms, is_whole=True)

    whole = Reshaped(shape)
    positive = [source(name, Softplus()) for name in ("alpha_p", "alpha_n")]
    return (*positive, source("beta", whole), source("eps", whole))


FAMILY = ModelFamily(
    config_class=ApertusConfig,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.renamed(
        attention_norm="attention_layernorm", mlp_norm="feedforward_layernorm"
    ).changed(curve=_curve("mlp.act_fn", ())),
    gguf=GGUFFormat(
        "apertus",
        "ApertusForCausalLM",
        tensors=lambda c: GGUF.changed(curve=_curve("xielu", (1,))),
        numbers=("xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"),
    ),
)
