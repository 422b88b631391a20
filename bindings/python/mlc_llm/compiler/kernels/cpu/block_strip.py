"""Sixteen rows of W (a strip) times rows of x, in integers: one row, a few, or many.

`linear_strips.py` and `experts.py` share out the strips. Many rows meet one group after another, in
blocks whose float sums wait in the first cache. AVX-512 multiplies each row by two strips at once
(`_emit_side_by_side`), so that a row's codes are read once for both. AVX2 and AVX-VNNI keep the
sums of a tile of rows in registers (`integer_tile.py`). Others first turn the codes of the whole
strip into bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.by_count import emit_tiles, tile_sizes, tiles_of_few
from mlc_llm.compiler.kernels.cpu.integer import chain_is_long, holds_group
from mlc_llm.compiler.kernels.cpu.integer_instructions import TOGETHER, DotUnit, Steps
from mlc_llm.compiler.kernels.cpu.integer_tile import emit_run, emit_tile, steps_for
from mlc_llm.compiler.kernels.cpu.low_rank_codes import Products, Shared
from mlc_llm.compiler.kernels.cpu.products import emit_products
from mlc_llm.compiler.kernels.cpu.strip_groups import Group, Groups, KeptGroups, StoredGroups
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_value, emit_zero, fma

KEPT = 8  # about how many rows wait for what adapters add: on the stack
ROWS = 32  # whose sums wait in the first cache for the next group of a strip
TILES = 8  # the same, where tiles of rows have their sums in registers

Store = Callable[[Any, Any], None]  # of a row's 16 outputs


@dataclass(frozen=True)
class Outputs:
    """Where the 16 outputs of a strip go."""

    store: Store
    ask: Callable[[Any], None]  # prefetches where a row's go, and what is added to them


def strips_at_a_time(unit: DotUnit) -> int:
    """How many neighbouring strips multiply many rows together."""
    return 2 if holds_group(unit) else 1


def emit_many(strips: Sequence[BlockStrip], first, count, tile: int) -> None:
    """Computes rows [first, first + count) of x, with as many strips as are taken at a time."""
    if holds_group(strips[0].unit):
        return _emit_side_by_side(strips, first, count)
    (strip,) = strips
    strip.emit_alone(first, count, tile)


def _emit_side_by_side(strips: Sequence[BlockStrip], first, count) -> None:
    def add(group, found: list[Group], sums, base, slot, rows) -> None:
        quads = [[emit_value(quad) for quad in of_strip.quads] for of_strip in found]
        with T.serial(rows) as i:
            m, row = emit_value(slot + i), emit_value(base + slot + i)
            products = [
                one.emit_totals(of_strip, row, group, apart=True)
                for one, of_strip in zip(strips, quads, strict=True)
            ]
            each = zip(strips, products, found, strict=True)
            for k, (one, whole, of_strip) in enumerate(each):
                scaled = list(zip(whole, of_strip.scales, strict=True))
                place = m * len(strips) + k
                one.emit_added(sums, place, row, group, scaled, of_strip.minimums)

    _emit_blocks(strips, first, count, ROWS, add)


def _emit_blocks(
    strips: Sequence[BlockStrip], first, count, most: int, add: Callable[..., None]
) -> None:
    """`add(group, contents, sums, base, slot, rows)` adds a group of each strip, times rows of x,
    to the sums in slots [slot, slot + rows). Slot s is for row base + s, and has a vector for each
    strip. A block has `most` rows.

    Outputs of neighbouring rows are often so far apart that few of them fit into the first cache at
    a time. So the places of a block's outputs are asked for row by row beside its products, and the
    outputs are stored in two halves beside those of the next one: as many as wait in a processor's
    queue of stores while it multiplies."""
    groups, blocks = strips[0].codes.groups, emit_value((count + (most - 1)) // most)
    sums = T.sblock_alloc_buffer((2 * most * len(strips) * LANES,), "float32")
    products, halves = strips[0].products, min(2, groups)
    distance, each, asked = groups // halves, most // halves, -(-most // groups)

    def place(slot, k: int):
        return at((slot * len(strips) + k) * LANES)

    def emit_out(block, slot, rows) -> None:
        base = emit_value(first + (block - block % 2) * most)
        with T.serial(rows) as i:
            for k, one in enumerate(strips):
                one.outputs.store(base + slot + i, emit_value(sums[place(slot + i, k)]))

    with T.serial(blocks) as block:
        slot = emit_value(block % 2 * most)
        base = emit_value(first + block * most - slot)
        rows = emit_value(T.min(first + count - (base + slot), most))
        with T.serial(rows) as i:
            for k in range(len(strips)):
                T.buffer_store(sums, splat(0.0), [place(slot + i, k)])
        with T.serial(groups) as group:
            if products is None:
                half = emit_value(group // distance)
                begins = T.And(half < halves, group == half * distance)
                with T.If(T.And(block > 0, begins)), T.Then():
                    emit_out(block - 1, most - slot + half * each, each)
            with T.If(group * asked < rows), T.Then():
                for i in range(asked):
                    for one in strips:
                        one.outputs.ask(base + slot + group * asked + i)
            found = [one.stored(len(strips)).emit(group) for one in strips]
            add(group, found, sums, base, slot, rows)
        for k, one in enumerate(strips if products else ()):

            def load(row, k=k, base=base):
                return sums[place(row - base, k)]

            products.emit_block(base + slot, rows, load, one.outputs.store, block=one.index)
    if products is None:
        last = emit_value(blocks - 1)
        emit_out(last, last % 2 * most, count - last * most)


@dataclass(frozen=True)
class BlockStrip:
    """16 rows of W, the activations that multiply them, and where the results go."""

    codes: Codes
    weights: Strips
    unit: DotUnit
    x: Any
    buffers: Any
    index: Any
    outputs: Outputs
    products: Products | None = None  # of adapters, that are added

    def stored(self, together: int = 1) -> StoredGroups:
        """Its groups, if it is one of so many strips that are read together."""
        return StoredGroups(self.weights, self.buffers, self.index, self.codes.groups, together)

    def emit_one(self, shared: Shared | None) -> None:
        """Computes the only row of x, and what adapters add to it."""
        store = self.outputs.store
        if shared is None:
            return self._emit_tile(self.stored(), 0, 1, store)
        shared.emit_taken()

        def changed(row, value) -> None:
            shared.emit_wait()
            store(row, shared.products.emit_one(value, block=self.index))

        self._emit_tile(self.stored(), 0, 1, changed)

    def emit_few(self, first, count, tile: int) -> None:
        """Computes rows [first, first + count) of x. Each tile takes the codes out of their
        words."""
        sizes = tiles_of_few(self.codes, self.weights.kind, self.unit, tile)
        self._emit_tiles(self.stored(), first, count, sizes)

    def emit_alone(self, first, count, tile: int) -> None:
        """The same for many rows: the codes of a group become bytes once, or those of the strip."""
        if steps := steps_for(self.codes, self.unit):
            return self._emit_by_rows(steps, first, count, tile)
        codes, has_minimum = self.codes, self.weights.kind.minimum
        quads = T.sblock_alloc_buffer((codes.groups * codes.quads * LANES,), "uint32")
        floats = (codes.groups * codes.sums * LANES,)
        scales = T.sblock_alloc_buffer(floats, "float32")
        minimums = T.sblock_alloc_buffer(floats, "float32") if has_minimum else None
        kept = KeptGroups(quads, scales, minimums, codes.sums, codes.quads)
        self.stored().emit_each(codes.groups, kept.store)
        self._emit_tiles(kept, first, count, tile_sizes(tile))

    def _emit_by_rows(self, steps: Steps, first, count, tile: int) -> None:
        # Vectors as elements: TVM aligns others to 16 bytes, so that reads could cross cache lines.
        quads = T.sblock_alloc_buffer((self.codes.quads,), f"uint32x{LANES}")

        def read(turn) -> list[tuple[Any, Any]]:
            places = turn, emit_value(turn + self.codes.quads // 2)
            return [(place, emit_value(quads[place])) for place in places]

        def add(group, found: list[Group], sums, base, slot, rows) -> None:
            for i, quad in enumerate(found[0].quads):
                T.buffer_store(quads, quad, [i])

            def emit(row, count: int) -> None:
                self._emit_group(steps, group, found[0], read, sums, base, slot + row, count)

            emit_tiles(rows, tile_sizes(tile), emit)

        _emit_blocks([self], first, count, TILES * tile, add)

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

            of_rows = self.x, begin + row, rows, group
            starts = [self._start(begin + row + m, group, run, steps) for m in range(rows)]
            found_sums = emit_run(self.codes, steps, *of_rows, turns, of_run, starts)
            for of_row, sum_ in zip(products, found_sums, strict=True):
                of_row.append((sum_, scale))
        for m, of_row in enumerate(products):
            self.emit_added(sums, row + m, begin + row + m, group, of_row, found.minimums)

    def _emit_tiles(self, groups: Groups, first, count, sizes: Sequence[int]) -> None:
        store = self.outputs.store

        def emit(begin, rows, store: Store) -> None:
            emit_tiles(rows, sizes, lambda row, n: self._emit_tile(groups, begin + row, n, store))

        if self.products is None:
            return emit(first, count, store)
        # Sums that are changed in the same registers made the tiles slower, so they are kept first.
        most = KEPT // sizes[0] * sizes[0]
        kept = emit_floats(most)
        with T.serial((count + (most - 1)) // most) as block:
            begin = emit_value(first + block * most)

            def place(row):
                return at((row - begin) * LANES)

            rows = emit_value(T.min(first + count - begin, most))
            emit(begin, rows, lambda row, value: T.buffer_store(kept, value, [place(row)]))
            self.products.emit_block(
                begin, rows, lambda row: kept[place(row)], store, block=self.index
            )

    def _emit_tile(self, groups: Groups, row, rows: int, store: Store) -> None:
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
                whole = self.emit_totals(quads, row + m, group)
                products = list(zip(whole, found.scales, strict=True))
                self.emit_added(sums, m, row + m, group, products, found.minimums)

        groups.emit_each(self.codes.groups, add)

    def _emit_by_quads(self, steps: Steps, groups: StoredGroups, row, rows: int, sums) -> None:
        def quads(group, turn) -> list[tuple[Any, Any]]:
            first, second = groups.emit_pair(group, turn, rows)
            return [(turn, first), (turn + self.codes.quads // 2, second)]

        def finish(group, whole) -> None:
            found = groups.emit_scales(group)
            for m in range(rows):
                products = [(whole(m, self._start(row + m, group, 0, steps)), found.scales[0])]
                self.emit_added(sums, m, row + m, group, products, found.minimums)

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

    def emit_added(self, sums, m, row, group, products: list, minimums: list) -> None:
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

    def emit_totals(self, quads: list, row, group, *, apart: bool = False) -> list[Any]:
        """The exact sum of a group's products with a row of x, under each scale. `apart`: in two
        chains of instructions, where one is long: so more of them are under way."""
        found = []
        for i in range(self.codes.sums):
            places = self.weights.in_turn(i)
            count = len(places) // 2 if apart and chain_is_long(self.unit, len(places)) else 0
            total = self._emit_products(
                quads, places[count:], row, group, self._start(row, group, i)
            )
            if count:
                total = total + self._emit_products(quads, places[:count], row, group, T.int32(0))
            found.append(emit_value(total))
        return found

    def _emit_products(self, quads: list, places: list[int], row, group, start):
        by_place = {place: quads[place] for place in places}
        return emit_products(self.codes, self.unit, self.x, row, group, by_place, start)
