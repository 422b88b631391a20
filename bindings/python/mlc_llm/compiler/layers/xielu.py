"""An MLP whose activation is learned: xIELU, as in Apertus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers.mlp import MLPSpec
from mlc_llm.compiler.spec.part import FeedForward, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class XIELUSpec(FeedForward):
    """down(xielu(up(x))), with a curve of four learned numbers: rise, fall, slope and start.

    Above 0 the curve is rise x^2 + slope x. Elsewhere it is
    (fall + slope) (exp(min(x, start)) - 1 - x) + slope x. (Huang and Schlag 2024, where the curve
    has the names alpha_p, alpha_n, beta and eps.)
    """

    width: int
    tensors = {role: MLPSpec.tensors[role] for role in ("up", "down")} | {
        "curve": Tensor("mlp.act_fn")
    }

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.linear("up", (self.width,), at.hidden)
        yield at.parameter("curve", "weight", (1, 1, 1, 1))
        yield from at.linear("down", (at.hidden,), self.width)

    def build(self, nn: Builder, at: Place) -> _XIELU:
        return _XIELU(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """transformers' `XIELUActivation`."""
        rise, fall, slope, start = at.weight("curve")
        x = at.linear("up", x)
        below = (fall + slope) * (np.expm1(np.minimum(x, start)) - x)
        made = np.where(x > 0, rise * x * x, below) + slope * x
        return at.linear("down", made)


class _XIELU:
    def __init__(self, r: XIELUSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.cpu import layer_norm as on_cpu
        from mlc_llm.compiler.kernels.gpu import layer_norm as on_gpu

        self.nn, self.width, self.make = nn, r.width, nn.of(on_cpu, on_gpu).curved
        self.curve = f"{at.name('curve')}.weight"
        self.up = nn.linear(at.name("up"), r.width, at.hidden)
        self.down = nn.linear(at.name("down"), at.hidden, r.width)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        nn, x = self.nn, self.up(x)
        types = nn.typed(x_dtype=x)
        key = (self.width, nn.stored(self.curve).dtype, *types.values())
        kernel = nn.kernel("curved", key, lambda: self.make(*key))
        out = nn.rows(x, self.width, dtype=types.get("x_dtype", "float32"))
        return self.down(nn.deferred(nn.call(kernel, [x, nn.param(self.curve)], out)), residual)
