"""What a tower needs of a GPU. Its rows are float32 also where those of texts are float16: the
residual of some towers does not fit, and what is rounded adds up over all layers."""

from __future__ import annotations

from functools import partial
from typing import Any

from mlc_llm.compiler.kernels.gpu import (
    elementwise,
    patch_attention,
    patch_norms,
    patches,
    resampler,
    resized_table,
)
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
        width = nn.parts_of(f"{name}.weight")[-1].outputs.stop
        multiply = nn.linear(name, width, int(x.ty.shape[1]), bias=bias, adapts=False)
        if scale is not None:
            key = (width, nn.stored(scale).dtype)
            kernel = nn.kernel("add_scaled", key, partial(patch_norms.add_scaled, *key))
            made = multiply(x)
            return nn.call(kernel, [made, nn.param(scale), residual], made.ty)
        if activation is not None:
            return nn.activated(width, activation)(multiply(x))
        return multiply(x, residual=residual)

    def attend(self, qkv: Any, views: Any, heads: int, dim: int, scale: float) -> Any:
        nn, limits = self.nn, self.nn.device.tiles
        make = partial(patch_attention.patch_attention, heads, dim, scale, limits=limits)
        kernel = nn.kernel("patch_attention", (heads, dim, scale), make)
        return nn.call(kernel, [qkv, views], tensor(num_rows(qkv), heads * dim))
