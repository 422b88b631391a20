"""y += scale * B (A x), for rows that adapters change: `kernels/cpu/low_rank.py` has the formulas
and the layouts, this file the same for GPUs.

    table    what units each row has; a work-item for each row
    shrink   a work-group for each unit and part, which adds up its 8 ranks
    expand   a work-item for each row and output, which adds the row's units in their order

Without units nothing is launched.
"""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.low_rank import (
    COUNT,
    DISTANCE,
    FIRST,
    RANKS,
    TABLE,
    UNITS,
    Added,
)
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_fill,
    emit_group_sums,
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    shared,
    to_float,
)

ITEMS = 64


def table() -> tirx.PrimFunc:
    """f(positions [n], rows [units], groups [units], table)."""

    def body(positions, rows, groups, table) -> None:
        count, units = (T.Cast("int32", size.shape[0]) for size in (positions, rows))
        with T.If(units > 0), T.Then():
            with grid((T.floordiv(count + (ITEMS - 1), ITEMS),), ITEMS) as ((part,), item):
                row = emit_value(part * ITEMS + item)
                with T.If(row < count), T.Then():
                    for name in (FIRST, COUNT, DISTANCE):
                        T.buffer_store(table, T.int32(0), [row, name])
                    with T.serial(units) as unit, T.If(rows[unit] == row), T.Then():
                        with T.If(table[row, COUNT] == 0), T.Then():
                            T.buffer_store(table, unit, [row, FIRST])
                        with T.If(table[row, COUNT] == 1), T.Then():
                            T.buffer_store(table, unit - table[row, FIRST], [row, DISTANCE])
                        T.buffer_store(table, table[row, COUNT] + 1, [row, COUNT])

    return kernel([Arg("positions", ("rows",), "int32"), *UNITS, TABLE], body)


def shrink(ins: int, parts: int, dtype: str, x_dtype: str) -> tirx.PrimFunc:
    """f(x [n, ins], a, rows [units], groups [units], scales [units], t [units, parts * 8])."""
    blocks = ins // LANES

    def body(x, a, rows, groups, scales, t) -> None:
        # a grid has at most 65,535 groups along all axes but the first, and units may be more
        with grid((t.shape[0], parts), ITEMS) as ((unit, part), item):
            sums, partial = registers(RANKS), shared(RANKS * ITEMS)
            row, group = emit_value(rows[unit]), emit_value(groups[unit])
            emit_fill(sums, RANKS, 0.0)

            def add(k) -> None:
                value = emit_value(to_float(x[row, k], 1))
                block, lane = T.floordiv(k, LANES), T.floormod(k, LANES)
                for j in range(RANKS):
                    weight = to_float(a[group, part * blocks + block, j, lane], 1)
                    T.buffer_store(sums, sums[j] + value * weight, [j])

            emit_spread(ins, ITEMS, item, add)
            for j in range(RANKS):
                T.buffer_store(partial, sums[j], [item * RANKS + j])
            emit_group_sums(partial, item, ITEMS, RANKS)
            scale = emit_value(T.reinterpret("float32", scales[unit]))
            with T.If(item < RANKS), T.Then():
                T.buffer_store(t, scale * partial[item], [unit, part * RANKS + item])

    weights = Arg("a", ("pool", parts * blocks, RANKS, LANES), dtype)
    scales = Arg("scales", ("units",), "int32")
    out = Arg("t", ("units", parts * RANKS))
    return kernel([Arg("x", ("n", ins), x_dtype), weights, *UNITS, scales, out], body)


def expand(added: Added, y_dtype: str) -> tirx.PrimFunc:
    """f(t [units, parts * 8], b, groups [units], table, y [n, outputs]): adds to y."""
    outs = sum(added.widths)

    def body(t, b, groups, table, y) -> None:
        with T.If(T.Cast("int32", t.shape[0]) > 0), T.Then():
            with grid((-(-outs // ITEMS), y.shape[0]), ITEMS) as ((panel, row), item):
                out = emit_value(panel * ITEMS + item)
                with T.If(T.And(out < outs, table[row, COUNT] > 0)), T.Then():
                    emit_output(t, b, groups, table, y, row, out)

    def emit_output(t, b, groups, table, y, row, out) -> None:
        sums, ends = (
            registers(1),
            [sum(added.widths[: i + 1]) for i in range(len(added.widths) - 1)],
        )
        part = sum((T.Cast("int32", out >= end) for end in ends), T.int32(0))
        place = emit_value(part * RANKS)
        block, lane = emit_value(T.floordiv(out, LANES)), emit_value(T.floormod(out, LANES))
        T.buffer_store(sums, to_float(y[row, out], 1), [0])
        with T.serial(table[row, COUNT]) as turn:
            unit = emit_value(table[row, FIRST] + turn * table[row, DISTANCE])
            group = emit_value(groups[unit])
            for j in range(RANKS):
                weight = to_float(b[group, block, j, lane], 1)
                T.buffer_store(sums, sums[0] + t[unit, place + j] * weight, [0])
        emit_store(y, sums[0], [row, out])

    return kernel([*added.args, Arg("y", ("rows", outs), y_dtype)], body)
