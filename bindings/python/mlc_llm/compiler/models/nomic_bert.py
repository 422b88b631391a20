"""nomic-bert: BERT with rotary positions, a gated MLP and no biases in its linear layers.

transformers' `models/nomic_bert/modeling_nomic_bert.py`; the configs of the repositories have the
names of GPT-2's fields. Texts are as long as those of the training: beyond that the repositories'
own code changes the rotation with the length of a text (`rotary_scaling_factor`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import Ahead, MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily, refuse_causal
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, NormSpec

# They are both Hugging Face's names and ours; MLC-LLM does not have this family.
_NAMES = {
    "layer": "encoder.layers.{}",
    "embedding": "embeddings.word_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "embedding_norm": "emb_ln",
    "qkv": "attn.Wqkv",
    "output": "attn.out_proj",
    "post_attention_norm": "norm1",
    "gate_up": "mlp.fc1",
    "down": "mlp.fc2",
    "post_mlp_norm": "norm2",
}


@dataclass(frozen=True, kw_only=True)
class NomicBertConfig(DecoderConfig):
    type_vocab_size: int = integer(default=2)
    activations = {"swiglu": "silu", "silu": "silu"}
    aliases = {
        "hidden_size": ("n_embd",),
        "num_hidden_layers": ("n_layer",),
        "num_attention_heads": ("n_head",),
        "intermediate_size": ("n_inner",),
        "hidden_act": ("activation_function",),
        "rms_norm_eps": ("layer_norm_epsilon", "layer_norm_eps"),
        "rope_theta": ("rotary_emb_base",),
        "partial_rotary_factor": ("rotary_emb_fraction",),
        "max_position_embeddings": ("max_trained_positions", "n_positions"),
    }
    default_eps = 1e-12
    default_theta = 1000.0
    # What every published model has: the flags of the repositories' code for other encoders.
    only = {
        "causal": False,
        "is_causal": False,
        "mlp_fc1_bias": False,
        "mlp_fc2_bias": False,
        "parallel_block": False,
        "prenorm": False,
        "qkv_proj_bias": False,
        "rotary_emb_interleaved": False,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "use_rms_norm": False,
    }
    # Of training and of implementations; what `parallel_block` would use; what a classifier would.
    unused = (
        "embd_pdrop",
        "fused_bias_fc",
        "parallel_block_tied_norm",
        "rotary_scaling_factor",
        "summary_activation",
    )

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        fields = super().fields(read)
        together = read.integer("pad_vocab_size_multiple", default=1)
        return {**fields, "vocab_size": -(-fields["vocab_size"] // together) * together}

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        read.no_windows(
            "sliding_window_size", "sliding_window", instead=", whose rows see the whole text"
        )
        return super().window_fields(read, layers)


def decoder(c: NomicBertConfig) -> DecoderSpec:
    norm = NormSpec(eps=c.rms_norm_eps, kind="layer", bias=True)
    layers = c.layers(
        lambda i: (c.attention(i, ahead=Ahead()), MLPSpec(width=c.intermediate_size)),
        norm=norm,
        places="after_add",
    )
    return c.decoder(
        layers,
        norm=None,
        token_types=c.type_vocab_size,
        embedding_norm=norm,
        names=_NAMES,
    )


# The first of the two layers is the one without a function.
TENSORS = HUGGING_FACE.named(_NAMES).renamed(gate_up="mlp.fc12 mlp.fc11")
_GGUF = GGUF.renamed(
    qkv="attn_qkv", post_attention_norm="attn_output_norm", post_mlp_norm="layer_output_norm"
)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    refuse_causal(fields)
    return {"type_vocab_size": fields.rows("token_types.weight"), "hidden_act": "silu"}


FAMILY = ModelFamily(
    config_class=NomicBertConfig,
    decoder=decoder,
    tensors=lambda c: TENSORS,
    gguf=GGUFFormat("nomic-bert", "NomicBertModel", _gguf_config, lambda c: _GGUF),
    pooling="mean",
)
