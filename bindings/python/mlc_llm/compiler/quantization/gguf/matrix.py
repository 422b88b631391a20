"""Matrices of GGUF's own types: in strips of 16 rows, or plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.quantization.gguf.blocks import dequantized, read_blocks, strips_of
from mlc_llm.compiler.quantization.gguf.types import STRIP, BlockType
from mlc_llm.compiler.quantization.pack import whole_blocks
from mlc_llm.compiler.quantization.scheme import WeightRows
from mlc_llm.compiler.quantization.stored import StoredParam
from mlc_llm.errors import CorruptFileError

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class BlockMatrix:
    """GGUF's blocks in the layout of `types.py`."""

    kind: BlockType
    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    granule: int = STRIP

    @property
    def inputs_together(self) -> int:
        return self.kind.block

    def cut(self, outputs: range) -> BlockMatrix:
        strips = range(outputs.start // STRIP, -(-outputs.stop // STRIP))
        stored = tuple(param.part(strips) for param in self.stored)
        return replace(self, shape=(len(outputs), self.shape[1]), stored=stored)

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        found = []
        for raw in whole_blocks(rows.blocks(outputs), STRIP):
            parts = read_blocks(self.kind, raw)
            if not all(np.isfinite(a).all() for a in parts.arrays() if a.dtype.kind == "f"):
                raise CorruptFileError(
                    f"tensor {rows.name} holds NaN or infinite scales", param=rows.name
                )
            found.append(strips_of(self.kind, parts))
        return list(zip(*found, strict=True))

    def floats(self, arrays: Sequence[Array]) -> Array:
        return dequantized(self.kind, arrays, self.shape[0])

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import matrices, strips

        return matrices.StripMatrix(strips.Strips(self.stored, self.kind), self.shape)

    def on_gpu(self) -> Packs:
        """All tensors as words of 32 bits, since some devices have no smaller types."""
        from mlc_llm.compiler.kernels.gpu import packs

        words = tuple(p if p.dtype == "float32" else p.seen_as("uint32") for p in self.stored)
        return packs.StripPacks(words, self.shape[1], self.kind)
