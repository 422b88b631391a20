"""AWQ: 4 bits with a zero point for each 128 inputs, stored (in, out), as AutoAWQ writes them.

    qweight  uint32  [in, out / 8]
    qzeros   uint32  [in / 128, out / 8]
    scales   float16 [in / 128, out]

A weight is `(q - z) * s`. Outputs 0 ... 7 are in nibbles 0, 4, 1, 5, 2, 6, 3, 7 of a word.
(Facts: casper-hansen/AutoAWQ, awq/modules/linear/gemm.py; mlc-ai/mlc-llm,
quantization/awq_quantization.py.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.quantization.plain import PlainMatrix
from mlc_llm.compiler.quantization.scheme import (
    Matrix,
    Scheme,
    WeightRows,
    no_experts,
)
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse
from mlc_llm.errors import CorruptFileError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]
GROUP = 128
PER_WORD = 8
SUFFIXES = ("qweight", "qzeros", "scales")
NIBBLES = (0, 4, 1, 5, 2, 6, 3, 7)  # of outputs 0 ... 7


@dataclass(frozen=True)
class AWQMatrix:
    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    granule: int = PER_WORD
    inputs_together: int = GROUP

    @classmethod
    def of(cls, module: str, shape: tuple[int, int]) -> AWQMatrix:
        outs, ins = shape
        if outs % PER_WORD or ins % GROUP:
            raise UnsupportedError(
                f"{module}: AWQ is for multiples of {GROUP} inputs and {PER_WORD} outputs, not for "
                f"{ins} and {outs}",
                param=module,
            )
        groups = ins // GROUP
        stored = (
            StoredParam(f"{module}.qweight", (ins, outs // PER_WORD), "uint32"),
            StoredParam(f"{module}.qzeros", (groups, outs // PER_WORD), "uint32"),
            StoredParam(f"{module}.scales", (groups, outs), "float16"),
        )
        return cls(shape, stored)

    def cut(self, outputs: range) -> AWQMatrix:
        words = range(outputs.start // PER_WORD, outputs.stop // PER_WORD)
        spans = (words, words, outputs)
        stored = tuple(p.part(span, 1) for p, span in zip(self.stored, spans, strict=True))
        return replace(self, shape=(len(outputs), self.shape[1]), stored=stored)

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        return [[_checked(rows, param)] for param in self.stored]

    def floats(self, arrays: Sequence[Array]) -> Array:
        codes, zeros, scales = arrays
        wide = (np.repeat(a, GROUP, axis=0) for a in (unpacked(zeros), scales))
        zero, scale = (a.astype(np.float32) for a in wide)
        return np.ascontiguousarray(((unpacked(codes).astype(np.float32) - zero) * scale).T)

    def on_cpu(self) -> CPUMatrix:
        from mlc_llm.compiler.kernels.cpu import columns, matrices

        return matrices.ColumnMatrix(columns.AWQColumns(self.stored), self.shape, kind="awq")

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        codes, zeros, scales = self.stored  # scales as words, since some devices have no float16
        return packs.AWQPacks((codes, zeros, scales.seen_as("uint32")), self.shape[1])


def unpacked(words: Array) -> Array:
    """Codes of 4 bits, uint8 (rows, columns)."""
    shifts = np.array(NIBBLES, np.uint32) * np.uint32(4)
    return (words[..., None] >> shifts & np.uint32(15)).astype(np.uint8).reshape(len(words), -1)


def _checked(rows: WeightRows, param: StoredParam) -> Array:
    suffix = param.name.rsplit(".", 1)[1]
    parts = rows.tensors(suffix)
    kind = "f" if suffix == "scales" else "i"
    if any(p.ndim != 2 or len(p) != param.shape[0] or p.dtype.kind != kind for p in parts):
        raise _not_of(param, parts)
    found = np.concatenate(parts, axis=1)
    if found.shape != param.shape:
        raise _not_of(param, parts)
    if suffix != "scales":
        return found.view(np.uint32)
    scales = found.astype(np.float16)
    if not np.isfinite(scales).all():
        raise CorruptFileError(
            f"tensor {param.name} holds NaN or infinite values", param=param.name
        )
    return scales


def _not_of(param: StoredParam, parts: Sequence[Array]) -> CorruptFileError:
    found = ", ".join(f"{part.dtype} {list(part.shape)}" for part in parts)
    return CorruptFileError(
        f"tensor {param.name} is made of {found}; AWQ with groups of {GROUP} inputs makes "
        f"{param.dtype} {list(param.shape)} of it",
        param=param.name,
    )


@dataclass(frozen=True, kw_only=True)
class AWQScheme(Scheme):
    """For the linear layers of a repository that AWQ has quantized; other weights are plain."""

    name: str
    model_dtype: str

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> list[Matrix]:
        if use == "experts":
            raise no_experts(self.name)
        if use != "linear":
            return [PlainMatrix.of(name, shape, self.model_dtype)]
        return [AWQMatrix.of(name.removesuffix(".weight"), shape)]

    def source_suffixes(self, use: WeightUse | None) -> tuple[str, ...]:
        return SUFFIXES if use == "linear" else ("weight",)
