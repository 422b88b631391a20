"""Weights as 8-bit floats with one scale for each block of 128 x 128: MLC-LLM's
`fp8_e4m3fn_bf16_block_scale` and `fp8_e4m3fn_bf16_block_scale_static_activation`.

    weight            float8_e4m3fn [out, in]
    weight_scale_inv  float32 [ceil(out / 128), ceil(in / 128)]; despite its name a factor
    activation_scale  float32 [ceil(in / 128)], of activations; only of `_static_activation`, and
                      not of experts

A weight is `weight * weight_scale_inv`. Linear layers and experts are stored in this form;
embedding tables, the output head and routers stay plain. FP8 repositories of Hugging Face with such
blocks (DeepSeek's) are kept bit for bit, and those with one scale for a tensor too: it is repeated.
Floats are quantized: the scale is `max(max|w|, 1e-10) / 448`. Here activations are floats, so
`activation_scale` is kept (or written as 1) and never read. (Facts: mlc-ai/mlc-llm,
quantization/block_scale_quantization.py and model/ministral3/ministral3_loader.py.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.quantization import rounding
from mlc_llm.compiler.quantization.fp8 import E4M3, as_words
from mlc_llm.compiler.quantization.pack import for_blocks, out_of_range
from mlc_llm.compiler.quantization.plain import PlainMatrix
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.compiler.quantization.scheme import Matrix, Scheme, WeightRows
from mlc_llm.compiler.quantization.stored import Float8Part, StoredParam, WeightUse
from mlc_llm.errors import CorruptFileError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]
BLOCK = 128
_NAN = 0x7F


def blocks_of(shape: tuple[int, int]) -> tuple[int, int]:
    """The number of blocks along the outputs and the inputs."""
    return -(-shape[0] // BLOCK), -(-shape[1] // BLOCK)


@dataclass(frozen=True)
class BlockFloat8Matrix:
    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    granule: int = BLOCK
    inputs_together: int = BLOCK

    @classmethod
    def of(cls, module: str, shape: tuple[int, int], *, static: bool) -> BlockFloat8Matrix:
        blocks = blocks_of(shape)
        stored = [
            StoredParam(f"{module}.weight", shape, E4M3.dtype),
            StoredParam(f"{module}.weight_scale_inv", blocks, "float32"),
        ]
        if static:
            stored.append(StoredParam(f"{module}.activation_scale", blocks[1:], "float32"))
        return cls(shape, tuple(stored))

    def cut(self, outputs: range) -> BlockFloat8Matrix:
        weight, scale, *others = self.stored
        blocks = range(outputs.start // BLOCK, -(-outputs.stop // BLOCK))
        stored = (weight.part(outputs), scale.part(blocks), *others)
        return replace(self, shape=(len(outputs), self.shape[1]), stored=stored)

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        kept = rows.float8_parts()
        codes, scales = _stacked(rows.name, kept) if kept else self._quantized(rows, outputs)
        assert codes.shape == self.shape and scales.shape == blocks_of(self.shape), rows.name
        if len(self.stored) == 2:
            return [[codes], [scales]]
        return [[codes], [scales], [_activation_scale(self.stored[2], kept)]]

    def _quantized(self, rows: WeightRows, outputs: range) -> tuple[Array, Array]:
        """Codes and scales of floats, rounded to bfloat16 first as a model of that type has
        them."""
        codes = np.empty(self.shape, numpy_dtype(E4M3.dtype))
        scales = np.empty(blocks_of(self.shape), np.float32)

        def quantize(start: int, block: Array) -> None:
            high = slice(start // BLOCK, -(-(start + len(block)) // BLOCK))
            here = codes[start : start + len(block)]
            rounding.float8_block_codes(block, E4M3.dtype, here, scales[high])

        for_blocks(rows.floats(outputs), quantize, rows=self.shape[0], together=BLOCK)
        if not rounding.is_finite(scales):
            raise out_of_range(rows.name, "bfloat16")
        return codes, scales

    def floats(self, arrays: Sequence[Array]) -> Array:
        codes = arrays[0].reshape(self.shape).astype(np.float32)
        scales = arrays[1].reshape(blocks_of(self.shape))
        wide = np.repeat(np.repeat(scales, BLOCK, axis=0), BLOCK, axis=1)
        return codes * wide[: self.shape[0], : self.shape[1]]

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import matrices, weights

        stored = (self.stored[0].seen_as("uint8"), self.stored[1])
        rows = weights.BlockFloat8Rows(stored, E4M3, block=BLOCK)
        return matrices.FloatMatrix(rows, self.shape)

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        stored = (as_words(self.stored[0], self.shape[1]), self.stored[1])
        return packs.BlockFloat8Packs(stored, self.shape[1], E4M3, BLOCK)


def _stacked(name: str, parts: Sequence[Float8Part]) -> tuple[Array, Array]:
    """The codes and scales of all parts, unchanged."""
    for number, part in enumerate(parts):
        if len(part.codes) % BLOCK and number + 1 < len(parts):
            raise UnsupportedError(
                f"tensor {part.name} has {len(part.codes)} outputs, so that its blocks of {BLOCK} "
                f"cannot be kept where others follow it in {name}; choose another --quantization, "
                "such as q8f32_1",
                param=part.name,
            )
        if (part.codes.view(np.uint8) & _NAN == _NAN).any() or not np.isfinite(part.scales).all():
            raise CorruptFileError(
                f"tensor {part.name} or its scales hold NaN or infinite values", param=part.name
            )
    scales = [np.broadcast_to(part.scales, blocks_of(part.codes.shape)) for part in parts]
    codes = [part.codes for part in parts]
    return np.concatenate(codes), np.concatenate(scales).astype(np.float32)


def _activation_scale(param: StoredParam, parts: Sequence[Float8Part] | None) -> Array:
    """The largest of the parts, which have one input, or 1."""
    found = [part.activation_scale for part in parts or () if part.activation_scale is not None]
    if not found:
        return np.ones(param.shape, np.float32)
    if any(scale.shape not in ((), (1,), param.shape) for scale in found):
        raise CorruptFileError(
            f"tensor {param.name} is made of {[list(scale.shape) for scale in found]}; one number "
            f"or {list(param.shape)} can be read",
            param=param.name,
        )
    largest = np.max([np.broadcast_to(scale, param.shape) for scale in found], axis=0)
    if not np.isfinite(largest).all():
        raise CorruptFileError(
            f"tensor {param.name} holds NaN or infinite values", param=param.name
        )
    return largest.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class BlockFloat8Scheme(Scheme):
    name: str
    static: bool = False
    model_dtype: str = "bfloat16"

    @property
    def keeps_float8(self) -> bool:
        return True

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> list[Matrix]:
        if use not in ("linear", "experts"):
            return [PlainMatrix.of(name, shape, self.model_dtype)]
        module = name.removesuffix(".weight")
        static = self.static and use != "experts"
        return [BlockFloat8Matrix.of(module, shape, static=static)]
