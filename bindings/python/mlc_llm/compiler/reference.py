"""Any decoder that `spec.DecoderSpec` can describe, in NumPy and float64. Tests compare the
compiled libraries with it, and itself with programs that are not ours (`tests/fixtures/families`).

    logits(spec, params, [1, 2, 3])    # (3, vocabulary)

Each part of a layer computes itself (`LayerPart.reference`). Nothing here uses `nn` or `kernels`.
`off` names what is left out: "post_norm". `step`: inputs of the step by name (docs/step-inputs.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlc_llm.compiler.drafts import EagleSpec, MedusaSpec, MTPSpec
from mlc_llm.compiler.spec.decoder import DecoderSpec, Half, NormSpec
from mlc_llm.compiler.spec.part import Named
from mlc_llm.compiler.spec.tensors import LAYER_NORMS, TENSORS
from mlc_llm.compiler.spec.transforms import Array

Params = Mapping[str, Array]


def logits(
    spec: DecoderSpec,
    params: Params,
    ids: list[int],
    off: Collection[str] = (),
    step: Mapping[str, Array] | None = None,
) -> Array:
    """(len(ids), vocabulary)."""
    at = _outside(spec, params, step)
    return _logits(at, _states(at, ids, None, off))


def _logits(at: Reference, x: Array) -> Array:
    spec = at.spec
    if spec.tied_head:
        made = x @ at.weight("embedding").T
    else:
        made = at.linear("head", x)
    if spec.head_bias:
        made = made + at.bias("head")
    return at.capped(made * spec.logit_scale, spec.logit_softcap)


def hidden_states(
    spec: DecoderSpec, params: Params, ids: list[int], types: list[int] | None = None
) -> Array:
    """(len(ids), hidden), after the last norm."""
    return _states(_outside(spec, params), ids, types, ())


def layer_states(
    spec: DecoderSpec, params: Params, ids: list[int], layers: Collection[int]
) -> Array:
    """(len(ids), len(layers) * hidden): the residual after each of the layers."""
    at = _outside(spec, params)
    _states(at, ids, None, ())
    return np.concatenate([at.residuals[layer] for layer in layers], axis=1)


def head(spec: DecoderSpec, params: Params, vector: Array) -> Array:
    """What the head behind the pooling makes of a text's vector."""
    at = _outside(spec, params)
    assert spec.pooled_head is not None
    for index, dense in enumerate(spec.pooled_head.layers):
        role = f"dense_{index}"
        vector = at.linear(role, vector, dense.bias)
        if dense.activation is not None:
            vector = at.activated(dense.activation, vector)
        if dense.norm is not None:
            vector = at.normed(f"{role}_norm", vector, dense.norm)
    return vector


def mtp(
    spec: DecoderSpec, params: Params, next_ids: list[int], states: Array
) -> tuple[Array, Array]:
    """(rows, hidden) and (rows, vocabulary): what the MTP layer makes of the tokens that follow the
    rows, and of the rows' hidden states."""
    draft, outside = spec.draft, _outside(spec, params)
    assert isinstance(draft, MTPSpec)
    at, norm = outside.of(draft.tensors, index=len(spec.layers)), draft.norm
    embedded = outside.weight("embedding")[next_ids] * spec.embedding_scale
    pair = [
        at.normed("mtp_embedding_norm", embedded, norm),
        at.normed("mtp_hidden_norm", states, norm),
    ]
    x = _layer(at.of(LAYER_NORMS), at.linear("mtp_join", np.concatenate(pair, axis=1)), ())
    made = at.normed("mtp_norm", x, norm)
    return made, _logits(outside, made)


def medusa(spec: DecoderSpec, params: Params, states: Array) -> Array:
    """(rows, heads, vocabulary): the heads' logits. Those of tokens that they do not have are
    -inf."""
    draft = spec.draft
    assert isinstance(draft, MedusaSpec)
    at = _outside(spec, params).of(draft.tensors)
    made = np.full((len(states), draft.heads, spec.vocab_size), -np.inf)
    for head in range(draft.heads):
        x = states
        for block in range(draft.blocks):
            x = x + at.activated("silu", at.linear(f"head_{head}_block_{block}", x, bias=True))
        made[:, head, list(draft.tokens) or slice(None)] = at.linear(f"head_{head}", x)
    return made


def eagle(
    spec: DecoderSpec, params: Params, next_ids: list[int], states: Array
) -> tuple[Array, Array]:
    """As `mtp`, of an Eagle layer. `states`: of Eagle 3, after `eagle_fused`."""
    draft, outside = spec.draft, _outside(spec, params)
    assert isinstance(draft, EagleSpec)
    at = replace(outside, spec=draft.named(spec), tensors=draft.tensors)
    embedded = outside.weight("embedding")[next_ids] * spec.embedding_scale
    if not draft.chosen_layers:
        states = at.linear("eagle_fc", np.concatenate([embedded, states], axis=1), draft.bias)
    layer = at.of(LAYER_NORMS, index=len(spec.layers), inputs=embedded)
    x = _layer(layer, states, ())
    if not draft.chosen_layers:
        return x, _logits(outside, x)
    made = np.full((len(x), spec.vocab_size), -np.inf)
    normed = at.normed("eagle_norm", x, draft.layer.norm)
    made[:, list(draft.tokens) or slice(None)] = at.linear("eagle_head", normed)
    return x, made


def eagle_fused(spec: DecoderSpec, params: Params, states: Array) -> Array:
    """What an Eagle 3 layer reads of the chosen layers' states."""
    draft = spec.draft
    assert isinstance(draft, EagleSpec)
    at = replace(_outside(spec, params), spec=draft.named(spec), tensors=draft.tensors)
    return at.linear("eagle_fc", states, draft.bias)


