"""Short convolutions, as in LFM2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.layers import states
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class ShortConvSpec(Mixer):
    """Recurrent: out(c * conv(b * x)). The linear layer `in` computes b, c and x, `width` channels
    each.

    For each channel, conv is the weighted sum of the last `taps` rows. The state holds the rows
    that the next row needs.
    """

    width: int
    taps: int
    bias: bool = False  # whether `in`, the convolution and `out` have a bias
    tensors = states.TENSORS

    def sharded(self, count: int) -> ShortConvSpec:
        return replace(self, width=self.share_of(self.width, count, "channels"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        runs = (self.width,) * 3
        yield from at.linear("recurrent_in", (sum(runs),), at.hidden, self.bias, runs=runs)
        yield from states.conv_parameters(at, self.taps, self.width, self.bias)
        yield from at.linear("recurrent_out", (at.hidden,), self.width, self.bias)

    def build(self, nn: Builder, at: Place) -> _ShortConv:
        return _ShortConv(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        before, behind, x = np.split(at.linear("recurrent_in", x, self.bias), 3, axis=1)
        made = behind * states.conv_reference(at, self.taps, before * x, self.bias)
        return at.linear("recurrent_out", made, self.bias)


class _ShortConv:
    def __init__(self, r: ShortConvSpec, nn: Builder, at: Place) -> None:
        ins, sizes = 3 * r.width, {"width": r.width, "taps": r.taps}
        self.conv = states.Conv(nn, at, bias=r.bias, is_gated=True, columns=ins, **sizes)
        self.before = nn.linear(at.name("recurrent_in"), ins, at.hidden, bias=r.bias)
        self.behind = nn.linear(at.name("recurrent_out"), at.hidden, r.width, bias=r.bias)

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        return self.behind(self.conv(self.before(x), batch, memory), residual)
