"""y += scale * B (A x), for rows that adapters change (arXiv 2106.09685).

    t[u, p, j] = scale[u] * sum over k of A[group[u], p, j, k] * x[row[u], k]          `shrink`
    y[row[u], c] += sum over j of t[u, p(c), j] * B[group[u], j, c], u after u         `expand`

A group is 8 ranks of one adapter, in all layers; an adapter of rank 16 has two. A unit is a row and
a group that changes it. The outputs of a layer are in parts p (queries, keys, values), each with an
A of its own. Units of a row are in a fixed order and so are the sums over k and j: a row gets the
same bits in any company. Neighbouring units of one group read its weights together.

Both weights are [groups, blocks, 8, 16], so that a thread reads them from end to end: A has a block
for each 16 inputs of a part, B one for each 16 outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.linear import Tile
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_sum,
    emit_value,
    emit_zero,
    fma,
)

RANKS = 8  # of a group
_TOGETHER = 4  # units of one group that share a vector of B
_VECTORS = 8  # of outputs in a task
# The products for which waking other threads pays.
_MANY = 1 << 17

UNITS = [Arg(name, ("units",), "int32") for name in ("rows", "groups")]


def shrink(ins: int, parts: int, dtype: str, *, tile: Tile) -> tirx.PrimFunc:
    """f(x [n, ins], a, rows [units], groups [units], scales [units], t [units, parts * 8]). The
    scales are the bits of float32."""
    blocks = ins // LANES

    def body(x, a, rows, groups, scales, t) -> None:
        def emit(first, count: int, part) -> None:
            group = emit_value(groups[first])
            for rank in range(0, RANKS, tile.w_rows):
                ranks = range(rank, rank + tile.w_rows)
                sums = emit_floats(count * len(ranks))
                emit_zero(sums, count * len(ranks))
                with T.serial(blocks) as block:
                    ws = [_weight(a, group, part * blocks + block, j) for j in ranks]
                    for m in range(count):
                        value = emit_value(x[rows[first + m], at(block * LANES)])
                        for i, w in enumerate(ws):
                            place = [at((m * len(ranks) + i) * LANES)]
                            T.buffer_store(sums, fma(value, w, sums[place[0]]), place)
                for m in range(count):
                    scale = emit_value(T.reinterpret("float32", scales[first + m]))
                    for i, j in enumerate(ranks):
                        whole = emit_sum(sums[at((m * len(ranks) + i) * LANES)])
                        T.buffer_store(t, whole * scale, [first + m, part * RANKS + j])

        units = t.shape[0]

        def task(index) -> None:
            part = emit_value(index % parts)
            first = emit_value(index // parts * tile.x_rows)
            end = T.min(first + tile.x_rows, units)
            _emit_units(groups, first, end, tile.x_rows, lambda u, n: emit(u, n, part))

        tasks = (units + (tile.x_rows - 1)) // tile.x_rows * parts
        _emit_tasks(tasks, units, parts * RANKS * ins, task)

    weights = Arg("a", ("pool", parts * blocks, RANKS, LANES), dtype)
    scales = Arg("scales", ("units",), "int32")
    out = Arg("t", ("units", parts * RANKS))
    return kernel([Arg("x", ("n", ins)), weights, *UNITS, scales, out], body)


def expand(widths: Sequence[int], dtype: str) -> tirx.PrimFunc:
    """f(t [units, parts * 8], b, rows [units], groups [units], y [n, outputs]): adds to y.
    `widths`: the outputs of each part, whole vectors."""
    outs = sum(widths)
    blocks = outs // LANES
    ends = [sum(widths[: i + 1]) // LANES for i in range(len(widths) - 1)]

    def body(t, b, rows, groups, y) -> None:
        def emit(first, count: int, block) -> None:
            group = emit_value(groups[first])
            part = sum((T.Cast("int32", block >= end) for end in ends), T.int32(0))
            place = emit_value(part * RANKS)
            ws = [_weight(b, group, block, j) for j in range(RANKS)]
            for m in range(count):
                row = emit_value(rows[first + m])
                value = emit_value(y[row, at(block * LANES)])
                for j, w in enumerate(ws):
                    value = emit_value(fma(splat(t[first + m, place + j]), w, value))
                T.buffer_store(y, value, [row, at(block * LANES)])

        units = t.shape[0]

        def task(index) -> None:
            first = emit_value(index * _VECTORS)
            with T.serial(T.min(T.int32(blocks) - first, _VECTORS)) as vector:
                block = emit_value(first + vector)
                with T.serial((units + (_TOGETHER - 1)) // _TOGETHER) as some:
                    begin = emit_value(some * _TOGETHER)
                    end = T.min(begin + _TOGETHER, units)
                    _emit_units(groups, begin, end, _TOGETHER, lambda u, n: emit(u, n, block))

        _emit_tasks(-(-blocks // _VECTORS), units, RANKS * outs, task)

    weights = Arg("b", ("pool", blocks, RANKS, LANES), dtype)
    middle = Arg("t", ("units", len(widths) * RANKS))
    return kernel([middle, weights, *UNITS, Arg("y", ("n", outs))], body)


def _weight(weights, group, block, rank: int):
    return emit_value(to_float(weights[group, block, rank, at(0)]))


def _emit_units(groups, first, end, most: int, emit: Callable) -> None:
    """Calls `emit(unit, count)`: for `most` units at once if they are of one group, or one by
    one."""
    alike = end - first == most
    for m in range(1, most):
        # a unit behind the last one is not read
        alike = T.And(alike, groups[T.min(first + m, end - 1)] == groups[first])
    with T.If(alike):
        with T.Then():
            emit(first, most)
        with T.Else(), T.serial(end - first) as unit:
            emit(emit_value(first + unit), 1)


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
