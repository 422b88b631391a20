"""What one of several shards computes of a decoder, and how they share its weights.

    own = sharded(decoder, 4)           # a quarter of the heads, of the MLPs and of the vocabulary
    splits(decoder, own, 4)["model.layers.0.mlp.down_proj.weight"]   # Split(4, "inputs")

A part says only what a shard computes of it (`LayerPart.sharded`). How shards share a weight
follows: it is how the weight of a shard is smaller. The results of a part add up over the shards,
so that the residual is the same on all of them (Megatron-LM, arXiv 1909.08053).
"""

from __future__ import annotations

from dataclasses import replace

from mlc_llm.compiler.quantization.shards import Split
from mlc_llm.compiler.quantization.stored import STRIP
from mlc_llm.compiler.spec.decoder import DecoderSpec
from mlc_llm.compiler.spec.part import no_shards
from mlc_llm.compiler.spec.tensors import parameters
from mlc_llm.compiler.spec.transforms import Shape
from mlc_llm.compiler.spec.weights import Parameter


def sharded(spec: DecoderSpec, count: int) -> DecoderSpec:
    """What one of `count` shards computes. All of them have the whole vocabulary if it cannot be
    divided into whole strips. Shards have no part that drafts. Error: UnsupportedError."""
    if spec.layer_inputs is not None:
        raise no_shards("a model whose layers get more of a token than the residual")
    is_divided = spec.vocab_size % (count * STRIP) == 0
    vocabulary = spec.vocab_size // (count if is_divided else 1)
    layers = tuple(
        replace(layer, parts=tuple(part.sharded(count) for part in layer.parts))
        for layer in spec.layers
    )
    return replace(spec, vocab_size=vocabulary, layers=layers, draft=None)


def splits(whole: DecoderSpec, own: DecoderSpec, count: int) -> dict[str, Split]:
    """The weights that shards share, by name; each shard has all of the others."""
    found: dict[str, Split] = {}
    pairs = zip(parameters(replace(whole, draft=None)), parameters(own), strict=True)
    for of_whole, of_own in pairs:
        split = _split(of_whole, of_own, count)
        if split is None and of_whole.kind == "bias":
            weight = found.get(of_whole.name.removesuffix("bias") + "weight")
            if weight is not None and weight.axis == "inputs":
                split = Split(count, "first")
        if split is not None:
            found[of_whole.name] = split
    return found


def _split(whole: Parameter, own: Parameter, count: int) -> Split | None:
    assert (whole.name, len(whole.pieces)) == (own.name, len(own.pieces)), (whole, own)
    if whole.pieces != own.pieces:
        runs = _runs(whole.runs or whole.pieces, own.runs or own.pieces, count)
        return Split(count, "outputs", runs, behind=len(whole.inputs))
    if whole.inputs != own.inputs:
        runs = _runs(whole.runs or whole.inputs[-1:], own.runs or own.inputs[-1:], count)
        return Split(count, "inputs", runs)
    return None


def _runs(whole: Shape, own: Shape, count: int) -> tuple[tuple[int, int], ...]:
    """The size of each run, and of what a shard has of it: its part, or all."""
    pairs = tuple(zip(whole, own, strict=True))
    assert all(size in (count * part, part) for size, part in pairs), (whole, own)
    return pairs
