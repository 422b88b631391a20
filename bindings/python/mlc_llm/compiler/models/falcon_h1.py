"""Falcon-H1: in every layer Mamba 2 and attention side by side, then an MLP. Results are multiplied
by numbers of the config; the converter multiplies weights instead, as llama.cpp's does.

transformers' `models/falcon_h1/modeling_falcon_h1.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import BesideSpec, MLPSpec, StateSpaceSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer, number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.mamba2 import (
    HYBRID,
    check_heads,
    gguf_mixer_config,
    gguf_mixer_sources,
    in_sources,
    mixer_of,
    mixer_sources,
    refuse_limits,
)
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Times, TimesParts

_BIASES = ("attention_bias", "mlp_bias", "projectors_bias", "mamba_proj_bias")


@dataclass(frozen=True, kw_only=True)
class FalconH1Config(DecoderConfig):
    embedding_multiplier: float = number(default=1.0)
    lm_head_multiplier: float = number(default=1.0)
    key_multiplier: float = number(default=1.0)
    attention_in_multiplier: float = number(default=1.0)
    attention_out_multiplier: float = number(default=1.0)
    ssm_in_multiplier: float = number(default=1.0)
    ssm_out_multiplier: float = number(default=1.0)
    mlp_multipliers: tuple[float, ...]  # of the gate and of the result
    ssm_multipliers: tuple[float, ...]  # of gates, values, writers, readers and time steps
    mamba_d_ssm: int
    mamba_n_heads: int = integer(default=128)
    mamba_d_head: int
    mamba_d_state: int = integer(default=256)
    mamba_n_groups: int = integer(default=1)
    mamba_d_conv: int = integer(default=4, minimum=2, maximum=16)
    mamba_conv_bias: bool = flag(default=True, gguf="blk.0.ssm_conv1d.bias")
    mamba_rms_norm: bool
    default_eps = 1e-5
    default_theta = 100000.0
    only = dict.fromkeys(_BIASES, False)

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        refuse_limits(read)
        has_norm = read.flag("mamba_rms_norm", default=False)
        if has_norm and read.flag("mamba_norm_before_gate", default=True):
            read.always("mamba_norm_before_gate", False)
        # what is said by the others; every layer is of the one kind
        read.seen.update(("mamba_norm_before_gate", "mamba_use_mlp", "mlp_expansion_factor"))
        read.seen.update(("num_logits_to_keep", "layers_block_type", "layer_types"))
        read = read.without("layer_types")
        found = super().fields(read)
        expand = read.integer("mamba_expand", default=2)
        inner = 1024 if "mamba_d_ssm" not in read.config else expand * found["hidden_size"]
        inner = read.integer("mamba_d_ssm", default=inner)
        # "auto" stands for the width that follows from the others
        given = {k: v for k, v in read.config.items() if (k, v) != ("mamba_d_head", "auto")}
        usual = max(inner // found["mamba_n_heads"], 1)
        return {
            **found,
            "mlp_multipliers": _numbers(read, "mlp_multipliers", 2),
            "ssm_multipliers": _numbers(read, "ssm_multipliers", 5),
            "mamba_d_ssm": inner,
            "mamba_d_head": ConfigReader(given, read.seen).integer("mamba_d_head", default=usual),
            "mamba_rms_norm": has_norm,
        }

    def check(self) -> None:
        super().check()
        check_heads(self.mixer(), self.mamba_d_ssm, "mamba_d_head", "mamba_n_groups")

    def to_dict(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in ("mlp_multipliers", "ssm_multipliers")}
        return {**super().to_dict(), **lists, "mamba_norm_before_gate": False}

    def mixer(self) -> StateSpaceSpec:
        norm = self.rms if self.mamba_rms_norm else None
        return mixer_of(self, HYBRID, norm=norm, conv_bias=self.mamba_conv_bias)


def _numbers(read: ConfigReader, name: str, count: int) -> tuple[float, ...]:
    read.seen.add(name)
    found = read.config.get(name)
    if found is None:
        return (1.0,) * count
    if not isinstance(found, (list, tuple)) or len(found) != count:
        raise corrupt(name, f"must be a list of {count} numbers")
    return tuple(ConfigReader({name: one}).number(name) for one in found)


def decoder(c: FalconH1Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(lambda i: (BesideSpec((c.mixer(), c.attention(i))), mlp))
    return c.decoder(
        layers, embedding_scale=c.embedding_multiplier, logit_scale=c.lm_head_multiplier
    )


def tensors(c: FalconH1Config) -> TensorMap:
    """With the numbers of the config in the weights of linear layers."""
    mixer, given = c.mixer(), c.attention_in_multiplier
    written = mixer.groups * mixer.state_dim
    counts = (mixer.values, mixer.values, written, written, mixer.heads)
    parts = zip(counts, (c.ssm_in_multiplier * one for one in c.ssm_multipliers), strict=True)
    gate, down = c.mlp_multipliers
    return (
        HUGGING_FACE.renamed(norm="model.final_layernorm", mlp_norm="pre_ff_layernorm")
        .changed(**mixer_sources(mixer, "mamba"))
        .changed(
            qkv=(
                _times("self_attn.q_proj", given),
                _times("self_attn.k_proj", given * c.key_multiplier),
                _times("self_attn.v_proj", given),
            ),
            output=(_times("self_attn.o_proj", c.attention_out_multiplier),),
            gate_up=(_times("feed_forward.gate_proj", gate), Source("feed_forward.up_proj")),
            down=(_times("feed_forward.down_proj", down),),
            recurrent_in=in_sources(mixer, "mamba.in_proj", TimesParts(tuple(parts))),
            recurrent_out=(_times("mamba.out_proj", c.ssm_out_multiplier),),
        )
    )


def _times(name: str, factor: float) -> Source:
    return Source(name, (Times(factor),))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        **gguf_mixer_config(fields, HYBRID),
        "mamba_d_ssm": fields.size("ssm.inner_size"),
        "mamba_rms_norm": fields.has_tensor("blk.0.ssm_norm.weight"),
        "mamba_norm_before_gate": False,
    }


FAMILY = ModelFamily(
    config_class=FalconH1Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "falcon-h1",
        "FalconH1ForCausalLM",
        _gguf_config,
        lambda c: GGUF.changed(
            mlp_norm=(Source("ffn_norm", is_whole=True),), **gguf_mixer_sources(c.mixer())
        ),
    ),
)
