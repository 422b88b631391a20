"""RWKV 7: every layer mixes each row with the row before, and has states instead of attention.

The configs and names are those of flash-linear-attention's `models/rwkv7`, whose repositories are
on Hugging Face.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import ChannelMixSpec, TimeMixSpec
from mlc_llm.compiler.layers.rwkv7 import MIXES
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer, number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.states_config import StatesConfig
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    LayerSpec,
    NormSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.transforms import Reshaped

_LETTERS = "rwkvag"  # of MIXES
_RANKS = {"decay": "decay", "rate": "a", "values": "v", "gate": "gate"}
_USUAL = {"decay": 2.5, "a": 2.5, "v": 1.7, "gate": 5.0}  # ranks for a width of 1
_STEP = 32  # they and the width of the MLP are multiples of it
_NORMS = {"attention_norm": "attn_norm", "mlp_norm": "ffn_norm"}


@dataclass(frozen=True, kw_only=True)
class RWKV7Config(StatesConfig):
    intermediate_size: int
    head_dim: int = integer(default=64)
    norm_eps: float = number(default=1e-5)
    norm_bias: bool = flag(default=True)
    decay_low_rank_dim: int
    a_low_rank_dim: int
    v_low_rank_dim: int
    gate_low_rank_dim: int

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.choice("hidden_act", of={"sqrelu": "", "relu2": ""}, default="sqrelu")
        read.always("norm_first", True)
        read.seen.update(("num_heads", "attn_mode", "fuse_norm"))  # head_dim decides
        hidden = read.integer("hidden_size")
        wide = -(-int(hidden * read.number("hidden_ratio", default=4.0)) // _STEP) * _STEP
        found = super().fields(read)
        dim = found["head_dim"]
        ranks = {f"{name}_low_rank_dim": _usual_rank(name, hidden, dim) for name in _USUAL}
        return {
            **found,
            "intermediate_size": read.integer("intermediate_size", default=wide),
            **{name: read.integer(name, default=default) for name, default in ranks.items()},
        }

    def check(self, read: ConfigReader) -> None:
        if self.hidden_size % self.head_dim:
            raise corrupt(
                "head_dim", f"{self.head_dim} does not divide hidden_size {self.hidden_size}"
            )
        if read.config.get("value_dim") != self.hidden_size:  # one number, or one for each layer
            read.words("value_dim", self.num_hidden_layers, [self.hidden_size])

    @property
    def heads(self) -> int:
        return self.hidden_size // self.head_dim


def _usual_rank(name: str, hidden: int, dim: int) -> int:
    """What flash-linear-attention takes for a rank that a config leaves out."""
    wide = _USUAL[name] * hidden**0.5 * (1 if name == "gate" else dim / 64)
    return max(round(wide / _STEP) * _STEP, _STEP)


def decoder(c: RWKV7Config) -> DecoderSpec:
    norm = NormSpec(kind="layer", eps=c.norm_eps, bias=c.norm_bias)
    ranks = {own: getattr(c, f"{name}_low_rank_dim") for own, name in _RANKS.items()}
    layers = []
    for index in range(c.num_hidden_layers):
        own = ranks if index else {**ranks, "values": 0}
        eps = c.head_dim * c.norm_eps
        mixer = TimeMixSpec(heads=c.heads, head_dim=c.head_dim, eps=eps, **own)
        mlp = ChannelMixSpec(width=c.intermediate_size)
        layers.append(LayerSpec((mixer, mlp), norm=norm))
    return DecoderSpec(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        layers=tuple(layers),
        norm=norm,
        embedding_norm=norm,
        tied_head=c.tie_word_embeddings,
        names={"embedding": "model.embeddings", **_NORMS},
    )


def tensors(c: RWKV7Config) -> TensorMap:
    wide, square = c.hidden_size, (c.heads, c.head_dim)
    row, vector = (Reshaped((1, 1, wide), 1),), (Reshaped((wide,), 1),)
    mixes = tuple(Source(f"attn.x_{letter}", row, is_whole=True) for letter in _LETTERS)
    return HUGGING_FACE.renamed(
        **_NORMS, embedding="model.embeddings", embedding_norm="model.layers.0.pre_norm"
    ).changed(
        time_mixes=mixes,
        channel_mixes=(Source("ffn.x_k", vector, is_whole=True),),
        key_scale=(Source("attn.k_k", is_whole=True),),
        key_rate=(Source("attn.k_a", is_whole=True),),
        bonus=(Source("attn.r_k", (Reshaped(square),), is_whole=True),),
    )


def gguf_tensors(c: RWKV7Config) -> TensorMap:
    count, wide = len(MIXES), c.hidden_size
    letters = {"decay": "w", "rate": "a", "value": "v"}
    biases = {f"{role}_up_bias": (Source(f"time_mix_{letter}0.weight", is_whole=True),)
              for role, letter in letters.items()}  # fmt: skip
    return GGUF.renamed(mlp_norm="attn_norm_2").changed(
        time_mixes=(Source("time_mix_lerp_fused", (Reshaped((count, 1, 1, wide), count),)),),
        channel_mixes=(Source("channel_mix_lerp_k", (Reshaped((wide,), 1),)),),
        **biases,
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    keys = {"decay": "decay", "a": "iclr", "v": "value_residual_mix", "gate": "gate"}
    return {
        "intermediate_size": fields.size("feed_forward_length"),
        "head_dim": fields.size("wkv.head_size"),
        "norm_eps": fields.number("attention.layer_norm_epsilon"),
        **{f"{name}_low_rank_dim": fields.size(f"attention.{key}_lora_rank")
           for name, key in keys.items()},
    }  # fmt: skip


FAMILY = ModelFamily(
    config_class=RWKV7Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("rwkv7", "RWKV7ForCausalLM", _gguf_config, gguf_tensors),
)
