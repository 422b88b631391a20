"""A mixture of experts: a router gives each row to some of many MLPs.

    MoESpec(router=RouterSpec(experts=128, chosen=8), width=768)

The router is a linear layer with one output (a logit) for each expert. `RouterSpec` says how logits
become choices and weights. All experts have the same shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlc_llm.compiler.layers.mlp import MLPSpec
from mlc_llm.compiler.spec.decoder import Activation
from mlc_llm.compiler.spec.part import FeedForward, Place, no_shards
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

# How logits become scores. "chosen": the softmax is over the chosen logits only. "sparsemixer": an
# expert's score is its softmax among those experts that are not chosen before it and whose logits
# are less by at most 2 * `jitter` of the larger magnitude.
Scores = Literal["softmax", "sigmoid", "chosen", "sparsemixer"]


@dataclass(frozen=True, kw_only=True)
class RouterSpec:
    """Chooses the `chosen` experts with the largest scores. Of equal ones it chooses the first.

    With `correction` the choice is by score + a learned value of the expert; the weight is still
    the score. With `groups` only experts of the best `chosen_groups` groups can be chosen; a group
    counts as much as its two best experts together (`group_best` of them).
    """

    experts: int
    chosen: int
    scores: Scores = "softmax"
    jitter: float = 0.0  # of "sparsemixer"
    bias: bool = False  # of the linear layer
    correction: bool = False
    groups: int = 1
    chosen_groups: int = 1
    group_best: int = 2
    normalize: bool = False  # divide the chosen weights by their sum
    scaled: bool = False  # at the end, multiply each expert's weight by a learned number
    factor: float = 1.0  # on the weights, at the end
    scales_input: bool = False  # an expert's input is multiplied by its weight, not its result

    def __post_init__(self) -> None:
        assert 0 < self.chosen <= self.experts, self
        assert self.experts % self.groups == 0 and self.chosen_groups <= self.groups, self


@dataclass(frozen=True, kw_only=True)
class MoESpec(FeedForward):
    """The sum of the chosen experts' results, each times its weight. An expert is
    down(activation(gate(x)) * up(x)), or without a gate down(activation(up(x))).

    `shared_width`: the width of an MLP that every row goes through as well; 0: none. With
    `shared_gate` its result is multiplied by sigmoid(a linear layer with one output). `apart`: the
    router, the experts and that MLP have norms of their own, of the layer's kind:

        shared_norm(shared(mlp_norm(x))) + post_experts_norm(experts(experts_norm(x)))
    """

    router: RouterSpec
    width: int
    activation: Activation = "silu"
    gated: bool = True  # each expert, and the MLP that every row goes through
    bias: bool = False  # of each expert's linear layers
    shared_width: int = 0
    shared_gate: bool = False
    apart: bool = False

    tensors = {
        "router": Tensor("mlp.gate", gguf="ffn_gate_inp"),
        "correction": Tensor("mlp.e_score_correction_bias", gguf="exp_probs_b"),
        "experts_gate_up": Tensor(
            "mlp.moe_gate_up_proj",
            "mlp.experts.{}.gate_proj mlp.experts.{}.up_proj",
            "ffn_gate_exps ffn_up_exps",
        ),
        "experts_up": Tensor("mlp.moe_up_proj", "mlp.experts.{}.up_proj", "ffn_up_exps"),
        "experts_down": Tensor("mlp.moe_down_proj", "mlp.experts.{}.down_proj", "ffn_down_exps"),
        "shared_gate_up": Tensor(
            "mlp.shared_expert.gate_up_proj",
            "mlp.shared_expert.gate_proj mlp.shared_expert.up_proj",
            "ffn_gate_shexp ffn_up_shexp",
        ),
        "shared_up": Tensor("mlp.shared_expert.up_proj", gguf="ffn_up_shexp"),
        "shared_down": Tensor("mlp.shared_expert.down_proj", gguf="ffn_down_shexp"),
        "shared_gate": Tensor("mlp.shared_expert_gate", gguf="ffn_gate_inp_shexp"),
        "expert_scale": Tensor("router.per_expert_scale"),
        "mlp_norm": Tensor("post_attention_layernorm", gguf="ffn_norm", norm=True),
        "router_norm": Tensor("router.norm", norm=True),
        "experts_norm": Tensor("pre_feedforward_layernorm_2", norm=True),
        "post_shared_norm": Tensor("post_feedforward_layernorm_1", norm=True),
        "post_experts_norm": Tensor("post_feedforward_layernorm_2", norm=True),
    }

    def __post_init__(self) -> None:
        assert not self.apart or (self.shared_width and not self.shared_gate), self
        assert self.gated or not self.router.scales_input, self

    @property
    def has_own_norm(self) -> bool:
        return self.apart

    @property
    def shared(self) -> MLPSpec | None:
        """The MLP that every row goes through as well."""
        wide = self.shared_width
        if not wide:
            return None
        return MLPSpec(width=wide, activation=self.activation, gated=self.gated)

    @property
    def first(self) -> tuple[str, tuple[int, ...]]:
        """The role of the experts' first linear layer, and its pieces."""
        if self.gated:
            return "experts_gate_up", (self.width, self.width)
        return "experts_up", (self.width,)

    def sharded(self, count: int) -> MoESpec:
        if self.apart:
            raise no_shards("experts with norms of their own")
        width = self.share_of(self.width, count, "elements of an expert")
        shared = self.share_of(self.shared_width, count, "elements of the shared expert")
        return replace(self, width=width, shared_width=shared)

    def parameters(self, at: Place) -> Iterator[Parameter]:
        router, wide, count = self.router, self.width, self.router.experts
        yield from at.linear("router", (count,), at.hidden, router.bias, use="router")
        if router.correction:
            yield at.plain("correction", count)
        for role, pieces, ins in (
            (*self.first, at.hidden),
            ("experts_down", (at.hidden,), wide),
        ):
            yield from at.linear(role, pieces, ins, self.bias, use="experts", experts=count)
        if self.shared is not None:
            yield from self.shared.parameters(at, "shared_")
        if self.shared_gate:
            yield from at.linear("shared_gate", (1,), at.hidden, use="router")
        for role in _APART if self.apart else ():
            yield at.vector(role, at.hidden)
        if router.scaled:
            yield at.plain("expert_scale", count)

    def build(self, nn: Builder, at: Place) -> _Experts:
        return (_ApartExperts if self.apart else _Experts)(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        if not self.apart:
            return self._chosen(at, x, at.linear("router", x, self.router.bias)) + self._every(
                at, x
            )
        norms = {role: at.normed(role, x, at.norm_spec) for role in _APART[:3]}
        given, routed = norms["experts_norm"], at.linear("router", norms["router_norm"])
        made = at.normed("post_experts_norm", self._chosen(at, given, routed), at.norm_spec)
        shared = self._every(at, norms["mlp_norm"])
        return at.normed("post_shared_norm", shared, at.norm_spec) + made

    def _every(self, at: Reference, x: Array) -> Array:
        """What the MLP makes that every row goes through."""
        if self.shared is None:
            return np.zeros_like(x)
        made = self.shared.reference(at, x, "shared_")
        return made / (1 + np.exp(-at.linear("shared_gate", x))) if self.shared_gate else made

    def _chosen(self, at: Reference, x: Array, logits: Array) -> Array:
        router = self.router
        shares = _shares(router, logits, at.plain_weight("correction") if router.correction else 0)
        if router.scaled:
            shares = shares * at.plain_weight("expert_scale")
        made = np.zeros_like(x)
        for i in range(router.experts):
            share = shares[:, i : i + 1]
            if router.scales_input:
                made += (share > 0) * self._expert(at, i, x * share)
            else:
                made += share * self._expert(at, i, x)
        return made

    def _expert(self, at: Reference, i: int, x: Array) -> Array:
        def linear(role: str, x: Array) -> Array:
            made = x @ at.weight(role)[i].T
            return made + at.bias(role)[i] if self.bias else made

        made = linear(self.first[0], x)
        made = (at.gated if self.gated else at.activated)(self.activation, made)
        return linear("experts_down", made)


_APART = ("mlp_norm", "router_norm", "experts_norm", "post_shared_norm", "post_experts_norm")


class _Experts:
    """A mixture of experts, and the MLP that every row goes through if there is one."""

    def __init__(self, moe: MoESpec, nn: Builder, at: Place) -> None:
        experts = moe.router.experts
        self.router = nn.linear(at.name("router"), experts, at.hidden, bias=moe.router.bias)
        self.experts = nn.experts(moe, at.hidden, at.name)
        self.shared = None if moe.shared is None else moe.shared.build(nn, at, "shared_")
        self.share = nn.linear(at.name("shared_gate"), 1, at.hidden) if moe.shared_gate else None

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        if self.shared is None:
            return self.experts(x, self.router(x), residual)
        if self.share is None:
            made = self.experts(x, self.router(x), residual)
            return self.shared(x, batch, memory, residual=made)
        shared = (self.shared(x, batch, memory), self.share(x))
        return self.experts(x, self.router(x), residual, shared=shared)


class _ApartExperts(_Experts):
    """Experts beside an MLP, both with norms of their own."""

    def __init__(self, moe: MoESpec, nn: Builder, at: Place) -> None:
        super().__init__(moe, nn, at)
        self.norms = {role: nn.norm(at.name(role), at.hidden, at.norm_spec) for role in _APART}

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        norms = self.norms
        shared = self.shared(norms["mlp_norm"](x), batch, memory)
        shared = norms["post_shared_norm"](shared)
        made = self.experts(norms["experts_norm"](x), self.router(norms["router_norm"](x)))
        return norms["post_experts_norm"].add(made, residual=shared)


def _shares(router: RouterSpec, logits: Array, correction: Array | float) -> Array:
    """(rows, experts): the weight of each expert, 0 for those that are not chosen."""
    if router.scores == "sparsemixer":
        return _sparsemixer(router, logits)
    made = {"softmax": _softmax, "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
    scores = made.get(router.scores, lambda x: x)(logits)
    ranks = scores + correction
    if router.groups > 1:
        groups = ranks.reshape(len(ranks), router.groups, -1)
        values = np.sort(groups, axis=-1)[..., -router.group_best :].sum(-1)
        kept = _best(values, router.chosen_groups)
        ranks = np.where(kept[..., None], groups, -np.inf).reshape(ranks.shape)
    chosen = _best(ranks, router.chosen)
    if router.scores == "chosen":
        return _softmax(np.where(chosen, scores, -np.inf)) * router.factor
    shares = np.where(chosen, scores, 0.0)
    return shares / (shares.sum(-1, keepdims=True) if router.normalize else 1) * router.factor


def _sparsemixer(router: RouterSpec, logits: Array) -> Array:
    """Expert by expert, as transformers' function of this name does without training."""
    shares, left = np.zeros_like(logits), logits.copy()
    for row in range(len(logits)):
        for _ in range(router.chosen):
            best = int(left[row].argmax())
            top = left[row, best]
            apart = (top - logits[row]) / np.maximum(np.abs(logits[row]), top)
            near = np.where(apart > 2 * router.jitter, -np.inf, left[row])
            shares[row, best] = 1 / np.exp(near - top).sum()
            left[row, best] = -np.inf
    return shares


def _best(values: Array, count: int) -> Array:
    order = np.argsort(-values, axis=-1, kind="stable")[:, :count]
    found = np.zeros(values.shape, bool)
    np.put_along_axis(found, order, True, axis=-1)
    return found


def _softmax(x: Array) -> Array:
    power = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(power / power.sum(-1, keepdims=True))
