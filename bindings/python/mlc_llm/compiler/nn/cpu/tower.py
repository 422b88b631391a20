"""What a tower needs of a CPU. A product does what follows it: the kernel adds the bias, applies
the activation or the factors, and adds the residual. Weights of 8 bits are multiplied by the strips
of texts, with rows of 7 bits where an instruction adds two products in 16 bits, as that of AVX2."""

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
from mlc_llm.compiler.kernels.cpu.integer import code_bits, doubles_words
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.kernels.cpu.patch_attention_words import WordHead
from mlc_llm.compiler.nn.interface import TowerKernels, TowerLayers
from mlc_llm.compiler.nn.tensors import num_rows, quantized, tensor

WEIGHT_BITS = 8  # if they are no floats


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
        matrix, unit = part.reader, nn.device.vectors
        codes = matrix.codes(code_bits(unit.dot, WEIGHT_BITS))
        name, make = "linear_panels", matrix.linear
        if codes is not None:
            codes = codes.on(unit.dot)
            x, name = quantized(nn, x, codes), "linear_integer"
            make = partial(matrix.linear_of_codes, codes)
        key = (codes, matrix.shape, matrix.kind, *options.values())
        vectors = [nn.param(name) for name in (added and added.name, scale) if name]
        given = [x, *nn.params_of(matrix), *vectors, residual]
        out = tensor(num_rows(x), matrix.shape[0])
        kernel = nn.kernel(name, key, partial(make, unit, **options))
        return nn.call(kernel, [one for one in given if one is not None], out)

    def attend(self, qkv: Any, views: Any, heads: int, dim: int, scale: float) -> Any:
        nn = self.nn
        unit, options = nn.device.vectors, {}
        if nn.scheme.tower and doubles_words(unit.dot):
            options["head"] = partial(WordHead, unit=unit.dot)
        tile = Tile(*unit.panel_tile)
        make = partial(patch_attention.patch_attention, heads, dim, scale, tile=tile, **options)
        kernel = nn.kernel("patch_attention", (heads, dim, scale), make)
        return nn.call(kernel, [qkv, views], tensor(num_rows(qkv), heads * dim))
