"""y = x W^T (+ bias) (+ residual), for integer x and weights in strips (`gguf/types.py`).

A strip is 16 outputs. In its layout a vector is one quad of inputs for each output, and a thread
reads its strips from end to end. y[m, n] is a chain over groups of 32 (or 40) inputs in ascending
order.
The products in a group are added exactly, as integers. Then `sum * (weight scale * activation
scale)` is added to the chain, and then `minimum * sum of activations` if there is a minimum. So the
result does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.block_strip import (
    BlockStrip,
    Outputs,
    emit_many,
    strips_at_a_time,
)
from mlc_llm.compiler.kernels.cpu.by_count import emit_by_count, ways_by_count
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.linear import Epilogue, epilogue_args
from mlc_llm.compiler.kernels.cpu.low_rank_codes import Added, Shared
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_prefetch, emit_value
from mlc_llm.compiler.quantization.gguf.types import GROUP, BlockType

TASK_BYTES = 384 << 10  # of the rows of x of a task, which stay in the second-level cache
MOST, FEWEST = 256, 64  # the most and the fewest rows of a task, if there are so many


def codes_for(kind: BlockType, size: int, bits: int) -> Codes:
    """The form of activations for products with weights of that type."""
    zero = -1 if kind.minimum else kind.zero
    halves = kind.group < GROUP
    return Codes(
        size=size,
        bits=bits,
        weight_bits=kind.factor_bits,
        zero=zero,
        halves=halves,
        scaled=kind.minimum,
        group=kind.span,
    )


def linear_strips(
    codes: Codes,
    weights: Strips,
    *,
    unit: DotUnit,
    tile: int,
    bias: str | None = None,
    residual: bool = False,
    activation: str | None = None,
    scale: str | None = None,
    added: Added | None = None,
) -> tirx.PrimFunc:
    """f(codes, *stored, what `Epilogue` takes, what `added` takes, y [m, out], scratch).

    It works for any number of outputs. `weights` describes the layout of one such matrix. `tile` is
    the number of rows of x in registers when there are many.
    `added`: adapters of rows; there is a plain kernel for none.
    """
    scratch = added.scratch if added else []

    def body(x, *rest) -> None:
        buffers, extras = rest[: len(weights.stored)], rest[len(weights.stored) :]
        *extras, y = extras[: len(extras) - len(scratch)]
        more: dict[str, Any] = {"activation": activation, "scale": scale}
        epilogue = Epilogue.of(extras, bias=bias, residual=residual, **more)
        rows, outs = (T.Cast("int32", size) for size in y.shape)
        strips = (outs + (LANES - 1)) // LANES
        most = emit_value(equal_rows(T.max(rows, 1), rows_of_task(codes)))
        products = None
        if added is not None:
            of_adapters = extras[len(epilogue_args("outs", bias, residual, scale)) :]
            products = added.of(unit, x, [*of_adapters, *rest[len(rest) - len(scratch) :]])

        def each(width: int, emit: Callable[[list[BlockStrip], Any, Any], None]) -> None:
            """A task for each `width` neighbouring strips. One behind the last is the last again,
            without outputs."""
            units = (strips + (width - 1)) // width
            with T.parallel(-(-rows // most) * units) as task, T.sblock("strip"):
                T.reads()
                T.writes()
                index, begin = emit_value(task % units * width), emit_value(task // units * most)
                found = [strip(index + i) for i in range(width)]
                emit(found, begin, emit_value(T.min(rows - begin, most)))

        def strip(place) -> BlockStrip:
            index = emit_value(T.min(place, strips - 1))
            if products is not None:
                products.emit_ahead(index)
            first, asked = emit_value(place * LANES), emit_value(index * LANES)

            def store(row, value) -> None:
                _emit_store(y, epilogue, value, row, first)

            def ask(row) -> None:
                epilogue.emit_prefetch(row, asked)
                emit_prefetch(y, row, asked, writes=True)

            outputs, stored = Outputs(store, ask), weights.on(unit)
            return BlockStrip(codes, stored, unit, x, buffers, index, outputs, products)

        def one(shared: Shared | None) -> None:
            each(1, lambda found, *_: found[0].emit_one(shared))

        def few() -> None:
            each(1, lambda found, *rows: found[0].emit_few(*rows, tile))

        def many() -> None:
            each(strips_at_a_time(unit), lambda found, *rows: emit_many(found, *rows, tile))

        ways = ways_by_count(codes, weights.kind, unit, few, many)
        with T.If(rows == 1):
            with T.Then(), products.shared() if products else nullcontext() as shared:
                one(shared)
            with T.Else():
                if products is not None:
                    products.emit_all()
                emit_by_count(rows, ways)

    shapes = [("strips", *p.shape[1:]) for p in weights.stored]
    stored = zip(shapes, weights.stored, strict=True)
    args = [codes.arg, *(Arg(f"weight{i}", s, p.dtype) for i, (s, p) in enumerate(stored))]
    args += epilogue_args("outs", bias, residual, scale)
    args += added.args if added else []
    return kernel([*args, Arg("y", ("rows", "outs")), *scratch], body)


def rows_of_task(codes: Codes) -> int:
    """Rows of x that one strip after another multiplies. With few enough of them each thread has
    rows of its own in a long prompt, the same in all loops of a layer (`runtime/worker_pool.h`).
    Half as many, and so on, if a row is long: so tasks of all layers begin at the same rows."""
    rows = MOST
    while rows > FEWEST and rows * 4 * int(codes.arg.shape[1]) > TASK_BYTES:
        rows //= 2
    return rows


def equal_rows(rows, most: int):
    """The rows of each task, at most `most`. Several tasks have nearly equal rows, so that each of
    two threads has half; they are an even number where multiples of 8 rows, a tile, allow it."""
    tasks = (rows + (most - 1)) // most
    even = (tasks + tasks % 2 - 1 // tasks) * 8
    return (rows + (even - 1)) // even * 8


def _emit_store(y, epilogue: Epilogue, value, row, first) -> None:
    """Stores 16 outputs, or fewer in the last strip."""
    outs = T.Cast("int32", y.shape[1])
    with T.If(first + LANES <= outs):
        with T.Then():
            T.buffer_store(y, epilogue.apply(value, row, first, LANES), [row, at(first)])
        with T.Else():
            lanes = emit_floats(1)
            T.buffer_store(lanes, value, [at(0)])
            with T.serial(outs - first) as lane:
                one = epilogue.apply(lanes[lane], row, first + lane, 1)
                T.buffer_store(y, one, [row, first + lane])
