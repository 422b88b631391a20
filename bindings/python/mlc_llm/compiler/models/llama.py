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
    from mlc_llm.compiler.nn import Batch, Builder


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


class Attention:
    """Self-attention over the paged cache; adds its output to `residual`."""

    def __init__(self, nn: Builder, config: LlamaConfig, name: str) -> None:
        heads, kv_heads, dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )
        hidden, bias = config.hidden_size, config.attention_bias
        self.qkv = nn.linear(f"{name}.qkv_proj", (heads + 2 * kv_heads) * dim, hidden, bias=bias)
        self.output = nn.linear(f"{name}.o_proj", hidden, heads * dim, bias=bias)
        self.attend = nn.paged_attention(
            heads=heads,
            kv_heads=kv_heads,
            dim=dim,
            rope_theta=config.rope_theta,
            rope_scaling=config.rope_scaling,
            sliding_window=config.sliding_window_size,
            sinks=config.attention_sink_size,
        )

    def __call__(self, x: Any, batch: Batch, pages: Any, residual: Any) -> Any:
        qkv = self.qkv(x)  # (rows, (heads + 2 kv_heads) * dim)
        attended = self.attend(qkv, batch, pages)  # (rows, heads * dim)
        return self.output(attended, residual)  # (rows, hidden)


class MLP:
    """down(silu(gate(x)) * up(x)) + residual."""

    def __init__(self, nn: Builder, config: LlamaConfig, name: str) -> None:
        hidden, wide, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_up = nn.linear(f"{name}.gate_up_proj", 2 * wide, hidden, bias=bias)
        self.activation = nn.gated_silu(wide)
        self.down = nn.linear(f"{name}.down_proj", hidden, wide, bias=bias)

    def __call__(self, x: Any, residual: Any) -> Any:
        return self.down(self.activation(self.gate_up(x)), residual)


class Block:
    def __init__(self, nn: Builder, config: LlamaConfig, name: str) -> None:
        size, eps = config.hidden_size, config.rms_norm_eps
        self.input_norm = nn.rms_norm(f"{name}.input_layernorm", size, eps=eps)
        self.attention = Attention(nn, config, f"{name}.self_attn")
        self.mlp_norm = nn.rms_norm(f"{name}.post_attention_layernorm", size, eps=eps)
        self.mlp = MLP(nn, config, f"{name}.mlp")

    def __call__(self, x: Any, batch: Batch, pages: Any) -> Any:
        x = self.attention(self.input_norm(x), batch, pages, residual=x)
        return self.mlp(self.mlp_norm(x), residual=x)


class Llama:
    """The whole model: what the library's functions call."""

    def __init__(self, nn: Builder, config: LlamaConfig) -> None:
        vocabulary, hidden = config.vocab_size, config.hidden_size
        self.table = nn.embedding("model.embed_tokens", vocabulary, hidden)
        self.blocks = [
            Block(nn, config, f"model.layers.{i}") for i in range(config.num_hidden_layers)
        ]
        self.norm = nn.rms_norm("model.norm", hidden, eps=config.rms_norm_eps)
        tied = config.tie_word_embeddings
        self.head = self.table.logits if tied else nn.linear("lm_head", vocabulary, hidden)

    @property
    def page_shape(self) -> tuple[int, ...]:
        return self.blocks[0].attention.attend.shape.page_shape

    @property
    def page_dtype(self) -> str:
        return self.blocks[0].attention.attend.shape.page_dtype

    @property
    def slot_runs(self) -> list[tuple[int, int]]:
        return self.blocks[0].attention.attend.shape.slot_runs

    def embed(self, ids: Any) -> Any:
        return self.table(ids)

    def hidden_states(self, x: Any, batch: Batch, rows: Any, pages: list[Any]) -> Any:
        """(rows, hidden) of those rows of x, behind the last norm."""
        for block, layer_pages in zip(self.blocks, pages, strict=True):
            x = block(x, batch, layer_pages)
        return self.norm(x, rows)

    def logits(self, hidden_states: Any) -> Any:
        return self.head(hidden_states)  # (rows, vocabulary)

    def copy_pages(self, source: Any, destination: Any, pages: list[Any]) -> list[Any]:
        return [
            block.attention.attend.copy_pages(source, destination, layer_pages)
            for block, layer_pages in zip(self.blocks, pages, strict=True)
        ]


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

    def build(self, config: LlamaConfig, nn: Builder) -> Llama:
        return Llama(nn, config)


FAMILY = LlamaFamily()
