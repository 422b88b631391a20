"""Makes the weight map from a decoder's description and a table of names.

    weight_map(spec, HUGGING_FACE)
    weight_map(spec, GGUF.changed(qkv=(Source("attn_qkv"),)))

`parameters` lists a decoder's tensors in the order of the library's parameters. A `TensorMap` says
where a file format stores each of them. Families change single entries of the two below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlc_llm.compiler.quantization import WeightUse
from mlc_llm.compiler.spec.decoder import DecoderSpec, HeadSpec
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.transforms import Squeezed, Transform, Transposed
from mlc_llm.compiler.spec.weights import (
    FileTable,
    Parameter,
    Part,
    Source,
    Tensor,
    WeightSource,
    sources_of,
)

# The transforms of a causal convolution's weight. The result has one row for each tap.
CONV = (Squeezed(), Transposed())
# What is outside the layers.
TENSORS = {
    "embedding": Tensor("model.embed_tokens", gguf="token_embd"),
    "positions": Tensor("model.embed_positions", gguf="position_embd"),
    "token_types": Tensor("model.embed_token_types", gguf="token_types"),
    "embedding_norm": Tensor("model.embed_norm", gguf="token_embd_norm", norm=True),
    "norm": Tensor("model.norm", gguf="output_norm", norm=True),
    "head": Tensor("lm_head", gguf="output"),
}
# The norms around the parts of a layer.
LAYER_NORMS = {
    "attention_norm": Tensor("input_layernorm", gguf="attn_norm", norm=True),
    "mlp_norm": Tensor("post_attention_layernorm", gguf="ffn_norm", norm=True),
    "post_attention_norm": Tensor(
        "post_attention_layernorm", gguf="post_attention_norm", norm=True
    ),
    "post_mlp_norm": Tensor("post_feedforward_layernorm", gguf="post_ffw_norm", norm=True),
}


@dataclass(frozen=True)
class TensorMap:
    """Where a file format stores a decoder's tensors, by our roles.

    The sources of a role are stacked along the outputs; those of other roles than `sources` are
    in the column `table` of the roles' names. `layer` is the prefix of the names in a layer.
    `norm`: the transforms of the weight of every norm. `mtp`: the prefixes of the names before and
    behind the MTP layer, and in it, if they are not those of a layer behind the last one.
    """

    layer: str
    sources: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    norm: tuple[Transform, ...] = ()
    table: FileTable | None = None  # None: the file has those tensors by our names
    mtp: tuple[str, str] | None = None

    def changed(
        self,
        *,
        layer: str | None = None,
        norm: tuple[Transform, ...] = (),
        **sources: tuple[Source, ...],
    ) -> TensorMap:
        """A copy with other sources for some roles."""
        every = {**self.sources, **sources}
        return replace(self, layer=layer or self.layer, sources=every, norm=norm)

    def renamed(self, **names: str) -> TensorMap:
        """A copy with other tensors for some roles, by name and without transforms."""
        named = {role: sources_of(text) for role, text in names.items()}
        return replace(self, sources={**self.sources, **named})

    def named(self, names: Mapping[str, str]) -> TensorMap:
        """The same for the names that a decoder's tensors have here, where the file has them too.
        The one of "layer" is the prefix of the names in a layer."""
        roles = {role: name for role, name in names.items() if role != "layer"}
        layer = f"{names['layer']}." if "layer" in names else self.layer
        return replace(self.renamed(**roles), layer=layer)

    def has(self, parameter: Parameter) -> bool:
        own = f"{parameter.role}_{parameter.kind}"
        return own in self.sources or parameter.role in self.sources

    def parts(self, parameter: Parameter) -> tuple[Part, ...]:
        own = f"{parameter.role}_{parameter.kind}"  # where biases are not beside their weights
        sources = self.sources.get(own) or self.sources.get(parameter.role)
        if sources is None:
            assert self.table is not None, parameter
            sources = parameter.tensor.sources(self.table)
        assert sources, f"{parameter.role}: no name of it in {self.table} files"
        pieces = parameter.pieces
        if len(sources) == 1:
            pieces = (sum(pieces),)
        sources = sources[: len(pieces)]  # a layer without its own keys has only queries
        prefix = self._prefix(parameter)
        norm = self.norm if parameter.is_norm else ()

        def part(source: Source, outs: int, expert: int | None) -> Part:
            name = prefix + source.name.replace("{}", str(expert))
            name += "" if source.is_whole else f".{parameter.kind}"
            shape, transforms = (outs, *parameter.inputs), source.transforms + norm
            if expert is None or "{}" in source.name:
                return Part(name, shape, transforms)
            return Part(name, shape, transforms, expert, parameter.experts)

        experts = range(parameter.experts) if parameter.experts else [None]
        pairs = list(zip(sources, pieces, strict=True))
        return tuple(part(*pair, expert) for expert in experts for pair in pairs)

    def _prefix(self, parameter: Parameter) -> str:
        if parameter.layer is None:
            return ""
        if parameter.draft and self.mtp is not None:
            return self.mtp[0 if parameter.role.startswith("mtp_") else 1]
        return self.layer.format(parameter.layer)


HUGGING_FACE = TensorMap(layer="model.layers.{}.", table="huggingface")
# (Facts: ggml-org/llama.cpp, gguf-py/gguf/tensor_mapping.py.)
GGUF = TensorMap(layer="blk.{}.", table="gguf")


def weight_map(spec: DecoderSpec, tensors: TensorMap) -> list[WeightSource]:
    """All tensors, in the order of `parameters`."""
    draft = (spec.draft.files if spec.draft is not None else None) or tensors
    return [
        WeightSource(p.name, (draft if p.draft else tensors).parts(p), p.use, p.experts, p.draft)
        for p in parameters(spec)
    ]


def parameters(spec: DecoderSpec) -> Iterator[Parameter]:
    """All tensors, in the order of the library's parameters."""
    at, table = Place(spec, TENSORS), (spec.vocab_size,)

    def tables(role: str, entries: int, use: WeightUse = "embedding") -> Iterator[Parameter]:
        if entries:
            yield from at.linear(role, (entries,), at.hidden, use=use)

    tied: WeightUse = "tied_embedding" if spec.tied_head else "embedding"
    yield from tables("embedding", spec.vocab_size, tied)
    yield from tables("positions", spec.positions)
    yield from tables("token_types", spec.token_types)
    if spec.embedding_norm is not None:
        yield from at.norm("embedding_norm", spec.embedding_norm)
    if spec.layer_inputs is not None:
        inputs = spec.layer_inputs
        yield from inputs.parameters(Place(spec, inputs.tensors))
    for index in range(len(spec.layers)):
        yield from _of_layer(spec, index)
    if spec.norm is not None:
        yield from at.norm("norm", spec.norm)
    if not spec.tied_head and not spec.is_encoder:
        yield from at.linear("head", table, at.hidden, spec.head_bias, use="lm_head")
    if spec.pooled_head is not None:
        yield from _pooled_head(at, spec.pooled_head)
    if spec.draft is not None:
        yield from (replace(one, draft=True) for one in _of_draft(spec, spec.draft))


def _of_draft(spec: DecoderSpec, draft: DraftSpec) -> Iterator[Parameter]:
    spec = draft.named(spec)
    yield from draft.parameters(spec)
    if draft.layer is not None:
        yield from _of_layer(spec, len(spec.layers))


def _of_layer(spec: DecoderSpec, index: int) -> Iterator[Parameter]:
    layer, around = spec.layer(index), Place(spec, LAYER_NORMS, index)
    for part in layer.parts:
        yield from part.parameters(Place(spec, part.tensors, index))
    for half in layer.halves:
        for role in half.norms:
            yield from around.norm(role, layer.norm)


def _pooled_head(at: Place, head: HeadSpec) -> Iterator[Parameter]:
    ins = at.hidden
    for index, dense in enumerate(head.layers):
        role = f"dense_{index}"
        yield from at.linear(role, (dense.width,), ins, dense.bias, use="router")
        if dense.norm is not None:
            yield from at.norm(f"{role}_norm", dense.norm)
        ins = dense.width
