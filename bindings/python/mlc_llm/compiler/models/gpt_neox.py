"""GPT-NeoX, Pythia, RedPajama, Dolly: attention and the MLP in parallel, each with its own layer
norm; exact gelu, and a rotation of a part of each head.

transformers' `models/gpt_neox/modeling_gpt_neox.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt import GPTConfig, rotated_part
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped

_NAMES = {
    "embedding": "gpt_neox.embed_in",
    "norm": "gpt_neox.final_layer_norm",
    "head": "embed_out",
    "layer": "gpt_neox.layers.{}",
    "qkv": "attention.query_key_value",
    "output": "attention.dense",
    "up": "mlp.dense_h_to_4h",
    "down": "mlp.dense_4h_to_h",
}


@dataclass(frozen=True, kw_only=True)
class GPTNeoXConfig(GPTConfig):
    hidden_act: str = "gelu"
    use_parallel_residual: bool = flag(default=True)
    attention_bias: bool = flag(default=True, gguf="blk.0.attn_qkv.bias")
    aliases = {
        **GPTConfig.aliases,
        "rope_theta": ("rotary_emb_base",),
        "partial_rotary_factor": ("rotary_pct",),
    }

    default_partial = 0.25


def decoder(c: GPTNeoXConfig) -> DecoderSpec:
    layers = c.layers(
        lambda i: (c.attention(i, bias=c.attention_bias), c.mlp(bias=True)),
        norm=c.norm(),
        places="parallel_two" if c.use_parallel_residual else "pre",
    )
    return c.decoder(layers, norm=c.norm(), names=_NAMES)


def _tensors(c: GPTNeoXConfig) -> TensorMap:
    """The file stores queries, keys and values head by head."""
    sizes = (c.head_dim,) * 3
    fused = [Grouped(c.num_attention_heads, sizes, i) for i in range(3)]
    return HUGGING_FACE.named(_NAMES).changed(
        qkv=tuple(Source("attention.query_key_value", (part,)) for part in fused)
    )


FAMILY = ModelFamily(
    config_class=GPTNeoXConfig,
    decoder=decoder,
    tensors=_tensors,
    gguf=GGUFFormat(  # llama.cpp's converter writes queries, then keys, then values
        "gptneox",
        "GPTNeoXForCausalLM",
        lambda fields: {
            "hidden_act": "gelu",
            "partial_rotary_factor": rotated_part(fields),
            "use_parallel_residual": fields.flag("use_parallel_residual", True),
        },
        lambda c: GGUF.changed(qkv=(Source("attn_qkv"),)),
    ),
)
