"""ModernBERT: an encoder with rotary positions. Most layers have a window of some positions on each
side, and another theta than those that see the whole text. The first layer's attention has no norm.

transformers' `models/modernbert/modeling_modernbert.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mlc_llm.compiler.layers import Ahead, MLPSpec
from mlc_llm.compiler.models.classifier import classifier_labels
from mlc_llm.compiler.models.config import (
    FULL,
    SLIDING,
    ConfigReader,
    DecoderConfig,
    local_theta,
    with_one_rope,
)
from mlc_llm.compiler.models.declared import choice, flag, integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily, refuse_causal
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    DenseSpec,
    HeadSpec,
    LayerSpec,
    NormSpec,
    RopeSpec,
)
from mlc_llm.errors import UnsupportedError

# They are both Hugging Face's names and ours; MLC-LLM does not have this family.
_NAMES = {
    "layer": "layers.{}",
    "embedding": "embeddings.tok_embeddings",
    "embedding_norm": "embeddings.norm",
    "norm": "final_norm",
    "attention_norm": "attn_norm",
    "qkv": "attn.Wqkv",
    "output": "attn.Wo",
    "mlp_norm": "mlp_norm",
    "gate_up": "mlp.Wi",
    "down": "mlp.Wo",
    "dense_0": "head.dense",
    "dense_0_norm": "head.norm",
    "dense_1": "classifier",
}
# Of training, of the head that fills gaps, and of implementations.
_UNUSED = (
    "decoder_bias",
    "embedding_dropout",
    "initializer_cutoff_factor",
    "position_embedding_type",
    "sparse_pred_ignore_index",
)


@dataclass(frozen=True, kw_only=True)
class ModernBertConfig(DecoderConfig):
    # the width of a window, half of it on each side
    local_attention: int = integer(default=128, minimum=2)
    rope_local_base_freq: float  # theta of layers with a window
    norm_bias: bool = flag(default=False, gguf="output_norm.bias")
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_qkv.bias")
    mlp_bias: bool = flag(default=False, gguf="blk.0.ffn_up.bias")
    classifier_labels: int  # 1: a reranker; 0: no classifier
    classifier_pooling: Literal["cls", "mean"] = choice(
        of={"cls": "cls", "mean": "mean"}, default="cls"
    )
    classifier_bias: bool = flag(default=False)
    hidden_act = "gelu"
    activations = {"gelu": "gelu"}
    aliases = {
        "rms_norm_eps": ("norm_eps", "layer_norm_eps"),
        "rope_theta": ("global_rope_theta",),
    }
    default_eps = 1e-5
    default_theta = 160000.0
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.seen.update(_UNUSED)
        read.always("is_causal", False)
        read.choice("classifier_activation", of=cls.activations, default="gelu")
        base = ConfigReader(with_one_rope(read.config), read.seen)
        return {
            **super().fields(base),
            "rope_local_base_freq": _local_theta(read),
            "classifier_labels": classifier_labels(read),
        }

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        read.seen.add("use_sliding_window")  # in our own configs
        read.no_windows(
            "sliding_window_size",
            "sliding_window",
            instead="; local_attention is the width of its windows",
        )
        every = read.integer("global_attn_every_n_layers", default=3)
        usual = tuple(SLIDING if i % every else FULL for i in range(layers))
        kinds = read.words("layer_types", layers, (FULL, SLIDING)) or usual
        return {"layer_types": kinds}

    def layer(self, index: int) -> LayerSpec:
        near = self.is_sliding(index)
        rope = RopeSpec(dim=self.head_dim, theta=self.rope_local_base_freq) if near else self.rope
        ahead = Ahead(near=self.local_attention // 2 if near else 0)
        return LayerSpec(
            (
                self.attention(
                    index, rope=rope, ahead=ahead, window=None, bias=self.attention_bias
                ),
                MLPSpec(width=self.intermediate_size, activation="gelu", bias=self.mlp_bias),
            ),
            norm=self.norm,
            attention_norm=index > 0,
        )

    @property
    def norm(self) -> NormSpec:
        return NormSpec(eps=self.rms_norm_eps, kind="layer", bias=self.norm_bias)

    @property
    def head(self) -> HeadSpec | None:
        if not self.classifier_labels:
            return None
        first = DenseSpec(
            width=self.hidden_size, activation="gelu", bias=self.classifier_bias, norm=self.norm
        )
        layers = (first, DenseSpec(width=1))
        return HeadSpec(layers=layers, scores=True, pooling=self.classifier_pooling)


def _local_theta(read: ConfigReader) -> float:
    usual = read.number("rope_local_base_freq", "local_rope_theta", default=10000.0)
    return local_theta(read.config, usual) or usual


def decoder(c: ModernBertConfig) -> DecoderSpec:
    layers = [c.layer(i) for i in range(c.num_hidden_layers)]
    return c.decoder(
        layers,
        norm=c.norm,
        embedding_norm=c.norm,
        pooled_head=c.head,
        names=_NAMES,
    )


TENSORS = HUGGING_FACE.named(_NAMES)
_GGUF = GGUF.renamed(qkv="attn_qkv", gate_up="ffn_up")


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    refuse_causal(fields)
    if fields.has_tensor("cls.output.weight"):
        raise UnsupportedError(
            "the tensor cls.output.weight is not supported in a file of this architecture; convert "
            "the Hugging Face folder of the reranker",
            param="cls.output.weight",
        )
    return {
        "sliding_window": None,
        "local_attention": fields.size("attention.sliding_window"),
        "global_attn_every_n_layers": fields.size("attention.sliding_window_pattern", 3),
        "rope_theta": fields.number("rope.freq_base", 160000.0),
        "local_rope_theta": fields.number("rope.freq_base_swa", 10000.0),
        "hidden_act": "gelu",
    }


FAMILY = ModelFamily(
    config_class=ModernBertConfig,
    decoder=decoder,
    tensors=lambda c: TENSORS,
    gguf=GGUFFormat("modern-bert", "ModernBertModel", _gguf_config, lambda c: _GGUF),
    pooling="mean",
    has_classifier=True,
)
