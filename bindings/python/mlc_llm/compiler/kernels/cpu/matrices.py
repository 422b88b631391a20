"""Weight matrices (out, in) for layers: which kernels multiply them and read their rows.

A scheme's `Matrix.on_cpu()` returns one of these. `codes` is the form of activations for integer
products, or None. With codes, layers call `linear_of_codes` with activations of that form;
otherwise they call `linear` with floats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx

from mlc_llm.compiler.kernels.common.routing import Stack
from mlc_llm.compiler.kernels.cpu import (
    elementwise,
    experts,
    linear,
    linear_columns,
    linear_panels,
    linear_strips,
)
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.columns import Columns
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.weights import Rows
from mlc_llm.compiler.quantization.stored import StoredParam
from mlc_llm.compiler.vector_units import VectorUnit

FLOATS = 32  # bits of an activation


class CPUMatrix:
    """`kind` distinguishes its kernels from those of other matrices of the model with the same
    shape."""

    stored: tuple[StoredParam, ...]
    shape: tuple[int, int]
    kind: str

    def codes(self, bits: int) -> Codes | None:
        """The form of activations with that many bits."""
        return None

    def coarser(self) -> CPUMatrix:
        """The same for activations of 8 bits on a CPU that reads float16: scales are float16, as
        those of Q4_0 and Q8_0."""
        return self

    def linear(self, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        raise NotImplementedError

    def linear_of_codes(self, codes: Codes, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        raise AssertionError("it has no codes")

    def embedding(self, scale: float = 1.0) -> tirx.PrimFunc:
        raise AssertionError("tables are stored by rows")

    def experts(
        self, stack: Stack, codes: Codes | None, unit: VectorUnit, bias: str | None
    ) -> tirx.PrimFunc:
        """The product of places with the matrices of their experts (`experts.py`). Its rows are
        those of all experts."""
        raise AssertionError("experts are stored by rows")


@dataclass(frozen=True)
class FloatMatrix(CPUMatrix):
    """A matrix for float products. `rows` reads it."""

    rows: Rows
    shape: tuple[int, int]

    @property
    def stored(self) -> tuple[StoredParam, ...]:
        return self.rows.stored

    @property
    def kind(self) -> str:
        return self.stored[0].dtype

    def linear(self, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        return linear.linear(self.rows, self.shape, tile=linear.Tile(*unit.dot_tile), **options)

    def embedding(self, scale: float = 1.0) -> tirx.PrimFunc:
        return elementwise.embedding(self.rows, self.shape, scale)

    def experts(
        self, stack: Stack, codes: Codes | None, unit: VectorUnit, bias: str | None
    ) -> tirx.PrimFunc:
        assert codes is None, codes
        return experts.by_floats(stack, self.rows, tile=linear.Tile(*unit.dot_tile), bias=bias)


@dataclass(frozen=True)
class PanelMatrix(FloatMatrix):
    """A matrix for the many rows of pictures."""

    @property
    def kind(self) -> str:
        return f"panels {self.stored[0].dtype}"

    def linear(self, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        tile = linear.Tile(*unit.panel_tile)
        return linear_panels.linear_panels(self.stored[0], tile=tile, **options)


@dataclass(frozen=True)
class StripMatrix(FloatMatrix):
    """A matrix of a GGUF type, or of a group scheme."""

    rows: Strips
    shape: tuple[int, int]

    @property
    def kind(self) -> str:
        return self.rows.kind.name

    def coarser(self) -> StripMatrix:
        stored = tuple(param.in_halves() for param in self.stored)
        return replace(self, rows=replace(self.rows, stored=stored))

    def codes(self, bits: int) -> Codes | None:
        if bits == FLOATS:
            return None
        return linear_strips.codes_for(self.rows.kind, self.shape[1], bits)

    def linear_of_codes(self, codes: Codes, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        tools = {"unit": unit.dot, "tile": unit.integer_tile}
        return linear_strips.linear_strips(codes, self.rows, **tools, **options)

    def experts(
        self, stack: Stack, codes: Codes | None, unit: VectorUnit, bias: str | None
    ) -> tirx.PrimFunc:
        if codes is None:
            return super().experts(stack, codes, unit, bias)
        tools = {"unit": unit.dot, "tile": unit.integer_tile}
        return experts.by_strips(stack, codes, self.rows, **tools, bias=bias)


@dataclass(frozen=True)
class ColumnMatrix(CPUMatrix):
    """A matrix that is stored (in, out), so it has no rows to read."""

    columns: Columns
    shape: tuple[int, int]
    kind: str = "columns"

    @property
    def stored(self) -> tuple[StoredParam, ...]:
        return self.columns.stored

    def linear(self, unit: VectorUnit, **options: Any) -> tirx.PrimFunc:
        tile = linear.Tile(*unit.column_tile)
        return linear_columns.linear_columns(self.columns, self.shape, tile=tile, **options)
