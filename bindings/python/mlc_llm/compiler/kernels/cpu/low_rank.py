"""y += scale * B (A x), for rows that adapters change (arXiv 2106.09685).

    t[u, p, j] = scale[u] * sum over k of A[group[u], p, j, k] * x[row[u], k]          `shrink`
    y[row[u], c] += sum over j of t[u, p(c), j] * B[group[u], j, c], u after u         `expand`

A group is 8 ranks of one adapter, in all layers; an adapter of rank 16 has two. A unit is a row and
a group that changes it. The outputs of a layer are in parts p (queries, keys, values), each with an
A of its own. Units of a row are in a fixed order and so are the sums over k and j: a row gets the
same bits in any company. Neighbouring units of one group read its weights together.

These products are in floats. Where the base multiplies integers, those of `low_rank_codes.py` are
in its own loop instead.

Both weights are [groups, blocks, 8, 16], so that a thread reads them from end to end: A has a block
for each 16 inputs of a part, B one for each 16 outputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tvm import DataType, tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common import low_rank
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.low_rank import (
    COUNT,
    DISTANCE,
    FIRST,
    RANKS,
    RUN,
    TABLE,
    UNITS,
)
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.activations import Codes, emit_values
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_folds,
    emit_prefetch,
    emit_sums,
    emit_value,
    fma,
)

ROWS = 4  # of a task
_TASKS = 4  # of several threads, for few rows
PAIR = 2  # rows that are tried together where a whole tile has different adapters
_VECTORS = 8  # of outputs in a task
# The products for which waking other threads pays.
_MANY = 1 << 15
_CHUNK = 32  # blocks of A that stay in the first cache while some ranks after others read them
_AHEAD = 32  # blocks of A that are prefetched where few units share them
_LINE = 64


def shrink(ins: int, parts: int, dtype: str, codes: Codes | None, *, tile: Tile) -> tirx.PrimFunc:
    """f(x, a, groups [units], scales [units], table, t [units, parts * 8]). x has rows of floats,
    or of `codes`, which a task turns into floats once for all parts and groups. The scales are the
    bits of float32."""
    blocks, rows_at_once = ins // LANES, tile.x_rows

    def body(x, a, groups, scales, table, t) -> None:
        rows, units = T.Cast("int32", table.shape[0]), T.Cast("int32", t.shape[0])
        threads = units >= _from(parts * RANKS * ins)
        blocks_of_rows = emit_value((rows + (rows_at_once - 1)) // rows_at_once)
        # Few rows are the work of several threads each.
        slices = emit_value(T.if_then_else(threads, T.max(T.Div(_TASKS, blocks_of_rows), 1), 1))

        def emit(row, count: int, slice, floats) -> None:
            products = emit_value(table[row, COUNT] * parts)
            share = emit_value(T.Div(products + (slices - 1), slices))
            first = emit_value(slice * share)
            turns = emit_value(T.min(products - first, share))
            with T.If(turns > 0), T.Then():
                if count <= PAIR:
                    _emit_start(a, groups, table, row, first, turns, parts)
                read = _emit_reader(x, codes, row, count, floats)
                with T.serial(turns) as turn:
                    index = emit_value(first + turn)
                    emit_product(read, row, count, index, emit_value(turns - turn))

        def emit_product(read, row, count: int, index, left) -> None:
            """One of the products of rows with a part of A, and `left` in all from this one on."""
            part = emit_value(T.floormod(index, parts))
            unit = emit_value(table[row, FIRST] + index // parts * table[row, DISTANCE])
            group = emit_value(groups[unit])
            sums = [emit_sums(RANKS) for _ in range(count)]  # of each row
            each = min(RANKS, tile.w_rows * rows_at_once // count)  # as many sums for one row
            with T.serial(-(-blocks // _CHUNK)) as chunk:
                begin = emit_value(chunk * _CHUNK)
                for start in range(0, RANKS, each):
                    with T.serial(T.min(blocks - begin, _CHUNK)) as i:
                        block = emit_value(begin + i)
                        if start == 0 and count <= PAIR:  # behind a group is the adapter's next
                            with T.If(block + _AHEAD < left * blocks), T.Then():
                                _emit_prefetch(a, group, part * blocks + block + _AHEAD)
                        ranks = range(start, start + each)
                        emit_block(read, group, part * blocks, block, ranks, sums)
            for m, own in enumerate(sums):
                scale = emit_value(T.reinterpret("float32", scales[unit + m]))
                whole = emit_folds([vector[at(0)] for vector in own], operator.add)
                T.buffer_store(t, whole * splat(scale, RANKS), [unit + m, at(part * RANKS, RANKS)])

        def emit_block(read, group, of_part, block, ranks: range, sums) -> None:
            """The products of 16 inputs of neighbouring rows with some ranks of a group."""
            ws = [_weight(a, group, of_part + block, j) for j in ranks]
            for m, own in enumerate(sums):
                value = emit_value(read(m, block))
                for j, w in zip(ranks, ws, strict=True):
                    T.buffer_store(own[j], fma(value, w, own[j][at(0)]), [at(0)])

        def task(index) -> None:
            row, slice = (emit_value(f(index, slices)) for f in (T.Div, T.truncmod))
            first = emit_value(row * rows_at_once)
            floats = _floats(codes, rows_at_once) if codes else None
            each = partial(emit, slice=slice, floats=floats)
            emit_alike(table, first, rows_at_once, each)

        _emit_tasks(emit_value(blocks_of_rows * slices), threads, task)

    x = Arg("x", ("rows", ins)) if codes is None else codes.arg
    weights = Arg("a", ("pool", parts * blocks, RANKS, LANES), dtype)
    scales = Arg("scales", ("units",), "int32")
    out = Arg("t", ("units", parts * RANKS))
    return kernel([x, weights, UNITS[1], scales, TABLE, out], body)


def _emit_reader(x, codes: Codes | None, row, rows: int, floats) -> Callable:
    """A function that reads 16 inputs of one of the rows. `floats`: memory for those of codes."""
    if codes is None:
        return lambda m, block: x[row + m, at(block * LANES)]
    with T.serial(codes.groups) as group:
        for m in range(rows):
            for i, value in enumerate(emit_values(codes, x, row + m, group)):
                place = m * _distance(codes) + group * codes.group + i * LANES
                T.buffer_store(floats, value, [at(place)])
    return lambda m, block: floats[at(m * _distance(codes) + block * LANES)]


def _floats(codes: Codes, rows: int) -> Any:
    return T.sblock_alloc_buffer((rows * _distance(codes),), "float32")


def _distance(codes: Codes) -> int:
    """Of neighbouring rows; behind a row is what its last vector has of the next group."""
    return codes.groups * codes.group + codes.vectors * LANES - codes.group


def table() -> tirx.PrimFunc:
    """f(positions [n], rows [units], groups [units], table [n, 4]): for each row its first unit,
    how many it has, how far they are from one another, and how many rows from this one on have
    neighbouring units of the same groups, or none. It is not written if there are no units."""

    def body(positions, rows, groups, table) -> None:
        count, units = (T.Cast("int32", size.shape[0]) for size in (positions, rows))
        with T.sblock("table"):
            T.reads()
            T.writes()
            with T.If(units > 0), T.Then():
                with T.serial(count) as row:
                    for name in (FIRST, COUNT, DISTANCE):
                        T.buffer_store(table, T.int32(0), [row, name])
                with T.serial(units) as unit:
                    _emit_entry(table, emit_value(rows[unit]), unit)
                with T.serial(count) as turn:
                    row = emit_value(count - 1 - turn)
                    after = emit_value(T.min(row + 1, count - 1))
                    alike = T.And(turn > 0, _alike(table, groups, row, after))
                    run = T.if_then_else(alike, table[after, RUN] + 1, 1)
                    T.buffer_store(table, run, [row, RUN])

    positions = Arg("positions", ("rows",), "int32")
    return kernel([positions, *UNITS, TABLE], body)


def _emit_entry(table, row, unit) -> None:
    count = emit_value(table[row, COUNT])
    with T.If(count == 0), T.Then():
        T.buffer_store(table, unit, [row, FIRST])
    with T.If(count == 1), T.Then():
        T.buffer_store(table, unit - table[row, FIRST], [row, DISTANCE])
    T.buffer_store(table, count + 1, [row, COUNT])


def _alike(table, groups, row, after):
    """Whether the units of the row behind `row` are the neighbours of its own."""
    same = table[row, COUNT] == table[after, COUNT]
    same = T.And(same, table[row, DISTANCE] == table[after, DISTANCE])
    beside = table[after, FIRST] == table[row, FIRST] + 1
    beside = T.And(beside, groups[table[row, FIRST]] == groups[table[after, FIRST]])
    return T.And(same, T.Or(table[row, COUNT] == 0, beside))


def emit_alike(table, first, rows: int, emit: Callable) -> None:
    """Calls `emit(row, count)` for the rows [first, first + rows) of the table that have units: for
    all at once if they are alike, or for some."""

    def found(row, count: int) -> None:
        with T.If(table[row, COUNT] > 0), T.Then():
            emit(row, count)

    with T.If(table[first, RUN] >= rows):
        with T.Then():
            found(first, rows)
        with T.Else():
            left = emit_value(T.min(T.Cast("int32", table.shape[0]) - first, rows))
            _emit_some(table, first, left, rows, lambda m, n: found(emit_value(first + m), n))


def _emit_some(table, first, rows, most: int, emit: Callable) -> None:
    """Calls `emit(m, count)` for the rows first + [0, rows), at most `most`: for two at once if
    they are alike, or for each. If there are more rows behind these, `most` is 1 or even."""
    if most <= PAIR:
        with T.serial(rows) as m:
            emit(m, 1)
        return
    with T.serial(T.Div(rows + (PAIR - 1), PAIR)) as pair:
        m = emit_value(pair * PAIR)
        with T.If(table[first + m, RUN] >= PAIR):
            with T.Then():
                emit(m, PAIR)
            with T.Else(), T.serial(T.min(rows - m, PAIR)) as i:
                emit(emit_value(m + i), 1)


def emit_changed(table, first, rows, load: Callable, store: Callable, units: Callable) -> None:
    """Changes 16 outputs of the rows [first, first + rows): reads them by `load(row)`, lets
    `units(sums, first, begin, rows)` add to those of alike rows first + [begin, begin + rows) in
    `sums`, and stores them by `store(row, value)`."""

    def emit(row, count: int) -> None:
        """All loads stand before the stores: rows may lie apart by multiples of 4 KB, and then
        a CPU takes the next load for one of what was just stored."""
        sums = emit_floats(count)
        for m in range(count):
            T.buffer_store(sums, load(row + m), [at(m * LANES)])
        _emit_halves(table, units, sums, row, 0, count)
        for m in range(count):
            store(row + m, emit_value(sums[at(m * LANES)]))

    with T.serial((rows + (ROWS - 1)) // ROWS) as part:
        row = emit_value(first + part * ROWS)
        with T.If(row + ROWS <= first + rows):
            with T.Then():
                emit(row, ROWS)
            with T.Else(), T.serial(first + rows - row) as m:
                emit(emit_value(row + m), 1)


def _emit_halves(table, units: Callable, sums, first, begin: int, rows: int) -> None:
    """Calls `units` for the rows first + [begin, begin + rows): for all at once if they are alike,
    or for each half."""
    if rows == 1:
        return units(sums, first, begin, rows)
    half = rows // 2
    with T.If(table[first + begin, RUN] >= rows):
        with T.Then():
            units(sums, first, begin, rows)
        with T.Else():
            _emit_halves(table, units, sums, first, begin, half)
            _emit_halves(table, units, sums, first, begin + half, rows - half)


def part_of(widths: Sequence[int], block):
    """The part of an output block."""
    ends = [sum(widths[: i + 1]) // LANES for i in range(len(widths) - 1)]
    return sum((T.Cast("int32", block >= end) for end in ends), T.int32(0))


class Added(low_rank.Added):
    """What `expand` adds to the outputs of a layer."""

    def emit_units(self, args: Sequence[Any], sums, first, begin: int, rows: int, *, block) -> None:
        """Of the rows first + [begin, begin + rows), whose units are neighbours."""
        t, b, groups, table = args
        place = emit_value(part_of(self.widths, block) * RANKS)
        row = emit_value(first + begin)
        with T.serial(table[row, COUNT]) as turn:
            unit = emit_value(table[row, FIRST] + turn * table[row, DISTANCE])
            group = emit_value(groups[unit])
            with T.serial(RANKS) as j:
                w = _weight(b, group, block, j)
                for m in range(rows):
                    lanes = at((begin + m) * LANES)
                    value = fma(splat(t[unit + m, place + j]), w, sums[lanes])
                    T.buffer_store(sums, value, [lanes])


def expand(added: Added) -> tirx.PrimFunc:
    """f(t [units, parts * 8], b, groups [units], table, y [n, outputs]): adds to y."""

    def body(*args) -> None:
        *args, y = args
        rows, panels = T.Cast("int32", y.shape[0]), -(-added.blocks // _VECTORS)

        def task(index) -> None:
            row = emit_value(index // panels * ROWS)
            first = emit_value(index % panels * _VECTORS)
            with T.serial(T.min(T.int32(added.blocks) - first, _VECTORS)) as vector:
                block = emit_value(first + vector)

                def place(row):
                    return [row, at(block * LANES)]

                def store(row, value) -> None:
                    T.buffer_store(y, value, place(row))

                some = T.min(rows - row, ROWS)
                units = partial(added.emit_units, args, block=block)
                emit_changed(args[3], row, some, lambda r: y[tuple(place(r))], store, units)

        units = T.Cast("int32", args[0].shape[0])
        tasks = emit_value((rows + (ROWS - 1)) // ROWS * panels)
        _emit_tasks(tasks, units >= _from(RANKS * sum(added.widths)), task)

    return kernel([*added.args, Arg("y", ("rows", sum(added.widths)))], body)


def _weight(weights, group, block, rank):
    return emit_value(to_float(weights[group, block, rank, at(0)]))


def _emit_prefetch(weights, group, block) -> None:
    each = _LINE // (LANES * DataType(str(weights.dtype)).itemsize)
    for rank in range(0, RANKS, each):
        emit_prefetch(weights, group, block, rank, 0)


def _emit_start(weights, groups, table, row, index, products, parts: int) -> None:
    """Prefetches the first blocks of some products of a row, from the product `index` on."""
    unit = emit_value(table[row, FIRST] + index // parts * table[row, DISTANCE])
    group, blocks = emit_value(groups[unit]), T.Cast("int32", weights.shape[1]) // parts
    first = emit_value(T.floormod(index, parts) * blocks)
    with T.serial(T.min(products * blocks, _AHEAD)) as block:
        _emit_prefetch(weights, group, first + block)


def _from(products: int) -> int:
    """The number of units from which waking other threads pays; each has so many products."""
    return -(-_MANY // products)


def _emit_tasks(tasks, threads, body: Callable) -> None:
    """`threads`: whether several take part."""

    def loop(kind) -> None:
        with kind(tasks) as index, T.sblock("task"):
            T.reads()
            T.writes()
            body(index)

    with T.If(threads):
        with T.Then():
            loop(T.parallel)
        with T.Else():
            loop(T.serial)
