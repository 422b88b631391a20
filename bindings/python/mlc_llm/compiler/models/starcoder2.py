"""StarCoder 2: Llama with layer norms, biases, and an MLP without a gate.

transformers' `models/starcoder2/modeling_starcoder2.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec

_NAMES = {"qkv": "self_attn.wqkv_pack", "up": "mlp.c_fc", "down": "mlp.c_proj"}


@dataclass(frozen=True, kw_only=True)
class StarCoder2Config(GPTConfig):
    use_bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")
    tied_by_default = True

    only = {"norm_type": "layer_norm", "mlp_type": "default"}


def decoder(c: StarCoder2Config) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.use_bias), c.mlp(bias=c.use_bias)), norm=c.norm()
    )
    return c.decoder(layers, norm=c.norm(), names=_NAMES)


FAMILY = ModelFamily(
    config_class=StarCoder2Config,
    decoder=decoder,
    tensors=lambda c: HUGGING_FACE.renamed(up="mlp.c_fc", down="mlp.c_proj"),
    gguf=GGUFFormat(
        "starcoder2", "Starcoder2ForCausalLM", lambda fields: {"hidden_act": "gelu_tanh"}
    ),
)
