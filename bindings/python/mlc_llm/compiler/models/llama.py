"""The Llama family: Llama 1 to 3, SmolLM, TinyLlama, Mistral and whoever shares their blocks.

Grouped-query attention with rotary positions, RMS norms before both halves of a block and a gated
MLP. Read top to bottom: configuration, attention, MLP, block, model, weight map. The layers are
described in transformers' `models/llama/modeling_llama.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.models.family import ConfigReader, WeightSource
from mlc_llm.compiler.models.rope import RopeScaling
from mlc_llm.errors import CorruptFileError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.nn import Builder


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes and options, under Hugging Face's names where those exist."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    rope_scaling: RopeScaling
    tie_word_embeddings: bool
    attention_bias: bool
    mlp_bias: bool
    context_window_size: int
    sliding_window_size: int = -1
    attention_sink_size: int = 0

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> LlamaConfig:
        """Reads a Hugging Face config.json or the `model_config` of an mlc-chat-config.json."""
        read = ConfigReader(config)
        _require_silu(config)
        heads = read.integer("num_attention_heads")
        hidden = read.integer("hidden_size")
        context = read.integer("context_window_size", "max_position_embeddings", default=2048)
        rope = read.mapping("rope_parameters") or {}
        scaling = read.mapping("rope_scaling") or rope
        trained = read.integer("max_position_embeddings", default=context)
        made = cls(
            hidden_size=hidden,
            intermediate_size=read.integer("intermediate_size"),
            num_hidden_layers=read.integer("num_hidden_layers", maximum=1024),
            num_attention_heads=heads,
            num_key_value_heads=read.integer("num_key_value_heads", default=heads),
            head_dim=read.integer("head_dim", default=max(hidden // heads, 1)),
            vocab_size=read.integer("vocab_size"),
            rms_norm_eps=read.number("rms_norm_eps", default=1e-6),
            rope_theta=ConfigReader({**rope, **config}).number(
                "rope_theta", "position_embedding_base", default=10000.0
            ),
            rope_scaling=RopeScaling.from_dict(scaling, context=trained),
            tie_word_embeddings=read.flag("tie_word_embeddings", default=False),
            attention_bias=read.flag("attention_bias", default=False),
            mlp_bias=read.flag("mlp_bias", default=False),
            context_window_size=context,
            sliding_window_size=_sliding_window(config),
            attention_sink_size=read.integer("attention_sink_size", default=0, minimum=0),
        )
        made._check()
        return made

    def to_dict(self) -> dict[str, Any]:
        """The `model_config` of an mlc-chat-config.json; `from_dict` reads it back."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["rope_scaling"] = self.rope_scaling.to_dict()
        fields["position_embedding_base"] = fields.pop("rope_theta")
        return {**fields, "hidden_act": "silu"}

    def _check(self) -> None:
        if self.num_attention_heads % self.num_key_value_heads:
            raise CorruptFileError(
                "config: num_attention_heads must be a multiple of num_key_value_heads",
                param="num_key_value_heads",
            )
        if self.head_dim % 2:
            raise CorruptFileError("config: head_dim must be even", param="head_dim")


def _require_silu(config: Mapping[str, Any]) -> None:
    activation = config.get("hidden_act", "silu")
    if activation not in ("silu", "swish"):
        raise UnsupportedError(
            f'config: hidden_act "{activation}" is not supported in this family; only silu is',
            param="hidden_act",
        )


def _sliding_window(config: Mapping[str, Any]) -> int:
    """-1 means none; so do 0, null and Mistral's own `use_sliding_window: false`."""
    if config.get("use_sliding_window") is False:
        return -1
    named = {k: config[k] for k in ("sliding_window_size", "sliding_window") if config.get(k)}
    if not named or -1 in named.values():
        return -1
    return ConfigReader(named).integer("sliding_window_size", "sliding_window")


# GRAPH

# Ours <- Hugging Face's, stacked along the output dimension in this order; and how it is used.
_BLOCK_LINEARS = (
    ("self_attn.qkv_proj", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
    ("self_attn.o_proj", ("self_attn.o_proj",)),
    ("mlp.gate_up_proj", ("mlp.gate_proj", "mlp.up_proj")),
    ("mlp.down_proj", ("mlp.down_proj",)),
)
_BLOCK_NORMS = ("input_layernorm", "post_attention_layernorm")


def weight_map(config: LlamaConfig) -> list[WeightSource]:
    """All tensors, in the order in which the model asks for them."""
    table = (config.vocab_size, config.hidden_size)
    weights = [_single("model.embed_tokens.weight", table, "embedding")]
    for layer in range(config.num_hidden_layers):
        weights += _block_weights(config, f"model.layers.{layer}")
    weights.append(_single("model.norm.weight", (config.hidden_size,), None))
    if not config.tie_word_embeddings:
        weights.append(_single("lm_head.weight", table, "lm_head"))
    return weights


def _single(name: str, shape: tuple[int, ...], use: Any) -> WeightSource:
    return WeightSource(name, (name,), (shape,), use)


def _block_weights(config: LlamaConfig, prefix: str) -> list[WeightSource]:
    hidden, wide = config.hidden_size, config.intermediate_size
    q, kv = (config.head_dim * h for h in (config.num_attention_heads, config.num_key_value_heads))
    rows = {  # of each source, then the input width they share
        "self_attn.qkv_proj": ((q, kv, kv), hidden),
        "self_attn.o_proj": ((hidden,), q),
        "mlp.gate_up_proj": ((wide, wide), hidden),
        "mlp.down_proj": ((hidden,), wide),
    }
    weights = []
    for ours, theirs in _BLOCK_LINEARS:
        outs, width = rows[ours]
        sources = tuple(f"{prefix}.{name}" for name in theirs)
        weights.append(
            WeightSource(
                f"{prefix}.{ours}.weight",
                tuple(f"{name}.weight" for name in sources),
                tuple((n, width) for n in outs),
                "linear",
            )
        )
        if config.attention_bias if ours.startswith("self_attn") else config.mlp_bias:
            biases = tuple(f"{name}.bias" for name in sources)
            shapes = tuple((n,) for n in outs)
            weights.append(WeightSource(f"{prefix}.{ours}.bias", biases, shapes, None))
    norms = [_single(f"{prefix}.{n}.weight", (config.hidden_size,), None) for n in _BLOCK_NORMS]
    return weights + norms


class LlamaFamily:
    """The registry's entry."""

    config_class = LlamaConfig

    def weight_map(self, config: LlamaConfig) -> list[WeightSource]:
        return weight_map(config)

    def build(self, config: LlamaConfig, builder: Builder) -> Any:
        raise NotImplementedError


FAMILY = LlamaFamily()
