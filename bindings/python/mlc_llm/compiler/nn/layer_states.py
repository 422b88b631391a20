"""The residual after chosen layers, which some drafters read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.cpu import rows as cpu_rows
from mlc_llm.compiler.kernels.gpu import rows as gpu_rows
from mlc_llm.compiler.nn.tensors import num_rows, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


def chosen_rows(nn: Builder, x: relax.Expr, size: int, wanted: Any) -> relax.Var:
    """(wanted rows of x, size)."""
    return LayerStates(nn, (0,), size, wanted).take(0, x)


class LayerStates:
    """(rows, layers * size): the wanted rows after each of the layers, side by side."""

    def __init__(self, nn: Builder, layers: tuple[int, ...], size: int, wanted: Any) -> None:
        self.nn, self.layers, self.size, self.wanted = nn, layers, size, wanted
        self.made: relax.Var | None = None  # None: no layer is chosen, or none of them was built

    def take(self, layer: int, x: relax.Expr) -> relax.Var | None:
        """x is the residual after that layer."""
        if layer not in self.layers or self.wanted is None:
            return self.made
        nn, total = self.nn, self.size * len(self.layers)
        key = (self.size, self.size * self.layers.index(layer), total)
        make = nn.of(cpu_rows, gpu_rows).take_rows
        kernel = nn.kernel("take_rows", key, partial(make, *key))
        args, out = [x, self.wanted], tensor(num_rows(self.wanted), total)
        if self.made is None:
            self.made = nn.call(kernel, args, out)
        else:
            self.made = nn.call_in_place(kernel, [*args, self.made], [len(args)], [out])
        return self.made
