"""From a decoder's description and a table of names to its weight map.

    weight_map(spec, HUGGING_FACE)
    weight_map(spec, GGUF.changed(qkv=(Source("attn_qkv"),)))

`parameters` says what a decoder's tensors are, in the order in which the library asks for them; a
`TensorMap` says where a file format keeps each. Families change single entries of the two tables
below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlc_llm.compiler.quantization import WeightUse
from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec
from mlc_llm.compiler.spec.transforms import Transform
from mlc_llm.compiler.spec.weights import Part, WeightSource

NORMS = (
    "norm",
    "attention_norm",
    "mlp_norm",
    "post_attention_norm",
    "post_mlp_norm",
    "q_norm",
    "k_norm",
)


@dataclass(frozen=True)
class Source:
    """A tensor in a file, without ".weight", and what is done to it."""

    name: str
    transforms: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class TensorMap:
    """Where a file format keeps a decoder's tensors, by our roles.

    The sources of a role are stacked along the outputs. `layer` stands before the names of a
    layer's tensors; `norm` is done to the weight of every norm.
    """

    layer: str
    sources: Mapping[str, tuple[Source, ...]]
    norm: tuple[Transform, ...] = ()

    def changed(self, *, norm: tuple[Transform, ...] = (), **sources: tuple[Source, ...]):
        """The same with other sources of some roles."""
        return replace(self, sources={**self.sources, **sources}, norm=norm)

    def parts(self, parameter: Parameter) -> tuple[Part, ...]:
        sources, pieces = self.sources[parameter.role], parameter.pieces
        if len(sources) == 1:
            pieces = (sum(pieces),)
        sources = sources[: len(pieces)]  # a layer without keys of its own has queries alone
        prefix = "" if parameter.layer is None else self.layer.format(parameter.layer)
        norm = self.norm if parameter.role in NORMS else ()
        return tuple(
            Part(
                f"{prefix}{source.name}.{parameter.kind}",
                (outs, *parameter.inputs),
                source.transforms + norm,
            )
            for source, outs in zip(sources, pieces, strict=True)
        )


def _named(**names: str) -> dict[str, tuple[Source, ...]]:
    return {role: tuple(Source(name) for name in text.split()) for role, text in names.items()}


HUGGING_FACE = TensorMap(
    layer="model.layers.{}.",
    sources=_named(
        embedding="model.embed_tokens",
        norm="model.norm",
        head="lm_head",
        attention_norm="input_layernorm",
        qkv="self_attn.q_proj self_attn.k_proj self_attn.v_proj",
        q_norm="self_attn.q_norm",
        k_norm="self_attn.k_norm",
        output="self_attn.o_proj",
        post_attention_norm="post_attention_layernorm",
        mlp_norm="post_attention_layernorm",
        gate_up="mlp.gate_proj mlp.up_proj",
        down="mlp.down_proj",
        post_mlp_norm="post_feedforward_layernorm",
    ),
)
# (Facts: ggml-org/llama.cpp, gguf-py/gguf/tensor_mapping.py.)
GGUF = TensorMap(
    layer="blk.{}.",
    sources=_named(
        embedding="token_embd",
        norm="output_norm",
        head="output",
        attention_norm="attn_norm",
        qkv="attn_q attn_k attn_v",
        q_norm="attn_q_norm",
        k_norm="attn_k_norm",
        output="attn_output",
        post_attention_norm="post_attention_norm",
        mlp_norm="ffn_norm",
        gate_up="ffn_gate ffn_up",
        down="ffn_down",
        post_mlp_norm="post_ffw_norm",
    ),
)


@dataclass(frozen=True)
class Parameter:
    """A tensor of the decoder. `pieces` are the outputs of what is fused in it."""

    role: str
    name: str  # ours, whole
    pieces: tuple[int, ...]
    inputs: tuple[int, ...] = ()
    use: WeightUse | None = None
    layer: int | None = None

    @property
    def kind(self) -> str:
        """ "weight" or "bias"."""
        return self.name.rsplit(".", 1)[1]


def weight_map(spec: DecoderSpec, tensors: TensorMap) -> list[WeightSource]:
    """All tensors, in the order in which the library asks for them."""
    return [WeightSource(p.name, tensors.parts(p), p.use) for p in parameters(spec)]


def parameters(spec: DecoderSpec) -> Iterator[Parameter]:
    names, table = spec.names, (spec.vocab_size,)
    inputs = (spec.hidden_size,)
    yield Parameter("embedding", f"{names['embedding']}.weight", table, inputs, "embedding")
    for index, layer in enumerate(spec.layers):
        yield from _layer_parameters(spec, layer, index)
    yield Parameter("norm", f"{names['norm']}.weight", inputs)
    if not spec.tied_head:
        yield Parameter("head", f"{names['head']}.weight", table, inputs, "lm_head")


def _layer_parameters(spec: DecoderSpec, layer: LayerSpec, index: int) -> Iterator[Parameter]:
    def linear(role: str, pieces: tuple[int, ...], ins: int, bias: bool) -> Iterator[Parameter]:
        name = spec.layer_name(index, role)
        yield Parameter(role, f"{name}.weight", pieces, (ins,), "linear", index)
        if bias:
            yield Parameter(role, f"{name}.bias", pieces, layer=index)

    def norm(role: str, size: int) -> Parameter:
        return Parameter(role, f"{spec.layer_name(index, role)}.weight", (size,), layer=index)

    a, wide, hidden = layer.attention, layer.mlp.width, spec.hidden_size
    q, kv = a.heads * a.dim, a.kv_heads * a.dim
    shared = a.pages_of is not None
    yield from linear("qkv", (q,) if shared else (q, kv, kv), hidden, a.qkv_bias)
    yield from linear("output", (hidden,), q, a.output_bias)
    yield from linear("gate_up", (wide, wide), hidden, layer.mlp.bias)
    yield from linear("down", (hidden,), wide, layer.mlp.bias)
    if a.qk_norm is not None:
        yield from [norm("q_norm", a.dim), *([] if shared else [norm("k_norm", a.dim)])]
    if layer.places != "post":
        yield from [norm("attention_norm", hidden), norm("mlp_norm", hidden)]
    if layer.places != "pre":
        yield from [norm("post_attention_norm", hidden), norm("post_mlp_norm", hidden)]
