"""OLMo 2 and 3: Llama's block with norms behind both halves alone, and one norm for the queries of
all heads (another for the keys). OLMo 3 has three layers with a window, then one without; only the
latter use the scaled rotation.

transformers' `models/olmo2/modeling_olmo2.py` and `models/olmo3/modeling_olmo3.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import AttentionSpec, HeadNorms, MLPSpec
from mlc_llm.compiler.models.config import (
    FULL,
    SLIDING,
    ConfigReader,
    DecoderConfig,
    local_theta,
    with_one_rope,
)
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec, RopeSpec
from mlc_llm.errors import UnsupportedError

_PERIOD = 4  # layers from one that sees everything to the next


@dataclass(frozen=True, kw_only=True)
class Olmo2Config(DecoderConfig):
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(ConfigReader(with_one_rope(read.config), read.seen))
        theta = found["rope_theta"]
        if local_theta(read.config, theta) != theta:
            raise UnsupportedError(
                "config: rope_parameters: two values of rope_theta are not supported in this "
                "family",
                param="rope_parameters",
            )
        return found

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        return [SLIDING if (i + 1) % _PERIOD else FULL for i in range(layers)]

    def layer_attention(self, layer: int) -> AttentionSpec:
        plain = RopeSpec(dim=self.rope.dim, theta=self.rope_theta)
        return self.attention(
            layer,
            rope=plain if self.is_sliding(layer) else self.rope,
            head_norms=HeadNorms(self.rms, all_heads=True),
            bias=self.attention_bias,
        )


@dataclass(frozen=True, kw_only=True)
class Olmo3Config(Olmo2Config):
    default_window = 4096
    default_theta = 500000.0


def decoder(c: Olmo2Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    return c.decoder(c.layers(lambda i: (c.layer_attention(i), mlp), places="post"))


FAMILY = ModelFamily(
    config_class=Olmo2Config,
    decoder=decoder,
    # llama.cpp writes OLMo 3 with the same name
    gguf=GGUFFormat("olmo2", "Olmo2ForCausalLM"),
)
OLMO3 = ModelFamily(config_class=Olmo3Config, decoder=decoder)
