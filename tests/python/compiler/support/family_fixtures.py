"""The fixtures of `tests/fixtures/families`: a config, random weights, and logits on which two
programs that are not ours agree."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import quick_code
import spec_switches
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import models
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.weights import as_in_files
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.spec import (
    AttentionSpec,
    DecoderSpec,
    LayerSpec,
    MoESpec,
    RopeScaling,
    TensorMap,
    WeightSource,
    weight_map,
)
from mlc_llm.compiler.spec.transforms import Normalized, PlusOne, Unpaired

FOLDER = Path(__file__).parents[3] / "fixtures/families"
sys.path.insert(0, str(FOLDER))

from random_weights import draw, unfolded  # noqa: E402

Array = np.ndarray[Any, Any]
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@dataclass(frozen=True)
class Fixture:
    config: dict[str, Any]
    ids: list[int]
    greedy: list[int]
    logits: Array
    drawn: tuple[dict[str, Any], int, int]  # what `random_weights.draw` takes, tensors folded

    @cached_property
    def weights(self) -> dict[str, Array]:
        tensors, seed, norm_mean = self.drawn
        return draw(unfolded(tensors), seed, norm_mean)

    @property
    def family(self) -> models.ModelFamily:
        return models.get(models.model_type_of(self.config))

    @property
    def typed(self) -> Any:
        return models.config_from_hf(self.config)

    @property
    def spec(self) -> DecoderSpec:
        return self.family.decoder(self.typed)

    def params(self) -> dict[str, Array]:
        """Our parameters in float32, by the converter's own way."""
        return tiny_families.converted(tiny_families.Source(self.weights), self.config)

    def runner(self) -> Runner:
        """A compiled library for the CPU with the parameters."""
        family = models.model_type_of(self.config)
        chat = {**self.config, "quantization": "q0f32", "prefill_chunk_size": 64}
        spec = library_spec({**chat, "model_type": family}, device="cpu")
        module = quick_code.build(build_module(spec, self.family), spec.device)
        return Runner(module, self.params(), num_pages=16)

    def params_without(self, kind: type) -> dict[str, Array] | None:
        """The same without the transforms of a kind; None if the weight map has none."""
        tensors, found = self.family.tensors(self.typed), False

        def kept(transforms: Any) -> tuple[Any, ...]:
            nonlocal found
            found = found or any(isinstance(one, kind) for one in transforms)
            return tuple(one for one in transforms if not isinstance(one, kind))

        sources = {
            role: tuple(replace(s, transforms=kept(s.transforms)) for s in some)
            for role, some in tensors.sources.items()
        }
        changed = replace(tensors, sources=sources, norm=kept(tensors.norm))
        return _read(self.spec, changed, self.weights) if found else None

    def weight_map(self) -> list[WeightSource]:
        """With the names of the fixture's files."""
        return in_files(self.family.weight_map(self.typed), self.weights)


def in_files(weights: list[WeightSource], arrays: dict[str, Array]) -> list[WeightSource]:
    return as_in_files(weights, tiny_families.Source(arrays).tensors())


def _read(spec: DecoderSpec, tensors: TensorMap, weights: dict[str, Array]) -> dict[str, Array]:
    made = {}
    for weight in in_files(weight_map(spec, tensors), weights):
        parts = []
        for part in weight.parts:
            value = weights[part.tensor]
            value = value if part.expert is None else value[part.expert]
            for transform in part.transforms:
                value = transform.apply(value)
            parts.append(value)
        made[weight.name] = np.concatenate(parts).reshape(weight.shape)
    return made


