"""Attention of patches on GPUs: each sees all patches of its view, in both directions.

A work-group has a tile of neighbouring rows of one head, as for a prompt (`attention_tiles.py`).
What is a page there is here a run of 16 rows of keys and values. Runs begin at the view's first
row, so that a row's result depends on its view alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.gpu.attention_sizes import tile_sizes
from mlc_llm.compiler.kernels.gpu.attention_tiles import Tile
from mlc_llm.compiler.kernels.gpu.grid import emit_store, emit_value, grid, scalar
from mlc_llm.compiler.targets import USUAL_TILES, TileLimits
from mlc_llm.errors import UnsupportedError


def patch_attention(
    heads: int, dim: int, scale: float, *, limits: TileLimits = USUAL_TILES
) -> tirx.PrimFunc:
    """f(qkv [n, 3 * heads * dim], view_indptr i32 [v], y [n, heads * dim]). View i has the rows
    [view_indptr[i], view_indptr[i + 1])."""
    padded = -(-dim // LANES) * LANES
    shape = AttentionShape(heads=heads, kv_heads=heads, dim=padded)
    sizes = tile_sizes(shape, limits)
    if sizes is None:
        raise UnsupportedError(
            f"a vision tower's heads of {dim} numbers are too wide for this device's work-groups",
            param="device",
        )

    def body(qkv, indptr, y) -> None:
        rows = T.Cast("int32", qkv.shape[0])
        attend = _Attend(shape, dim, scale * math.log2(math.e), qkv, indptr, y)
        tiles = T.floordiv(rows + (sizes.rows - 1), sizes.rows)
        with grid((heads, tiles), sizes.items) as ((head, tile), item):
            _Tile(attend, sizes, head, tile, item, rows).emit()

    args = [Arg("qkv", ("n", 3 * heads * dim)), Arg("view_indptr", ("v",), "int32")]
    return kernel([*args, Arg("y", ("n", heads * dim))], body)


@dataclass(frozen=True)
class _Attend:
    """What a tile asks of attention, and how it reads keys and values. `shape`: with heads of whole
    vectors; behind `dim` they are zeros."""

    shape: AttentionShape
    dim: int
    scale: float  # in base-2 logarithms
    qkv: Any
    indptr: Any
    y: Any

    slopes = None

    @property
    def reader(self) -> _Attend:
        return self

    @property
    def rows(self):
        return T.Cast("int32", self.qkv.shape[0])

    def score(self, dot):
        return dot * scalar(self.scale)

    def allowed(self, place, last, oldest):
        """Whether a row sees a key, whose view ends with `last`; -1: it is of another view."""
        return place <= last

    def emit_total(self, total, maximum, head):
        return total

    # Runs, each by its first row

    def width(self, vector: int) -> int:
        return math.gcd(self.dim, vector)

    def place_of_key(self, index, width: int) -> tuple[Any, Any]:
        """Neighbours have neighbouring rows: they write to different banks of shared memory."""
        return index // PAGE_SIZE * width, index % PAGE_SIZE

    def emit_keys(self, run, head, d, slot, width: int) -> list:
        return self.emit(1, run + slot, head, d, width)

    def emit_values(self, run, head, slot, d, width: int) -> list:
        return self.emit(2, run + slot, head, d, width)

    def emit(self, part: int, row, head, d, width: int) -> list:
        """Neighbouring numbers of a query (part 0), a key or a value. A row behind the last one is
        read as that."""
        row = emit_value(T.min(row, self.rows - 1))
        place = emit_value((part * self.shape.heads + head) * self.dim + T.min(d, self.dim - width))
        if width == 1:
            found = [self.qkv[row, place]]
        else:
            read = emit_value(self.qkv[row, T.ramp(place, 1, width)])
            found = [T.Shuffle([read], [i]) for i in range(width)]
        if self.dim < self.shape.dim:
            found = [T.Select(d < self.dim, value, scalar(0.0)) for value in found]
        return [emit_value(value) for value in found]


class _Tile(Tile):
    """Rows of one head, which may be of several views."""

    a: _Attend

    def _emit_query(self, index) -> None:
        query, d = emit_value(index // self.dim), emit_value(index % self.dim)
        (value,) = self.a.emit(0, self._row(query), self.head0, d, 1)
        T.buffer_store(self.queries, value, [d * self.s.query_stride + query])

    def _emit_history(self) -> None:
        indptr, stop = self.a.indptr, emit_value(T.min(self.row0 + self.s.rows, self.num_rows))
        with T.serial(T.Cast("int32", indptr.shape[0]) - 1) as view:
            begin = emit_value(T.max(indptr[view], 0))
            end = emit_value(T.min(indptr[view + 1], self.num_rows))
            with T.If(T.max(begin, self.row0) < T.min(end, stop)), T.Then():
                self._emit_view(begin, end)

    def _emit_view(self, begin, end) -> None:
        keys = self.s.keys
        last = emit_value(end - begin - 1)
        for i in range(self.s.own):
            row = emit_value(self.row0 + self._own(i))
            is_own = T.And(row >= begin, row < end)
            T.buffer_store(self.ends, T.Select(is_own, last, T.int32(-1)), [i])
        with T.serial(last // keys + 1) as step:
            start = emit_value(step * keys)
            runs = [emit_value(begin + start + i * PAGE_SIZE) for i in range(keys // PAGE_SIZE)]
            self._emit_scores(runs)
            self._emit_weights(start)
            self._emit_values(runs, last - start)

    def _emit_store(self, row, head, d, value) -> None:
        dim = self.a.dim
        if dim == self.dim:
            emit_store(self.a.y, value, [row, head * dim + d])
            return
        with T.If(d < dim), T.Then():
            emit_store(self.a.y, value, [row, head * dim + d])
