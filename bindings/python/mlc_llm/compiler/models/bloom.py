"""BLOOM: scores that fall with the distance (ALiBi), layer norms also of the embeddings, biases
everywhere and the tanh form of gelu.

transformers' `models/bloom/modeling_bloom.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.layers import Scores
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPT2FieldsConfig
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped


@dataclass(frozen=True, kw_only=True)
class BloomConfig(GPT2FieldsConfig):
    tied_by_default = True
    aliases = {
        **GPT2FieldsConfig.aliases,
        "hidden_size": ("n_embed",),
        "max_position_embeddings": ("seq_length",),
    }

    only = {"apply_residual_connection_post_layernorm": False}


def decoder(c: BloomConfig) -> DecoderSpec:
    own = {"rope": None, "scores": Scores(alibi=True), "bias": True}
    layers = c.layers(lambda i: (c.attention(i, **own), c.mlp(bias=True)), norm=c.norm())
    return c.decoder(layers, norm=c.norm(), embedding_norm=c.norm())


def _tensors(c: BloomConfig) -> TensorMap:
    """The file stores queries, keys and values head by head."""
    fused = [Grouped(c.num_attention_heads, (c.head_dim,) * 3, i) for i in range(3)]
    return HUGGING_FACE.renamed(
        embedding="transformer.word_embeddings",
        embedding_norm="transformer.word_embeddings_layernorm",
        norm="transformer.ln_f",
        output="self_attention.dense",
        up="mlp.dense_h_to_4h",
        down="mlp.dense_4h_to_h",
    ).changed(
        layer="transformer.h.{}.",
        qkv=tuple(Source("self_attention.query_key_value", (part,)) for part in fused),
    )


FAMILY = ModelFamily(
    config_class=BloomConfig,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat(
        "bloom",
        "BloomForCausalLM",
        lambda fields: {"hidden_act": "gelu_tanh"},
        lambda c: GGUF.changed(qkv=(Source("attn_qkv"),)),
    ),
)
