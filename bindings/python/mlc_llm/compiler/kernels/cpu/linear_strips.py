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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.by_count import PAIR, emit_by_count, emit_tiles, ways_by_count
from mlc_llm.compiler.kernels.cpu.integer import holds_group
from mlc_llm.compiler.kernels.cpu.integer_instructions import TOGETHER, DotUnit, Steps
from mlc_llm.compiler.kernels.cpu.integer_tile import emit_run, emit_tile, steps_for
from mlc_llm.compiler.kernels.cpu.linear import Epilogue, epilogue_args
from mlc_llm.compiler.kernels.cpu.low_rank_codes import Added, Products, Shared
from mlc_llm.compiler.kernels.cpu.products import emit_products
from mlc_llm.compiler.kernels.cpu.strip_groups import Group, Groups, KeptGroups, StoredGroups
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_value, emit_zero, fma
from mlc_llm.compiler.quantization.gguf.types import GROUP, BlockType

TASK_BYTES = 384 << 10  # of the rows of x of a task, which stay in the second-level cache
FEWEST = 64  # rows of a task, if there are so many
KEPT = 8  # rows that wait for what adapters add: on the stack
ROWS = 32  # whose sums wait in the first cache for the next group of a strip


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
    the number of rows of x in registers when there are many. A task has as many rows as a core's
    cache holds beside a strip.
    `added`: adapters of rows; there is a plain kernel for none.
    """
    scratch = added.scratch if added else []

    def body(x, *rest) -> None:
        buffers, extras = rest[: len(weights.stored)], rest[len(weights.stored) :]
        *extras, y = extras[: len(extras) - len(scratch)]
        more: dict[str, Any] = {"activation": activation, "scale": scale}
        epilogue = Epilogue.of(extras, bias=bias, residual=residual, **more)
        rows, outs = (T.Cast("int32", size) for size in y.shape)
        strips, most = (outs + (LANES - 1)) // LANES, rows_of_task(codes)
        products = None
        if added is not None:
            of_adapters = extras[len(epilogue_args("outs", bias, residual, scale)) :]
            products = added.of(unit, x, [*of_adapters, *rest[len(rest) - len(scratch) :]])

        def each_strip(emit: Callable[[BlockStrip, Any, Any, int, Callable], None]) -> None:
            with T.parallel(-(-rows // most) * strips) as task, T.sblock("strip"):
                T.reads()
                T.writes()
                index, begin = emit_value(task % strips), emit_value(task // strips * most)
                first = emit_value(index * LANES)

                def store(row, value) -> None:
                    _emit_store(y, epilogue, value, row, first)

                strip = BlockStrip(codes, weights.on(unit), unit, x, buffers, index)
                if products is not None:
                    products.emit_ahead(index)
                    strip = replace(strip, products=products)
                emit(strip, begin, emit_value(T.min(rows - begin, most)), tile, store)

        few, many = (
            partial(each_strip, way) for way in (BlockStrip.emit_few, BlockStrip.emit_many)
        )
        ways = ways_by_count(codes, weights.kind, unit, tile, few, many)
        with T.If(rows == 1):
            with T.Then(), products.shared() if products else nullcontext() as shared:
                each_strip(lambda strip, *given: strip.emit_one(shared, given[-1]))
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
    """Rows of x that one strip after another multiplies."""
    row_bytes = 4 * int(codes.arg.shape[1])
    return max(TASK_BYTES // row_bytes, FEWEST) // FEWEST * FEWEST


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


def _tile_sizes(largest: int) -> list[int]:
    return list(dict.fromkeys(n for n in (largest, 4, 2, 1) if n <= largest))


@dataclass(frozen=True)
class BlockStrip:
    """16 rows of W, and the activations that multiply them."""

    codes: Codes
    weights: Strips
    unit: DotUnit
    x: Any
    buffers: Any
    index: Any
    products: Products | None = None  # of adapters, that are added

    def emit_one(self, shared: Shared | None, store: Callable) -> None:
        """Computes the only row of x, and what adapters add to it."""
        groups = StoredGroups(self.weights, self.buffers, self.index)
        if shared is None:
            return self._emit_tile(groups, 0, 1, store)
        shared.emit_taken()

        def changed(row, value) -> None:
            shared.emit_wait()
            store(row, shared.products.emit_one(value, block=self.index))

        self._emit_tile(groups, 0, 1, changed)

    def emit_few(self, first, count, tile: int, store: Callable) -> None:
        """Computes rows [first, first + count) of x. Each tile takes the codes out of their
        words."""
        if self.weights.kind.takes_bytes and not holds_group(self.unit):
            tile = PAIR
        groups = StoredGroups(self.weights, self.buffers, self.index)
        self._emit_tiles(groups, first, count, tile, store)

    def emit_many(self, first, count, tile: int, store: Callable) -> None:
        """The same; the codes of the whole strip become bytes once, or those of a group for many
        rows."""
        if steps := steps_for(self.codes, self.unit):
            return self._emit_by_rows(steps, first, count, tile, store)
        codes, has_minimum = self.codes, self.weights.kind.minimum
        quads = T.sblock_alloc_buffer((codes.groups * codes.quads * LANES,), "uint32")
        floats = (codes.groups * codes.sums * LANES,)
        scales = T.sblock_alloc_buffer(floats, "float32")
        minimums = T.sblock_alloc_buffer(floats, "float32") if has_minimum else None
        kept = KeptGroups(quads, scales, minimums, codes.sums, codes.quads)
        stored = StoredGroups(self.weights, self.buffers, self.index)
        stored.emit_each(codes.groups, kept.store)
        self._emit_tiles(kept, first, count, tile, store)

    def _emit_by_rows(self, steps: Steps, first, count, tile: int, store: Callable) -> None:
        """One group after another, each for many rows."""
        codes, sums = self.codes, T.sblock_alloc_buffer((ROWS * LANES,), "float32")
        quads = T.sblock_alloc_buffer((codes.quads * LANES,), "uint32")
        with T.serial((count + (ROWS - 1)) // ROWS) as block:
            begin = emit_value(first + block * ROWS)
            rows = emit_value(T.min(first + count - begin, ROWS))
            with T.serial(rows) as row:
                T.buffer_store(sums, splat(0.0), [at(row * LANES)])

            def add(group, found: Group, begin=begin, rows=rows) -> None:
                for i, quad in enumerate(found.quads):
                    T.buffer_store(quads, quad, [at(i * LANES)])

                def read(turn) -> list[tuple[Any, Any]]:
                    places = turn, emit_value(turn + codes.quads // 2)
                    return [(place, emit_value(quads[at(place * LANES)])) for place in places]

                def emit(row, count: int) -> None:
                    self._emit_group(steps, group, found, read, sums, begin, row, count)

                emit_tiles(rows, _tile_sizes(tile), emit)

            StoredGroups(self.weights, self.buffers, self.index).emit_each(codes.groups, add)

            def load(row, begin=begin):
                return sums[at((row - begin) * LANES)]

            if self.products is not None:
                self.products.emit_block(begin, rows, load, store, block=self.index)
            else:
                with T.serial(rows) as row:
                    store(begin + row, emit_value(load(begin + row)))

    def _emit_group(
        self, steps: Steps, group, found: Group, quads: Callable, sums, begin, row, rows: int
    ) -> None:
        """Adds a group's products with rows begin + [row, row + rows) of x to their sums.
        `quads(turn)` returns the quad `turn` and the one half a group behind it, with their
        positions in the group; both are under the same scale."""
        products: list[list[tuple[Any, Any]]] = [[] for _ in range(rows)]
        turns = self.codes.quads // self.codes.sums // TOGETHER
        for run, scale in enumerate(found.scales):

            def of_run(turn, run=run) -> list[tuple[Any, Any]]:
                return quads(emit_value(run * turns + turn))

            whole = emit_run(self.codes, steps, self.x, begin + row, rows, group, turns, of_run)
            for m, sum_ in enumerate(whole):
                start = self._start(begin + row + m, group, run, steps)
                products[m].append((emit_value(sum_ + splat(start)), scale))
        for m, of_row in enumerate(products):
            self._emit_added(sums, row + m, begin + row + m, group, of_row, found.minimums)

    def _emit_tiles(self, groups: Groups, first, count, tile: int, store: Callable) -> None:
        sizes = _tile_sizes(tile)

        def emit(begin, rows, store: Callable) -> None:
            emit_tiles(rows, sizes, lambda row, n: self._emit_tile(groups, begin + row, n, store))

        if self.products is None:
            return emit(first, count, store)
        # Sums that are changed in the same registers made the tiles slower, so they are kept first.
        kept = emit_floats(KEPT)
        with T.serial((count + (KEPT - 1)) // KEPT) as block:
            begin = emit_value(first + block * KEPT)

            def place(row):
                return at((row - begin) * LANES)

            rows = emit_value(T.min(first + count - begin, KEPT))
            emit(begin, rows, lambda row, value: T.buffer_store(kept, value, [place(row)]))
            self.products.emit_block(
                begin, rows, lambda row: kept[place(row)], store, block=self.index
            )

    def _emit_tile(self, groups: Groups, row, rows: int, store: Callable) -> None:
        """Computes rows [row, row + rows) of x. Their sums are in registers."""
        sums = emit_floats(rows)
        emit_zero(sums, rows)
        # Of one row, shifts that depend on the quad cost more than they save, but for whole bytes.
        # (Kept groups are of units without steps.)
        by_quads = rows > 1 or self.weights.kind.bits == 8 or self.weights.kind.values
        steps = steps_for(self.codes, self.unit) if by_quads else None
        if steps is not None and isinstance(groups, StoredGroups) and groups.has_pairs:
            self._emit_by_quads(steps, groups, row, rows, sums)
        else:
            self._emit_by_groups(groups, row, rows, sums)
        for m in range(rows):
            store(row + m, emit_value(sums[at(m * LANES)]))

    def _emit_by_groups(self, groups: Groups, row, rows: int, sums) -> None:
        def add(group, found: Group) -> None:
            # Of one row, quads that are computed as they are multiplied need fewer registers.
            quads = found.quads if rows == 1 else [emit_value(quad) for quad in found.quads]
            for m in range(rows):
                products = []
                for i, scale in enumerate(found.scales):
                    start = self._start(row + m, group, i)
                    whole = self._emit_products(quads, i, row + m, group, start)
                    products.append((whole, scale))
                self._emit_added(sums, m, row + m, group, products, found.minimums)

        groups.emit_each(self.codes.groups, add)

    def _emit_by_quads(self, steps: Steps, groups: StoredGroups, row, rows: int, sums) -> None:
        def quads(group, turn) -> list[tuple[Any, Any]]:
            first, second = groups.emit_pair(group, turn, rows)
            return [(turn, first), (turn + self.codes.quads // 2, second)]

        def finish(group, whole) -> None:
            found = groups.emit_scales(group)
            for m in range(rows):
                products = [(whole(m, self._start(row + m, group, 0, steps)), found.scales[0])]
                self._emit_added(sums, m, row + m, group, products, found.minimums)

        if not self.codes.halves:
            return emit_tile(self.codes, steps, self.x, row, rows, quads, finish)
        with T.serial(self.codes.groups) as group:
            found, own = groups.emit_scales(group), partial(quads, group)
            self._emit_group(steps, group, found, own, sums, row, 0, rows)

    def _start(self, row, group, i: int, steps: Steps | None = None):
        """What products under a group's i-th scale begin with."""
        if self.weights.kind.minimum or (steps is not None and steps.signed):
            return T.int32(0)
        return self.x[row, self.codes.place_of_offset(group, i)]

    def _emit_added(self, sums, m, row, group, products: list, minimums: list) -> None:
        """Adds a group's products with a row of x to the row's sums. `products` are whole numbers
        and their scales."""
        total, factor = sums[at(m * LANES)], emit_value(self.codes.scale(self.x, row, group))
        *others, (last, scale) = products
        if others:
            ((whole, other),) = others
            scaled = emit_value(fma(to_float(last), scale, emit_value(to_float(whole) * other)))
            total = emit_value(fma(scaled, splat(factor), total))
        else:
            total = emit_value(fma(to_float(last), scale * splat(factor), total))
        for i, minimum in enumerate(minimums):
            added = T.reinterpret("float32", self.x[row, self.codes.place_of_offset(group, i)])
            total = emit_value(fma(minimum, splat(added), total))
        T.buffer_store(sums, total, [at(m * LANES)])

    def _emit_products(self, quads: list, i: int, row, group, start):
        """start + the exact sum of the products under the i-th scale."""
        by_place = {place: quads[place] for place in self.weights.in_turn(i)}
        return emit_products(self.codes, self.unit, self.x, row, group, by_place, start)
