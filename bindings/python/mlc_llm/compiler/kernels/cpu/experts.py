"""The linear layers of experts: y[place] = x[place] W[expert of the place]^T (+ bias).

Places are the pairs of a row and an expert, in the order of their experts
(`kernels/common/routing.py`). The places of one expert are neighbours, so the strips of the dense
layers (`linear.py`, `block_strip.py`) multiply them: a step reads the weights of each chosen
expert once, and no others. The result of a place is the same for any number of places.

The stored tensors have an axis for experts before their own axes; kernels see both as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, split_rows
from mlc_llm.compiler.kernels.common.routing import RUN, Stack, joined, pairs_arg
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.block_strip import (
    BlockStrip,
    Outputs,
    emit_many,
    strips_at_a_time,
)
from mlc_llm.compiler.kernels.cpu.by_count import emit_by_count, ways_by_count
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.linear import FloatStrip, Tile
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_over,
    emit_prefetch,
    emit_rows,
    emit_sum,
    emit_value,
    fma,
    sigmoid,
)
from mlc_llm.compiler.kernels.cpu.weights import Rows

BLOCKS = 64  # about how many parts of each expert's outputs threads can share


@dataclass(frozen=True)
class Run:
    """The part of a kernel for one run of places: `count` from `first` on, of one expert."""

    expert: Any
    first: Any
    count: Any
    x: Any  # (places, size)
    y: Any  # (places, outs)
    weights: Sequence[Any]
    bias: Any

    def store(self, place, value, column, lanes: int) -> None:
        if self.bias is not None:
            value = value + to_float(self.bias[self.expert, at(column, lanes)], lanes)
        T.buffer_store(self.y, value, [place, at(column, lanes)])


def by_strips(
    stack: Stack,
    codes: Codes,
    weights: Strips,
    *,
    unit: DotUnit,
    tile: int,
    bias: str | None = None,
) -> tirx.PrimFunc:
    """For weights in strips, and integer x."""
    strips = stack.outs // LANES
    width = strips_at_a_time(unit) if strips % strips_at_a_time(unit) == 0 else 1

    def some(run: Run, index) -> None:
        def strip(i: Any) -> BlockStrip:
            place = emit_value(index * width + i)
            which = emit_value(run.expert * strips + place)
            column = emit_value(place * LANES)

            def store(row, value) -> None:
                run.store(row, value, column, LANES)

            def ask(row) -> None:
                emit_prefetch(run.y, row, column, writes=True)

            outputs, stored = Outputs(store, ask), weights.on(unit)
            return BlockStrip(codes, stored, unit, run.x, run.weights, which, outputs)

        def few() -> None:
            with T.serial(width) as i:
                strip(i).emit_few(run.first, run.count, tile)

        def many() -> None:
            emit_many([strip(i) for i in range(width)], run.first, run.count, tile)

        emit_by_count(run.count, ways_by_count(codes, weights.kind, unit, few, many))

    return _kernel(stack, codes.arg_of(stack.chosen), bias, strips // width, some)


def by_floats(stack: Stack, weights: Rows, *, tile: Tile, bias: str | None = None) -> tirx.PrimFunc:
    """For all weights with rows that can be read as floats, and float x."""

    def strip(run: Run, index) -> None:
        base = emit_value(run.expert * stack.outs)
        one = FloatStrip(weights, stack.outs, stack.ins, tile, base, run.first)

        def store(place, column, vector) -> None:
            run.store(place, emit_sum(vector), column, 1)

        one.emit(index * tile.w_rows, run.count, run.x, run.weights, store)

    x = Arg("x", ("n", stack.chosen * stack.ins))
    return _kernel(stack, x, bias, -(-stack.outs // tile.w_rows), strip)


def _kernel(
    stack: Stack, x_arg: Arg, bias: str | None, strips: int, emit_strip: Callable[[Run, Any], None]
) -> tirx.PrimFunc:
    """Threads share the strips of every expert, so that all have equal work."""
    each = max(1, strips // BLOCKS)  # strips in a part

    def body(x, runs, *rest) -> None:
        weights, (*added, y) = rest[: len(stack.stored)], rest[len(stack.stored) :]
        x, y = split_rows(x, stack.chosen), split_rows(y, stack.chosen)
        weights = [joined(weight) for weight in weights]
        with T.parallel(-(-strips // each)) as block, T.sblock("part"):
            T.reads()
            T.writes()
            with T.serial(runs[0, 0]) as number:
                numbers = [emit_value(runs[number + 1, i]) for i in range(RUN)]
                run = Run(*numbers, x, y, weights, added[0] if bias else None)
                last = T.min(strips - block * each, each) if strips % each else each
                with T.serial(last) as index:
                    emit_strip(run, emit_value(block * each + index))

    return kernel(stack.args(x_arg, bias), body)


def gather(size: int, chosen: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], sources, y [n, chosen * size]): a row of x for each place."""

    def body(x, sources, y) -> None:
        y = split_rows(y, chosen)

        def row(place) -> None:
            source = emit_value(sources[place // chosen, place % chosen])

            def copy(base, lanes: int) -> None:
                T.buffer_store(y, x[source, at(base, lanes)], [place, at(base, lanes)])

            emit_over(size, copy)

        emit_rows(y.shape[0], row, parallel_from=256)

    x, y = Arg("x", ("n", size), dtype), Arg("y", ("n", chosen * size), dtype)
    return kernel([x, pairs_arg("sources", chosen), y], body)


def scale_places(size: int, chosen: int) -> tirx.PrimFunc:
    """f(x [n, chosen * size], places, weights, y [n, chosen * size]): the row of each place times
    the weight of its pair."""

    def body(x, places, weights, y) -> None:
        x, y = split_rows(x, chosen), split_rows(y, chosen)

        def row(r) -> None:
            for k in range(chosen):
                place, factor = emit_value(places[r, k]), emit_value(weights[r, k])

                def scale(base, lanes: int, place=place, factor=factor) -> None:
                    value = x[place, at(base, lanes)] * splat(factor, lanes)
                    T.buffer_store(y, value, [place, at(base, lanes)])

                emit_over(size, scale)

        emit_rows(places.shape[0], row)

    pairs = [pairs_arg("places", chosen), pairs_arg("weights", chosen, "float32")]
    return kernel([Arg("x", ("n", chosen * size)), *pairs, Arg("y", ("n", chosen * size))], body)


def combine(
    size: int,
    chosen: int,
    *,
    shared: bool = False,
    residual: bool = False,
    weighted: bool = True,
) -> tirx.PrimFunc:
    """f(x [n, chosen * size], places, weights, shared [n, size]?, gate [n, 1]?, residual [n,
    size]?, y [n, size]).

    y = residual + the sum of weight * x[place] over a row's places + sigmoid(gate) * shared. If not
    `weighted`, all weights are 1.
    """

    def body(x, places, weights, *rest) -> None:
        x, y = split_rows(x, chosen), rest[-1]
        before = rest[-2] if residual else None

        def row(r) -> None:
            found = [emit_value(places[r, k]) for k in range(chosen)]
            one = T.float32(1)
            factors = [emit_value(weights[r, k]) if weighted else one for k in range(chosen)]
            share = emit_value(sigmoid(emit_value(rest[1][r, 0]), 1)) if shared else None

            def add(base, lanes: int) -> None:
                zero = splat(0.0, lanes)
                total = zero if before is None else before[r, at(base, lanes)]
                for place, factor in zip(found, factors, strict=True):
                    value = x[place, at(base, lanes)]
                    total = emit_value(fma(value, splat(factor, lanes), total, lanes))
                if shared:
                    value = rest[0][r, at(base, lanes)]
                    total = fma(value, splat(share, lanes), total, lanes)
                T.buffer_store(y, total, [r, at(base, lanes)])

            emit_over(size, add)

        emit_rows(y.shape[0], row)

    args = [
        Arg("x", ("n", chosen * size)),
        pairs_arg("places", chosen),
        pairs_arg("weights", chosen, "float32"),
    ]
    args += [Arg("shared", ("n", size)), Arg("gate", ("n", 1))] if shared else []
    args += [Arg("residual", ("n", size))] if residual else []
    return kernel([*args, Arg("y", ("n", size))], body)
