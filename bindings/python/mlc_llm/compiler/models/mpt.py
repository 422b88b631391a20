"""MPT: scores that fall with the distance (ALiBi), layer norms without a bias, exact gelu, and no
bias anywhere.

transformers' `models/mpt/modeling_mpt.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import Scores
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.errors import MLCError, UnsupportedError

_STEEPEST = 8  # the usual `alibi_bias_max`; the kernels have no other
# Of the attention's own config: for training, and how it is computed.
_HARMLESS = ("attn_pdrop", "attn_impl", "attn_uses_sequence_id")


@dataclass(frozen=True, kw_only=True)
class MPTConfig(GPTConfig):
    hidden_act: str = "gelu"
    tied_by_default = True
    only = {"no_bias": True}
    # the positions count only without ALiBi; all norms are alike; gradients of the embeddings
    unused = ("learned_pos_emb", "norm_type", "embedding_fraction")
    aliases = {
        **GPTConfig.aliases,
        "hidden_size": ("d_model",),
        "num_hidden_layers": ("n_layers",),
        "num_attention_heads": ("n_heads",),
        "max_position_embeddings": ("max_seq_len",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        _check_attention(read)
        config, ratio = dict(read.config), read.integer("expansion_ratio", default=4)
        if config.get("intermediate_size") is None and isinstance(config.get("hidden_size"), int):
            config["intermediate_size"] = ratio * config["hidden_size"]
        return super().fields(ConfigReader(config, read.seen))


def _check_attention(read: ConfigReader) -> None:
    given = read.mapping("attn_config") or {}
    own = ConfigReader(given)
    own.seen.update(_HARMLESS)
    try:
        for name, value in (("alibi", True), ("prefix_lm", False), ("qk_ln", False)):
            own.always(name, value)
        own.choice("attn_type", of={"multihead_attention": ""}, default="multihead_attention")
        if own.integer("alibi_bias_max", default=_STEEPEST) != _STEEPEST:
            raise unsupported("alibi_bias_max", f"other than {_STEEPEST} is not supported")
        own.refuse_unread()
    except MLCError as error:
        raise type(error)(error.message, param=f"attn_config.{error.param}") from None


def decoder(c: MPTConfig) -> DecoderSpec:
    norm = c.norm(bias=False)
    layers = c.layers(
        lambda i: (c.attention(i, rope=None, scores=Scores(alibi=True)), c.mlp(bias=False)),
        norm=norm,
    )
    return c.decoder(layers, norm=norm)


def _tensors(c: MPTConfig) -> TensorMap:
    return HUGGING_FACE.renamed(
        embedding="transformer.wte",
        norm="transformer.norm_f",
        attention_norm="norm_1",
        mlp_norm="norm_2",
        qkv="attn.Wqkv",
        output="attn.out_proj",
        up="ffn.up_proj",
        down="ffn.down_proj",
    ).changed(layer="transformer.blocks.{}.")


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    steepest = fields.number("attention.max_alibi_bias", 0.5)
    if steepest != _STEEPEST:
        raise UnsupportedError(
            f"max_alibi_bias other than {_STEEPEST} is not supported",
            param="attention.max_alibi_bias",
        )
    return {"hidden_act": "gelu"}


FAMILY = ModelFamily(
    config_class=MPTConfig,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat(
        "mpt", "MptForCausalLM", _gguf_config, lambda c: GGUF.changed(qkv=(Source("attn_qkv"),))
    ),
)
