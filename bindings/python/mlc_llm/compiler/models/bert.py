"""BERT: an encoder. Its rows see the whole text, and its hidden states become embeddings. A norm
follows each addition; positions and token types have learned embeddings.

transformers' `models/bert/modeling_bert.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import Ahead
from mlc_llm.compiler.models.classifier import classifier_labels
from mlc_llm.compiler.models.config import ConfigReader, check_learned_positions
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily, refuse_causal
from mlc_llm.compiler.models.gpt import GPTConfig
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    DenseSpec,
    HeadSpec,
    TensorMap,
)

# They are both MLC-LLM's names and Hugging Face's, except those of queries, keys and values.
_PLAIN = {
    "embedding": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "embedding_norm": "embeddings.LayerNorm",
    "output": "attention.output.dense",
    "post_attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "post_mlp_norm": "output.LayerNorm",
}
_NAMES = {**_PLAIN, "layer": "encoder.layer.{}", "qkv": "attention.self.qkv"}


@dataclass(frozen=True, kw_only=True)
class BertConfig(GPTConfig):
    n_positions: int  # number of learned position embeddings
    type_vocab_size: int = integer(default=2)
    classifier_labels: int  # 1: a reranker; 0: no classifier
    hidden_act: str = "gelu"
    head_names = ("pooler.dense", "classifier")  # the two layers of a classifier
    default_eps = 1e-12
    only = {"position_embedding_type": "absolute", "is_causal": False}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        for name in ("is_decoder", "add_cross_attention"):
            if read.flag(name, default=False):
                raise unsupported(
                    name, "is not supported in this family, whose rows see the whole text"
                )
        positions = cls.positions(read)
        base = ConfigReader({"context_window_size": positions, **read.config}, read.seen)
        fields = super().fields(base)
        check_learned_positions(fields["context_window_size"], positions)
        return {
            **fields,
            "n_positions": positions,
            "classifier_labels": classifier_labels(read),
        }

    @classmethod
    def positions(cls, read: ConfigReader) -> int:
        names = ("n_positions", "max_position_embeddings", "context_window_size")
        return read.integer(*names, default=512)


def _head(c: BertConfig) -> HeadSpec | None:
    """The pooler, then the classifier."""
    if not c.classifier_labels:
        return None
    first = DenseSpec(width=c.hidden_size, activation="tanh")
    return HeadSpec(layers=(first, DenseSpec(width=1)), scores=True)


def decoder(c: BertConfig) -> DecoderSpec:
    if max(c.sliding_window_size, c.sliding_window) > 0:
        raise unsupported(
            "sliding_window", "is not supported in this family, whose rows see the whole text"
        )
    layers = c.layers(
        lambda i: (c.attention(i, rope=None, ahead=Ahead(), bias=True), c.mlp(bias=True)),
        norm=c.norm(),
        places="after_add",
    )
    return c.decoder(
        layers,
        norm=None,
        positions=c.n_positions,
        token_types=c.type_vocab_size,
        embedding_norm=c.norm(),
        pooled_head=_head(c),
        names={**_NAMES, "dense_0": c.head_names[0], "dense_1": c.head_names[1]},
    )


TENSORS = HUGGING_FACE.named(_NAMES).renamed(
    qkv="attention.self.query attention.self.key attention.self.value"
)
_GGUF = GGUF.renamed(
    post_attention_norm="attn_output_norm",
    post_mlp_norm="layer_output_norm",
    dense_0="cls",
    dense_1="cls.output",
)


def tensors(c: BertConfig) -> TensorMap:
    dense_0, dense_1 = c.head_names
    return TENSORS.renamed(dense_0=dense_0, dense_1=dense_1)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    refuse_causal(fields)
    return {
        "classifier_labels": int(fields.has_tensor("cls.output.weight")),
        "hidden_act": "gelu",
        "max_position_embeddings": fields.rows("position_embd.weight"),
        "type_vocab_size": fields.rows("token_types.weight"),
    }


FAMILY = ModelFamily(
    config_class=BertConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("bert", "BertModel", _gguf_config, lambda c: _GGUF),
    pooling="cls",  # as MLC-LLM
    has_classifier=True,
)
