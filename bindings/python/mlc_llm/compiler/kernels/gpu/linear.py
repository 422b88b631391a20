"""y = x W^T (+ bias) (+ residual) on GPUs. The kernel dequantizes W.

There are three ways. The number of rows chooses one when the kernel is launched. One row or a few
rows read W once for all of them: decoding needs that, and memory limits it. Many rows use tiles in
shared memory, or a library (`library_gemm.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, named_kernel
from mlc_llm.compiler.kernels.gpu import linear_chunks
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_choice,
    emit_fill,
    emit_spread,
    emit_store,
    emit_sums,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.library_gemm import GemmCall
from mlc_llm.compiler.kernels.gpu.packs import Packs
from mlc_llm.compiler.quantization.gguf.types import STRIP
from mlc_llm.compiler.targets import LinearSizes


def linear(
    packs: Packs,
    shape: tuple[int, int],
    sizes: LinearSizes,
    *,
    bias: str | None = None,
    residual: bool = False,
    library: GemmCall | None = None,
    x_dtype: str = "float32",
    y_dtype: str = "float32",
    part: range | None = None,
) -> tirx.PrimFunc:
    """f(x [n, ins], *stored weights, bias?, residual f32 [n, outs]?, y [n, outs], *scratch).

    Sums are float32. With `part` the weights are only those of these outputs, and only their
    columns of y are written. A library's product needs float32 results and the whole W.
    """
    outs, ins = shape
    part = part or range(outs)
    scratch = library.scratch if library else []

    def body(x, y, bias=None, residual=None, **others: Any) -> None:
        weights = [others[arg.name] for arg in packs.args]
        spare = {arg.name: others[arg.name] for arg in scratch}
        product = Product(packs, (len(part), ins), sizes, x, weights, y)
        product.first = part.start
        product.bias, product.residual = bias, residual

        def many() -> None:
            if library is None:
                product.emit_many()
            else:
                library.emit(product, spare, product.emit_many)

        def many_or_few() -> None:
            emit_choice(
                x.shape[0] <= sizes.few_rows_until,
                lambda: product.emit_few(sizes.few_rows),
                many,
            )

        emit_choice(x.shape[0] <= 1, lambda: product.emit_few(1), many_or_few)

    extras = [Arg("bias", (outs,), bias)] if bias else []
    extras += [Arg("residual", ("n", outs))] if residual else []
    x_arg, y_arg = Arg("x", ("n", ins), x_dtype), Arg("y", ("n", outs), y_dtype)
    return named_kernel([x_arg, *packs.args, *extras, y_arg, *scratch], body)


class Product:
    """Products of rows of x with a matrix. Experts change which rows and which part of a larger
    matrix: `begin_row`, `row_tiles` and `tile`."""

    bias: Any = None
    residual: Any = None
    first = 0  # the column of y for the first row of the weights
    base: Any = 0  # the row of the weights, and the element of the bias, for the first output

    def __init__(self, packs: Packs, shape, sizes: LinearSizes, x, weights, y) -> None:
        self.packs, self.sizes = packs, sizes
        self.outs, self.ins = shape
        self.x, self.weights, self.y = x, weights, y
        self.rows = T.Cast("int32", x.shape[0])

    def begin_row(self, row) -> None:
        """Called before one row (or the first of a few) is computed."""

    def row_tiles(self, edge: int):
        """The number of tiles of `edge` rows."""
        return T.floordiv(self.rows + (edge - 1), edge)

    @contextmanager
    def tile(self, index, edge: int) -> Iterator[Any]:
        """The first row of a tile, for the statements in it."""
        yield index * edge

    # Few rows

    def emit_few(self, rows: int) -> None:
        if self.sizes.vectors and self.packs.chunk is not None:
            linear_chunks.emit_few(self, rows)
            return
        {
            "rows": self._emit_few_by_rows,
            "columns": self._emit_few_by_columns,
            "strips": self._emit_few_by_strips,
        }[self.packs.order](rows)

    def _emit_few_by_rows(self, rows: int) -> None:
        """Work-items are along a row of W, so neighbours read neighbouring data. Then they add up
        their sums."""
        s, outs = self.sizes, min(self.sizes.outs, self.outs)
        count = rows * outs
        with grid((-(-self.outs // outs), self.row_groups(rows)), s.items) as ((og, rg), item):
            sums = registers(count)
            emit_fill(sums, count, 0.0)
            self.begin_row(rg * rows)

            def add(pack) -> None:
                inputs = [self._inputs(rg * rows + r, pack) for r in range(rows)]
                for o in range(outs):
                    out = T.min(og * outs + o, self.outs - 1)
                    self._emit_products(sums, o, outs, out, pack, inputs)

            emit_spread(self.packs.count, s.items, item, add)
            partial = emit_sums(sums, item, s.items, count)
            with T.If(item < count), T.Then():
                self.emit_store(rg * rows + item // outs, og * outs + item % outs, partial[item])

    def _emit_few_by_columns(self, rows: int) -> None:
        """Work-items are along a column of packs. Each has its own output."""
        items = self.sizes.items
        with grid((-(-self.outs // items), self.row_groups(rows)), items) as ((og, rg), item):
            sums = registers(rows)
            emit_fill(sums, rows, 0.0)
            self.begin_row(rg * rows)
            out = emit_value(T.min(og * items + item, self.outs - 1))
            with T.serial(self.packs.count) as pack:
                inputs = [self._inputs(rg * rows + r, pack) for r in range(rows)]
                self._emit_products(sums, 0, 1, out, pack, inputs)
            for r in range(rows):
                self.emit_store(rg * rows + r, og * items + item, sums[r])

    def _emit_few_by_strips(self, rows: int) -> None:
        """A work-group computes a strip of outputs. Its work-items are first along the outputs,
        then along the packs, so neighbours read neighbouring data. Then the work-items of one
        output add up their sums."""
        items = self.sizes.items
        with grid((-(-self.outs // STRIP), self.row_groups(rows)), items) as ((og, rg), item):
            sums = registers(rows)
            emit_fill(sums, rows, 0.0)
            self.begin_row(rg * rows)
            out = emit_value(og * STRIP + item % STRIP)  # outputs behind the last one are zero

            def add(pack) -> None:
                inputs = [self._inputs(rg * rows + r, pack) for r in range(rows)]
                self._emit_products(sums, 0, 1, out, pack, inputs)

            emit_spread(self.packs.count, items // STRIP, item // STRIP, add)
            partial = emit_sums(sums, item, items, rows, until=STRIP)

            def store(index) -> None:
                row, lane = index // STRIP, index % STRIP
                self.emit_store(rg * rows + row, og * STRIP + lane, partial[lane * rows + row])

            emit_spread(rows * STRIP, items, item, store)

    def row_groups(self, rows: int):
        return T.floordiv(self.rows + (rows - 1), rows)

    def _emit_products(self, sums, place: int, stride: int, out, pack, inputs) -> None:
        weights = [emit_value(w) for w in self.packs.emit(self.weights, self.base + out, pack)]
        for r, values in enumerate(inputs):
            total = sums[r * stride + place]
            for weight, value in zip(weights, values, strict=True):
                total = total + weight * value
            T.buffer_store(sums, total, [r * stride + place])

    def _inputs(self, row, pack) -> list:
        row = emit_value(T.min(row, self.rows - 1))
        size = self.packs.size
        return [emit_value(self._input(row, pack * size + i)) for i in range(size)]

    def _input(self, row, k):
        if self.ins % self.packs.size == 0:
            return to_float(self.x[row, k], 1)
        inside = to_float(self.x[row, T.min(k, self.ins - 1)], 1)
        return T.if_then_else(k < self.ins, inside, scalar(0.0))

    def emit_store(self, row, out, value) -> None:
        with T.If(T.And(row < self.rows, out < self.outs)), T.Then():
            column = out + self.first if self.first else out
            if self.bias is not None:
                value = value + to_float(self.bias[self.base + column], 1)
            if self.residual is not None:
                value = value + self.residual[row, column]
            emit_store(self.y, value, [row, column])

    # Many rows

    def emit_many(self) -> None:
        """Tiles of x and W are in shared memory. A work-item computes a small tile of y."""
        side, tile, packs = self.sizes.tile_side, self.sizes.tile, self.packs
        edge, depth = side * tile, packs.step * packs.size
        groups = (-(-self.outs // edge), self.row_tiles(edge))
        with grid(groups, side * side) as ((og, rg), item):
            sums = registers(tile * tile)
            xs, ws = shared(edge * depth), shared(depth * edge)
            emit_fill(sums, tile * tile, 0.0)
            with self.tile(rg, edge) as row0:
                with T.serial(-(-packs.count // packs.step)) as step:
                    self._emit_load_x(xs, row0, step * depth, edge, depth, item)
                    self._emit_load_w(ws, og * edge, step * packs.step, edge, item)
                    barrier()
                    with T.serial(depth) as k:
                        self._emit_tile(sums, xs, ws, k, item, depth)
                    barrier()
                for i in range(tile):
                    for j in range(tile):
                        row, out = row0 + i * side + item // side, og * edge + j * side
                        self.emit_store(row, out + item % side, sums[i * tile + j])

    def _emit_load_x(self, xs, row0, k0, edge: int, depth: int, item) -> None:
        def load(index) -> None:
            row, k = T.min(row0 + index // depth, self.rows - 1), emit_value(k0 + index % depth)
            value = to_float(self.x[row, T.min(k, self.ins - 1) if self.ins % depth else k], 1)
            if self.ins % depth:
                value = T.if_then_else(k < self.ins, value, scalar(0.0))
            T.buffer_store(xs, value, [index])

        emit_spread(edge * depth, self.sizes.tile_side**2, item, load)

    def _emit_load_w(self, ws, out0, pack0, edge: int, item) -> None:
        packs = self.packs

        def load(index) -> None:
            o, p = (
                (index % edge, index // edge)
                if packs.order != "rows"
                else (index // packs.step, index % packs.step)
            )
            out = T.min(out0 + o, self.outs - 1)
            pack = emit_value(T.min(pack0 + p, packs.count - 1))  # behind the end, x is zero
            for i, weight in enumerate(packs.emit(self.weights, self.base + out, pack)):
                T.buffer_store(ws, weight, [(p * packs.size + i) * edge + o])

        emit_spread(edge * packs.step, self.sizes.tile_side**2, item, load)

    def _emit_tile(self, sums, xs, ws, k, item, depth: int) -> None:
        side, tile = self.sizes.tile_side, self.sizes.tile
        rows = [emit_value(xs[(i * side + item // side) * depth + k]) for i in range(tile)]
        outs = [emit_value(ws[k * side * tile + j * side + item % side]) for j in range(tile)]
        for i in range(tile):
            for j in range(tile):
                place = i * tile + j
                T.buffer_store(sums, sums[place] + rows[i] * outs[j], [place])
