"""Attention of patches: each sees all patches of its view, in both directions. No pages, no mask.

A task is a head and a block of neighbouring rows. It lays out a run of the view's keys and values
as panels (`panels.py`), multiplies all its rows with them, and goes on to the next run with the
softmax state of each row. Runs begin at the view's first row, so that a row's result depends on its
view alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat
from mlc_llm.compiler.kernels.cpu import linear
from mlc_llm.compiler.kernels.cpu.by_count import emit_tiles
from mlc_llm.compiler.kernels.cpu.panels import Panel, Tile, emit_transposed, tile_sizes
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_max,
    emit_over,
    emit_sum,
    emit_value,
    exp2,
    shuffle,
)

Place = Callable[[int, int], Any]  # of a row of a tile and a vector of a block
RUN = 256  # keys of a panel
BLOCK = 384  # rows of a task


def patch_attention(
    heads: int, dim: int, scale: float, *, tile: linear.Tile, head: type[Head] | None = None
) -> tirx.PrimFunc:
    """f(qkv [n, 3 * heads * dim], view_indptr i32 [v], y [n, heads * dim]). View i has the rows
    [view_indptr[i], view_indptr[i + 1]). `head`: does the products in another form."""

    def body(qkv, indptr, y) -> None:
        rows = T.Cast("int32", qkv.shape[0])
        blocks = -(-rows // BLOCK)
        with T.parallel(blocks * heads) as task, T.sblock("head"):
            T.reads()
            T.writes()
            made = (head or Head)(qkv, y, heads, dim, scale, tile, task % heads)
            scratch = made.scratch()
            first = emit_value(task // heads * BLOCK)
            with T.serial(T.Cast("int32", indptr.shape[0]) - 1) as view:
                begin, end = emit_value(indptr[view]), emit_value(indptr[view + 1])
                start = emit_value(T.max(begin, first))
                stop = emit_value(T.min(T.min(end, first + BLOCK), rows))
                with T.If(start < stop), T.Then():
                    made.emit(scratch, start, stop - start, begin, T.min(end, rows))

    args = [Arg("qkv", ("n", 3 * heads * dim)), Arg("view_indptr", ("v",), "int32")]
    return kernel([*args, Arg("y", ("n", heads * dim))], body)


@dataclass(frozen=True)
class Scratch:
    """The memory of a task."""

    queries: Any  # [rows, dim], scaled
    keys: Panel
    values: Panel
    scores: Any  # [rows of a tile, keys of a run]
    sums: Any  # [rows, padded dim]: of the values
    state: Any  # [2, rows]: the largest score and the sum of the weights


def memory(*shape: int, dtype: str = "float32"):
    return T.sblock_alloc_buffer((math.prod(shape),), dtype)


@dataclass(frozen=True)
class Head:
    qkv: Any
    y: Any
    heads: int
    dim: int
    scale: float
    tile: linear.Tile
    head: Any

    @property
    def vectors(self) -> int:
        """Of the values of a row."""
        return -(-self.dim // LANES)

    @property
    def padded(self) -> int:
        width = self.tile.w_rows * LANES
        return -(-self.dim // width) * width

    def _column(self, which: int):
        """Where the queries, keys or values of the head begin in a row."""
        return (which * self.heads + self.head) * self.dim

    def scratch(self) -> Scratch:
        dim, vectors = self.dim, self.tile.w_rows
        return Scratch(
            queries=memory(BLOCK, dim),
            keys=Panel(memory(RUN, dim), dim, vectors),
            values=Panel(memory(RUN, self.padded), RUN, vectors),
            scores=memory(self.tile.x_rows, RUN),
            sums=memory(BLOCK, self.padded),
            state=memory(2, BLOCK),
        )

    def emit(self, to: Any, start, rows, begin, end) -> None:
        """The rows [start, start + rows), which see [begin, end)."""
        self._emit_queries(to, start, rows)
        sizes = tile_sizes(self.tile.x_rows)
        with T.serial(-(-(end - begin) // RUN)) as run:
            first = emit_value(begin + run * RUN)
            count = emit_value(T.min(RUN, end - first))
            self._emit_keys(to, first, count)
            self._emit_values(to, first, count)
            emit_tiles(rows, sizes, lambda row, size: self._emit_tile(to, row, size, count))
        self._emit_results(to, start, rows)

    @property
    def factor(self) -> float:
        """Of scores, whose weights are powers of two."""
        return self.scale * math.log2(math.e)

    def _emit_queries(self, to: Any, start, rows) -> None:
        """And the state before the first key."""
        with T.serial(rows) as row:
            self._emit_query(to, start + row, row)
            for vector in range(self.padded // LANES):
                T.buffer_store(to.sums, splat(0.0), [at(row * self.padded + vector * LANES)])
            T.buffer_store(to.state, T.float32(NEVER), [row])
            T.buffer_store(to.state, T.float32(0), [BLOCK + row])

    def _emit_query(self, to: Any, source, row) -> None:
        def copy(base, lanes: int) -> None:
            value = self.qkv[source, at(self._column(0) + base, lanes)]
            T.buffer_store(
                to.queries, value * splat(self.factor, lanes), [at(row * self.dim + base, lanes)]
            )

        emit_over(self.dim, copy)

    def _emit_keys(self, to: Any, first, count) -> None:
        """The lanes are keys. Behind the last key it is the last one again."""
        width = self.tile.w_rows
        with T.serial(-(-count // (width * LANES)) * width) as vector:
            rows = [emit_value(first + T.min(vector * LANES + i, count - 1)) for i in range(LANES)]
            self._emit_lanes(to, vector, rows)

    def _emit_lanes(self, to: Any, vector, rows: list) -> None:
        self._emit_turned(
            rows, lambda d, lanes: T.buffer_store(to.keys.buffer, lanes, [to.keys.place(vector, d)])
        )

    def _emit_turned(self, rows: list, store: Callable[[Any, Any], None]) -> None:
        """`store(d, lanes)` gets the d-th numbers of the keys of 16 rows."""
        column = self._column(1)
        if self.dim // LANES:
            with T.serial(self.dim // LANES) as step:
                base = emit_value(step * LANES)
                found = [emit_value(self.qkv[row, at(column + base)]) for row in rows]
                for i, lanes in enumerate(emit_transposed(found)):
                    store(base + i, lanes)
        for d in range(self.dim // LANES * LANES, self.dim):
            gathered = emit_floats(1)
            for i, row in enumerate(rows):
                T.buffer_store(gathered, self.qkv[row, column + d], [i])
            store(d, gathered[at(0)])

    def _emit_values(self, to: Any, first, count) -> None:
        """The lanes are places of a value; behind the last one they are 0."""
        with T.serial(count) as key:
            for vector in range(self.padded // LANES):
                value = self._emit_vector(2, first + key, vector)
                T.buffer_store(to.values.buffer, value, [to.values.place(vector, key)])

    def _emit_vector(self, which: int, row, vector: int):
        """16 numbers of a row's queries, keys or values."""
        whole, rest = divmod(self.dim, LANES)
        column = self._column(which) + vector * LANES
        if vector < whole:
            return self.qkv[row, at(column)]
        if vector > whole or not rest:
            return splat(0.0)
        partly = emit_floats(1)
        T.buffer_store(partly, splat(0.0), [at(0)])
        for lane in range(rest):
            T.buffer_store(partly, self.qkv[row, column + lane], [lane])
        return partly[at(0)]

    def _emit_tile(self, to: Any, row, rows: int, count) -> None:
        """Rows [row, row + rows) of the task and the keys of the panels."""
        width = self.tile.w_rows * LANES
        largest = emit_floats(rows)
        for i in range(rows):
            T.buffer_store(largest, splat(NEVER), [at(i * LANES)])
        with T.serial(-(-count // width)) as block:

            def score(i: int, j: int, sums) -> None:
                T.buffer_store(to.scores, sums, [at(i * RUN + block * width + j * LANES)])
                greater = T.max(largest[at(i * LANES)], sums)
                T.buffer_store(largest, greater, [at(i * LANES)])

            self._emit_scores(to, row, rows, block, score)
        for i in range(rows):
            self._emit_weights(to, row + i, i, count, largest[at(i * LANES)])
        for block in range(self.padded // width):
            vectors = min(self.tile.w_rows, self.vectors - block * self.tile.w_rows)

            def place(i: int, j: int, block: int = block):
                return at((row + i) * self.padded + block * width + j * LANES)

            self._emit_added(to, rows, block, count, place, vectors)

    def _emit_scores(self, to: Any, row, rows: int, block, score: Callable) -> None:
        """`score(row of the tile, vector of the block, scores)`."""

        def load(i: int, d):
            return to.queries[(row + i) * self.dim + d]

        to.keys.emit_products(rows, block, self.dim, load, Tile.clear, score)

    def _emit_added(
        self, to: Any, rows: int, block: int, count, place: Place, vectors: int
    ) -> None:
        """Adds the values times the weights to the sums, which are at `place(row, vector)`."""

        def begin(tile: Tile) -> None:
            tile.fill(lambda i, j: to.sums[place(i, j)])

        def add(i: int, j: int, sums) -> None:
            T.buffer_store(to.sums, sums, [place(i, j)])

        def load(i: int, key):
            return to.scores[i * RUN + key]

        to.values.emit_products(rows, block, count, load, begin, add, vectors)

    def _emit_weights(self, to: Any, row, i: int, count, largest) -> None:
        """Makes the scores of a row to its weights, and brings its sums to the new largest score.
        Behind the last key are scores of that key again; they become too small to count."""
        line = i * RUN
        with T.If(count % LANES != 0), T.Then():
            with T.serial(LANES - count % LANES) as lane:
                T.buffer_store(to.scores, T.float32(NEVER), [line + count + lane])
        vectors = emit_value(-(-count // LANES))
        old = emit_value(to.state[row])
        new = emit_value(T.max(old, emit_max(largest)))
        total = emit_floats(1)
        T.buffer_store(total, splat(0.0), [at(0)])
        with T.serial(vectors) as vector:
            place = at(line + vector * LANES)
            weight = emit_value(exp2(to.scores[place] - splat(new)))
            self._store_weights(to, i, vector, weight)
            T.buffer_store(total, total[at(0)] + weight, [at(0)])
        shrink = emit_value(exp2(old - new, 1))
        sum_place = BLOCK + row
        grown = to.state[sum_place] * shrink + emit_sum(total[at(0)])
        T.buffer_store(to.state, grown, [sum_place])
        with T.If(old < new), T.Then():
            T.buffer_store(to.state, new, [row])
            for vector in range(self.vectors):
                place = at(row * self.padded + vector * LANES)
                T.buffer_store(to.sums, to.sums[place] * splat(shrink), [place])

    def _store_weights(self, to: Any, i: int, vector, weights) -> None:
        T.buffer_store(to.scores, weights, [at(i * RUN + vector * LANES)])

    def _emit_results(self, to: Any, start, rows) -> None:
        with T.serial(rows) as row:
            factor = emit_value(T.float32(1) / to.state[BLOCK + row])
            for vector in range(self.vectors):
                value = emit_value(to.sums[at(row * self.padded + vector * LANES)] * splat(factor))
                column = self.head * self.dim + vector * LANES
                if (vector + 1) * LANES <= self.dim:
                    T.buffer_store(self.y, value, [start + row, at(column)])
                    continue
                for lane in range(self.dim % LANES):
                    T.buffer_store(self.y, shuffle([value], [lane]), [start + row, column + lane])
