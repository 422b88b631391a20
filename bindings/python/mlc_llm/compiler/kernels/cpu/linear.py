"""y = x W^T (+ bias) (+ residual), for weights stored by rows, (out, in).

Many rows of x: a strip of weight rows is converted to float32 once and used for all rows, in
register tiles. Few rows: weights are converted to float32 in registers. In both cases y[m, n] is
the same chain of fused multiply-adds, in 16 partial sums over ascending inputs. So both give the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import (
    ACTIVATIONS,
    at,
    emit_floats,
    emit_prefetch,
    emit_sum,
    emit_value,
    emit_zero,
    fma,
)
from mlc_llm.compiler.kernels.cpu.weights import Rows
from mlc_llm.compiler.quantization.stored import StoredParam


@dataclass(frozen=True)
class Tile:
    """The number of rows of x and of W whose products are added in registers together."""

    x_rows: int
    w_rows: int


def linear(
    weights: Rows,
    shape: tuple[int, int],
    *,
    tile: Tile,
    bias: str | None = None,
    residual: bool = False,
) -> tirx.PrimFunc:
    """f(x [m, in], *stored weights, bias [out] or none, residual [m, out] or none, y [m, out])."""
    outs, ins = shape
    strip = FloatStrip(weights, outs, ins, tile)

    def body(x, *rest) -> None:
        buffers, (*extras, y) = rest[: len(weights.stored)], rest[len(weights.stored) :]
        epilogue = Epilogue.of(extras, bias=bias, residual=residual)

        def store(row, column, vector) -> None:
            T.buffer_store(y, epilogue.apply(emit_sum(vector), row, column, 1), [row, column])

        with T.parallel(-(-outs // tile.w_rows)) as index, T.sblock("strip"):
            T.reads()
            T.writes()
            strip.emit(index * tile.w_rows, x.shape[0], x, buffers, store)

    return kernel(linear_args(weights.stored, shape, bias, residual), body)


def linear_args(
    stored: Sequence[StoredParam],
    shape: tuple[int, int],
    bias: str | None,
    residual: bool,
    scale: str | None = None,
) -> list[Arg]:
    """The arguments that `linear` describes, and those of `Epilogue`."""
    outs, ins = shape
    args = [Arg("x", ("rows", ins))]
    args += [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(stored)]
    return [*args, *epilogue_args(outs, bias, residual, scale), Arg("y", ("rows", outs))]


def epilogue_args(
    outs: int | str, bias: str | None, residual: bool, scale: str | None = None
) -> list[Arg]:
    """Those of `Epilogue`."""
    args = [Arg("bias", (outs,), bias)] if bias else []
    args += [Arg("scale", (outs,), scale)] if scale else []
    return args + ([Arg("residual", ("rows", outs))] if residual else [])


@dataclass(frozen=True)
class Epilogue:
    """What a product becomes before it is stored: activation(it + bias) * scale + residual."""

    bias: Any = None
    residual: Any = None
    activation: str | None = None
    scale: Any = None

    @classmethod
    def of(
        cls,
        given: Sequence[Any],
        *,
        bias: str | None,
        residual: bool,
        activation: str | None = None,
        scale: str | None = None,
    ) -> Epilogue:
        """`given` begins with what there is of `epilogue_args`."""
        left = iter(given)
        added, factors, rows = (next(left) if one else None for one in (bias, scale, residual))
        return cls(added, rows, activation, factors)

    def apply(self, value, row, column, lanes: int):
        if self.bias is not None:
            value = value + to_float(self.bias[at(column, lanes)], lanes)
        if self.activation is not None:
            value = ACTIVATIONS[self.activation](emit_value(value), lanes)
        if self.scale is not None:
            value = value * to_float(self.scale[at(column, lanes)], lanes)
        if self.residual is not None:
            value = value + self.residual[row, at(column, lanes)]
        return value

    def emit_prefetch(self, row, column) -> None:
        """Prefetches what is read for each row."""
        if self.residual is not None:
            emit_prefetch(self.residual, row, column)


@dataclass(frozen=True)
class FloatStrip:
    """`tile.w_rows` rows of W against all rows of x. With `base`, W begins at that row of a larger
    matrix; with `begin`, rows of x are counted from there on."""

    weights: Rows
    outs: int
    ins: int
    tile: Tile
    base: Any = 0
    begin: Any = 0

    def emit(self, first, rows, x, buffers, store: Callable) -> None:
        many = self.tile.x_rows
        with T.If(rows >= many):
            with T.Then():
                floats = self._emit_floats(first, buffers)
                read = self._float_reader(floats)
                with T.serial(rows // many) as block:
                    self._emit_tile(x, self.begin + block * many, many, first, read, store)
                done = self.begin + rows // many * many
                self._emit_rest(x, done, rows % many, first, read, store)
            with T.Else():
                read = self._stored_reader(first, buffers)
                self._emit_rest(x, self.begin, rows, first, read, store)

    def _emit_rest(self, x, row, count, first, read: _Reader, store: Callable) -> None:
        """Computes `count` rows, fewer than a tile, in one smaller tile."""
        for rows in range(1, self.tile.x_rows):
            with T.If(count == rows), T.Then():
                self._emit_tile(x, row, rows, first, read, store)

    @property
    def _padded_ins(self) -> int:
        return -(-self.ins // LANES) * LANES

    def _weight_row(self, first, i: int):
        """Behind the last row it is the last row again. That result is not stored."""
        if self.outs % self.tile.w_rows == 0:
            return self.base + first + i
        return self.base + T.min(first + i, self.outs - 1)

    def _emit_floats(self, first, buffers):
        """The strip's weights as float32. Each row is padded with zeros to whole vectors."""
        shape = (self.tile.w_rows * self._padded_ins,)
        floats = T.sblock_alloc_buffer(shape, "float32")
        for i in range(self.tile.w_rows):
            row, base = self._weight_row(first, i), i * self._padded_ins

            def copy(block, vector: int, row=row, base=base) -> None:
                value = self.weights.emit_vector(buffers, row, block, vector)
                offset = (block * self.weights.block_vectors + vector) * LANES
                T.buffer_store(floats, value, [at(base + offset)])

            emit_blocks(self.ins, self.weights.block_vectors, copy)
            if self.ins % LANES:
                tail = self._emit_weight_tail(row, buffers)
                T.buffer_store(floats, tail, [at(base + self._padded_ins - LANES)])
        return floats

    def _float_reader(self, floats) -> _Reader:
        def read(i: int, block, vector: int):
            offset = (block * self.weights.block_vectors + vector) * LANES
            return floats[at(i * self._padded_ins + offset)]

        def tail(i: int):
            return floats[at((i + 1) * self._padded_ins - LANES)]

        return _Reader(read, tail)

    def _stored_reader(self, first, buffers) -> _Reader:
        def read(i: int, block, vector: int):
            row = self._weight_row(first, i)
            return self.weights.emit_vector(buffers, row, block, vector)

        def tail(i: int):
            return self._emit_weight_tail(self._weight_row(first, i), buffers)

        return _Reader(read, tail)

    def _emit_weight_tail(self, row, buffers):
        return emit_tail(self.ins, lambda k: self.weights.element(buffers, row, k))

    def _emit_tile(self, x, row, x_rows: int, first, read: _Reader, store: Callable) -> None:
        """x rows [row, row + x_rows) against the strip."""
        columns = range(self.tile.w_rows)
        sums = emit_floats(x_rows * len(columns))
        emit_zero(sums, x_rows * len(columns))

        def accumulate(xs: list, ws: list) -> None:
            for i, xi in enumerate(xs):
                for j, wj in enumerate(ws):
                    place = [at((i * len(columns) + j) * LANES)]
                    T.buffer_store(sums, fma(xi, wj, sums[place[0]]), place)

        def step(block, vector: int) -> None:
            offset = (block * self.weights.block_vectors + vector) * LANES
            ws = [emit_value(read.vector(j, block, vector)) for j in columns]
            accumulate([emit_value(x[row + i, at(offset)]) for i in range(x_rows)], ws)

        emit_blocks(self.ins, self.weights.block_vectors, step)
        if self.ins % LANES:
            xs = [emit_tail(self.ins, lambda k, i=i: x[row + i, k]) for i in range(x_rows)]
            accumulate(xs, [emit_value(read.tail(j)) for j in columns])
        for i in range(x_rows):
            for j in columns:
                self._emit_store(row + i, first, j, sums, i * len(columns) + j, store)

    def _emit_store(self, row, first, j: int, sums, place: int, store: Callable) -> None:
        if self.outs % self.tile.w_rows == 0:
            store(row, first + j, sums[at(place * LANES)])
            return
        with T.If(first + j < self.outs), T.Then():
            store(row, first + j, sums[at(place * LANES)])


@dataclass(frozen=True)
class _Reader:
    """Reads the weights of a tile: the whole vectors of its row i, and the padded last vector."""

    vector: Callable
    tail: Callable


def emit_blocks(size: int, block_vectors: int, body: Callable) -> None:
    """Calls `body(block, vector)` for the whole vectors in [0, size), in ascending order."""
    vectors = size // LANES
    blocks, rest = divmod(vectors, block_vectors)
    if blocks:
        with T.serial(blocks) as block:
            for vector in range(block_vectors):
                body(block, vector)
    for vector in range(rest):
        body(blocks, vector)


def emit_tail(size: int, load: Callable):
    """The last `size % 16` elements of [0, size), and zeros, as a vector."""
    tail = T.sblock_alloc_buffer((LANES,), "float32")
    T.buffer_store(tail, splat(0.0), [at(0)])
    for lane in range(size % LANES):
        T.buffer_store(tail, load(size // LANES * LANES + lane), [lane])
    return emit_value(tail[at(0)])
