"""SmolLM 3: Llama's block; every fourth layer has no rotary positions.

transformers' `models/smollm3/modeling_smollm3.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import ConfigReader
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
        count = common["num_hidden_layers"]
        period = read.integer("no_rope_layer_interval", default=4)
        given = read.words("no_rope_layers", count, (0, 1))
        turned = given or tuple(int((i + 1) % period != 0) for i in range(count))
        return {**common, "no_rope_layers": turned}


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
