"""Reads gpt-oss's experts, which its repositories store as MXFP4, as floats.

    NAME_blocks   uint8 [experts, outputs, inputs / 32, 16]: the low half of a byte comes first
    NAME_scales   uint8 [experts, outputs, inputs / 32]: powers of two, 2 ** (scale - 127)

The floats have the shape that the model has without quantization: NAME [experts, inputs, outputs].
Facts: huggingface/transformers, integrations/mxfp4.py, `convert_moe_packed_tensors`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.convert.source import Array, TensorInfo
from mlc_llm.errors import CorruptFileError

if TYPE_CHECKING:
    from mlc_llm.compiler.convert.hf_quantized import Repository

GROUP = 32
_HALF = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_VALUES = np.concatenate([_HALF, -_HALF])


@dataclass(frozen=True)
class _MXFP4Weight:
    repository: Repository
    info: TensorInfo

    def rows(self, start: int, stop: int) -> Array:
        """Experts [start, stop)."""
        read, name = self.repository.read, self.info.name
        blocks, scales = (read(f"{name}_{kind}", start, stop) for kind in ("blocks", "scales"))
        codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*scales.shape, GROUP)
        values = np.ldexp(_VALUES[codes], scales.astype(np.int32)[..., None] - 127)
        return np.ascontiguousarray(values.reshape(*scales.shape[:2], -1).swapaxes(1, 2))


def mxfp4_weights(repository: Repository) -> list[Any]:
    """The weights of all modules that have blocks."""
    ending = "_blocks"
    found = []
    for name in (n.removesuffix(ending) for n in repository.tensors if n.endswith(ending)):
        shape = repository.tensors[name + ending].shape
        if len(shape) != 4 or shape[3] * 2 != GROUP or not math.prod(shape):
            raise CorruptFileError(
                f"tensor {name}{ending} has shape {list(shape)}; blocks of MXFP4 are [experts, "
                f"outputs, inputs / {GROUP}, {GROUP // 2}]",
                param=name + ending,
            )
        repository.need(name + ending, shape, "U8")
        repository.need(f"{name}_scales", shape[:3], "U8")
        experts, outs, groups, _ = shape
        info = TensorInfo(name, (experts, groups * GROUP, outs), "F32")
        found.append(_MXFP4Weight(repository, info))
    return found
