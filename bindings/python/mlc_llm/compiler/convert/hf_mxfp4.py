"""Reads gpt-oss's experts, which its repositories store as MXFP4: as floats, or as they are.

    NAME_blocks   uint8 [experts, outputs, inputs / 32, 16]: the low half of a byte comes first
    NAME_scales   uint8 [experts, outputs, inputs / 32]: powers of two, 2 ** (scale - 127)

Without quantization the model has NAME [experts, inputs, outputs]: there inputs come first, here
outputs.
Facts: huggingface/transformers, integrations/mxfp4.py, `convert_moe_packed_tensors`. The form that
is kept is that of GGUF files: ggml-org/llama.cpp, ggml/src/ggml-common.h, `block_mxfp4`.
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

TYPE = "MXFP4"
GROUP = 32
_HALF = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_VALUES = np.concatenate([_HALF, -_HALF])


@dataclass(frozen=True)
class MXFP4Weight:
    repository: Repository
    info: TensorInfo

    def rows(self, start: int, stop: int) -> Array:
        """Experts [start, stop)."""
        codes, scales = self._codes_and_scales(start, stop)
        values = np.ldexp(_VALUES[codes], scales.astype(np.int32)[..., None] - 127)
        return values.reshape(*scales.shape[:2], -1)

    def blocks(self, start: int, stop: int) -> Array:
        """The same in the form that a scheme keeps: a scale, then inputs 0 to 15 in low halves."""
        codes, scales = self._codes_and_scales(start, stop)
        halves = codes[..., : GROUP // 2] | codes[..., GROUP // 2 :] << 4
        kept = np.concatenate([scales[..., None], halves], axis=-1)
        return kept.reshape(*scales.shape[:2], -1)

    def _codes_and_scales(self, start: int, stop: int) -> tuple[Array, Array]:
        """(experts, outputs, groups, 32) and (experts, outputs, groups), uint8."""
        read, name = self.repository.read, self.info.name
        blocks, scales = (read(f"{name}_{kind}", start, stop) for kind in ("blocks", "scales"))
        codes = np.stack([blocks & 15, blocks >> 4], axis=-1)
        return codes.reshape(*scales.shape, GROUP), scales


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
        info = TensorInfo(name, (experts, outs, groups * GROUP), TYPE, is_turned=True)
        found.append(MXFP4Weight(repository, info))
    return found
