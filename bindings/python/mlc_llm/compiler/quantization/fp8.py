"""Weights as 8-bit floats, with one scale for each tensor or none: MLC-LLM's `e4m3_e4m3_f16` and
`e5m2_e5m2_f16`.

    q_weight             float8  [out, in]
    q_scale              float32 [1]: max(max|w| / 448, 1 / (448 * 512)), of e4m3
    q_calibration_scale  float32 [1]: of activations, of e4m3; without `_max_calibrate` in the name

A weight is `q * scale`. Linear layers are stored in this form; embedding tables and the output head
stay plain. Here activations are floats, so `q_calibration_scale` is written as 1 and never read.
(Facts: mlc-ai/mlc-llm, quantization/per_tensor_quantization.py.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.quantization import rounding
from mlc_llm.compiler.quantization.pack import out_of_range
from mlc_llm.compiler.quantization.plain import PlainMatrix
from mlc_llm.compiler.quantization.scheme import (
    Matrix,
    Scheme,
    WeightRows,
    no_experts,
)
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse
from mlc_llm.errors import UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]
PER_WORD = 4


@dataclass(frozen=True)
class Float8:
    dtype: str
    largest: float
    scaled: bool
    # The bits, shifted left by `shift`, are those of a float16. Its value times `factor` is the
    # 8-bit float.
    shift: int
    factor: float


E4M3 = Float8("float8_e4m3fn", 448.0, scaled=True, shift=7, factor=256.0)
E5M2 = Float8("float8_e5m2", 57344.0, scaled=False, shift=8, factor=1.0)


@dataclass(frozen=True)
class Float8Matrix:
    kind: Float8
    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    granule: int = 1
    inputs_together: int = 1

    @classmethod
    def of(
        cls, kind: Float8, module: str, shape: tuple[int, int], *, calibrated: bool
    ) -> Float8Matrix:
        names = ["q_scale"] * kind.scaled + ["q_calibration_scale"] * calibrated
        scales = (StoredParam(f"{module}.{name}", (1,), "float32") for name in names)
        return cls(kind, shape, (StoredParam(f"{module}.q_weight", shape, kind.dtype), *scales))

    def cut(self, outputs: range) -> Float8Matrix:
        weight, *scales = self.stored
        stored = (weight.part(outputs), *scales)
        return replace(self, shape=(len(outputs), self.shape[1]), stored=stored)

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        if not self.kind.scaled:
            return [self._codes(rows, outputs, np.float32(1))]
        chunks = _halves(rows, outputs)
        largest = max(rounding.largest(chunk) for chunk in chunks)
        largest = np.float32(np.float16(largest))
        scale = max(largest / np.float32(448), np.float32(1 / (448 * 512)))
        ones = [[np.ones(1, np.float32)] for _ in self.stored[2:]]
        return [self._codes(rows, outputs, scale), [np.array([scale], np.float32)], *ones]

    def _codes(self, rows: WeightRows, outputs: range, scale: Any) -> Iterator[Array]:
        for chunk in _halves(rows, outputs):
            yield rounding.float8_codes(chunk, scale, via="float16", dtype=self.kind.dtype)

    def floats(self, arrays: Sequence[Array]) -> Array:
        values = arrays[0].astype(np.float32)
        return values * arrays[1] if self.kind.scaled else values

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import matrices, weights

        stored = (self.stored[0].seen_as("uint8"), *self._scale())
        return matrices.FloatMatrix(weights.Float8Rows(stored, self.kind), self.shape)

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        stored = (as_words(self.stored[0], self.shape[1]), *self._scale())
        return packs.Float8Packs(stored, self.shape[1], self.kind)

    def _scale(self) -> tuple[StoredParam, ...]:
        return self.stored[1:2] if self.kind.scaled else ()


def _halves(rows: WeightRows, outputs: range) -> Iterator[Array]:
    """Chunks of floats that a float16 can hold."""
    for chunk in rows.floats(outputs):
        with np.errstate(over="ignore"):
            if np.isinf(np.float16(rounding.largest(chunk))):
                raise out_of_range(rows.name, "float16")
        yield chunk


def as_words(codes: StoredParam, inputs: int) -> StoredParam:
    """The codes of a matrix as GPUs read them."""
    if inputs % PER_WORD:
        raise UnsupportedError(
            f"{codes.name}: floats of 8 bits run on GPUs where a layer's inputs are a multiple of "
            f"{PER_WORD}, not {inputs}",
            param="quantization",
        )
    return codes.seen_as("uint32")


@dataclass(frozen=True, kw_only=True)
class Float8Scheme(Scheme):
    name: str
    kind: Float8
    calibrated: bool = False
    model_dtype: str = "float16"

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> list[Matrix]:
        if use == "experts":
            raise no_experts(self.name)
        if use != "linear":
            return [PlainMatrix.of(name, shape, self.model_dtype)]
        module = name.removesuffix(".weight")
        return [Float8Matrix.of(self.kind, module, shape, calibrated=self.calibrated)]
