"""Jamba: Mamba 1 in most layers and attention without positions in the others; an MLP, or experts
in every `expert_layer_period`-th layer.

transformers' `models/jamba/modeling_jamba.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec, RouterSpec, SelectiveSpec
from mlc_llm.compiler.models.config import FULL, ConfigReader, DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, Source, TensorMap
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import MinusExp, Rows, Transposed

LINEAR = "linear_attention"
_KINDS = {"mamba": LINEAR, LINEAR: LINEAR, "attention": FULL, FULL: FULL}


@dataclass(frozen=True, kw_only=True)
class JambaConfig(DecoderConfig):
    """`expert_layers`: the layers with experts."""

    num_experts: int
    num_experts_per_tok: int = integer(default=2)
    expert_layers: tuple[int, ...]
    mamba_d_state: int = integer(default=16)
    mamba_d_conv: int = integer(default=4, minimum=2, maximum=16)
    mamba_expand: int = integer(default=2)
    mamba_dt_rank: int = integer(default=lambda found: -(-found["hidden_size"] // 16), or_auto=True)
    mamba_conv_bias: bool = flag(default=True)
    mamba_proj_bias: bool = flag(default=False)
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(read)
        layers = found["num_hidden_layers"]
        experts = read.integer("num_experts", "num_local_experts", default=16)
        every = _every(read, "expert_layer", layers, period=2, offset=1)
        return {
            **found,
            "num_experts": experts,
            "expert_layers": read.layers("expert_layers", layers, every if experts > 1 else ()),
        }

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        windows = super().window_fields(read.without("layer_types"), layers)
        attention = _every(read, "attn_layer", layers, period=8, offset=4)
        usual = [FULL if i in attention else LINEAR for i in range(layers)]
        name = "layer_types" if read.config.get("layer_types") else "layers_block_type"
        read.seen.update(("layer_types", "layers_block_type"))
        kinds = read.words(name, layers, tuple(_KINDS)) or usual
        return {**windows, "layer_types": tuple(_KINDS[kind] for kind in kinds)}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "expert_layers": list(self.expert_layers)}

    def check(self) -> None:
        super().check()
        if self.num_experts_per_tok > self.num_experts and self.expert_layers:
            raise corrupt(
                "num_experts_per_tok",
                f"{self.num_experts_per_tok} is more than the {self.num_experts} experts",
            )

    def mixer(self) -> SelectiveSpec:
        return SelectiveSpec(
            width=self.mamba_expand * self.hidden_size,
            state_dim=self.mamba_d_state,
            rank=self.mamba_dt_rank,
            taps=self.mamba_d_conv,
            norm=self.rms,
            bias=self.mamba_proj_bias,
            conv_bias=self.mamba_conv_bias,
        )

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        if layer not in self.expert_layers:
            return MLPSpec(width=self.intermediate_size)
        router = RouterSpec(experts=self.num_experts, chosen=self.num_experts_per_tok)
        return MoESpec(router=router, width=self.intermediate_size)


def _every(
    read: ConfigReader, name: str, layers: int, *, period: int, offset: int
) -> tuple[int, ...]:
    """The layers of a kind, by the fields `{name}_period` and `{name}_offset`."""
    step = read.integer(f"{name}_period", default=period)
    first = read.integer(f"{name}_offset", default=offset, minimum=0)
    return tuple(i for i in range(layers) if i % step == first)


def decoder(c: JambaConfig) -> DecoderSpec:
    mixers = [
        c.mixer() if kind == LINEAR else c.attention(i, rope=None)
        for i, kind in enumerate(c.layer_types)
    ]
    return c.decoder(LayerSpec((mixer, c.mlp(i)), norm=c.rms) for i, mixer in enumerate(mixers))


def tensors(c: JambaConfig) -> TensorMap:
    mlp = "feed_forward"
    return HUGGING_FACE.renamed(
        norm="model.final_layernorm",
        mlp_norm="pre_ff_layernorm",
        gate_up=f"{mlp}.gate_proj {mlp}.up_proj",
        down=f"{mlp}.down_proj",
        router=f"{mlp}.router",
        experts_gate_up=f"{mlp}.experts.{{}}.gate_proj {mlp}.experts.{{}}.up_proj",
        experts_down=f"{mlp}.experts.{{}}.down_proj",
        recurrent_conv_bias="mamba.conv1d",
        select="mamba.x_proj",
        time="mamba.dt_proj",
        time_norm="mamba.dt_layernorm",
        writer_norm="mamba.b_layernorm",
        reader_norm="mamba.c_layernorm",
        recurrent_in="mamba.in_proj",
        recurrent_out="mamba.out_proj",
    ).changed(
        recurrent_in=_whole(c, "mamba.in_proj"),
        select=_chosen(c, "mamba.x_proj"),
        recurrent_conv=(Source("mamba.conv1d", CONV),),
        decay=(Source("mamba.A_log", (MinusExp(), Transposed()), is_whole=True),),
        skip=(Source("mamba.D", is_whole=True),),
    )


def _whole(c: JambaConfig, name: str) -> tuple[Source, ...]:
    return _split(name, (c.mixer().width,) * 2)


def _chosen(c: JambaConfig, name: str) -> tuple[Source, ...]:
    return _split(name, c.mixer().pieces)


def _split(name: str, sizes: tuple[int, ...]) -> tuple[Source, ...]:
    total, first, found = sum(sizes), 0, []
    for size in sizes:
        found.append(Source(name, (Rows(first, first + size, total),)))
        first += size
    return tuple(found)


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    heads = fields.sizes("attention.head_count_kv")
    layers, inner = len(heads), fields.size("ssm.inner_size")
    experts = [i for i in range(layers) if fields.has_tensor(f"blk.{i}.ffn_gate_inp.weight")]
    first = next((i for i, count in enumerate(heads) if not count), 0)
    return {
        "layer_types": [FULL if count else LINEAR for count in heads],
        "num_key_value_heads": max(heads),
        "num_experts": size_or(fields, "expert_count", 0) or 1,
        "num_experts_per_tok": size_or(fields, "expert_used_count", 0) or 1,
        "expert_layers": experts,
        "mamba_d_state": fields.size("ssm.state_size"),
        "mamba_d_conv": fields.size("ssm.conv_kernel"),
        "mamba_expand": inner // fields.size("embedding_length"),
        "mamba_dt_rank": fields.size("ssm.time_step_rank"),
        "mamba_conv_bias": fields.has_tensor(f"blk.{first}.ssm_conv1d.bias"),
        "mamba_proj_bias": fields.has_tensor(f"blk.{first}.ssm_in.bias"),
        "partial_rotary_factor": 1.0,
    }


def _gguf_tensors(c: JambaConfig) -> TensorMap:
    return GGUF.renamed(
        mlp_norm="ffn_norm",
        recurrent_conv_bias="ssm_conv1d",
        time="ssm_dt",
        time_norm="ssm_dt_norm",
        writer_norm="ssm_b_norm",
        reader_norm="ssm_c_norm",
        recurrent_out="ssm_out",
    ).changed(
        recurrent_in=_whole(c, "ssm_in"),
        select=_chosen(c, "ssm_x"),
        recurrent_conv=(Source("ssm_conv1d", (Transposed(),)),),
        decay=(Source("ssm_a", (Transposed(),), is_whole=True),),
        skip=(Source("ssm_d", is_whole=True),),
    )


FAMILY = ModelFamily(
    config_class=JambaConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("jamba", "JambaForCausalLM", _gguf_config, _gguf_tensors),
)