def _outside(
    spec: DecoderSpec, params: Params, step: Mapping[str, Array] | None = None
) -> Reference:
    exact = {k: v.astype(np.float64) for k, v in params.items()}
    return Reference(spec, TENSORS, params=exact, step=step or {})


def each_layer(
    spec: DecoderSpec, params: Params, ids: list[int], states: Sequence[Array]
) -> Iterator[tuple[Array, Array]]:
    """Each layer by itself: the rows that it gets, and those that it makes of them. A layer gets
    the rows of `states` after the layer before, of another program. At the end: the rows after the
    last layer, and their logits. `params` are floats of any type, and each is read when a layer
    needs it."""
    at, x = _embedded(Reference(spec, TENSORS, params=params), ids, None)
    for index in range(len(spec.layers)):
        yield x, _layer(at.of(LAYER_NORMS, index=index), x, ())
        x = states[index]
    yield x, _logits(at, x if spec.norm is None else at.normed("norm", x, spec.norm))


def _states(at: Reference, ids: list[int], types: list[int] | None, off: Collection[str]) -> Array:
    """After the last norm."""
    spec = at.spec
    at, x = _embedded(at, ids, types)
    for index in range(len(spec.layers)):
        x = at.residuals[index] = _layer(at.of(LAYER_NORMS, index=index), x, off)
    return x if spec.norm is None else at.normed("norm", x, spec.norm)


def _embedded(at: Reference, ids: list[int], types: list[int] | None) -> tuple[Reference, Array]:
    """Before the first layer; and where the layers are then."""
    spec = at.spec
    x = at.weight("embedding")[ids] * spec.embedding_scale
    inputs = spec.layer_inputs
    if inputs is not None:
        at = at.of(inputs.tensors)
        at = at.of(TENSORS, inputs=inputs.reference(at, x, ids))
    if spec.positions:
        x = x + at.weight("positions")[: len(ids)]
    if spec.token_types:
        x = x + at.weight("token_types")[types or [0] * len(ids)]
    if spec.embedding_norm is not None:
        x = at.normed("embedding_norm", x, spec.embedding_norm)
    return at, x


def _layer(at: Reference, x: Array, off: Collection[str]) -> Array:
    assert at.index is not None
    layer = at.spec.layer(at.index)
    if layer.places in ("parallel", "parallel_two"):
        first, second = layer.halves
        given = at.normed(first.before, x, layer.norm)
        other = given if second.before is None else at.normed(second.before, x, layer.norm)
        return x + at.part(first.part, given) + at.part(second.part, other)
    halves = iter(layer.halves)
    for part in layer.parts:
        x = at.part(part, x) if part.norms is None else _half(at, next(halves), x, off)
    return x


def _half(at: Reference, half: Half, x: Array, off: Collection[str]) -> Array:
    assert at.index is not None
    layer = at.spec.layer(at.index)
    made = at.part(half.part, x if half.before is None else at.normed(half.before, x, layer.norm))
    if layer.places == "after_add":
        return at.normed(half.behind, x + made, layer.norm)
    if half.behind is not None and "post_norm" not in off:
        made = at.normed(half.behind, made, layer.norm)
    return x + made * layer.residual_scale


@dataclass(frozen=True, kw_only=True)
class Reference(Named):
    """Where a part stands, with the parameters, and arithmetic that parts share."""

    params: Params
    kept: dict[Any, Any] = field(default_factory=dict)  # what layers keep for later ones
    residuals: dict[int, Array] = field(default_factory=dict)  # after each layer
    step: Mapping[str, Array] = field(default_factory=dict)
    inputs: Array | None = None  # (rows, layers, width): what layers get of tokens besides

    def of(self, tensors: Mapping[str, Any], **changes: Any) -> Reference:
        return replace(self, tensors=tensors, **changes)

    def part(self, part: Any, x: Array) -> Array:
        made: Array = part.reference(self.of(part.tensors), x)
        return made

    def weight(self, role: str) -> Array:
        return self.params[f"{self.name(role)}.weight"]

    def bias(self, role: str) -> Array:
        return self.params[f"{self.name(role)}.bias"]

    def plain_weight(self, role: str) -> Array:
        """One whose name is not followed by ".weight"."""
        return self.params[self.name(role)]

    def linear(self, role: str, x: Array, bias: bool = False) -> Array:
        made = x @ self.weight(role).T
        return made + self.bias(role) if bias else made

    def normed(self, role: str | None, x: Array, norm: NormSpec) -> Array:
        """`role`: that of the weight, which some norms do not have, and of the bias."""
        if norm.kind == "layer":
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + norm.eps)
        if not role:
            return x
        x = x * self.params.get(f"{self.name(role)}.weight", 1.0)
        return x + self.bias(role) if norm.bias else x

    def activated(self, word: str, x: Array) -> Array:
        return _ACTIVATIONS[word](x)

    def gated(self, word: str, x: Array) -> Array:
        """`x`: what is activated, and beside it what it is multiplied with."""
        gate, up = np.split(x, 2, axis=1)
        if word == "clipped_swish":
            gate, up = np.minimum(gate, 7), np.clip(up, -7, 7) + 1
            return gate / (1 + np.exp(-1.702 * gate)) * up
        return self.activated(word, gate) * up

    def capped(self, x: Array, cap: float) -> Array:
        return cap * np.tanh(x / cap) if cap else x


def _gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "silu": lambda x: x / 2 * (1 + np.tanh(x / 2)),
    "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": _gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "tanh": np.tanh,
}
