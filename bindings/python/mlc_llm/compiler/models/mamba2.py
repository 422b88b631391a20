"""Mamba 2: every layer is one state-space mixer, without attention and without an MLP.

transformers' `models/mamba2/modeling_mamba2.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import StateSpaceSpec
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
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
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import MinusExp, Reshaped, Rows, Transform, Transposed
from mlc_llm.errors import CorruptFileError

# The sizes of a mixer, and their names in the configs of this family and of hybrids.
_SIZES = ("heads", "head_dim", "state_dim", "groups", "taps")
_NAMES = ("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel")
HYBRID = ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")


@dataclass(frozen=True, kw_only=True)
class Mamba2Config(StatesConfig):
    layer_norm_epsilon: float = number(default=1e-5)
    # the heads together are that many times as wide as the hidden states
    expand: int = integer(default=2)
    num_heads: int = integer(default=128)
    head_dim: int = integer(default=64)
    state_size: int = integer(default=128)
    n_groups: int = integer(default=8)
    conv_kernel: int = integer(default=4, minimum=2, maximum=16)
    use_bias: bool = flag(default=False)
    use_conv_bias: bool = flag(default=True, gguf="blk.0.ssm_conv1d.bias")

    context_names = ("context_window_size", "max_position_embeddings")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        read.choice("hidden_act", of={"silu": "", "swish": ""}, default="silu")
        read.always("rms_norm", True)
        # of the first no implementation reads the value, and residuals are always float32 here
        read.seen.update(("norm_before_gate", "residual_in_fp32", "rescale_prenorm_residual"))
        refuse_limits(read)
        return super().fields(read)

    def check(self, read: ConfigReader) -> None:
        check_heads(self.mixer(), self.expand * self.hidden_size, "head_dim", "n_groups")

    def mixer(self) -> StateSpaceSpec:
        norm = NormSpec(eps=self.layer_norm_epsilon)
        return mixer_of(self, _NAMES, norm=norm, bias=self.use_bias, conv_bias=self.use_conv_bias)


def mixer_of(config: Any, names: Sequence[str], **more: Any) -> StateSpaceSpec:
    """`names`: the config's fields for each of `_SIZES`."""
    sizes = {size: getattr(config, name) for size, name in zip(_SIZES, names, strict=True)}
    return StateSpaceSpec(**sizes, **more)


def check_heads(mixer: StateSpaceSpec, inner: int, dim: str, groups: str) -> None:
    """`inner` is the width of all heads by the config; `dim` and `groups` are names of its
    fields."""
    if inner != mixer.values:
        raise CorruptFileError(
            f"config: {mixer.heads} heads with {dim} {mixer.head_dim} are {mixer.values} wide; the "
            f"other fields say {inner}",
            param=dim,
        )
    if mixer.heads % mixer.groups:
        raise corrupt(groups, f"{mixer.groups} does not divide {mixer.heads} heads")


def refuse_limits(read: ConfigReader) -> None:
    """Time steps that are cut off at a limit."""
    read.seen.add("time_step_limit")
    limit = read.config.get("time_step_limit")
    ends = [0.0, math.inf], [0.0, {"__float__": "Infinity"}]  # the second: since transformers 5
    if limit is not None and (not isinstance(limit, (list, tuple)) or list(limit) not in ends):
        raise unsupported(
            "time_step_limit",
            f"{str(limit):.60} is not supported in this family; [0.0, Infinity] is",
        )


def decoder(c: Mamba2Config) -> DecoderSpec:
    mixer = c.mixer()
    return DecoderSpec(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        layers=(LayerSpec((mixer,), norm=mixer.norm),) * c.num_hidden_layers,
        norm=mixer.norm,
        tied_head=c.tie_word_embeddings,
    )


def mixer_sources(r: StateSpaceSpec, prefix: str) -> dict[str, tuple[Source, ...]]:
    """Where Hugging Face's files store a mixer, behind `prefix`. Their `in_proj` begins with the
    gates; ours ends with the gates and the time steps."""
    return {
        "recurrent_in": in_sources(r, f"{prefix}.in_proj"),
        "recurrent_conv": (Source(f"{prefix}.conv1d", CONV),),
        "recurrent_conv_bias": (Source(f"{prefix}.conv1d"),),
        "decay": (Source(f"{prefix}.A_log", (MinusExp(),), is_whole=True),),
        "time_step": (Source(f"{prefix}.dt_bias", is_whole=True),),
        "skip": (Source(f"{prefix}.D", is_whole=True),),
        "recurrent_norm": (Source(f"{prefix}.norm"),),
        "recurrent_out": (Source(f"{prefix}.out_proj"),),
    }


def gguf_mixer_sources(r: StateSpaceSpec) -> dict[str, tuple[Source, ...]]:
    column = Reshaped((r.heads, 1))
    return {
        "recurrent_in": in_sources(r, "ssm_in"),
        "recurrent_conv": (Source("ssm_conv1d", (Transposed(),)),),
        "recurrent_conv_bias": (Source("ssm_conv1d"),),
        "decay": (Source("ssm_a", (column,), is_whole=True),),
        "time_step": (Source("ssm_dt.bias", is_whole=True),),
        "skip": (Source("ssm_d", (column,), is_whole=True),),
        "recurrent_norm": (Source("ssm_norm", (Reshaped((r.groups, r.values // r.groups)),)),),
        "recurrent_out": (Source("ssm_out"),),
    }


def in_sources(r: StateSpaceSpec, name: str, *changes: Transform) -> tuple[Source, ...]:
    """`changes`: of the whole tensor."""
    ends = (0, r.values, r.values + r.convolved, r.values + r.convolved + r.heads)
    gates, values, steps = (
        Source(name, (*changes, Rows(start, stop, ends[-1])))
        for start, stop in zip(ends, ends[1:], strict=False)
    )
    return (values, gates, steps)


def tensors(c: Mamba2Config) -> TensorMap:
    return HUGGING_FACE.renamed(
        embedding="backbone.embeddings", norm="backbone.norm_f", attention_norm="norm"
    ).changed(layer="backbone.layers.{}.", **mixer_sources(c.mixer(), "mixer"))


def gguf_mixer_config(fields: GGUFFields, names: Sequence[str]) -> dict[str, int]:
    """The sizes of a mixer, by the names of the config's fields."""
    heads, inner = fields.size("ssm.time_step_rank"), fields.size("ssm.inner_size")
    others = (fields.size(f"ssm.{key}") for key in ("state_size", "group_count", "conv_kernel"))
    return dict(zip(names, (heads, inner // heads, *others), strict=True))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    return {
        **gguf_mixer_config(fields, _NAMES),
        "layer_norm_epsilon": fields.number("attention.layer_norm_rms_epsilon"),
        "expand": fields.size("ssm.inner_size") // fields.size("embedding_length"),
    }


FAMILY = ModelFamily(
    config_class=Mamba2Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "mamba2",
        "Mamba2ForCausalLM",
        _gguf_config,
        lambda c: GGUF.changed(**gguf_mixer_sources(c.mixer())),
    ),
)
