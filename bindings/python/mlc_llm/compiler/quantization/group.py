"""Weights quantized in groups along the inputs, like MLC-LLM's schemes of 3 and 4 bits.

Each group of `size` weights has `scale = max|w| / qmax` and `q = clip(round(w / scale + qmax), 0, 2
* qmax)`, all in the model dtype. Codes are packed with the low bits first, `32 // bits` in a uint32
(`pack.py`). A weight is `(q - qmax) * scale`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlc_llm.compiler.quantization.gguf.types import GROUP, BlockType
from mlc_llm.compiler.quantization.pack import (
    RowsToCodes,
    cast_rows,
    dequantize_rows,
    out_of_range,
    quantize_chunks,
    quantize_rows,
)
from mlc_llm.compiler.quantization.plain import PlainMatrix
from mlc_llm.compiler.quantization.rounding import is_finite
from mlc_llm.compiler.quantization.scheme import Matrix, Scheme, WeightRows, no_experts
from mlc_llm.compiler.quantization.search import search_rows
from mlc_llm.compiler.quantization.stored import STRIP, StoredParam, WeightUse

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

Array = np.ndarray[Any, Any]
Layout = Literal["NK", "KN"]


@dataclass(frozen=True)
class Groups:
    """The layout of the codes of a group."""

    bits: int
    size: int
    qmax: int  # the code of the value 0, and the largest magnitude

    @property
    def codes_per_word(self) -> int:
        return 32 // self.bits

    @property
    def words(self) -> int:
        """The number of words of a group."""
        return self.size // self.codes_per_word

    def count(self, ins: int) -> int:
        """The number of groups in a row. The last one is padded to its full size."""
        return -(-ins // self.size)


@dataclass(frozen=True)
class GroupMatrix:
    """`q_weight` and `q_scale`. The layout "NK" is (out, in), "KN" is (in, out)."""

    groups: Groups
    shape: tuple[int, int]
    stored: tuple[StoredParam, ...]
    layout: Layout
    granule: int = 1
    searched: bool = False  # whether the converter looks for the best scales
    multiplies: bool = True  # it is not only a table of which rows are read
    pads: bool = False  # CPUs multiply whole numbers also where the last group is half of one

    @classmethod
    def of(
        cls, groups: Groups, module: str, shape: tuple[int, int], dtype: str, layout: Layout
    ) -> GroupMatrix:
        outs, count = shape[0], groups.count(shape[1])
        words, scales = (outs, count * groups.words), (outs, count)
        if layout == "KN":
            words, scales = words[::-1], scales[::-1]
        stored = (
            StoredParam(f"{module}.q_weight", words, "uint32"),
            StoredParam(f"{module}.q_scale", scales, dtype),
        )
        return cls(groups, shape, stored, layout)

    @property
    def inputs_together(self) -> int:
        return self.groups.size

    @property
    def by_columns(self) -> bool:
        return self.layout == "KN"

    def cut(self, outputs: range) -> GroupMatrix:
        axis = 1 if self.by_columns else 0
        stored = tuple(param.part(outputs, axis) for param in self.stored)
        return replace(self, shape=(len(outputs), self.shape[1]), stored=stored)

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        dtype, chunks = self.stored[1].dtype, rows.floats(outputs)
        found = quantize_chunks(
            cast_rows(rows.name, chunks, dtype) if self.searched else chunks,
            self.shape,
            bits=self.groups.bits,
            group_size=self.groups.size,
            dtype=dtype,
            transpose=self.by_columns,
            rows_to_codes=self._rows_to_codes(rows),
        )
        if not is_finite(found[1]):
            raise out_of_range(rows.name, dtype)
        return [[array] for array in found]

    def _rows_to_codes(self, rows: WeightRows) -> RowsToCodes:
        if not self.searched:
            return quantize_rows
        return partial(search_rows, importance=rows.importance)

    def floats(self, arrays: Sequence[Array]) -> Array:
        words, scales = (array.T if self.by_columns else array for array in arrays)
        return dequantize_rows(
            words,
            scales.astype(np.float32),
            bits=self.groups.bits,
            group_size=self.groups.size,
            columns=self.shape[1],
        )

    def on_cpu(self) -> CPUMatrix:
        """In strips where they help. The words of 4 and 8 bits have the order of GGUF's; the core
        turns those of 3 bits."""
        from mlc_llm.compiler.kernels.cpu import columns, matrices, strips, threes, weights

        if self._fits_strips:
            bits, size, zero = self.groups.bits, self.groups.size, self.groups.qmax
            axis, has_threes = int(self.by_columns), bits == 3
            codes, scales = self.stored
            stored = (codes.in_strips(axis, threes=has_threes), scales.in_strips(axis))
            kind = BlockType(name=f"groups of {bits} bits", bits=bits, zero=zero, group=size)
            reader = threes.ThreeStrips if has_threes else strips.Strips
            return matrices.StripMatrix(reader(stored, kind), self.shape)
        if self.by_columns:
            reader = columns.GroupColumns(self.stored, self.groups)
            return matrices.ColumnMatrix(reader, self.shape)
        rows = weights.QuantizedRows(self.stored, self.groups)
        return matrices.FloatMatrix(rows, self.shape)

    @property
    def _fits_strips(self) -> bool:
        """Whether it multiplies, the groups can be those of activations, and strips of experts are
        whole."""
        *stack, outs, _ = self.stored[0].shape
        if self.groups.bits == 3:
            return self.multiplies and not stack and self.shape[1] % STRIP == 0
        together = STRIP if self.pads else GROUP
        has_groups = self.groups.size == GROUP and self.shape[1] % together == 0
        is_whole = not stack or outs % STRIP == 0
        return self.multiplies and has_groups and self.groups.bits in (4, 8) and is_whole

    def on_gpu(self) -> Packs:
        from mlc_llm.compiler.kernels.gpu import packs

        kind = packs.GroupColumns if self.by_columns else packs.GroupPacks
        return kind(self.stored, self.shape[1], self.groups)


@dataclass(frozen=True, kw_only=True)
class GroupScheme(Scheme):
    """`layout` is for linear weights; embedding tables are always (vocabulary, hidden)."""

    name: str
    model_dtype: str  # dtype of unquantized tensors and of scales
    groups: Groups
    layout: Layout = "NK"
    plain: frozenset[WeightUse] = field(default_factory=frozenset)  # weights that stay floats
    searched: bool = False  # whether the converter looks for the best scales (search.py)

    def with_plain(self, uses: frozenset[Any]) -> GroupScheme:
        return replace(self, plain=self.plain | uses)

    def quantizes(self, use: WeightUse | None) -> bool:
        return use not in (None, "router") and use not in self.plain

    def layout_of(self, use: WeightUse) -> Layout:
        return "NK" if use in ("embedding", "tied_embedding") else self.layout

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> Sequence[Matrix]:
        if not self.quantizes(use):
            return [PlainMatrix.of(name, shape, self.model_dtype)]
        module, layout = name.removesuffix(".weight"), self.layout_of(use)
        if use == "experts" and layout != "NK":
            raise no_experts(self.name)
        matrix = GroupMatrix.of(self.groups, module, shape, self.model_dtype, layout)
        return [replace(matrix, searched=self.searched, multiplies=use != "embedding")]
