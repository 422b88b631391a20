"""Reads weights of NVFP4: 4-bit floats (e2m1), an 8-bit float (e4m3) for each 16 inputs, and one
float32 for the tensor.

    compressed-tensors  weight_packed uint8 [out, in / 2], weight_scale float8_e4m3fn
                        [out, in / 16], weight_global_scale float32 [1]:
                        value * (weight_scale / weight_global_scale)
    modelopt            weight uint8 [out, in / 2], weight_scale float8_e4m3fn [out, in / 16],
                        weight_scale_2 float32 []: value * (weight_scale * weight_scale_2)

The low half of a byte comes first. Facts: vllm-project/compressed-tensors,
compressors/quantized_compressors/nvfp4_quantized.py; NVIDIA/TensorRT-Model-Optimizer,
quantization/qtensor/nvfp4_tensor.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlc_llm.compiler.convert.source import Array, TensorInfo, wrong_tensor
from mlc_llm.compiler.quantization.gguf.nvfp4 import E2M1, NVFP4_GROUP, wide_rows

if TYPE_CHECKING:
    from mlc_llm.compiler.convert.hf_quantized import Repository

TYPE = "NVFP4"
_FORMAT = "nvfp4-pack-quantized"
_SHARED = ("weight_global_scale", "weight_scale_2")


@dataclass(frozen=True)
class NVFP4Weight:
    repository: Repository
    info: TensorInfo
    packed: str
    scale: str
    shared: str  # the tensor with the one float32
    divides: bool  # whether the scales are divided by it

    def rows(self, start: int, stop: int) -> Array:
        scales, shared = self._scales(start, stop).astype(np.float32), self._shared()
        with np.errstate(all="ignore"):  # the converter checks for infinities
            scales = (scales / shared if self.divides else scales * shared)[..., None]
        values = E2M1[self._codes(start, stop)].reshape(*scales.shape[:2], NVFP4_GROUP)
        return (values * scales).reshape(stop - start, -1)

    def blocks(self, start: int, stop: int) -> Array:
        """The same in the form that a scheme keeps."""
        with np.errstate(all="ignore"):
            factor = np.float32(1) / self._shared() if self.divides else self._shared()
        return wide_rows(self._scales(start, stop), self._codes(start, stop), factor)

    def _codes(self, start: int, stop: int) -> Array:
        packed = self.repository.read(self.packed, start, stop)
        return np.stack([packed & 15, packed >> 4], axis=-1).reshape(stop - start, -1)

    def _scales(self, start: int, stop: int) -> Array:
        return self.repository.read(self.scale, start, stop)

    def _shared(self) -> Array:
        return self.repository.read(self.shared).astype(np.float32).reshape(())


def nvfp4_weights(repository: Repository) -> list[NVFP4Weight]:
    """The weights of all modules in either form."""
    packed = {m: "weight_packed" for m in repository.modules("weight_packed")}
    packed |= {m: "weight" for m in repository.modules("weight_scale_2")}
    return [
        _weight(repository, module, f"{module}.{suffix}")
        for module, suffix in packed.items()
        if _is_nvfp4(repository, module, suffix)
    ]


def _is_nvfp4(repository: Repository, module: str, suffix: str) -> bool:
    found = repository.find(f"{module}.{suffix}")
    if found is None or found.dtype != "U8":
        return False
    says_so = repository.config.get("format") == _FORMAT  # of one that mixes formats it does not
    return says_so or repository.find(*(f"{module}.{name}" for name in _SHARED)) is not None


def _weight(repository: Repository, module: str, packed: str) -> NVFP4Weight:
    shape = repository.tensors[packed].shape
    if len(shape) != 2 or not math.prod(shape) or shape[1] % (NVFP4_GROUP // 2):
        raise wrong_tensor(
            packed,
            f"has shape {list(shape)}; codes of NVFP4 are [outputs, inputs / 2], for a multiple of "
            f"{NVFP4_GROUP} inputs",
        )
    outs, ins = shape[0], shape[1] * 2
    divides = packed.endswith("_packed")
    shared = f"{module}.{_SHARED[0 if divides else 1]}"
    repository.need(f"{module}.weight_scale", (outs, ins // NVFP4_GROUP), "F8_E4M3")
    found = repository.find(shared)
    whole = () if found is not None and not found.shape else (1,)
    repository.need(shared, whole, "F32")
    info = TensorInfo(f"{module}.weight", (outs, ins), TYPE)
    return NVFP4Weight(repository, info, packed, f"{module}.weight_scale", shared, divides)
