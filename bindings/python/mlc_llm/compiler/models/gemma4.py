"""Gemma 4, text: Gemma 3's block with a factor on each layer's result, and values normalized too.
Layers without a window have other heads, in which a share of the pairs turns; their values may be
their keys. The last layers may read the keys and values of earlier ones. Small models have a
table of inputs for each layer, large ones experts beside the MLP.

transformers' `models/gemma4/modeling_gemma4.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import (
    AttentionSpec,
    HeadNorms,
    LayerInput,
    LayerInputSpec,
    LayerScale,
    MLPSpec,
    MoESpec,
    RouterSpec,
    Values,
)
from mlc_llm.compiler.models import gemma2
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
from mlc_llm.compiler.models.declared import flag, integer, number, switch
from mlc_llm.compiler.models.experts import size_or
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gemma import GemmaConfig
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    NormSpec,
    RopeSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.transforms import Times
from mlc_llm.errors import CorruptFileError, UnsupportedError

_PERIOD = 6  # of layers without a window
_LOCAL_THETA = 10000.0
_GLOBAL_ROPE = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
_NAMES = {
    **gemma2.SANDWICH_NAMES,
    "router": "router.proj",
    "shared_gate_up": "mlp.gate_up_proj",
    "shared_down": "mlp.down_proj",
    "experts_gate_up": "experts.gate_up_proj",
    "experts_down": "experts.down_proj",
}


@dataclass(frozen=True, kw_only=True)
class Gemma4Config(GemmaConfig):
    rope_local_base_freq: float = number(default=_LOCAL_THETA)  # of layers with a window
    global_head_dim: int  # that and the next: of layers without a window
    num_global_key_value_heads: int
    attention_k_eq_v: bool
    attention_bias: bool = flag(default=False)
    # the last layers, without keys and values of their own
    num_kv_shared_layers: int = integer(default=0, minimum=0)
    use_double_wide_mlp: bool = flag(default=False)  # in those layers
    hidden_size_per_layer_input: int  # 0: layers get nothing besides the residual
    vocab_size_per_layer_input: int = integer(default=lambda found: found["vocab_size"])
    final_logit_softcapping: float = switch()
    enable_moe_block: bool = flag(default=False)
    num_experts: int = integer(default=0, minimum=0)
    top_k_experts: int = integer(default=0, minimum=0)
    moe_intermediate_size: int = integer(default=0, minimum=0)

    default_window = 512
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config = _with_one_rope(read.config)
        if isinstance(kinds := config.get("layer_types"), (list, tuple)):
            config["layer_types"] = [*kinds[:-1], FULL]  # as in transformers
        base = ConfigReader(config, read.seen)
        base.choice("use_bidirectional_attention", of={"": "", "vision": ""}, default="")
        found = super().fields(base)
        same_values = base.flag("attention_k_eq_v", default=False)
        base = _with_global_heads(base, found, same_values)
        kv_heads = found["num_key_value_heads"]
        other_heads = base.integer("num_global_key_value_heads", default=kv_heads)
        inputs = 0 if "hidden_size_per_layer_input" in base.config else 256
        return {
            **found,
            "global_head_dim": base.integer("global_head_dim", default=512),
            "num_global_key_value_heads": other_heads if same_values else kv_heads,
            "attention_k_eq_v": same_values,
            "hidden_size_per_layer_input": base.integer(
                "hidden_size_per_layer_input", default=inputs, minimum=0
            ),
        }

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        return [*(SLIDING if i % _PERIOD else FULL for i in range(1, layers)), FULL]

    def check(self) -> None:
        super().check()
        if self.num_attention_heads % self.num_global_key_value_heads:
            raise CorruptFileError(
                "config: num_attention_heads must be a multiple of num_global_key_value_heads",
                param="num_global_key_value_heads",
            )
        own = self.layer_types[: self.own_layers]
        if not set(self.layer_types) <= set(own):
            raise corrupt(
                "num_kv_shared_layers",
                f"is {self.num_kv_shared_layers}: the layers before must have every kind of "
                "attention that the shared ones have",
            )
        wide, entries = self.hidden_size_per_layer_input, self.vocab_size_per_layer_input
        if wide and entries < self.vocab_size:
            raise corrupt(
                "vocab_size_per_layer_input",
                f"is {entries}: the table must have an entry for each of {self.vocab_size} tokens",
            )
        if self.enable_moe_block and not self.moe_intermediate_size:
            raise corrupt("moe_intermediate_size", "is missing")
        if self.enable_moe_block and not 0 < self.top_k_experts <= self.num_experts:
            raise corrupt(
                "top_k_experts",
                f"is {self.top_k_experts}, and there are {self.num_experts} experts",
            )

    @property
    def own_layers(self) -> int:
        """The number of first layers with keys and values of their own."""
        return max(self.num_hidden_layers - self.num_kv_shared_layers, 0)

    def layer_attention(self, layer: int) -> AttentionSpec:
        slides, bias = self.is_sliding(layer), self.attention_bias
        dim = self.head_dim if slides else self.global_head_dim
        local = RopeSpec(dim=dim, theta=self.rope_local_base_freq)
        rope = RopeSpec(dim=dim, theta=self.rope_theta, scaling=self.rope_scaling)
        kind, pages = self.layer_types[layer], None
        if layer >= self.own_layers:
            pages = max(i for i in range(self.own_layers) if self.layer_types[i] == kind)
        return self.attention(
            layer,
            kv_heads=self.num_key_value_heads if slides else self.num_global_key_value_heads,
            dim=dim,
            scale=1.0,
            rope=local if slides else rope,
            bias=bias,
            head_norms=HeadNorms(self.rms),
            values=Values(
                norm=NormSpec(eps=self.rms_norm_eps, weight=False),
                are_keys=self.attention_k_eq_v and not slides,
            ),
            pages_of=pages,
        )

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        wide = self.use_double_wide_mlp and layer >= self.own_layers
        width = self.intermediate_size * (2 if wide else 1)
        if not self.enable_moe_block:
            return MLPSpec(width=width, activation="gelu_tanh")
        return MoESpec(
            router=RouterSpec(
                experts=self.num_experts, chosen=self.top_k_experts, scores="chosen", scaled=True
            ),
            width=self.moe_intermediate_size,
            activation="gelu_tanh",
            shared_width=width,
            apart=True,
        )


def _with_global_heads(
    read: ConfigReader, found: Mapping[str, Any], same_values: bool
) -> ConfigReader:
    """transformers 5.15 writes the heads of layers without a window into `per_layer_config`, in
    place of `global_head_dim` and `num_global_key_value_heads`."""
    given = read.mapping("per_layer_config")
    if given is None:
        return read
    names = ("head_dim", *(("num_key_value_heads",) if same_values else ()))
    full = sorted(str(i) for i, kind in enumerate(found["layer_types"]) if kind == FULL)
    own: Any = next(iter(given.values()), {})
    fits = not given or sorted(layer.lstrip("0") or "0" for layer in given) == full
    fits = fits and isinstance(own, Mapping) and own.keys() <= set(names)
    if not fits or any(one != own for one in given.values()):
        raise unsupported(
            "per_layer_config",
            f"may only hold {' and '.join(names)}, the same for each layer without a window",
        )
    heads = {name: own.get(name, found[name]) for name in names}
    fields = {"global_head_dim": heads["head_dim"]}
    if same_values:
        fields["num_global_key_value_heads"] = heads["num_key_value_heads"]
    return read.having(fields)


def _with_one_rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """`rope_parameters` has a rotation for each kind of layer. Converts it to the fields of a model
    with one kind, and `rope_local_base_freq`."""
    fields = dict(config)
    given = fields.pop("rope_parameters", None)
    if given is None and "rope_scaling" in fields:
        return fields
    kinds: dict[str, Any] = {SLIDING: {}, FULL: _GLOBAL_ROPE}
    every = {} if given is None else given
    by_kind = isinstance(every, Mapping) and (not every or not kinds.keys().isdisjoint(every))
    found = [every.get(kind) or usual for kind, usual in kinds.items()] if by_kind else []
    if not by_kind or not all(isinstance(one, Mapping) for one in found):
        raise corrupt("rope_parameters", "must hold an object for each kind of layer")
    local, rope = found
    if (kind := local.get("rope_type", "default")) != "default":
        raise UnsupportedError(
            f"config: rope_type {str(kind)!r:.40} is not supported for layers with a window; "
            "default is",
            param="rope_parameters",
        )
    scaling = {key: value for key, value in rope.items() if key != "rope_theta"}
    return {
        **fields,
        "rope_scaling": scaling,
        "rope_theta": rope.get("rope_theta", _GLOBAL_ROPE["rope_theta"]),
        "rope_local_base_freq": local.get("rope_theta", _LOCAL_THETA),
    }


def decoder(c: Gemma4Config) -> DecoderSpec:
    wide = c.hidden_size_per_layer_input
    inputs = LayerInputSpec(width=wide, entries=c.vocab_size_per_layer_input, norm=c.rms)
    behind = (*((LayerInput(width=wide),) if wide else ()), LayerScale())
    layers = c.layers(lambda i: (c.layer_attention(i), c.mlp(i), *behind), places="sandwich")
    return c.decoder(
        layers,
        embedding_scale=c.hidden_size**0.5,
        logit_softcap=c.final_logit_softcapping,
        layer_inputs=inputs if wide else None,
        names=_NAMES,
    )


def tensors(c: Gemma4Config) -> TensorMap:
    return HUGGING_FACE.renamed(
        mlp_norm="pre_feedforward_layernorm",
        router="router.proj",
        experts_norm="pre_feedforward_layernorm_2",
        post_shared_norm="post_feedforward_layernorm_1",
        post_experts_norm="post_feedforward_layernorm_2",
        shared_gate_up="mlp.gate_proj mlp.up_proj",
        shared_down="mlp.down_proj",
    ).changed(
        experts_gate_up=(Source("experts.gate_up_proj", is_whole=True),),
        experts_down=(Source("experts.down_proj", is_whole=True),),
        router_norm=_router_norm(c, "router.scale"),
        expert_scale=(Source("router.per_expert_scale", is_whole=True),),
    )


def _router_norm(c: Gemma4Config, name: str) -> tuple[Source, ...]:
    return (Source(name, (Times(c.hidden_size**-0.5),), is_whole=True),)


def _gguf_tensors(c: Gemma4Config) -> TensorMap:
    return GGUF.renamed(
        experts_gate_up="ffn_gate_up_exps",
        experts_norm="pre_ffw_norm_2",
        post_shared_norm="post_ffw_norm_1",
        post_experts_norm="post_ffw_norm_2",
        shared_gate_up="ffn_gate ffn_up",
        shared_down="ffn_down",
    ).changed(
        router_norm=_router_norm(c, "ffn_gate_inp.scale"),
        expert_scale=(Source("ffn_down_exps.scale", is_whole=True),),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    kinds = [SLIDING if s else FULL for s in fields.flags("attention.sliding_window_pattern")]
    kv_heads, widths = fields.sizes("attention.head_count_kv"), fields.sizes("feed_forward_length")
    by_kind = dict(zip(reversed(kinds), reversed(kv_heads), strict=True))
    first_full = kinds.index(FULL) if FULL in kinds else 0
    inputs = size_or(fields, "embedding_length_per_layer_input", 0)
    for key in ("attention.value_length_swa", "rope.dimension_count_swa"):
        size_or(fields, key, 0)  # they repeat others
    found: dict[str, Any] = {
        "layer_types": kinds,
        "head_dim": fields.size("attention.key_length_swa"),
        "global_head_dim": fields.size("attention.key_length"),
        "num_key_value_heads": by_kind.get(SLIDING, kv_heads[0]),
        "num_global_key_value_heads": by_kind.get(FULL, kv_heads[0]),
        "attention_k_eq_v": not fields.has_tensor(f"blk.{first_full}.attn_v.weight"),
        "intermediate_size": widths[0],
        "use_double_wide_mlp": widths[-1] == 2 * widths[0],
        "num_kv_shared_layers": size_or(fields, "attention.shared_kv_layers", 0),
        "rope_local_base_freq": fields.number("rope.freq_base_swa", _LOCAL_THETA),
        "hidden_size_per_layer_input": inputs,
        "enable_moe_block": size_or(fields, "expert_count", 0) > 0,
    }
    if inputs:
        found["vocab_size_per_layer_input"] = fields.rows("per_layer_token_embd.weight")
    if found["enable_moe_block"]:
        found |= {
            "num_experts": fields.size("expert_count"),
            "top_k_experts": fields.size("expert_used_count"),
            "moe_intermediate_size": fields.size("expert_feed_forward_length"),
        }
    if "final_logit_softcapping" in fields:
        found["final_logit_softcapping"] = fields.number("final_logit_softcapping")
    return found


FAMILY = ModelFamily(
    config_class=Gemma4Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "gemma4",
        "Gemma4ForCausalLM",
        _gguf_config,
        _gguf_tensors,
        scales=("ffn_gate_inp", "ffn_down_exps"),
    ),
)
