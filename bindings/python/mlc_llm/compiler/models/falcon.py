"""Falcon 1 (7B, 40B, 180B): attention and the MLP in parallel, behind one layer norm, or in the
"new decoder architecture" each behind its own. Exact gelu, no biases.

transformers' `models/falcon/modeling_falcon.py`. (Falcon 3 is a Llama.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped


@dataclass(frozen=True, kw_only=True)
class FalconConfig(GPTConfig):
    hidden_act: str = "gelu"
    bias: bool = flag(default=False, gguf="blk.0.attn_qkv.bias")
    two_norms: bool  # the norms of attention and of the MLP are two
    tied_by_default = True
    only = {"alibi": False, "parallel_attn": True}
    aliases = {
        **GPTConfig.aliases,
        "hidden_size": ("n_embed",),
        "num_hidden_layers": ("n_layer",),
        "num_attention_heads": ("n_head",),
        "num_key_value_heads": ("num_kv_heads", "n_head_kv"),
        "intermediate_size": ("ffn_hidden_size",),
        "hidden_act": ("activation",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config, new = dict(read.config), read.flag("new_decoder_architecture", default=False)
        if config.get("intermediate_size") is None and isinstance(config.get("hidden_size"), int):
            config["intermediate_size"] = 4 * config["hidden_size"]
        if read.flag("multi_query", default=True) and not new:
            config["num_key_value_heads"] = 1
        norms = read.integer("num_ln_in_parallel_attn", default=1 + new, maximum=2)
        if norms == 2 and not new:
            raise unsupported(
                "num_ln_in_parallel_attn", "2 is not supported without new_decoder_architecture"
            )
        two = read.flag("two_norms", default=norms == 2)
        found = super().fields(ConfigReader(config, read.seen))
        return {**found, "two_norms": two}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "multi_query": False}


def decoder(c: FalconConfig) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.bias), c.mlp(bias=c.bias)),
        norm=c.norm(),
        places="parallel_two" if c.two_norms else "parallel",
    )
    return c.decoder(layers, norm=c.norm())


def _tensors(c: FalconConfig) -> TensorMap:
    """The file stores the queries that share a key, then this key and its value."""
    groups, group = c.num_key_value_heads, c.num_attention_heads // c.num_key_value_heads
    sizes = (group * c.head_dim, c.head_dim, c.head_dim)
    fused = [Grouped(groups, sizes, i) for i in range(3)]
    first = "ln_attn" if c.two_norms else "input_layernorm"
    return HUGGING_FACE.renamed(
        embedding="transformer.word_embeddings",
        norm="transformer.ln_f",
        attention_norm=first,
        mlp_norm="ln_mlp",
        output="self_attention.dense",
        up="mlp.dense_h_to_4h",
        down="mlp.dense_4h_to_h",
    ).changed(
        layer="transformer.h.{}.",
        qkv=tuple(Source("self_attention.query_key_value", (part,)) for part in fused),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        "hidden_act": "gelu",
        "multi_query": False,  # head_count_kv says it
        "two_norms": fields.has_tensor("blk.0.attn_norm_2.weight"),
    }


def _gguf_tensors(c: FalconConfig) -> TensorMap:
    found = GGUF.changed(qkv=(Source("attn_qkv"),))
    if not c.two_norms:
        return found
    return found.renamed(attention_norm="attn_norm_2", mlp_norm="attn_norm")


FAMILY = ModelFamily(
    config_class=FalconConfig,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat("falcon", "FalconForCausalLM", _gguf_config, _gguf_tensors),
)
