"""The delta rule whose states decay channel by channel (KDA), as in Kimi Linear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers import states
from mlc_llm.compiler.layers.states import sigmoid
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class ChannelDeltaSpec(Mixer):
    """Recurrent: the delta rule, a state [dim, dim] for each of `heads`, whose rows decay apart.

    The linear layer `in` computes queries, keys and values, which go through a convolution of
    `taps` rows and silu. Two pairs of linear layers, `dim` numbers between them, compute the time
    steps of all keys' channels and the gates z. For each head and row, with keys and queries scaled
    to length 1:

        state = exp(decay * softplus(time_step + its bias))[:, None] * state
        state = state + outer(key, sigmoid(beta) * (value - key @ state))
        y = norm((query / sqrt(dim)) @ state) * sigmoid(z)
    """

    heads: int
    dim: int
    taps: int
    norm: NormSpec

    tensors = {
        **states.TENSORS,
        "beta": Tensor("linear_attn.b_proj"),
        "time_down": Tensor("linear_attn.f_a_proj"),
        "time_up": Tensor("linear_attn.f_b_proj"),
        "gate_down": Tensor("linear_attn.g_a_proj"),
        "gate_up_proj": Tensor("linear_attn.g_b_proj"),
    }

    @property
    def width(self) -> int:
        """The width of all queries, of all keys and of all values."""
        return self.heads * self.dim

    def sharded(self, count: int) -> ChannelDeltaSpec:
        return replace(self, heads=self.share_of(self.heads, count, "heads"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.linear("recurrent_in", (self.width,) * 3, at.hidden)
        yield at.parameter("recurrent_conv", "weight", (1, 1, 1), (self.taps, self.width))
        yield from at.linear("beta", (self.heads,), at.hidden, use="router")
        for down, up in _PAIRS:
            yield from at.linear(down, (self.dim,), at.hidden)
            yield from at.linear(up, (self.width,), self.dim)
        yield at.vector("decay", self.heads)
        yield at.vector("time_step", self.width)
        yield at.vector("recurrent_norm", self.dim)
        yield from at.linear("recurrent_out", (at.hidden,), self.width)

    def build(self, nn: Builder, at: Place) -> _ChannelDelta:
        return _ChannelDelta(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """transformers' `recurrent_kimi_delta_attention`, and what is around it."""
        made = np.split(at.linear("recurrent_in", x), 3, axis=1)
        weights = at.weight("recurrent_conv")  # (3, taps, width)
        made = [_convolved(*pair) for pair in zip(made, weights, strict=True)]
        q, k, v = (part.reshape(len(x), self.heads, self.dim) for part in made)
        q, k = (t / np.sqrt((t * t).sum(-1, keepdims=True) + 1e-6) for t in (q, k))
        time = at.linear("time_up", at.linear("time_down", x)) + at.weight("time_step")
        times = np.log1p(np.exp(time)).reshape(q.shape)
        kept, share = np.exp(at.weight("decay")[:, None] * times), sigmoid(at.linear("beta", x))
        state, y = np.zeros((self.heads, self.dim, self.dim)), np.zeros_like(v)
        for n in range(len(x)):
            state = state * kept[n][:, :, None]
            change = (v[n] - np.einsum("hk,hkv->hv", k[n], state)) * share[n][:, None]
            state = state + np.einsum("hk,hv->hkv", k[n], change)
            y[n] = np.einsum("hk,hkv->hv", q[n] / np.sqrt(self.dim), state)
        z = at.linear("gate_up_proj", at.linear("gate_down", x)).reshape(y.shape)
        y = at.normed("recurrent_norm", y, self.norm) * sigmoid(z)
        return at.linear("recurrent_out", y.reshape(len(x), -1))


_PAIRS = (("time_down", "time_up"), ("gate_down", "gate_up_proj"))


def _convolved(x: Array, weight: Array) -> Array:
    taps = len(weight)
    padded = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
    made = sum(padded[j : j + len(x)] * tap for j, tap in enumerate(weight))
    return np.asarray(made * sigmoid(made))


class _ChannelDelta:
    """A convolution and the time steps, then the rule, then the gated norm."""

    def __init__(self, r: ChannelDeltaSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import ChannelDeltaShape
        from mlc_llm.compiler.kernels.cpu import recurrence as on_cpu
        from mlc_llm.compiler.kernels.gpu import recurrence as on_gpu

        kernels = nn.of(on_cpu, on_gpu)
        self.nn, self.rule, self.kept = nn, kernels.channel_delta, kernels.channel_decay
        self.weights = [f"{at.name(role)}.weight" for role in ("decay", "time_step")]
        self.shape = ChannelDeltaShape(heads=r.heads, key_dim=r.dim, value_dim=r.dim)
        sizes = {"width": 3 * r.width, "taps": r.taps, "columns": 3 * r.width, "parts": 3}
        self.conv = states.Conv(nn, at, bias=False, is_gated=False, **sizes)
        self.states = states.Recurrence(nn, at, self.shape)
        key, make = (r.heads, r.dim, r.norm.eps, r.width, 0), kernels.gated_norm
        make = partial(make, activation="sigmoid")
        self.norm = states.Norm(nn, at, "gated_norm", make, key, "sigmoid")

        def linear(role: str, outs: int, ins: int) -> Any:
            return nn.linear(at.name(role), outs, ins)

        self.before = linear("recurrent_in", 3 * r.width, at.hidden)
        self.beta = linear("beta", r.heads, at.hidden)
        self.time = [linear("time_down", r.dim, at.hidden), linear("time_up", r.width, r.dim)]
        self.gate = [linear("gate_down", r.dim, at.hidden), linear("gate_up_proj", r.width, r.dim)]
        self.behind = linear("recurrent_out", at.hidden, r.width)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        nn = self.nn
        beta, time, gate = self.beta(x), self._both(self.time, x), self._both(self.gate, x)
        args = [self.conv(self.before(x), batch, memory), self._kept(time), beta]
        wide = self.shape.values
        made = self.states.run("channel_delta", self.rule, args, batch, memory, wide, x_dtype=beta)
        return self.behind(self.norm(made, nn.plain(gate)), residual)

    def _both(self, layers: list[Any], x: Any) -> Any:
        return layers[1](layers[0](x))

    def _kept(self, time: Any) -> Any:
        """By how much each row multiplies the states' rows."""
        nn, shape = self.nn, self.shape
        dtypes = [nn.stored(weight).dtype for weight in self.weights]
        types = nn.typed(x_dtype=time)
        make = partial(self.kept, shape.heads, shape.key_dim, *dtypes, **types)
        kernel = nn.kernel("channel_decay", (shape, *dtypes, *types.items()), make)
        args = [time, *map(nn.param, self.weights)]
        return nn.call(kernel, args, nn.rows(time, shape.keys))
