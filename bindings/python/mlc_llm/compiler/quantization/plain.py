"""Weights as plain floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.quantization.pack import cast_rows
from mlc_llm.compiler.quantization.scheme import Scheme, WeightRows
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PlainMatrix:
    """One tensor (out, in) of floats."""

    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    granule: int = 1
    inputs_together: int = 1

    @classmethod
    def of(cls, name: str, shape: tuple[int, int], dtype: str) -> PlainMatrix:
        return cls(shape, (StoredParam(name, shape, dtype),))

    def cut(self, outputs: range) -> PlainMatrix:
        (param,) = self.stored
        shape = (len(outputs), self.shape[1])
        return replace(self, shape=shape, stored=(param.part(outputs),))

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        return [cast_rows(rows.name, rows.floats(outputs), self.stored[0].dtype)]

    def floats(self, arrays: Sequence[Array]) -> Array:
        return arrays[0].astype(np.float32)

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import matrices, weights

        return matrices.FloatMatrix(weights.PlainRows(self.stored), self.shape)

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        return packs.PlainPacks(self.stored, self.shape[1])


class FloatMatrix(PlainMatrix):
    """The same for all devices: those without 16-bit floats read words of two."""

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        (param,) = self.stored
        if param.dtype == "float32" or self.shape[1] % 2:
            return super().on_gpu()
        return packs.HalfPacks((param.seen_as("uint32"),), self.shape[1], param.dtype)


@dataclass(frozen=True)
class TowerMatrix(FloatMatrix):
    """The same, for the many rows of pictures."""

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import matrices, weights

        return matrices.PanelMatrix(weights.PlainRows(self.stored), self.shape)


@dataclass(frozen=True, kw_only=True)
class PlainScheme(Scheme):
    name: str
    model_dtype: str

    @property
    def exact(self) -> bool:
        return True

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> list[PlainMatrix]:
        return [PlainMatrix.of(name, shape, self.model_dtype)]
