"""y = x W^T (+ bias) (+ residual), for weights stored (in, out): `_0` schemes, AWQ.

The lanes are outputs, so no sum across lanes is needed. y[m, n] is one chain of fused multiply-adds
over ascending inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.columns import Columns
from mlc_llm.compiler.kernels.cpu.linear import Epilogue, Tile, linear_args
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_zero, fma
from mlc_llm.errors import UnsupportedError


def linear_columns(
    weights: Columns,
    shape: tuple[int, int],
    *,
    tile: Tile,
    bias: str | None = None,
    residual: bool = False,
) -> tirx.PrimFunc:
    """The function of `linear.linear` for (in, out) tensors. `tile.w_rows` is a number of
    vectors."""
    outs, ins = shape
    if outs < LANES:
        raise UnsupportedError(
            f"weights stored (in, out): a layer has {outs} outputs, fewer than {LANES}"
        )
    panel = _Panel(weights, outs, ins, tile.w_rows)

    def body(x, *rest) -> None:
        buffers, (*extras, y) = rest[: len(weights.stored)], rest[len(weights.stored) :]
        epilogue = Epilogue.of(extras, bias=bias, residual=residual)

        def tiles(first, row, x_rows: int) -> None:
            sums = panel.emit_sums(first, x, row, x_rows, buffers)
            for i in range(x_rows):
                for j in range(tile.w_rows):
                    column = panel.column(first, j)
                    total = sums[at((i * tile.w_rows + j) * LANES)]
                    total = epilogue.apply(total, row + i, column, LANES)
                    T.buffer_store(y, total, [row + i, at(column)])

        rows, many = x.shape[0], tile.x_rows
        with T.parallel(-(-outs // panel.width)) as index, T.sblock("panel"):
            T.reads()
            T.writes()
            with T.serial(rows // many) as block:
                tiles(index * panel.width, block * many, many)
            with T.serial(rows % many) as row:
                tiles(index * panel.width, rows // many * many + row, 1)

    return kernel(linear_args(weights.stored, shape, bias, residual), body)


@dataclass(frozen=True)
class _Panel:
    """A few vectors of outputs, over all inputs."""

    weights: Columns
    outs: int
    ins: int
    vectors: int

    @property
    def width(self) -> int:
        return self.vectors * LANES

    def column(self, first, j: int):
        """The first output of vector j. Vectors behind the end repeat the last 16 outputs."""
        if self.outs % self.width == 0:
            return first + j * LANES
        return T.min(first + j * LANES, self.outs - LANES)

    def emit_sums(self, first, x, row, x_rows: int, buffers):
        """x rows [row, row + x_rows) against the panel, one vector of sums for each pair."""
        sums = emit_floats(x_rows * self.vectors)
        emit_zero(sums, x_rows * self.vectors)
        whole, rest = divmod(self.ins, self.weights.size)

        def group(g, size: int) -> None:
            for j in range(self.vectors):
                self._emit_group(g, size, first, j, x, row, x_rows, buffers, sums)

        if whole:
            with T.serial(whole) as g:
                group(g, self.weights.size)
        if rest:
            group(whole, rest)
        return sums

    def _emit_group(self, g, size, first, j, x, row, x_rows, buffers, sums) -> None:
        def add(k, weight) -> None:
            for i in range(x_rows):
                place = at((i * self.vectors + j) * LANES)
                value = splat(x[row + i, k])
                T.buffer_store(sums, fma(value, weight, sums[place]), [place])

        self.weights.emit_group(buffers, g, size, self.column(first, j), add)
