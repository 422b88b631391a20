"""The MLP of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.spec.decoder import Activation
from mlc_llm.compiler.spec.part import FeedForward, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class MLPSpec(FeedForward):
    """down(activation(gate(x)) * up(x)), or without a gate: down(activation(up(x))).

    "clipped_swish" is gpt-oss's: min(g, 7) * sigmoid(1.702 * min(g, 7)) * (clip(u, -7, 7) + 1).
    """

    width: int
    activation: Activation = "silu"
    bias: bool = False
    gated: bool = True
    tensors = {
        "gate_up": Tensor("mlp.gate_up_proj", "mlp.gate_proj mlp.up_proj", "ffn_gate ffn_up"),
        "up": Tensor("mlp.up_proj", gguf="ffn_up"),
        "down": Tensor("mlp.down_proj", gguf="ffn_down"),
    }

    def sharded(self, count: int) -> MLPSpec:
        return replace(self, width=self.share_of(self.width, count, "elements of an MLP"))

    def parameters(self, at: Place, prefix: str = "") -> Iterator[Parameter]:
        """`prefix`: of the roles, in a part that has an MLP within."""
        role, pieces = self._first(prefix)
        yield from at.linear(role, pieces, at.hidden, self.bias)
        yield from at.linear(f"{prefix}down", (at.hidden,), self.width, self.bias)

    def _first(self, prefix: str) -> tuple[str, tuple[int, ...]]:
        if self.gated:
            return f"{prefix}gate_up", (self.width, self.width)
        return f"{prefix}up", (self.width,)

    def build(self, nn: Builder, at: Place, prefix: str = "") -> _MLP:
        role, pieces = self._first(prefix)
        return _MLP(
            nn.linear(at.name(role), sum(pieces), at.hidden, bias=self.bias),
            (nn.gated if self.gated else nn.activated)(self.width, self.activation),
            nn.linear(at.name(f"{prefix}down"), at.hidden, self.width, bias=self.bias),
        )

    def reference(self, at: Reference, x: Array, prefix: str = "") -> Array:
        made = at.linear(self._first(prefix)[0], x, self.bias)
        made = (at.gated if self.gated else at.activated)(self.activation, made)
        return at.linear(f"{prefix}down", made, self.bias)


@dataclass(frozen=True)
class _MLP:
    up: Any
    activation: Any
    down: Any

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        return self.down(self.activation(self.up(x)), residual)