@cache
def stored(name: str) -> dict[str, Any]:
    """The fixture's file."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def load(name: str) -> Fixture:
    found = stored(name)
    codes = np.frombuffer(base64.b64decode(found["logits"]), "<i2")
    return Fixture(
        config=found["config"],
        ids=found["ids"],
        greedy=found["greedy"],
        logits=codes.reshape(len(found["ids"]), -1) * found["unit"],
        drawn=(found["tensors"], found["seed"], found["norm_mean"]),
    )


TRANSFORMS = {"pairs": Unpaired, "plus_one": PlusOne, "normalized": Normalized}
# What a field of a layer's parts is in Llama.
_ATTENTION = {
    "qkv_bias": False,
    "output_bias": False,
    "qk_norm": None,
    "norms_all_heads": False,
    "norms_rotated": False,
    "value_norm": None,
    "chunked": False,
    "alibi": False,
    "growth_from": 0,
    "window": -1,
    "softcap": 0.0,
    "growth": 0.0,
    "sinks": False,
    "gated": False,
}
_DECODER = {
    "head_bias": False,
    "embedding_norm": None,
    "positions": 0,
    "embedding_scale": 1.0,
    "layer_inputs": None,
    "logit_scale": 1.0,
    "logit_softcap": 0.0,
}


def switched_off(spec: DecoderSpec) -> Iterator[tuple[str, DecoderSpec]]:
    """The specification with one difference from Llama less, for each difference that it has."""
    for name, usual in _DECODER.items():
        if getattr(spec, name) != usual:
            yield name, replace(spec, **{name: usual})
    if spec.norm is not None:
        rms = replace(spec.norm, kind="rms", bias=False, weight=True)
        for last in {replace(spec.norm, bias=False), rms} - {spec.norm}:
            yield f"last norm: {last}", replace(spec, norm=last)
    yield from _every_layer(spec, "norm.bias", lambda one: _norm(one, bias=False))
    yield from _every_layer(
        spec, "norm.kind", lambda one: _norm(one, kind="rms", bias=False, weight=True)
    )
    if any(isinstance(layer.mlp, MoESpec) for layer in spec.layers):
        yield from _router_switches(spec)
    yield from _every_layer(spec, "mlp.bias", lambda one: _part(one, "mlp", bias=False))
    first, usual = spec.layers[0].mlp, ("silu", "clipped_swish")
    other = "gelu_tanh" if first and first.activation in usual else "silu"
    yield from _every_layer(spec, "mlp.activation", lambda one: _part(one, "mlp", activation=other))
    yield from _every_layer(spec, "scaled", lambda one: replace(one, scaled=False))
    yield from spec_switches.of_recurrent(spec)
    yield from _every_layer(spec, "residual_scale", lambda one: replace(one, residual_scale=1.0))
    plain = {"parallel": "pre", "parallel_two": "parallel"}
    yield from _every_layer(
        spec, "places", lambda one: replace(one, places=plain.get(one.places, one.places))
    )
    yield from spec_switches.of_latents(spec)
    yield from spec_switches.of_routers(spec)
    for name, usual in _ATTENTION.items():
        if name == "norms_all_heads":  # the weights have another shape
            continue
        yield from _every_layer(
            spec, name, lambda one, n=name, u=usual: _part(one, "attention", **{n: u})
        )
    yield from _attention_switches(spec)


def _router_switches(spec: DecoderSpec) -> Iterator[tuple[str, DecoderSpec]]:
    """What a router may do otherwise: each must count, whichever way the family has it."""

    def router(**changes: Any) -> Any:
        def change(one: LayerSpec) -> LayerSpec:
            if not isinstance(one.mlp, MoESpec):
                return one
            return _part(one, "mlp", router=replace(one.mlp.router, **changes))

        return change

    usual = next(layer.mlp.router for layer in spec.layers if isinstance(layer.mlp, MoESpec))
    turned = {"normalize": not usual.normalize, "chosen": usual.experts, "factor": 1.0}
    if usual.scores in ("chosen", "sparsemixer"):  # they are normalized in another way
        del turned["normalize"]
    for name, value in turned.items():
        yield from _every_layer(spec, f"router.{name}", router(**{name: value}))


def _attention_switches(spec: DecoderSpec) -> Iterator[tuple[str, DecoderSpec]]:
    attentions = [one.attention for one in spec.layers if isinstance(one.attention, AttentionSpec)]
    first = next((a.rope for a in attentions if a.rope), None)

    def scale(one: LayerSpec) -> LayerSpec:
        own = isinstance(one.attention, AttentionSpec)
        return _part(one, "attention", scale=one.attention.dim**-0.5) if own else one

    yield from _every_layer(spec, "scale", scale)
    if first is None:
        return

    def rope(**changes: Any) -> Any:
        def change(one: LayerSpec) -> LayerSpec:
            if not isinstance(one.attention, AttentionSpec) or one.attention.rope is None:
                return one
            return _part(one, "attention", rope=replace(one.attention.rope, **changes))

        return change

    yield from _every_layer(spec, "rope.scaling", rope(scaling=RopeScaling()))
    yield from _every_layer(spec, "rope.dim", rope(dim=attentions[0].dim, scaling=RopeScaling()))
    yield from _every_layer(spec, "rope.theta", rope(theta=first.theta))
    yield from _every_layer(
        spec, "no rope", lambda one: _part(one, "attention", rope=first) if _bare(one) else one
    )


def _bare(one: LayerSpec) -> bool:
    return one.attention is not None and one.attention.rope is None


def _every_layer(spec: DecoderSpec, name: str, change: Any) -> Iterator[tuple[str, DecoderSpec]]:
    made = replace(spec, layers=tuple(change(layer) for layer in spec.layers))
    if made != spec:
        yield name, made


def _part(one: LayerSpec, name: str, **changes: Any) -> LayerSpec:
    part = getattr(one, name)
    has = part is not None and all(hasattr(part, key) for key in changes)
    return one if not has else replace(one, **{name: replace(part, **changes)})


def _norm(one: LayerSpec, **changes: Any) -> LayerSpec:
    return replace(one, norm=replace(one.norm, **changes))
