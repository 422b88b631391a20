"""y = activation(x W^T (+ bias)) (* scale) (+ residual), for float weights (out, in) and the
many rows of pictures.

A task lays out some outputs as a panel (`panels.py`) for hundreds of rows, for one run of inputs
after another. So the panel stays in the cache, and laying it out costs 2 % of the products.
`linear.py` is for texts, where few rows are usual and weights stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu import linear
from mlc_llm.compiler.kernels.cpu.by_count import emit_tiles
from mlc_llm.compiler.kernels.cpu.linear import Epilogue, linear_args
from mlc_llm.compiler.kernels.cpu.panels import Panel, Tile, emit_transposed, tile_sizes
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_value, shuffle
from mlc_llm.compiler.quantization.stored import StoredParam

PANEL = 8  # vectors of outputs of a panel
RUN = 768  # the most inputs of a panel
ROWS = 512  # the most rows of a task, so that there are tasks for many threads


def linear_panels(
    weight: StoredParam,
    *,
    tile: linear.Tile,
    bias: str | None = None,
    residual: bool = False,
    activation: str | None = None,
    scale: str | None = None,
) -> tirx.PrimFunc:
    """The function of `linear.linear`. `tile.w_rows` is a number of vectors. `scale`: the type of a
    factor of each output, the argument before the residual, by which that is not multiplied."""
    outs, ins = weight.shape

    def body(x, matrix, *rest) -> None:
        (*extras, y) = rest
        more: dict[str, Any] = {"activation": activation, "scale": scale}
        epilogue = Epilogue.of(extras, bias=bias, residual=residual, **more)
        made = _Linear(x, matrix, y, (outs, ins), tile, epilogue)
        rows = T.Cast("int32", x.shape[0])
        panels, parts = -(-outs // made.width), -(-rows // ROWS)
        with T.parallel(panels * parts) as task, T.sblock("panel"):
            T.reads()
            T.writes()
            each = emit_value(-(-rows // (parts * tile.x_rows)) * tile.x_rows)
            begin = emit_value(T.min(task // panels * each, rows))
            made.emit(task % panels * made.width, begin, T.min(each, rows - begin))

    return kernel(linear_args([weight], (outs, ins), bias, residual, scale), body)


@dataclass(frozen=True)
class _Linear:
    x: Any
    matrix: Any
    y: Any
    shape: tuple[int, int]
    tile: linear.Tile
    epilogue: Epilogue

    @property
    def blocks(self) -> int:
        """Of a panel."""
        return -(-min(PANEL, -(-self.shape[0] // LANES)) // self.tile.w_rows)

    @property
    def width(self) -> int:
        return self.blocks * self.tile.w_rows * LANES

    @property
    def run(self) -> int:
        """The runs are nearly equal, and of whole vectors."""
        count = -(-self.shape[1] // RUN)
        return -(-self.shape[1] // (count * LANES)) * LANES

    def emit(self, first, begin_row, rows) -> None:
        """The outputs [first, first + width) of the rows [begin_row, begin_row + rows)."""
        ins, run = self.shape[1], self.run
        buffer = T.sblock_alloc_buffer((self.width * run,), "float32")
        panel = Panel(buffer, run, self.tile.w_rows)
        sizes = tile_sizes(self.tile.x_rows)
        with T.serial(-(-ins // run)) as part:
            begin = emit_value(part * run)
            size = emit_value(T.min(run, ins - begin))
            with T.serial(self.blocks * self.tile.w_rows) as vector:
                self._emit_packed(panel, first, vector, begin, size)
            emit_tiles(
                rows,
                sizes,
                lambda row, count: self._emit_rows(
                    panel, first, begin_row + row, count, begin, size
                ),
            )

    def _emit_packed(self, panel: Panel, first, vector, begin, size) -> None:
        """Lays out 16 outputs. Behind the last output it is the last one again."""
        outs, ins = self.shape
        rows = [first + vector * LANES + i for i in range(LANES)]
        rows = [emit_value(T.min(row, outs - 1)) for row in rows]
        with T.serial(size // LANES) as step:
            k = emit_value(step * LANES)
            found = [emit_value(to_float(self.matrix[row, at(begin + k)])) for row in rows]
            for i, column in enumerate(emit_transposed(found)):
                T.buffer_store(panel.buffer, column, [panel.place(vector, k + i)])
        if ins % LANES:
            with T.serial(size % LANES) as step:
                k = emit_value(size // LANES * LANES + step)
                column = emit_floats(1)
                for i, row in enumerate(rows):
                    T.buffer_store(column, to_float(self.matrix[row, begin + k], 1), [i])
                T.buffer_store(panel.buffer, column[at(0)], [panel.place(vector, k)])

    def _emit_rows(self, panel: Panel, first, row, rows: int, begin, size) -> None:
        width, outs = self.tile.w_rows * LANES, self.shape[0]
        with T.serial(self.blocks) as block:
            column = emit_value(first + block * width)
            with T.If(column < outs), T.Then():
                self._emit_tile(panel, block, row, rows, column, begin, size)

    def _emit_tile(self, panel: Panel, block, row, rows: int, column, begin, size) -> None:
        """The sums go on from those of the run before, which are in y."""

        is_one = self.run >= self.shape[1]

        def start(tile: Tile) -> None:
            tile.fill(lambda i, j: splat(0.0))
            if is_one:
                return
            with T.If(begin > 0), T.Then():
                for i in range(rows):
                    for j in range(self.tile.w_rows):
                        self._emit_where(column, j, partial(before, tile, i, j))

        def before(tile: Tile, i: int, j: int, base, lanes: int) -> None:
            if lanes == LANES:
                tile.set(i, j, self.y[row + i, at(base)])
            for lane in range(lanes % LANES):
                T.buffer_store(tile.sums[j], self.y[row + i, base + lane], [i * LANES + lane])

        def store(i: int, j: int, sums) -> None:
            def each(base, lanes: int, *, finished: bool) -> None:
                def value(vector, place, width: int) -> None:
                    made = vector
                    if finished:
                        made = self.epilogue.apply(vector, row + i, place, width)
                    T.buffer_store(self.y, made, [row + i, at(place, width)])

                if lanes == LANES:
                    value(sums, base, LANES)
                for lane in range(lanes % LANES):
                    value(shuffle([sums], [lane]), base + lane, 1)

            if is_one:
                self._emit_where(column, j, partial(each, finished=True))
                return
            with T.If(begin + size == self.shape[1]):
                with T.Then():
                    self._emit_where(column, j, partial(each, finished=True))
                with T.Else():
                    self._emit_where(column, j, partial(each, finished=False))

        panel.emit_products(
            rows, block, size, lambda i, k: self.x[row + i, begin + k], start, store
        )

    def _emit_where(self, column, j: int, body: Callable[[Any, int], None]) -> None:
        """`body(output, lanes)` of vector j, as far as there are outputs."""
        base, outs = column + j * LANES, self.shape[0]
        if outs % (self.tile.w_rows * LANES) == 0:
            body(base, LANES)
            return
        with T.If(base + LANES <= outs), T.Then():
            body(base, LANES)
        if rest := outs % LANES:
            with T.If(base + rest == outs), T.Then():
                body(base, rest)
