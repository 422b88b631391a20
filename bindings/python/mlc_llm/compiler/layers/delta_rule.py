"""The gated delta rule, as in Qwen 3.5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers import states
from mlc_llm.compiler.layers.states import sigmoid
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class DeltaRuleSpec(Mixer):
    """Recurrent: the gated delta rule, a state [key_dim, value_dim] for each of `heads`.

    The linear layer `in` computes queries, keys and values, which go through a convolution of
    `taps` rows and silu. It also computes the output gate z, beta and the time step of each head.
    For each head and each row, with keys and queries scaled to length 1:

        state = exp(decay * softplus(time_step + its bias)) * state
        state = state + outer(key, sigmoid(beta) * (value - key @ state))
        y = norm((query / sqrt(key_dim)) @ state) * silu(z)

    `heads // key_heads` heads share a query and a key: neighbours, or with `tiled` heads h and
    h + key_heads, and so on.
    """

    heads: int
    key_heads: int
    key_dim: int
    value_dim: int
    taps: int
    norm: NormSpec
    tiled: bool = False

    tensors = states.TENSORS

    @property
    def keys(self) -> int:
        """The width of all keys; the queries have the same width."""
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        """The width of all values."""
        return self.heads * self.value_dim

    @property
    def convolved(self) -> int:
        """The width of queries, keys and values together."""
        return 2 * self.keys + self.values

    def sharded(self, count: int) -> DeltaRuleSpec:
        heads = self.share_of(self.heads, count, "heads")
        return replace(self, heads=heads, key_heads=self.share_of(self.key_heads, count, "keys"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        pieces = (self.convolved, self.values, self.heads, self.heads)
        # a shard's heads have their keys on the same shard
        heads = (self.key_heads,) * (self.heads // self.key_heads) if self.tiled else (self.heads,)
        values = tuple(count * self.value_dim for count in heads)
        convolved = (self.keys, self.keys, *values)
        runs = (*convolved, *values, *heads, *heads)
        yield from at.linear("recurrent_in", pieces, at.hidden, runs=runs)
        yield from states.conv_parameters(at, self.taps, self.convolved, False, convolved)
        yield from [at.vector(role, self.heads, runs=heads) for role in ("decay", "time_step")]
        yield at.vector("recurrent_norm", self.value_dim)
        yield from at.linear("recurrent_out", (at.hidden,), self.values, runs=values)

    def build(self, nn: Builder, at: Place) -> _DeltaRule:
        return _DeltaRule(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """transformers' `torch_recurrent_gated_delta_rule`, and what is around it."""
        decay, bias = at.weight("decay"), at.weight("time_step")
        ends = np.cumsum([self.convolved, self.values, self.heads])
        qkv, z, beta, step = np.split(at.linear("recurrent_in", x), ends, axis=1)
        qkv = states.conv_reference(at, self.taps, qkv, False)
        q, k, v = np.split(qkv * sigmoid(qkv), [self.keys, 2 * self.keys], axis=1)
        owner, each = np.arange(self.heads), self.heads // self.key_heads
        owner = owner % self.key_heads if self.tiled else owner // each
        q, k = (t.reshape(len(x), -1, self.key_dim)[:, owner] for t in (q, k))
        q, k = (t / np.sqrt((t * t).sum(-1, keepdims=True) + 1e-6) for t in (q, k))
        kept, share = np.exp(decay * np.log1p(np.exp(step + bias))), sigmoid(beta)
        v = v.reshape(len(x), self.heads, self.value_dim)
        state, y = np.zeros((self.heads, self.key_dim, self.value_dim)), np.zeros_like(v)
        for n in range(len(x)):
            state = state * kept[n][:, None, None]
            change = (v[n] - np.einsum("hk,hkv->hv", k[n], state)) * share[n][:, None]
            state = state + np.einsum("hk,hv->hkv", k[n], change)
            y[n] = np.einsum("hk,hkv->hv", q[n] / np.sqrt(self.key_dim), state)
        y, z = at.normed("recurrent_norm", y, self.norm), z.reshape(y.shape)
        return at.linear("recurrent_out", (y * z * sigmoid(z)).reshape(len(x), -1))


class _DeltaRule:
    """A convolution, then the rule, then the gated norm."""

    def __init__(self, r: DeltaRuleSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import DeltaShape
        from mlc_llm.compiler.kernels.cpu import recurrence as on_cpu
        from mlc_llm.compiler.kernels.gpu import recurrence as on_gpu

        kernels = nn.of(on_cpu, on_gpu)
        self.nn, self.rule = nn, kernels.delta_rule
        self.weights = [f"{at.name(role)}.weight" for role in ("decay", "time_step")]
        decay, time_step = (nn.stored(weight).dtype for weight in self.weights)
        shape = DeltaShape(
            heads=r.heads,
            key_heads=r.key_heads,
            key_dim=r.key_dim,
            value_dim=r.value_dim,
            tiled=r.tiled,
            decay_dtype=decay,
            time_step_dtype=time_step,
        )
        sizes = {"width": r.convolved, "taps": r.taps, "columns": shape.columns}
        self.conv = states.Conv(nn, at, bias=False, is_gated=False, **sizes)
        self.states = states.Recurrence(nn, at, shape)
        key = (r.heads, r.value_dim, r.norm.eps, shape.columns, shape.convolved)
        self.norm = states.Norm(nn, at, "gated_norm", kernels.gated_norm, key)
        self.before = nn.linear(at.name("recurrent_in"), shape.columns, at.hidden)
        self.behind = nn.linear(at.name("recurrent_out"), at.hidden, shape.values)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        x = self.before(x)
        args = [self.conv(x, batch, memory), x, *map(self.nn.param, self.weights)]
        wide = self.states.shape.values
        made = self.states.run("delta_rule", self.rule, args, batch, memory, wide, x_dtype=x)
        return self.behind(self.norm(made, x), residual)
