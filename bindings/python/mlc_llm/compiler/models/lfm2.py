"""LFM2: most layers are short convolutions; some have attention with normalized queries and keys.

transformers' `models/lfm2/modeling_lfm2.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, MLPSpec, ShortConvSpec
from mlc_llm.compiler.models.config import FULL, ConfigReader, DecoderConfig, with_one_rope
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, Source
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import Transposed

CONV_LAYER = "conv"  # Hugging Face's word in `layer_types`
_NAMES = {
    "norm": "model.embedding_norm",
    "output": "self_attn.out_proj",
    "q_norm": "self_attn.q_layernorm",
    "k_norm": "self_attn.k_layernorm",
    "recurrent_in": "conv.in_proj",
    "recurrent_conv": "conv.conv",
    "recurrent_out": "conv.out_proj",
    "attention_norm": "operator_norm",
    "mlp_norm": "ffn_norm",
    "gate_up": "feed_forward.w1_w3",
    "down": "feed_forward.w2",
}


@dataclass(frozen=True, kw_only=True)
class Lfm2Config(DecoderConfig):
    # number of rows that a convolution uses
    conv_L_cache: int = integer(default=3, minimum=2, maximum=16)
    conv_bias: bool = flag(default=False)
    aliases = {  # names in the first configs of the family
        "rms_norm_eps": ("norm_eps", "block_norm_eps"),
        "intermediate_size": ("block_ff_dim",),
        "tie_word_embeddings": ("tie_embedding",),
        "num_attention_heads": ("num_heads",),
        "rope_theta": ("theta",),
    }
    default_eps = 1e-5
    default_theta = 1e6
    tied_by_default = True
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        base = ConfigReader(with_one_rope(read.config), read.seen)
        width = read.config.get("block_ff_dim")  # wins, where both widths are given
        if width is not None:
            base = base.having({"intermediate_size": width})
        fields = super().fields(base)
        width = base.integer("conv_dim", "block_dim", default=fields["hidden_size"])
        if width != fields["hidden_size"]:
            raise unsupported("conv_dim", f"{width} is not hidden_size, which is not supported")
        return {**fields, "intermediate_size": _mlp_width(base, fields["intermediate_size"])}

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        attends = read.layers("full_attn_idxs", layers, range(layers))
        kinds = read.words("layer_types", layers, (FULL, CONV_LAYER))
        if kinds is None:  # where both are given, this one counts
            kinds = tuple(FULL if i in attends else CONV_LAYER for i in range(layers))
        if FULL not in kinds:
            raise corrupt("layer_types", "has no full_attention")
        windows = super().window_fields(read.without("layer_types", "full_attn_idxs"), layers)
        return {**windows, "layer_types": kinds}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "block_auto_adjust_ff_dim": False}


def _mlp_width(read: ConfigReader, width: int) -> int:
    """The width of the MLP. By default it is two thirds of the config's value, rounded up."""
    names = ("block_multiple_of", "block_ffn_dim_multiplier")
    read.seen.update(names)
    if not read.flag("block_auto_adjust_ff_dim", default=True):
        return width
    multiple = read.integer(names[0], default=256)
    width = int(read.number(names[1], default=1.0) * int(2 * width / 3))
    return -(-width // multiple) * multiple


def decoder(c: Lfm2Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    conv = ShortConvSpec(width=c.hidden_size, taps=c.conv_L_cache, bias=c.conv_bias)
    layers = [
        LayerSpec((conv, mlp), norm=c.rms)
        if kind == CONV_LAYER
        else LayerSpec((c.attention(i, head_norms=HeadNorms(c.rms)), mlp), norm=c.rms)
        for i, kind in enumerate(c.layer_types)
    ]
    return c.decoder(layers, names=_NAMES)


TENSORS = (
    HUGGING_FACE.named(_NAMES)
    .renamed(recurrent_conv_bias="conv.conv", gate_up="feed_forward.w1 feed_forward.w3")
    .changed(recurrent_conv=(Source("conv.conv", CONV),))
)
GGUF_TENSORS = GGUF.renamed(
    norm="token_embd_norm",
    recurrent_in="shortconv.in_proj",
    recurrent_conv_bias="shortconv.conv",
    recurrent_out="shortconv.out_proj",
).changed(recurrent_conv=(Source("shortconv.conv", (Transposed(),)),))


def gguf_config(fields: GGUFFields) -> dict[str, Any]:
    heads = fields.sizes("attention.head_count_kv")
    kinds = [FULL if count else CONV_LAYER for count in heads]
    first = kinds.index(CONV_LAYER) if CONV_LAYER in kinds else 0
    return {
        "layer_types": kinds,
        "conv_L_cache": fields.size("shortconv.l_cache"),
        "conv_bias": fields.has_tensor(f"blk.{first}.shortconv.conv.bias"),
        "block_auto_adjust_ff_dim": False,
    }


FAMILY = ModelFamily(
    config_class=Lfm2Config,
    decoder=decoder,
    tensors=lambda c: TENSORS,
    gguf=GGUFFormat("lfm2", "Lfm2ForCausalLM", gguf_config, lambda c: GGUF_TENSORS),
)
