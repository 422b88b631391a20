"""Products of many rows with a panel: columns of a matrix, laid out for them.

A panel holds vectors of 16 columns for one input after another, in blocks of a tile's vectors:
[blocks, inputs, vectors, 16] in float32. A tile keeps its sums in registers and multiplies a vector
of columns by one number of each row, so no sum across lanes is needed. A result is one chain of
fused multiply-adds over ascending inputs, whatever the tile is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.integer import emit_word_dots
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_value, fma, shuffle

Load = Callable[[int, Any], Any]  # (row of the tile, input) -> a number
Sums = Callable[[int, int], Any]  # (row of the tile, vector of the tile) -> a vector of the tile


@dataclass(frozen=True)
class Panel:
    """Columns over `inputs` inputs in a buffer, in blocks of `vectors` vectors. With a `unit` an
    input is two, as words of 16 bits in one number, and sums are whole numbers of 32 bits."""

    buffer: Any
    inputs: int
    vectors: int
    unit: DotUnit | None = None

    def place(self, vector, k):
        """Of the columns [16 * vector, + 16) at input k."""
        block, inside = vector // self.vectors, vector % self.vectors
        return at(((block * self.inputs + k) * self.vectors + inside) * LANES)

    def emit_products(
        self,
        rows: int,
        block,
        count,
        load: Load,
        start: Callable[[Tile], None],
        store: Callable[[int, int, Any], None],
        vectors: int | None = None,
        first: Any = 0,
    ) -> None:
        """`rows` rows times `count` inputs of a block from `first` on, or of its first `vectors`
        vectors. `start` sets the sums, `store(row, vector, sums)` takes them."""
        dtype = "int32" if self.unit else "float32"
        tile = Tile([emit_floats(rows, dtype) for _ in range(vectors or self.vectors)], rows)
        start(tile)
        with T.serial(count) as step:
            k = emit_value(first + step)
            base = emit_value((block * self.inputs + k) * (self.vectors * LANES))
            columns = [emit_value(self.buffer[at(base + j * LANES)]) for j in range(len(tile.sums))]
            for i in range(rows):
                number = load(i, k)
                value = emit_value(number if self.unit else splat(number))
                for j, column in enumerate(columns):
                    tile.set(i, j, self._added(value, column, tile.of(i, j)))
        for i in range(rows):
            for j in range(len(tile.sums)):
                store(i, j, tile.of(i, j))

    def _added(self, value, column, total):
        if self.unit:
            return emit_word_dots(self.unit, total, [column], [value])
        return fma(value, column, total)


@dataclass(frozen=True)
class Tile:
    """The sums of a tile: for each of its vectors a buffer, which is small enough for registers."""

    sums: list[Any]
    rows: int

    def of(self, i: int, j: int):
        return self.sums[j][at(i * LANES)]

    def set(self, i: int, j: int, value) -> None:
        T.buffer_store(self.sums[j], value, [at(i * LANES)])

    def clear(self) -> None:
        """All sums become zero."""
        zero = T.Cast(str(self.sums[0].dtype), T.int32(0))
        self.fill(lambda i, j: splat(zero))

    def fill(self, value_of: Sums) -> None:
        for i in range(self.rows):
            for j in range(len(self.sums)):
                self.set(i, j, value_of(i, j))


def tile_sizes(rows: int) -> list[int]:
    """Of tiles that cover all rows, the largest first (`emit_tiles`): each divides the one
    before."""
    return [size for size in (rows, 4, 2, 1) if size <= rows and rows % size == 0]


def emit_transposed(vectors: Sequence[Any]) -> list[Any]:
    """16 vectors, whose lane i are the i-th elements of the given ones: interleaving the halves of
    the list four times moves every bit of a place to its opposite."""
    vectors, half = list(vectors), LANES // 2
    for _ in range(4):
        turned = []
        for i in range(half):
            pair = [vectors[i], vectors[i + half]]
            for first in (0, half):
                lanes = [first + j // 2 + (j % 2) * LANES for j in range(LANES)]
                turned.append(emit_value(shuffle(pair, lanes)))
        vectors = turned
    return vectors
