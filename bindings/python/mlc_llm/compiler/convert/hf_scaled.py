"""Reads the weights of 8 bits of a Hugging Face repository, whose scales are floats.

    weight                          float8 or int8 [out, in]
    weight_scale, weight_scale_inv  a factor for the tensor, a row, a group of inputs or a block
    weight_zero_point               of the same shape; subtracted from the codes
    SCB                             bitsandbytes: 127 times the factor of a row

Facts: DeepSeek-V3's README_WEIGHTS.md, neuralmagic/compressed-tensors, bitsandbytes-foundation/
bitsandbytes (functional.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.convert.source import Array, TensorInfo, wrong_tensor
from mlc_llm.compiler.quantization.fp8_blocks import BLOCK, blocks_of
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.errors import CorruptFileError

if TYPE_CHECKING:
    from mlc_llm.compiler.convert.hf_quantized import Repository

_FLOAT8 = ("F8_E4M3", "F8_E5M2")
_INT8_RANGE = np.float32(127)


@dataclass(frozen=True)
class ScaledWeight:
    repository: Repository
    info: TensorInfo
    scale: str
    zero: str | None
    block: tuple[int, int]
    factor: np.float32  # for all scales

    def rows(self, start: int, stop: int) -> Array:
        values = self.repository.read(self.info.name, start, stop).astype(np.float32)
        if self.zero is not None:
            values -= self._spread(self.zero, start, stop)
        return values * (self._spread(self.scale, start, stop) * self.factor)

    @property
    def in_blocks(self) -> bool:
        """Whether it is e4m3 with a scale for each block of 128 x 128, or one scale."""
        (outs, ins), scale = self.info.shape, self.repository.tensors[self.scale].shape
        if self.repository.tensors[self.info.name].dtype != "F8_E4M3" or self.zero is not None:
            return False
        blocks = blocks_of((outs, ins))
        by_blocks = self.block == (BLOCK, BLOCK) and scale == blocks and outs != blocks[0]
        return math.prod(scale) == 1 or by_blocks

    def part(self) -> Float8Part:
        """The weight, unchanged."""
        read, module = self.repository.read, self.info.name.removesuffix(".weight")
        scales = read(self.scale).astype(np.float32)
        named = self.repository.find(f"{module}.activation_scale", f"{module}.input_scale")
        return Float8Part(
            self.info.name,
            read(self.info.name),
            scales.reshape(1, 1) if scales.size == 1 else scales,
            None if named is None else read(named.name).astype(np.float32),
        )

    def _spread(self, name: str, start: int, stop: int) -> Array:
        """The scale (or zero point) of each weight in the rows; its shape may need broadcasting."""
        outs, ins = self.info.shape
        scale = self.repository.read(name).astype(np.float32)
        if scale.size == 1:
            return scale.reshape(1, 1)
        scale = scale.reshape(len(scale), -1)
        if len(scale) == outs:
            return np.repeat(scale[start:stop], ins // scale.shape[1], axis=1)
        high, wide = min(self.block[0], outs), min(self.block[1], ins)
        return np.repeat(scale[np.arange(start, stop) // high], wide, axis=1)[:, :ins]


def scaled_weights(repository: Repository) -> list[Any]:
    """The weights of all modules whose codes have 8 bits."""
    found: list[ScaledWeight] = []
    for module in repository.modules("weight"):
        name = f"{module}.weight"
        info = repository.tensors[name]
        if info.dtype not in (*_FLOAT8, "I8"):
            continue
        scale = repository.find(
            f"{module}.weight_scale_inv", f"{module}.weight_scale", f"{module}.SCB"
        )
        if scale is None or len(info.shape) != 2:
            raise wrong_tensor(
                name, f"is {info.dtype} {list(info.shape)} and has no weight_scale beside it"
            )
        zero = repository.find(f"{module}.weight_zero_point")
        block = _block(repository.config)
        for tensor in (scale, zero):
            if tensor is not None:
                _check_scale(tensor, info.shape, block)
        factor = np.float32(1) / _INT8_RANGE if scale.name.endswith(".SCB") else np.float32(1)
        weight = TensorInfo(name, info.shape, "F32")
        named = None if zero is None else zero.name
        found.append(ScaledWeight(repository, weight, scale.name, named, block, factor))
    return found


def _block(config: Mapping[str, Any]) -> tuple[int, int]:
    """The size of a block of weights that share a scale: (outputs, inputs)."""
    groups = _object(config.get("config_groups")).values()
    weights = [_object(_object(group).get("weights")) for group in groups]
    named = [config.get("weight_block_size"), *(w.get("block_structure") for w in weights)]
    block = next((b for b in named if b is not None), [128, 128])
    if not isinstance(block, list) or len(block) != 2 or not all(_is_size(b) for b in block):
        raise CorruptFileError(
            f"quantization_config: weight_block_size is {block}; it must be two sizes",
            param="quantization_config",
        )
    return block[0], block[1]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def _check_scale(scale: TensorInfo, shape: tuple[int, ...], block: tuple[int, int]) -> None:
    (outs, ins), found = shape, scale.shape
    blocks = (-(-outs // block[0]), -(-ins // block[1]))
    by_rows = found == (outs,) or (len(found) == 2 and found[0] == outs and _divides(found[1], ins))
    if math.prod(found) != 1 and not by_rows and found != blocks:
        raise wrong_tensor(
            scale.name,
            f"has shape {list(found)}; a weight of shape {list(shape)} has one scale, one a row or "
            f"a group of inputs, or {list(blocks)}",
        )


def _divides(count: int, whole: int) -> bool:
    return count > 0 and whole % count == 0


def float8_blocks(weights: Mapping[str, Any]) -> dict[str, ScaledWeight]:
    """Those that a scheme of 8-bit floats in blocks can keep."""
    found = {n: w for n, w in weights.items() if isinstance(w, ScaledWeight)}
    return {name: weight for name, weight in found.items() if weight.in_blocks}
