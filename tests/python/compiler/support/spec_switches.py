"""A specification with one difference from Llama less, for each difference that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from mlc_llm.compiler.layers import (
    AttentionSpec,
    BesideSpec,
    DecayMixSpec,
    GatedMixSpec,
    LatentSpec,
    LayerInput,
    LayerScale,
    MoESpec,
    SelectiveSpec,
    StateSpaceSpec,
    TimeMixSpec,
)
from mlc_llm.compiler.spec import DecoderSpec, LayerPart, LayerSpec, Place, RopeScaling
from mlc_llm.compiler.spec.tensors import LAYER_NORMS

Switch = tuple[str, DecoderSpec]
Kind = TypeVar("Kind", bound=LayerPart)

# What a field of a layer's attention is in Llama.
_ATTENTION = {
    "qkv_bias": False,
    "output_bias": False,
    "gated": False,
    "head_norms": None,
    "head_norms.rotated": False,
    "values.norm": None,
    "window": None,
    "window.chunked": False,
    "scores.alibi": False,
    "scores.sinks": False,
    "scores.softcap": 0.0,
    "growth": None,
    "growth.offset": 0,
}
_DECODER = {
    "head_bias": False,
    "embedding_norm": None,
    "positions": 0,
    "embedding_scale": 1.0,
    "logit_scale": 1.0,
    "logit_softcap": 0.0,
}
# What a field of a router is in the simplest one.
_ROUTER = {
    "scores": "softmax",
    "correction": False,
    "groups": 1,
    "normalize": False,
    "factor": 1.0,
    "scaled": False,
    "jitter": 0.0,
    "bias": False,
    "scales_input": False,
}


def parts_of(spec: DecoderSpec, kind: type[Kind]) -> list[Kind]:
    """Of all layers; of mixers side by side, each of them."""

    def within(part: LayerPart) -> tuple[LayerPart, ...]:
        return part.parts if isinstance(part, BesideSpec) else (part,)

    every = (part for one in spec.layers for own in one.parts for part in within(own))
    return [part for part in every if isinstance(part, kind)]


def changed(
    spec: DecoderSpec, kind: type[Kind], change: Callable[[Kind], LayerPart | None]
) -> DecoderSpec:
    """With other parts in the place of those of a kind; None: with none."""

    def parts(some: tuple[LayerPart, ...]) -> Iterator[LayerPart]:
        for part in some:
            if isinstance(part, BesideSpec) and kind is not BesideSpec:
                yield replace(part, parts=tuple(parts(part.parts)))
                continue
            made = change(part) if isinstance(part, kind) else part
            if made is not None:
                yield made

    layers = [replace(one, parts=tuple(parts(one.parts))) for one in spec.layers]
    return replace(spec, layers=tuple(layers))


def with_fields(spec: DecoderSpec, kind: type[Kind], **fields: Any) -> DecoderSpec:
    """With other fields in the parts of a kind that have all of them."""

    def change(part: Kind) -> Kind:
        has = all(hasattr(part, name) for name in fields)
        return replace(part, **fields) if has else part  # type: ignore[type-var]

    return changed(spec, kind, change)


def switched_off(spec: DecoderSpec) -> Iterator[Switch]:
    for name, made in _all(spec):
        if made != spec:
            yield name, made


def _all(spec: DecoderSpec) -> Iterator[Switch]:
    for name, usual in _DECODER.items():
        yield name, replace(spec, **{name: usual})
    without = changed(spec, LayerInput, lambda part: None)
    yield "layer_inputs", replace(without, layer_inputs=None)
    yield "scaled", changed(spec, LayerScale, lambda part: None)
    yield from _of_norms(spec)
    yield from _of_layers(spec)
    yield from _of_feed_forward(spec)
    yield from _of_recurrent(spec)
    yield from _of_latents(spec)
    yield from _of_routers(spec)
    for name, usual in _ATTENTION.items():
        path = name.split(".")
        yield name, changed(spec, AttentionSpec, lambda a, p=path, u=usual: _at(a, p, u))
    yield from _of_attention(spec)


def _at(part: Any, path: list[str], usual: Any) -> Any:
    """With another value at the end of a path of fields, where the parts on the way are there."""
    name, *rest = path
    own = getattr(part, name)
    if rest and own is None:
        return part
    return replace(part, **{name: _at(own, rest, usual) if rest else usual})


def _of_norms(spec: DecoderSpec) -> Iterator[Switch]:
    if spec.norm is not None:
        for changes in ({"bias": False}, {"kind": "rms", "bias": False, "weight": True}):
            yield f"last norm: {changes}", replace(spec, norm=replace(spec.norm, **changes))
    for changes in ({"bias": False}, {"kind": "rms", "bias": False, "weight": True}):
        layers = [replace(one, norm=replace(one.norm, **changes)) for one in spec.layers]
        yield f"norms: {changes}", replace(spec, layers=tuple(layers))


def _of_layers(spec: DecoderSpec) -> Iterator[Switch]:
    places: dict[str, Any] = {"parallel": "pre", "parallel_two": "parallel"}
    changes: dict[str, Callable[[LayerSpec], LayerSpec]] = {
        "residual_scale": lambda one: replace(one, residual_scale=1.0),
        "places": lambda one: replace(one, places=places.get(one.places, one.places)),
    }
    one_norm = {"mlp_norm": Place(spec, LAYER_NORMS).name("attention_norm")}  # of both halves
    names = {**spec.names, **one_norm} if spec.layers[0].places == "parallel" else spec.names
    for name, change in changes.items():
        made = replace(spec, layers=tuple(map(change, spec.layers)))
        yield name, replace(made, names=names) if made != spec else spec


def _of_feed_forward(spec: DecoderSpec) -> Iterator[Switch]:
    having = ([p for p in one.parts if hasattr(p, "activation")] for one in spec.layers)
    parts = next(filter(None, having), [])  # of the first layer that has any
    other = "gelu_tanh" if parts and parts[0].activation in ("silu", "clipped_swish") else "silu"
    for part in parts:
        if isinstance(part, LayerInput):
            continue
        kind = type(part)
        yield f"{kind.__name__}.activation", with_fields(spec, kind, activation=other)
    for kind in {type(part) for one in spec.layers for part in one.parts}:
        if kind.norms == ("mlp_norm", "post_mlp_norm"):
            yield f"{kind.__name__}.bias", with_fields(spec, kind, bias=False)


def _of_recurrent(spec: DecoderSpec) -> Iterator[Switch]:
    """Mamba 1 and 2 without biases; RWKV 7: no layer mixes its values with the first layer's; RWKV
    5 and 6: mixes that say the contrary, another norm of heads."""
    for name in ("conv_bias", "bias"):
        for kind in (StateSpaceSpec, SelectiveSpec):
            yield f"{kind.__name__}: {name}", with_fields(spec, kind, **{name: False})
    yield "RWKV 7: values", with_fields(spec, TimeMixSpec, values=0)
    yield "RWKV 5, 6: norm", with_fields(spec, DecayMixSpec, eps=64.0)
    for mix in parts_of(spec, GatedMixSpec)[:1]:
        yield "RWKV 5, 6: mixes", with_fields(spec, GatedMixSpec, of_before=not mix.of_before)


def _of_latents(spec: DecoderSpec) -> Iterator[Switch]:
    for a in parts_of(spec, LatentSpec)[:1]:
        changes: dict[str, Any] = {
            "pairs": not a.pairs,
            "bias": False,
            "scale": a.query**-0.5,
            "rope": replace(a.rope, scaling=RopeScaling()),
        }
        if not a.rope.scaling.proportion:  # what does not turn has no pairs
            del changes["pairs"]
        for name, value in changes.items():
            yield f"latent {name}", with_fields(spec, LatentSpec, **{name: value})


def _of_routers(spec: DecoderSpec) -> Iterator[Switch]:
    """What a router may do otherwise: each must count, whichever way the family has it."""
    for first in parts_of(spec, MoESpec)[:1]:
        for name, off in _router_changes(first):
            router = replace(first.router, **off)
            yield f"router {name}: {off}", with_fields(spec, MoESpec, router=router)
        yield "shared gate", with_fields(spec, MoESpec, shared_gate=False)
        if first.shared_width and not first.apart:
            none = {"shared_width": 0, "apart": False, "shared_gate": False}
            yield "shared experts", with_fields(spec, MoESpec, **none)


def _router_changes(first: MoESpec) -> Iterator[tuple[str, dict[str, Any]]]:
    router = first.router
    for name, value in _ROUTER.items():
        if first.apart and name == "scores":  # a norm behind removes a factor of all experts
            continue
        yield name, {name: value} | ({"chosen_groups": 1} if name == "groups" else {})
    if router.groups > 1:
        yield "group_best", {"group_best": 3 - router.group_best}  # 1 or 2
    yield "chosen", {"chosen": router.experts}
    if router.scores not in ("chosen", "sparsemixer"):  # they are normalized in another way
        yield "normalize", {"normalize": not router.normalize}


def _of_attention(spec: DecoderSpec) -> Iterator[Switch]:
    attentions = parts_of(spec, AttentionSpec)
    yield "scale", changed(spec, AttentionSpec, lambda a: replace(a, scale=a.dim**-0.5))
    first = next((a.rope for a in attentions if a.rope), None)
    if first is None:
        return
    changes: dict[str, dict[str, Any]] = {
        "rope.scaling": {"scaling": RopeScaling()},
        "rope.dim": {"dim": attentions[0].dim, "scaling": RopeScaling()},
        "rope.theta": {"theta": first.theta},
    }
    for name, fields in changes.items():
        yield name, changed(spec, AttentionSpec, lambda a, f=fields: _with_rope(a, **f))
    yield "no rope", changed(spec, AttentionSpec, lambda a: replace(a, rope=a.rope or first))


def _with_rope(a: AttentionSpec, **fields: Any) -> AttentionSpec:
    return a if a.rope is None else replace(a, rope=replace(a.rope, **fields))
