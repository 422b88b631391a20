"""Qwen 3.5 and 3.6 (text): most layers are the gated delta rule. Every fourth one has attention
with normalized queries and keys, whose result is multiplied by a gate.

transformers' `models/qwen3_5/modeling_qwen3_5.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.compiler.layers import DeltaRuleSpec, HeadNorms, MLPSpec, MoESpec
from mlc_llm.compiler.models.config import FULL, ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, Source, TensorMap
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import Grouped, PlusOne, Rows, Transposed

LINEAR = "linear_attention"  # Hugging Face's word in `layer_types`


@dataclass(frozen=True, kw_only=True)
class Qwen35Config(DecoderConfig):
    head_dim: int = integer(default=256)
    linear_conv_kernel_dim: int = integer(default=4, minimum=2, maximum=16)
    linear_key_head_dim: int = integer(default=128)
    linear_value_head_dim: int = integer(default=128)
    linear_num_key_heads: int = integer(default=16)
    linear_num_value_heads: int = integer(default=32)
    attention_bias: bool = flag(default=False)
    # the order of llama.cpp's files: which heads share a key
    tiled_heads: bool = flag(default=False)
    kinds_matter = True
    default_partial = 0.25
    mtp_field = "mtp_num_hidden_layers"
    only = {"attn_output_gate": True}
    unused = ("mamba_ssm_dtype",)  # states are float32 here

    @classmethod
    def mtp_fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().mtp_fields(read)  # a layer with its own embeddings is not used
        return {} if read.flag("mtp_use_dedicated_embeddings", default=False) else found

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        kinds = read.words("layer_types", layers, (FULL, LINEAR))
        every = read.integer("full_attention_interval", default=4)
        usual = tuple(LINEAR if (i + 1) % every else FULL for i in range(layers))
        windows = super().window_fields(read.without("layer_types"), layers)
        return {**windows, "layer_types": kinds or usual}

    def recurrent(self) -> DeltaRuleSpec:
        return DeltaRuleSpec(
            heads=self.linear_num_value_heads,
            key_heads=self.linear_num_key_heads,
            key_dim=self.linear_key_head_dim,
            value_dim=self.linear_value_head_dim,
            taps=self.linear_conv_kernel_dim,
            norm=self.rms,
            tiled=self.tiled_heads,
        )


def decoder(c: Qwen35Config) -> DecoderSpec:
    return decoder_with(c, [MLPSpec(width=c.intermediate_size)] * (c.num_hidden_layers + 1))


def decoder_with(c: Qwen35Config, mlps: Sequence[MLPSpec | MoESpec]) -> DecoderSpec:
    """`mlps`: of each layer, and of the MTP layer."""
    mixers = {
        LINEAR: c.recurrent(),
        FULL: c.attention(0, head_norms=HeadNorms(c.rms), gated=True, bias=c.attention_bias),
    }
    kinds = (*c.layer_types, FULL)
    *layers, mtp = (
        LayerSpec((mixers[kind], mlp), norm=c.rms) for kind, mlp in zip(kinds, mlps, strict=True)
    )
    return c.decoder(layers, mtp)


def _with_gates(c: Qwen35Config, table: TensorMap, q: str, k: str, v: str) -> TensorMap:
    """A head has its query's rows, then its gate's."""
    halves = (c.head_dim, c.head_dim)
    query, gate = (Source(q, (Grouped(c.num_attention_heads, halves, i),)) for i in (0, 1))
    qkv = (query, Source(k), Source(v))
    return table.changed(qkv=qkv, attention_gate=(gate,), norm=table.norm)


def tensors(c: Qwen35Config) -> TensorMap:
    names = (f"self_attn.{part}_proj" for part in "qkv")
    table = HUGGING_FACE.renamed(
        mtp_embedding_norm="pre_fc_norm_embedding",
        mtp_hidden_norm="pre_fc_norm_hidden",
        mtp_join="fc",
        mtp_norm="norm",
    )
    table = replace(table, norm=(PlusOne(),), mtp=("mtp.", "mtp.layers.0."))
    return _with_gates(c, table, *names)


def _mlc_tensors(c: Qwen35Config) -> TensorMap:
    """One tensor has the queries with their gates, the keys and the values."""
    name, heads, dim = "self_attn.c_attn", c.num_attention_heads, c.head_dim
    queries, keys = 2 * heads * dim, c.num_key_value_heads * dim
    total, halves = queries + 2 * keys, (dim, dim)
    query, gate = (
        Source(name, (Rows(0, queries, total), Grouped(heads, halves, i))) for i in (0, 1)
    )
    key = Source(name, (Rows(queries, queries + keys, total),))
    value = Source(name, (Rows(queries + keys, total, total),))
    sources = DeltaRuleSpec.sources("recurrent_in", "decay", "time_step")
    conv = Source("linear_attn.conv1d_weight", CONV, is_whole=True)
    own = {"qkv": (query, key, value), "attention_gate": (gate,), "recurrent_conv": (conv,)}
    return TensorMap(HUGGING_FACE.layer, {**sources, **own})


def gguf_tensors(c: Qwen35Config) -> TensorMap:
    table = GGUF.renamed(
        mlp_norm="post_attention_norm",
        recurrent_in="attn_qkv attn_gate ssm_beta ssm_alpha",
        recurrent_norm="ssm_norm",
        recurrent_out="ssm_out",
    ).changed(
        recurrent_conv=(Source("ssm_conv1d", (Transposed(),)),),
        decay=(Source("ssm_a", is_whole=True),),
        time_step=(Source("ssm_dt.bias", is_whole=True),),
    )
    return _with_gates(c, table, "attn_q", "attn_k", "attn_v")


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    heads = fields.size("ssm.time_step_rank")
    every = fields.size("full_attention_interval", 4)
    behind = size_or(fields, "nextn_predict_layers", 0)
    layers = fields.size("block_count") - behind
    return {
        "num_hidden_layers": layers,
        "mtp_num_hidden_layers": behind,
        "layer_types": [LINEAR if (i + 1) % every else FULL for i in range(layers)],
        "linear_conv_kernel_dim": fields.size("ssm.conv_kernel"),
        "linear_key_head_dim": fields.size("ssm.state_size"),
        "linear_value_head_dim": fields.size("ssm.inner_size") // heads,
        "linear_num_key_heads": fields.size("ssm.group_count"),
        "linear_num_value_heads": heads,
        "tiled_heads": True,
    }


FAMILY = ModelFamily(
    config_class=Qwen35Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("qwen35", "Qwen3_5ForCausalLM", gguf_config, gguf_tensors),
    mlc=MLCFormat(_mlc_tensors, float32=frozenset(("decay", "time_step"))),
)
