"""GPT-2: learned positions, layer norms, biases, and weights that are transposed in the files.

transformers' `models/gpt2/modeling_gpt2.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader, check_learned_positions
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPT2FieldsConfig
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source
from mlc_llm.compiler.spec.transforms import Transposed

_NAMES = {
    "embedding": "transformer.wte",
    "positions": "transformer.wpe",
    "norm": "transformer.ln_f",
    "layer": "transformer.h.{}",
    "attention_norm": "ln_1",
    "qkv": "attn.c_attn",
    "output": "attn.c_proj",
    "mlp_norm": "ln_2",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}


@dataclass(frozen=True, kw_only=True)
class GPT2Config(GPT2FieldsConfig):
    n_positions: int  # number of learned position embeddings
    tied_by_default = True
    only = {"scale_attn_weights": True}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        fields = super().fields(read)
        positions = read.integer("n_positions", "max_position_embeddings", default=1024)
        check_learned_positions(fields["context_window_size"], positions)
        return {**fields, "n_positions": positions}


def decoder(c: GPT2Config) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, rope=None, bias=True), c.mlp(bias=True)), norm=c.norm()
    )
    return c.decoder(layers, norm=c.norm(), positions=c.n_positions, names=_NAMES)


TURNED = {
    "qkv": "attn.c_attn",
    "output": "attn.c_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
TENSORS = HUGGING_FACE.named(_NAMES).changed(
    **{role: (Source(name, (Transposed(),)),) for role, name in TURNED.items()}
)

FAMILY = ModelFamily(
    config_class=GPT2Config,
    decoder=decoder,
    tensors=lambda c: TENSORS,
    gguf=GGUFFormat(
        "gpt2",
        "GPT2LMHeadModel",
        lambda fields: {"hidden_act": "gelu_tanh"},
        lambda c: GGUF.changed(qkv=(Source("attn_qkv"),)),
    ),
)
