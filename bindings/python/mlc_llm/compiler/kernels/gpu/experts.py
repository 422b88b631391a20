"""The linear layers of experts on GPUs: y[place] = x[place] W[expert of the place]^T (+ bias).

Places are described in `kernels/common/routing.py`. A few rows: a work-group reads the weights of
its own place. Many rows: a tile has places of one expert only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, split_rows
from mlc_llm.compiler.kernels.common.routing import Stack, joined, pairs_arg, runs_arg
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_choice,
    emit_spread,
    emit_store,
    emit_value,
    grid,
    registers,
    scalar,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.linear import Product
from mlc_llm.compiler.kernels.gpu.packs import Packs
from mlc_llm.compiler.targets import LinearSizes

ITEMS = 64


def linear(
    stack: Stack,
    packs: Packs,
    sizes: LinearSizes,
    *,
    bias: str | None = None,
    dtype: str = "float32",
) -> tirx.PrimFunc:
    """f(x [n, chosen * ins], runs, owners, *stored, bias [experts, outs]?, y): y is
    [n, chosen * outs]."""

    def body(x, runs, owners, *rest) -> None:
        weights, (*added, y) = rest[: len(stack.stored)], rest[len(stack.stored) :]
        x, y = split_rows(x, stack.chosen), split_rows(y, stack.chosen)
        product = _Product(packs, (stack.outs, stack.ins), sizes, x, list(map(joined, weights)), y)
        product.stack, product.runs, product.owners = stack, runs, owners
        if bias:
            flat = (stack.experts * stack.outs,)
            product.bias = T.decl_buffer(flat, bias, data=added[0].data)
        few = owners.shape[0] <= sizes.few_rows_until
        emit_choice(few, lambda: product.emit_few(1), product.emit_many)

    x = Arg("x", ("n", stack.chosen * stack.ins), dtype)
    tables = [runs_arg(stack.experts), pairs_arg("owners", stack.chosen)]
    return kernel([x, *tables, *stack.weights(bias), stack.y(dtype)], body)


class _Product(Product):
    """The rows are places."""

    stack: Stack
    runs: Any
    owners: Any

    def begin_row(self, row) -> None:
        chosen = self.stack.chosen
        self.base = emit_value(self.owners[row // chosen, row % chosen] * self.outs)

    def row_tiles(self, edge: int):
        """At most: each expert may have a tile that is not full."""
        return T.floordiv(self.rows + (edge - 1), edge) + self.stack.experts

    @contextmanager
    def tile(self, index, edge: int) -> Iterator[Any]:
        """Walks over the runs to the tile with that index. There may be none."""
        found, before = registers(3, "int32"), registers(1, "int32")
        for i in range(3):
            T.buffer_store(found, 0, [i])
        T.buffer_store(before, 0, [0])
        with T.serial(self.runs[0, 0]) as i:
            expert, first, count = (emit_value(self.runs[i + 1, j]) for j in range(3))
            tiles = emit_value((count + (edge - 1)) // edge)
            inside = T.And(index >= before[0], index < before[0] + tiles)
            with T.If(inside), T.Then():
                values = (expert, first + (index - before[0]) * edge, first + count)
                for j, value in enumerate(values):
                    T.buffer_store(found, value, [j])
            T.buffer_store(before, before[0] + tiles, [0])
        with T.If(found[2] > 0), T.Then():
            self.base, self.rows = emit_value(found[0] * self.outs), emit_value(found[2])
            yield emit_value(found[1])


def gather(size: int, chosen: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, size], sources, y [n, chosen * size]): a row of x for each place."""

    def body(x, sources, y) -> None:
        y = split_rows(y, chosen)
        with grid((y.shape[0],), ITEMS) as ((place,), item):
            source = emit_value(sources[place // chosen, place % chosen])
            emit_spread(size, ITEMS, item, lambda k: T.buffer_store(y, x[source, k], [place, k]))

    x, y = Arg("x", ("n", size), dtype), Arg("y", ("n", chosen * size), dtype)
    return kernel([x, pairs_arg("sources", chosen), y], body)


def scale_places(size: int, chosen: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, chosen * size], places, weights, y [n, chosen * size]): the row of each place times
    the weight of its pair."""

    def body(x, places, weights, y) -> None:
        rows = places.shape[0]
        x, y = split_rows(x, chosen), split_rows(y, chosen)
        with grid((chosen, rows), ITEMS) as ((pair, row), item):
            place, factor = emit_value(places[row, pair]), emit_value(weights[row, pair])

            def scale(k) -> None:
                emit_store(y, to_float(x[place, k], 1) * factor, [place, k])

            emit_spread(size, ITEMS, item, scale)

    pairs = [pairs_arg("places", chosen), pairs_arg("weights", chosen, "float32")]
    x, y = (Arg(name, ("n", chosen * size), dtype) for name in ("x", "y"))
    return kernel([x, *pairs, y], body)


def combine(
    size: int,
    chosen: int,
    *,
    shared: bool = False,
    residual: bool = False,
    dtype: str = "float32",
    weighted: bool = True,
) -> tirx.PrimFunc:
    """f(x [n, chosen * size], places, weights, shared [n, size]?, gate f32 [n, 1]?, residual f32
    [n, size]?, y [n, size]).

    y = residual + the sum of weight * x[place] over a row's places + sigmoid(gate) * shared. It is
    float32 with a residual. If not `weighted`, all weights are 1.
    """

    def body(x, places, weights, *rest) -> None:
        x, y = split_rows(x, chosen), rest[-1]
        with grid((-(-size // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < size), T.Then():
                total = rest[-2][row, k] if residual else scalar(0.0)
                for i in range(chosen):
                    value = to_float(x[places[row, i], k], 1)
                    value = weights[row, i] * value if weighted else value
                    total = emit_value(total + value)
                if shared:
                    share = scalar(1.0) / (scalar(1.0) + T.exp(scalar(0.0) - rest[1][row, 0]))
                    total = total + share * to_float(rest[0][row, k], 1)
                emit_store(y, total, [row, k])

    args = [
        Arg("x", ("n", chosen * size), dtype),
        pairs_arg("places", chosen),
        pairs_arg("weights", chosen, "float32"),
    ]
    args += [Arg("shared", ("n", size), dtype), Arg("gate", ("n", 1))] if shared else []
    args += [Arg("residual", ("n", size))] if residual else []
    return kernel([*args, Arg("y", ("n", size), "float32" if residual else dtype)], body)
