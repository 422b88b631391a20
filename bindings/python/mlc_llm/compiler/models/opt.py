"""OPT: learned positions, layer norms, biases, and an MLP without a gate whose activation is relu.

transformers' `models/opt/modeling_opt.py`. OPT-350m has its norms behind the halves, and embeddings
of another width: it is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader, check_learned_positions
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Rows

_FIRST = 2  # the table's rows before that of position 0


@dataclass(frozen=True, kw_only=True)
class OPTConfig(GPTConfig):
    positions: int  # number of learned position embeddings
    enable_bias: bool = flag(default=True)
    hidden_act: str = "relu"
    activations = {**GPTConfig.activations, "relu": "relu"}
    tied_by_default = True
    only = {
        "do_layer_norm_before": True,
        "_remove_final_layer_norm": False,
        "layer_norm_elementwise_affine": True,
    }
    aliases = {
        **GPTConfig.aliases,
        "intermediate_size": ("ffn_dim",),
        "hidden_act": ("activation_function",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        fields = super().fields(read)
        width = read.integer("word_embed_proj_dim", default=fields["hidden_size"])
        if width != fields["hidden_size"]:
            raise unsupported(
                "word_embed_proj_dim",
                f"{width} is not supported in this family; it must be the hidden_size, "
                f"{fields['hidden_size']}",
            )
        positions = read.integer("positions", "max_position_embeddings", default=2048)
        check_learned_positions(fields["context_window_size"], positions)
        return {**fields, "positions": positions}


def decoder(c: OPTConfig) -> DecoderSpec:
    own = {"rope": None, "bias": c.enable_bias}
    layers = c.layers(lambda i: (c.attention(i, **own), c.mlp(bias=c.enable_bias)), norm=c.norm())
    return c.decoder(layers, norm=c.norm(), positions=c.positions)


def _tensors(c: OPTConfig) -> TensorMap:
    end = _FIRST + c.positions
    return HUGGING_FACE.renamed(
        embedding="model.decoder.embed_tokens",
        norm="model.decoder.final_layer_norm",
        attention_norm="self_attn_layer_norm",
        output="self_attn.out_proj",
        mlp_norm="final_layer_norm",
        up="fc1",
        down="fc2",
    ).changed(
        layer="model.decoder.layers.{}.",
        positions=(Source("model.decoder.embed_positions", (Rows(_FIRST, end, end),)),),
    )


FAMILY = ModelFamily(config_class=OPTConfig, decoder=decoder, tensors=_tensors)
