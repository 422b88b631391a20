"""y += scale * B (A x), for rows that adapters change (arXiv 2106.09685).

    t[u, p, j] = scale[u] * sum over k of A[group[u], p, j, k] * x[row[u], k]          `shrink`
    y[row[u], c] += sum over j of t[u, p(c), j] * B[group[u], j, c], u after u         `expand`

A group is 8 ranks of one adapter, in all layers; an adapter of rank 16 has two. A unit is a row and
a group that changes it. The outputs of a layer are in parts p (queries, keys, values), each with an
A of its own. Units of a row are in a fixed order and so are the sums over k and j: a row gets the
same bits in any company. Neighbouring units of one group read its weights together.

`Added` is `expand` inside of another kernel: a task that has made 16 outputs of some rows changes
them while they are in its cache, and no second loop waits for its threads.

Both weights are [groups, blocks, 8, 16], so that a thread reads them from end to end: A has a block
for each 16 inputs of a part, B one for each 16 outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import DataType, tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_prefetch,
    emit_value,
    emit_zero,
    fma,
    shuffle,
)

RANKS = 8  # of a group
_TOGETHER = 16  # units whose groups are prefetched
_ROWS = 4  # of a task
_VECTORS = 8  # of outputs in a task
# The products for which waking other threads pays.
_MANY = 1 << 15
_AHEAD = 16  # blocks of A that are prefetched where few units share them
_LINE = 64

UNITS = [Arg(name, ("units",), "int32") for name in ("rows", "groups")]


def shrink(ins: int, parts: int, dtype: str, *, tile: Tile) -> tirx.PrimFunc:
    """f(x [n, ins], a, rows [units], groups [units], scales [units], t [units, parts * 8]). The
    scales are the bits of float32."""
    blocks, sums_at_once = ins // LANES, tile.x_rows * tile.w_rows

    def body(x, a, rows, groups, scales, t) -> None:
        def emit(first, count: int, part) -> None:
            group, each = emit_value(groups[first]), min(RANKS, sums_at_once // count)
            for begin in range(0, RANKS, each):
                ranks = range(begin, begin + each)
                sums = emit_floats(count * each)
                emit_zero(sums, count * each)
                with T.serial(blocks) as block:
                    if count < tile.x_rows:
                        ahead = T.min(part * blocks + block + _AHEAD, parts * blocks - 1)
                        _emit_prefetch(a, group, ahead, ranks)
                    ws = [_weight(a, group, part * blocks + block, j) for j in ranks]
                    for m in range(count):
                        value = emit_value(x[rows[first + m], at(block * LANES)])
                        for i, w in enumerate(ws):
                            place = [at((m * each + i) * LANES)]
                            T.buffer_store(sums, fma(value, w, sums[place[0]]), place)
                for m in range(count):
                    scale = emit_value(T.reinterpret("float32", scales[first + m]))
                    whole = emit_sums([sums[at((m * each + i) * LANES)] for i in range(each)])
                    T.buffer_store(
                        t, whole * splat(scale, each), [first + m, at(part * RANKS + begin, each)]
                    )

        units = T.Cast("int32", t.shape[0])
        # Few units are the work of one thread each.
        each = emit_value(T.if_then_else(units > tile.x_rows, tile.x_rows, 1))

        def task(index) -> None:
            part = emit_value(index % parts)
            first = emit_value(index // parts * each)
            end = T.min(first + each, units)
            _emit_units(groups, first, end, tile.x_rows, lambda u, n: emit(u, n, part))

        tasks = emit_value((units + (each - 1)) // each * parts)
        _emit_tasks(tasks, units, parts * RANKS * ins, task)

    weights = Arg("a", ("pool", parts * blocks, RANKS, LANES), dtype)
    scales = Arg("scales", ("units",), "int32")
    out = Arg("t", ("units", parts * RANKS))
    return kernel([Arg("x", ("n", ins)), weights, *UNITS, scales, out], body)


def table() -> tirx.PrimFunc:
    """f(positions [n], rows [units], table [n, 3]): for each row its first unit, how many it has,
    and how far they are from one another."""

    def body(positions, rows, table) -> None:
        with T.sblock("table"):
            T.reads()
            T.writes()
            with T.serial(T.Cast("int32", positions.shape[0])) as row:
                for field in range(3):
                    T.buffer_store(table, T.int32(0), [row, field])
            with T.serial(T.Cast("int32", rows.shape[0])) as unit:
                row = emit_value(rows[unit])
                count = emit_value(table[row, 1])
                with T.If(count == 0), T.Then():
                    T.buffer_store(table, unit, [row, 0])
                with T.If(count == 1), T.Then():
                    T.buffer_store(table, unit - table[row, 0], [row, 2])
                T.buffer_store(table, count + 1, [row, 1])

    given = [Arg("positions", ("n",), "int32"), UNITS[0]]
    return kernel([*given, Arg("table", ("n", 3), "int32")], body)


@dataclass(frozen=True)
class Added:
    """What `expand` adds to the outputs of a layer. `widths`: the outputs of each part, whole
    vectors."""

    widths: tuple[int, ...]
    dtype: str

    @property
    def blocks(self) -> int:
        return sum(self.widths) // LANES

    @property
    def args(self) -> list[Arg]:
        """t [units, parts * 8], b, groups [units], table [n, 3] of `table`."""
        weights = Arg("b", ("pool", self.blocks, RANKS, LANES), self.dtype)
        t = Arg("t", ("units", len(self.widths) * RANKS))
        return [t, weights, UNITS[1], Arg("table", ("rows", 3), "int32")]

    def emit_ahead(self, args: Sequence[Any], block) -> None:
        """Prefetches what `emit_rows` reads first."""
        t, b, groups, _ = args
        with T.serial(T.min(T.Cast("int32", t.shape[0]), _TOGETHER)) as unit:
            group = emit_value(groups[unit])
            with T.If(T.Or(unit == 0, groups[T.max(unit - 1, 0)] != group)), T.Then():
                _emit_prefetch(b, group, block, range(RANKS))

    def emit_rows(self, args: Sequence[Any], y, first, rows: int, block) -> None:
        """Changes the outputs [16 * block, + 16) of the rows [first, first + rows)."""
        t, _, groups, table = args
        units = T.Cast("int32", t.shape[0])

        def each(row, rows: int) -> None:
            with T.serial(table[row, 1]) as turn:
                unit = emit_value(table[row, 0] + turn * table[row, 2])
                self._emit_unit(args, y, row, rows, unit, block)

        with T.If(units > 0), T.Then():
            if rows == 1:
                return each(first, 1)
            unit = emit_value(table[first, 0])
            alike = table[first, 1] > 0
            for m in range(1, rows):
                # one behind the last unit is not read
                alike = T.And(alike, table[first + m, 0] == unit + m)
                alike = T.And(alike, groups[T.min(unit + m, units - 1)] == groups[unit])
                for field in (1, 2):
                    alike = T.And(alike, table[first + m, field] == table[first, field])
            with T.If(alike):
                with T.Then():
                    each(first, rows)
                with T.Else(), T.serial(2) as half:
                    begin = emit_value(first + half * (rows // 2))
                    self.emit_rows(args, y, begin, rows // 2, block)

    def _emit_unit(self, args: Sequence[Any], y, row, rows: int, unit, block) -> None:
        """The units of neighbouring rows are neighbours. All loads stand before the stores: rows
        may lie apart by multiples of 4 KB, and then a CPU takes the next load for one of what was
        just stored."""
        t, b, groups, _ = args
        ends = [sum(self.widths[: i + 1]) // LANES for i in range(len(self.widths) - 1)]
        part = sum((T.Cast("int32", block >= end) for end in ends), T.int32(0))
        place, group = emit_value(part * RANKS), emit_value(groups[unit])
        sums = emit_floats(rows)
        for m in range(rows):
            T.buffer_store(sums, y[row + m, at(block * LANES)], [at(m * LANES)])
        for j in range(RANKS):
            w = _weight(b, group, block, j)
            for m in range(rows):
                value = fma(splat(t[unit + m, place + j]), w, sums[at(m * LANES)])
                T.buffer_store(sums, value, [at(m * LANES)])
        for m in range(rows):
            T.buffer_store(y, sums[at(m * LANES)], [row + m, at(block * LANES)])


def expand(added: Added) -> tirx.PrimFunc:
    """f(t [units, parts * 8], b, groups [units], table [n, 3], y [n, outputs]): adds to y."""

    def body(*args) -> None:
        *args, y = args
        rows, panels = T.Cast("int32", y.shape[0]), -(-added.blocks // _VECTORS)

        def task(index) -> None:
            row = emit_value(index // panels * _ROWS)
            first = emit_value(index % panels * _VECTORS)
            with T.serial(T.min(T.int32(added.blocks) - first, _VECTORS)) as vector:
                block = emit_value(first + vector)
                with T.If(row + _ROWS <= rows):
                    with T.Then():
                        added.emit_rows(args, y, row, _ROWS, block)
                    with T.Else(), T.serial(rows - row) as m:
                        added.emit_rows(args, y, emit_value(row + m), 1, block)

        units = T.Cast("int32", args[0].shape[0])
        tasks = emit_value((rows + (_ROWS - 1)) // _ROWS * panels)
        _emit_tasks(tasks, units, RANKS * sum(added.widths), task)

    return kernel([*added.args, Arg("y", ("rows", sum(added.widths)))], body)


def emit_sums(vectors: Sequence[Any]):
    """The sums of the 16 lanes of each vector, by halves as `emit_sum`, side by side. Two vectors
    are added in one operation. There are 1, 2, 4, ... vectors."""
    found, lanes = list(vectors), LANES
    for width in (8, 4, 2, 1):
        pairs = zip(*[iter(found)] * min(2, len(found)), strict=True)
        lanes *= min(2, len(found))
        lower = [i + j for i in range(0, lanes, 2 * width) for j in range(width)]
        upper = [i + width for i in lower]
        found = [emit_value(shuffle(pair, lower) + shuffle(pair, upper)) for pair in pairs]
        lanes //= 2
    return found[0]


def _weight(weights, group, block, rank: int):
    return emit_value(to_float(weights[group, block, rank, at(0)]))


def _emit_prefetch(weights, group, block, ranks: Iterable[int]) -> None:
    each = _LINE // (LANES * DataType(str(weights.dtype)).itemsize)
    for rank in list(ranks)[:: max(1, each)]:
        emit_prefetch(weights, group, block, rank, 0)


def _emit_units(groups, first, end, most: int, emit: Callable) -> None:
    """Calls `emit(unit, count)`: for `most` units at once if they are of one group, or for halves
    of them."""
    if most == 1:
        with T.If(first < end), T.Then():
            emit(first, 1)
        return
    alike = end - first == most
    for m in range(1, most):
        # a unit behind the last one is not read
        alike = T.And(alike, groups[T.min(first + m, end - 1)] == groups[first])
    with T.If(alike):
        with T.Then():
            emit(first, most)
        with T.Else(), T.serial(2) as half:
            begin = emit_value(first + half * (most // 2))
            _emit_units(groups, begin, T.min(begin + most // 2, end), most // 2, emit)


def _emit_tasks(tasks, units, products: int, body: Callable) -> None:
    """`products`: of a unit."""

    def loop(kind) -> None:
        with kind(tasks) as index, T.sblock("task"):
            T.reads()
            T.writes()
            body(index)

    with T.If(units >= -(-_MANY // products)):
        with T.Then():
            loop(T.parallel)
        with T.Else():
            loop(T.serial)
