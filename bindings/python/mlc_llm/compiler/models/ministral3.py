"""Ministral 3: Mistral's block with a scaled rotation, and queries that grow with the position.

transformers' `models/ministral3/modeling_ministral3.py`. llama.cpp's "mistral3" is this, and
Mistral Small 3.1, whose queries do not grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import Growth, MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.errors import CorruptFileError

_BETA, _LENGTH = "llama_4_scaling_beta", "llama_4_scaling_length"
_ORIGINAL = "original_max_position_embeddings"


@dataclass(frozen=True, kw_only=True)
class Ministral3Config(DecoderConfig):
    llama_4_scaling_beta: float  # 0: queries do not grow
    llama_4_scaling_length: int  # the position from which they grow
    default_eps = 1e-5
    default_theta = 1e6

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        rope = read.mapping("rope_parameters") or read.mapping("rope_scaling") or {}
        read.seen.add(_BETA)
        beta = ConfigReader({**rope, **read.config}).switch(_BETA)
        found = super().fields(read)
        original = found["rope_scaling"].original_context  # 0 if the rotation is the usual one
        said = (
            read.config.get(_LENGTH),  # in a folder of our own
            rope.get(_ORIGINAL),  # where the rotation has it too
            original,
            read.config.get(_ORIGINAL),
        )
        own = ConfigReader({_LENGTH: next(filter(None, said), 0)})
        length = own.integer(_LENGTH, default=0, minimum=0)
        read.seen.update((_LENGTH, _ORIGINAL))
        return {**found, _BETA: beta, _LENGTH: length if beta else 0}

    def check(self) -> None:
        super().check()
        if self.llama_4_scaling_beta and not self.llama_4_scaling_length:
            raise CorruptFileError(
                "config: original_max_position_embeddings is missing in rope_parameters; "
                f"{_BETA} needs it",
                param="rope_parameters",
            )


def decoder(c: Ministral3Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    beta, length = c.llama_4_scaling_beta, c.llama_4_scaling_length
    growth = Growth(beta, length) if length else None
    return c.decoder(c.layers(lambda i: (c.attention(i, growth=growth), mlp)))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    llama.gguf_config(fields)  # refuses a partial rotation
    beta = "attention.temperature_scale"
    found = {_BETA: fields.number(beta)} if beta in fields else {}
    if "rope.scaling.type" not in fields:
        return found
    scaling: dict[str, Any] = {
        "rope_type": "yarn",
        "factor": fields.number("rope.scaling.factor"),
        "original_max_position_embeddings": fields.size("rope.scaling.original_context_length"),
        "beta_fast": fields.number("rope.scaling.yarn_beta_fast", 32.0),
        "beta_slow": fields.number("rope.scaling.yarn_beta_slow", 1.0),
    }
    if "rope.scaling.yarn_log_multiplier" in fields:
        every = fields.number("rope.scaling.yarn_log_multiplier")
        scaling |= {"mscale": 1.0, "mscale_all_dim": every}
    return {**found, "rope_scaling": scaling}


FAMILY = ModelFamily(
    config_class=Ministral3Config,
    decoder=decoder,
    gguf=GGUFFormat("mistral3", "Ministral3ForCausalLM", _gguf_config, llama.gguf_tensors),
)
