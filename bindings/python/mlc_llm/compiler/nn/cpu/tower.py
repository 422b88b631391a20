"""What a tower needs of a CPU. A product does what follows it: the kernel of panels adds the bias,
applies the activation or the factors, and adds the residual."""

from __future__ import annotations

from functools import partial
from typing import Any

from mlc_llm.compiler.kernels.cpu import (
    elementwise,
    patch_attention,
    patch_norms,
    patches,
    resampler,
    resized_table,
)
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.nn.interface import TowerKernels, TowerLayers
from mlc_llm.compiler.nn.tensors import num_rows, tensor


class Tower(TowerLayers):
    kernels = TowerKernels.of(elementwise, patch_norms, patches, resampler, resized_table)

    def linear(
        self,
        name: str,
        x: Any,
        *,
        bias: bool,
        residual: Any = None,
        activation: str | None = None,
        scale: str | None = None,
    ) -> Any:
        nn = self.nn
        (part,) = nn.parts_of(f"{name}.weight")
        added = nn.stored(f"{name}.bias") if bias else None
        options = {
            "bias": added.dtype if added else None,
            "residual": residual is not None,
            "activation": activation,
            "scale": nn.stored(scale).dtype if scale else None,
        }
        matrix = part.reader
        key = (matrix.shape, matrix.kind, *options.values())
        make = partial(matrix.linear, nn.device.vectors, **options)
        vectors = [nn.param(name) for name in (added and added.name, scale) if name]
        given = [x, *nn.params_of(matrix), *vectors, residual]
        out = tensor(num_rows(x), matrix.shape[0])
        kernel = nn.kernel("linear_panels", key, make)
        return nn.call(kernel, [one for one in given if one is not None], out)

    def attend(self, qkv: Any, views: Any, heads: int, dim: int, scale: float) -> Any:
        nn = self.nn
        tile = Tile(*nn.device.vectors.panel_tile)
        make = partial(patch_attention.patch_attention, heads, dim, scale, tile=tile)
        kernel = nn.kernel("patch_attention", (heads, dim, scale), make)
        return nn.call(kernel, [qkv, views], tensor(num_rows(qkv), heads * dim))
