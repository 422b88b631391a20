"""Weight matrices as layers see them: how they are stored, and which kernels that takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tvm import relax

from mlc_llm.compiler.kernels.cpu import linear_integer, linear_strips, weights
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.quantization import GGUFScheme, Scheme
from mlc_llm.compiler.quantization.gguf_scheme import Piece
from mlc_llm.compiler.quantization.gguf_types import BlockType

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


@dataclass(frozen=True)
class Matrix:
    """A matrix (out, in) in one form, and the parameters that store it."""

    nn: Builder
    rows: weights.Rows
    shape: tuple[int, int]
    scheme: Scheme | None = None  # of groups, as MLC-LLM stores them
    by_columns: bool = False  # stored (in, out)

    @property
    def kind(self) -> str:
        """What, beside the shape, tells its kernels from others."""
        if isinstance(self.rows, Strips):
            return self.rows.kind.name
        return "columns" if self.by_columns else self.rows.stored[0].dtype

    @property
    def by_integers(self) -> bool:
        """Whether it is multiplied in whole numbers."""
        if self.nn.activation_bits == 32:
            return False
        if isinstance(self.rows, Strips):
            return True
        if self.scheme is None or self.by_columns:
            return False
        return linear_integer.fits(self.scheme, self.shape)

    @property
    def codes(self) -> Codes:
        """The form of activations that multiplies it."""
        bits, size = self.nn.activation_bits, self.shape[1]
        if isinstance(self.rows, Strips):
            return linear_strips.codes_for(self.rows.kind, size, bits)
        assert self.scheme is not None
        return Codes(size=size, bits=bits, weight_bits=self.scheme.bits, zero=self.scheme.qmax)

    def params(self) -> list[relax.Expr]:
        return [self.nn.param(param.name) for param in self.rows.stored]


def matrices_of(nn: Builder, name: str, shape: tuple[int, int]) -> list[Matrix]:
    """What the weight of the module `name` is made of, by rows: mostly one matrix."""
    weight, scheme = f"{name}.weight", nn.scheme
    if isinstance(scheme, GGUFScheme):
        pieces = scheme.pieces(weight, shape)
        return [Matrix(nn, _rows_of(piece), piece.shape) for piece in pieces]
    use = nn.use_of(weight)
    rows = weights.rows_of(scheme, weight, shape, use)
    if not scheme.quantizes(use):
        return [Matrix(nn, rows, shape)]
    return [Matrix(nn, rows, shape, scheme, by_columns=scheme.layout_of(use) == "KN")]


def _rows_of(piece: Piece) -> weights.Rows:
    if isinstance(piece.kind, BlockType):
        return Strips(piece.stored_params(), piece.kind)
    return weights.PlainRows(piece.stored_params())
