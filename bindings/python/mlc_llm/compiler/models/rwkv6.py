"""RWKV 6: every layer mixes each row with the row before by mixes of the row's own, and has states
instead of attention.

The configs and names are those of the repositories of RWKV on Hugging Face, whose code is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_llm.compiler.layers import DecayMixSpec, GatedMixSpec
from mlc_llm.compiler.layers.rwkv6 import MIXED
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
from mlc_llm.compiler.models.declared import integer, number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
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
from mlc_llm.compiler.spec.transforms import Reshaped, Rows, Transposed, Turned

_STEP = 32  # the width of the MLP is a multiple of it
_EPS = 1e-5  # of the norm of heads, which are divided by `head_size_divisor` before
_LARGE = 4096  # the width at which the ranks are twice as large

OUTSIDE = {
    "layer": "model.blocks.{}",
    "embedding": "model.embeddings",
    "embedding_norm": "model.blocks.0.pre_ln",
    "norm": "model.ln_out",
    "head": "head",
    "attention_norm": "ln1",
    "mlp_norm": "ln2",
}


def _wide(found: Mapping[str, Any]) -> int:
    """The usual width of the MLP."""
    return max(found["hidden_size"] * 7 // 2 // _STEP * _STEP, _STEP)


@dataclass(frozen=True, kw_only=True)
class RWKVConfig(StatesConfig):
    """What RWKV 5 and 6 share. `rescaled_every`: the files' last linear layers of both halves of
    layer i are divided by 2 ** (i // rescaled_every), as llama.cpp and MLC-LLM store them; 0: they
    are not."""

    intermediate_size: int = integer(default=_wide)
    head_size: int = integer(default=64)
    head_size_divisor: float = number(default=8.0)
    layer_norm_epsilon: float = number(default=1e-5)
    rescaled_every: int = integer(default=0, minimum=0)

    version: ClassVar[str]

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.choice("model_version", of={cls.version: ""}, default=cls.version)
        # `head_size` decides; residuals are always float32, so that they need no `rescale_every`
        read.seen.update(("num_attention_heads", "num_heads", "rescale_every", "hidden_act"))
        return super().fields(read)

    def check(self, read: ConfigReader) -> None:
        if self.hidden_size % self.head_size:
            raise corrupt(
                "head_size", f"{self.head_size} does not divide hidden_size {self.hidden_size}"
            )
        wide = read.integer("attention_hidden_size", default=self.hidden_size)
        if wide != self.hidden_size:
            raise unsupported(
                "attention_hidden_size",
                f"{wide} is not supported in this family; it must be hidden_size, "
                f"{self.hidden_size}",
            )

    def time_mix(self, **ranks: int) -> DecayMixSpec:
        heads, eps = self.hidden_size // self.head_size, _EPS * self.head_size_divisor**2
        return DecayMixSpec(heads=heads, head_dim=self.head_size, eps=eps, **ranks)

    def mlp(self) -> GatedMixSpec:
        return GatedMixSpec(width=self.intermediate_size)


@dataclass(frozen=True, kw_only=True)
class RWKV6Config(RWKVConfig):
    lora_rank_tokenshift: int = integer(
        default=lambda found: 64 if found["hidden_size"] == _LARGE else 32
    )
    lora_rank_decay: int = integer(
        default=lambda found: 128 if found["hidden_size"] == _LARGE else 64
    )

    version = "6_0"

    def time_mix(self, **ranks: int) -> DecayMixSpec:
        return super().time_mix(mixes=self.lora_rank_tokenshift, decay=self.lora_rank_decay)


def decoder(c: RWKVConfig, **names: str) -> DecoderSpec:
    norm = NormSpec(kind="layer", eps=c.layer_norm_epsilon, bias=True)
    mixer, mlp, layers = c.time_mix(), c.mlp(), []
    for index in range(c.num_hidden_layers):
        halvings = index // c.rescaled_every if c.rescaled_every else 0
        scale = 2.0**halvings
        layers.append(LayerSpec((mixer, mlp), norm=norm, residual_scale=scale))
    return DecoderSpec(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        layers=tuple(layers),
        norm=norm,
        embedding_norm=norm,
        tied_head=c.tie_word_embeddings,
        names={**OUTSIDE, **names},
    )


def tensors(c: RWKVConfig) -> TensorMap:
    names = {role: name.replace("model.", "rwkv.") for role, name in OUTSIDE.items()}
    return HUGGING_FACE.named(names)


def gguf_tensors(c: RWKV6Config) -> TensorMap:
    wide, count = c.hidden_size, len(MIXED)
    row, fused = (Reshaped((wide,), 1),), Reshaped((1, 1, 1, wide), 1)
    mixes = {
        f"{role}_mix": (Source("time_mix_lerp_fused", (Rows(j, j + 1, count), fused)),)
        for j, role in enumerate(MIXED)
    }
    return GGUF.renamed(mlp_norm="attn_norm_2").changed(
        **mixes,
        first_mix=(Source("time_mix_lerp_x", row),),
        mixes_down=(Source("time_mix_w1", (Transposed(),)),),
        mixes_up=(Source("time_mix_w2", (Turned(),)),),
        decay=(Source("time_mix_decay", row),),
        decay_down=(Source("time_mix_decay_w1", (Transposed(),)),),
        decay_up=(Source("time_mix_decay_w2", (Transposed(),)),),
        up_mix=(Source("channel_mix_lerp_k", row),),
        mlp_gate_mix=(Source("channel_mix_lerp_r", row),),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    every = "rescale_every_n_layers"
    return {
        "intermediate_size": fields.size("feed_forward_length"),
        "head_size": fields.size("wkv.head_size"),
        "layer_norm_epsilon": fields.number("attention.layer_norm_epsilon"),
        "rescaled_every": fields.sizes(every)[0] if every in fields else 0,
        "lora_rank_tokenshift": fields.size("time_mix_extra_dim"),
        "lora_rank_decay": fields.size("time_decay_extra_dim"),
    }


# In every scheme of MLC-LLM these are float32.
FLOAT32 = frozenset(("decay", "bonus", "time_norm"))
FAMILY = ModelFamily(
    config_class=RWKV6Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("rwkv6", "Rwkv6ForCausalLM", _gguf_config, gguf_tensors),
    mlc=MLCFormat(float32=FLOAT32),
)
