"""Kimi Linear: a delta rule whose states decay channel by channel in most layers, latent attention
without positions in the others; DeepSeek V3's experts.

transformers' `models/kimi_linear/modeling_kimi_linear.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import ChannelDeltaSpec
from mlc_llm.compiler.models import deepseek
from mlc_llm.compiler.models.config import FULL, ConfigReader
from mlc_llm.compiler.models.declared import number
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.glm4_moe import GLM_NAMES
from mlc_llm.compiler.models.glm4_moe_lite import Glm4MoeLiteConfig
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    LayerSpec,
    RopeScaling,
    RopeSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import MinusExp, Reshaped, Stacked, Transposed
from mlc_llm.errors import CorruptFileError

LINEAR = "linear_attention"
_NONE = RopeScaling(kind="proportional", proportion=0.0)  # no number of a head is rotated
_LATENT_EPS = 1e-6


@dataclass(frozen=True, kw_only=True)
class KimiLinearConfig(Glm4MoeLiteConfig):
    linear_num_heads: int
    linear_head_dim: int
    linear_conv_kernel_dim: int
    routed_scaling_factor: float = number(default=2.446)
    default_eps = 1e-5
    kinds_matter = True
    only = {**Glm4MoeLiteConfig.only, "mla_use_nope": True, "use_grouped_topk": True}
    aliases = {
        "num_experts": ("n_routed_experts", "num_local_experts"),
        "num_experts_per_tok": ("num_experts_per_token",),
        "n_shared_experts": ("num_shared_experts",),
        "norm_topk_prob": ("moe_renormalize",),
        "n_group": ("num_expert_group",),
        "scoring_func": ("moe_router_activation_func",),
        "max_position_embeddings": ("model_max_length",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        linear = ConfigReader(read.mapping("linear_attn_config") or {})
        layers = read.integer("num_hidden_layers", maximum=1024)
        dropped = ("rope_theta", "rope_scaling", "rope_parameters")
        read.seen.update(dropped)
        kinds = _kinds(read, linear.config, layers)
        found = super().fields(read.without(*dropped).having({"layer_types": kinds}))

        def size(name: str, own: str, default: int, maximum: int = 2**16) -> int:
            given = linear.config.get(own)
            reader = read if given is None else ConfigReader({name: given}, read.seen)
            read.seen.add(name)
            return reader.integer(name, default=default, maximum=maximum)

        return {
            **found,
            "linear_num_heads": size("linear_num_heads", "num_heads", 32),
            "linear_head_dim": size("linear_head_dim", "head_dim", 128),
            "linear_conv_kernel_dim": size(
                "linear_conv_kernel_dim", "short_conv_kernel_size", 4, 16
            ),
        }

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        windows = super().window_fields(read.without("layer_types"), layers)
        kinds = read.words("layer_types", layers, (FULL, LINEAR))
        return {**windows, "layer_types": kinds}

    def mixer(self) -> ChannelDeltaSpec:
        return ChannelDeltaSpec(
            heads=self.linear_num_heads,
            dim=self.linear_head_dim,
            taps=self.linear_conv_kernel_dim,
            norm=self.rms,
        )


def _kinds(read: ConfigReader, linear: Any, layers: int) -> Any:
    """Of each layer. The lists of the config's own field count from 1."""
    names = ("full_attn_layers", "kda_layers")
    given = [linear.get(name) for name in names]
    if all(isinstance(one, (list, tuple)) for one in given):
        every = [i for one in given for i in one]
        if len(every) != layers or any(i not in every for i in range(1, layers + 1)):
            raise CorruptFileError(
                f"config: {names[0]} and {names[1]} of linear_attn_config must have each of the "
                f"layers 1 to {layers} once",
                param="linear_attn_config",
            )
        return [FULL if i + 1 in given[0] else LINEAR for i in range(layers)]
    if read.config.get("layer_types"):
        return read.config["layer_types"]
    return [FULL if i and i % 4 == 0 else LINEAR for i in range(layers)]


