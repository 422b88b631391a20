"""SmolLM 3: Llama's block; every fourth layer has no rotary positions.

transformers' `models/smollm3/modeling_smollm3.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.llama import LlamaConfig
from mlc_llm.compiler.spec import DecoderSpec, LayerSpec


@dataclass(frozen=True, kw_only=True)
class SmolLM3Config(LlamaConfig):
    no_rope_layers: tuple[int, ...]  # 1: the layer rotates its queries and keys; 0: it does not
    default_theta = 2e6
    tied_by_default = True
    window_by_default = False

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        common = super().fields(read)
        return {**common, "no_rope_layers": cls._turning(read, common["num_hidden_layers"])}

    @classmethod
    def _turning(cls, read: ConfigReader, layers: int) -> tuple[int, ...]:
        period = read.integer("no_rope_layer_interval", default=4)
        given = read.words("no_rope_layers", layers, (0, 1))
        return given or tuple(int((i + 1) % period != 0) for i in range(layers))

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        """Layers that do not rotate have the window."""
        return [FULL if turns else SLIDING for turns in cls._turning(read, layers)]


def decoder(c: SmolLM3Config) -> DecoderSpec:
    mlp, bias = MLPSpec(width=c.intermediate_size, bias=c.mlp_bias), c.attention_bias
    layers = []
    for i, turned in enumerate(c.no_rope_layers):
        rope = c.rope if turned else None
        attention = c.attention(i, rope=rope, bias=bias)
        layers.append(LayerSpec((attention, mlp), norm=c.rms))
    return c.decoder(layers)


FAMILY = ModelFamily(
    config_class=SmolLM3Config,
    decoder=decoder,
    gguf=GGUFFormat("smollm3", "SmolLM3ForCausalLM", llama.gguf_config, llama.gguf_tensors),
)
