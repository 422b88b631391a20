"""Nemotron-H: a layer is one part, a mixer of Mamba 2, an attention without positions, or an MLP
whose activation is the square of relu. In Nemotron 3 experts without a gate, chosen as DeepSeek V3
does, take the place of MLPs.

transformers' `models/nemotron_h/modeling_nemotron_h.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec, RouterSpec, StateSpaceSpec
from mlc_llm.compiler.models.config import FULL, ConfigReader, DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.mamba2 import (
    check_heads,
    gguf_mixer_config,
    gguf_mixer_sources,
    mixer_of,
    mixer_sources,
    refuse_limits,
)
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, Source, TensorMap
from mlc_llm.errors import UnsupportedError

# Hugging Face's words in `layers_block_type`.
LINEAR, MLP, EXPERTS = "linear_attention", "mlp", "moe"
# Older words, and the letters of `hybrid_override_pattern`.
_KINDS = {LINEAR: LINEAR, "mamba": LINEAR, FULL: FULL, "attention": FULL, MLP: MLP}
_KINDS[EXPERTS] = EXPERTS
_LETTERS = {"M": LINEAR, "*": FULL, "-": MLP, "E": EXPERTS}
_NAMES = {  # other names of our fields, of the mixer
    "n_groups": "mamba_n_groups",
    "conv_kernel": "mamba_d_conv",
    "expand": "mamba_expand",
    "use_conv_bias": "mamba_conv_bias",
    "time_step_limit": "mamba_dt_limit",
}


# Of the mixer, in the order of mamba2.py.
_SIZES = ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel")


@dataclass(frozen=True, kw_only=True)
class NemotronHConfig(DecoderConfig):
    mamba_num_heads: int = integer(default=128)
    mamba_head_dim: int = integer(default=64)
    ssm_state_size: int = integer(default=128)
    n_groups: int = integer(default=8)
    conv_kernel: int = integer(default=4, minimum=2, maximum=16)
    use_conv_bias: bool = flag(default=True)
    mamba_proj_bias: bool = flag(default=False)
    attention_bias: bool = flag(default=False)
    mlp_bias: bool = flag(default=False)
    n_routed_experts: int  # 0: no layer has any, and the others mean nothing
    num_experts_per_tok: int
    n_shared_experts: int
    moe_intermediate_size: int
    moe_shared_expert_intermediate_size: int
    n_group: int
    topk_group: int
    norm_topk_prob: bool
    routed_scaling_factor: float
    hidden_act = "relu2"
    activations = {"relu2": "relu2"}
    default_eps = 1e-5
    kinds_matter = True
    aliases = {
        "rms_norm_eps": ("layer_norm_epsilon", "norm_eps"),
        "hidden_act": ("mlp_hidden_act",),
        "head_dim": ("attention_head_dim",),
        "n_routed_experts": ("num_local_experts",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        kinds = _kinds(read)
        given = {ours: read.config[name] for ours, name in _NAMES.items() if name in read.config}
        read.seen.update((*_NAMES.values(), "expand", "num_logits_to_keep"))
        usual = {} if "head_dim" in read.config else {"head_dim": 128}
        layers = {"layer_types": kinds, "num_hidden_layers": len(kinds)}
        read = read.having({**usual, **given, **layers})
        refuse_limits(read)
        read.always("use_bias", False)
        read.choice("mamba_hidden_act", of={"silu": "", "swish": ""}, default="silu")
        # layers for drafts
        read.seen.update(("num_nextn_predict_layers", "mtp_layers_block_type"))
        read.seen.update(("mtp_hybrid_override_pattern", "moe_shared_expert_overlap"))
        read.seen.update(("residual_in_fp32", "rescale_prenorm_residual"))
        read.seen.update(("mamba_ssm_cache_dtype", "use_mamba_kernels"))  # how it is computed
        return {**super().fields(read), **_expert_fields(read, has_some=EXPERTS in kinds)}

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        windows = super().window_fields(read.without("layer_types"), layers)
        return {**windows, "layer_types": tuple(read.config["layer_types"])}

    def check(self) -> None:
        super().check()
        if LINEAR in self.layer_types:
            mixer = self.mixer()
            check_heads(mixer, mixer.values, "mamba_head_dim", "n_groups")

    def experts(self) -> MoESpec:
        router = RouterSpec(
            experts=self.n_routed_experts,
            chosen=self.num_experts_per_tok,
            scores="sigmoid",
            correction=True,
            groups=self.n_group,
            chosen_groups=self.topk_group,
            normalize=self.norm_topk_prob,
            factor=self.routed_scaling_factor,
        )
        return MoESpec(
            router=router,
            width=self.moe_intermediate_size,
            activation="relu2",
            gated=False,
            shared_width=self.n_shared_experts * self.moe_shared_expert_intermediate_size,
        )

    def mixer(self) -> StateSpaceSpec:
        bias = {"bias": self.mamba_proj_bias, "conv_bias": self.use_conv_bias}
        return mixer_of(self, _SIZES, norm=self.rms, **bias)


# transformers' defaults.
_EXPERT_SIZES = {
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 7688,
    "moe_shared_expert_intermediate_size": 7688,
    "n_group": 1,
    "topk_group": 1,
}


def _expert_fields(read: ConfigReader, *, has_some: bool) -> dict[str, Any]:
    read.seen.update((*_EXPERT_SIZES, "moe_latent_size", "norm_topk_prob", "routed_scaling_factor"))
    if not has_some:
        nothing = {"norm_topk_prob": False, "routed_scaling_factor": 1.0}
        return {**dict.fromkeys(_EXPERT_SIZES, 0), **nothing}
    if read.config.get("moe_latent_size") is not None:
        raise UnsupportedError(
            "config: moe_latent_size, experts between linear layers of another width, is not "
            "supported in this family",
            param="moe_latent_size",
        )
    read.always("mlp_bias", False)
    sizes = {name: read.integer(name, default=usual) for name, usual in _EXPERT_SIZES.items()}
    if sizes["num_experts_per_tok"] > sizes["n_routed_experts"]:
        raise corrupt("num_experts_per_tok", "is more than n_routed_experts")
    if sizes["n_routed_experts"] % sizes["n_group"] or sizes["topk_group"] > sizes["n_group"]:
        raise corrupt("n_group", "must divide n_routed_experts, and topk_group must not be more")
    return {
        **sizes,
        "norm_topk_prob": read.flag("norm_topk_prob", default=True),
        "routed_scaling_factor": read.number("routed_scaling_factor", default=1.0),
    }


def _kinds(read: ConfigReader) -> tuple[str, ...]:
    """The kind of each layer, from the field that the config has."""
    names = ("layers_block_type", "layer_types", "hybrid_override_pattern")
    read.seen.update(names)
    name = next((name for name in names if read.config.get(name)), names[0])
    found = read.config.get(name)
    if name == names[2] and isinstance(found, str):
        found = [_LETTERS.get(letter, letter) for letter in found]
    if not isinstance(found, (list, tuple)) or not all(isinstance(kind, str) for kind in found):
        raise corrupt(name, "must be a list of the layers' kinds")
    for kind in found:
        if kind not in _KINDS:
            raise UnsupportedError(
                f'config: {name} holds "{kind}", which is not supported in this family; available: '
                f"{', '.join(_KINDS)}",
                param=name,
            )
    return tuple(_KINDS[kind] for kind in found)


def decoder(c: NemotronHConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, activation="relu2", bias=c.mlp_bias, gated=False)

    def part(layer: int, kind: str) -> Any:
        if kind == FULL:
            return c.attention(layer, rope=None, bias=c.attention_bias)
        parts = {MLP: lambda: mlp, EXPERTS: c.experts, LINEAR: c.mixer}
        return parts[kind]()

    layers = [LayerSpec((part(i, kind),), norm=c.rms) for i, kind in enumerate(c.layer_types)]
    return c.decoder(layers)


def tensors(c: NemotronHConfig) -> TensorMap:
    return HUGGING_FACE.renamed(
        embedding="backbone.embeddings",
        norm="backbone.norm_f",
        attention_norm="norm",
        mlp_norm="norm",
        qkv="mixer.q_proj mixer.k_proj mixer.v_proj",
        output="mixer.o_proj",
        up="mixer.up_proj",
        down="mixer.down_proj",
        router="mixer.gate",
        experts_up="mixer.experts.{}.up_proj",
        experts_down="mixer.experts.{}.down_proj",
        shared_up="mixer.shared_experts.up_proj",
        shared_down="mixer.shared_experts.down_proj",
    ).changed(
        correction=(Source("mixer.gate.e_score_correction_bias", is_whole=True),),
        layer="backbone.layers.{}.",
        **mixer_sources(c.mixer(), "mixer"),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    heads, widths = fields.sizes("attention.head_count_kv"), fields.sizes("feed_forward_length")
    kinds = [
        FULL if kv else MLP if width else LINEAR for kv, width in zip(heads, widths, strict=True)
    ]
    first = {kind: kinds.index(kind) for kind in set(kinds)}

    def has(kind: str, tensor: str) -> bool:
        return kind in first and fields.has_tensor(f"blk.{first[kind]}.{tensor}.bias")

    return {
        "layers_block_type": kinds,
        "num_key_value_heads": max(heads),
        "intermediate_size": max(widths),
        "hidden_act": "relu2",
        **gguf_mixer_config(fields, _SIZES),
        "use_conv_bias": has(LINEAR, "ssm_conv1d"),
        "mamba_proj_bias": has(LINEAR, "ssm_out"),
        "attention_bias": has(FULL, "attn_output"),
        "mlp_bias": has(MLP, "ffn_up"),
        "partial_rotary_factor": 1.0,
    }


FAMILY = ModelFamily(
    config_class=NemotronHConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "nemotron_h",
        "NemotronHForCausalLM",
        _gguf_config,
        lambda c: GGUF.renamed(mlp_norm="attn_norm").changed(**gguf_mixer_sources(c.mixer())),
    ),
)