def decoder(c: KimiLinearConfig) -> DecoderSpec:
    rope = RopeSpec(dim=c.qk_rope_head_dim, theta=c.rope_theta, scaling=_NONE)
    attention = c.latent(eps=_LATENT_EPS, rope=rope)
    layers = [
        LayerSpec((c.mixer() if kind == LINEAR else attention, c.mlp(i)), norm=c.rms)
        for i, kind in enumerate(c.layer_types)
    ]
    return c.decoder(layers, names=GLM_NAMES)


def _convs(*names: str, transforms: tuple[Any, ...]) -> tuple[Source, ...]:
    return tuple(Source(name, (*transforms, Stacked())) for name in names)


def tensors(c: KimiLinearConfig) -> TensorMap:
    attention, moe = "self_attn", "block_sparse_moe"
    shared, heads = f"{moe}.shared_experts", c.linear_num_heads
    return HUGGING_FACE.renamed(
        router=f"{moe}.gate",
        experts_gate_up=f"{moe}.experts.{{}}.w1 {moe}.experts.{{}}.w3",
        experts_down=f"{moe}.experts.{{}}.w2",
        shared_gate_up=f"{shared}.gate_proj {shared}.up_proj",
        shared_down=f"{shared}.down_proj",
        recurrent_in=f"{attention}.q_proj {attention}.k_proj {attention}.v_proj",
        beta=f"{attention}.b_proj",
        time_down=f"{attention}.f_a_proj",
        time_up=f"{attention}.f_b_proj",
        gate_down=f"{attention}.g_a_proj",
        gate_up_proj=f"{attention}.g_b_proj",
        recurrent_norm=f"{attention}.o_norm",
        recurrent_out=f"{attention}.o_proj",
    ).changed(
        correction=(Source(f"{moe}.gate.e_score_correction_bias", is_whole=True),),
        recurrent_conv=_convs(*(f"{attention}.{part}_conv1d" for part in "qkv"), transforms=CONV),
        decay=(
            Source(f"{attention}.A_log", (Reshaped((1, 1, heads, 1)), MinusExp()), is_whole=True),
        ),
        time_step=(Source(f"{attention}.dt_bias", is_whole=True),),
        **c.matrices("self_attn.kv_b_proj"),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    heads = fields.sizes("attention.head_count_kv")
    return {
        **deepseek.gguf_config(fields, first=next((i for i, n in enumerate(heads) if n), 0)),
        "layer_types": [FULL if count else LINEAR for count in heads],
        "linear_num_heads": fields.size("attention.head_count"),
        "linear_head_dim": fields.size("kda.head_dim"),
        "linear_conv_kernel_dim": fields.size("ssm.conv_kernel"),
        "num_key_value_heads": fields.size("attention.head_count"),
    }


def _gguf_tensors(c: KimiLinearConfig) -> TensorMap:
    width = c.mixer().width
    turned = (Reshaped((1, width, 1, c.linear_conv_kernel_dim), width), Transposed())
    return GGUF.renamed(
        recurrent_in="attn_q attn_k attn_v",
        beta="ssm_beta",
        time_down="ssm_f_a",
        time_up="ssm_f_b",
        gate_down="ssm_g_a",
        gate_up_proj="ssm_g_b",
        recurrent_norm="ssm_norm",
        recurrent_out="attn_output",
    ).changed(
        correction=(Source("exp_probs_b.bias", is_whole=True),),
        recurrent_conv=_convs(*(f"ssm_conv1d_{part}" for part in "qkv"), transforms=turned),
        decay=(Source("ssm_a", (Reshaped((1, 1, c.linear_num_heads, 1)),), is_whole=True),),
        time_step=(Source("ssm_dt.bias", is_whole=True),),
    )


FAMILY = ModelFamily(
    config_class=KimiLinearConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("kimi-linear", "KimiLinearForCausalLM", _gguf_config, _gguf_tensors),
)
