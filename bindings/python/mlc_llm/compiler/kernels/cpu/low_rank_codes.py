"""What adapters add to a product of integer activations (formulas: `low_rank.py`), in its own loop.

    t[u, p, j] = scale[u] * sum over k of A[group[u], p, j, k] * x[row[u], k]
    y[row[u], c] += sum over j of t[u, p(c), j] * B[group[u], j, c], u after u

x are the codes that the base multiplies. A has codes of 7 bits, so that no instruction's sums of
bytes overflow, and a scale for each rank and group of x's inputs. B has codes of 8 bits, and a
scale for each rank, which is a factor in those of A. t is rounded to 16 bits, with one scale for 8
ranks. So all products are exact integers, and a row gets the same bits in any company.

Of one row the threads of the base's loop share the products with A: each takes some of what is left
before it computes outputs. Before it changes the first ones it waits until the others have ended
theirs. So there is no second loop to begin and to wait for. Of more rows such a loop stands before
the base's: it costs little of their time, and beside its code the base's own tiles would be slower.

Both weights are read from end to end. A is [groups, parts * groups of inputs, 1 + quads, 8] words:
the scales, then quads of inputs in the order of `Codes.places`. B is [groups, blocks, 128] bytes:
for each 16 outputs four pairs of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.low_rank import (
    COUNT,
    DISTANCE,
    FIRST,
    RANKS,
    TABLE,
    UNITS,
)
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.integer import emit_word_dots
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.low_rank import (
    PAIR,
    ROWS,
    emit_alike,
    emit_changed,
    part_of,
)
from mlc_llm.compiler.kernels.cpu.products import emit_products
from mlc_llm.compiler.kernels.cpu.shared_counters import Counter, counters
from mlc_llm.compiler.kernels.cpu.vector import (
    absolute,
    at,
    emit_floats,
    emit_fold,
    emit_prefetch,
    emit_value,
    fma,
    rounded,
)

BITS = 7  # of A's codes
ZERO = 1 << (BITS - 1)  # the code of 0
_PAIRS = RANKS // 2  # of ranks, in a word each
_SCALE = _PAIRS  # the word of t with the scale
_WORDS = RANKS  # of t, for a unit and a part
_LARGEST = (1 << 15) - 1  # of the codes of t
_TOGETHER = 16  # units whose groups are prefetched
_SHARES = 8  # of the products of few rows
_AHEAD = 16  # groups of A that are prefetched where few rows share them
_LINE_WORDS = 16


def step_of(codes: Codes) -> int:
    """How far the inputs of a quad are from one another: neighbours, or every second one of 8."""
    order = [i for _, inputs in sorted(codes.places) for i in inputs]
    step = order[1] - order[0]
    assert order == order_of(step, len(order)), order
    return step


def order_of(step: int, group: int) -> list[int]:
    """The inputs of a group as the bytes of its quads have them."""
    blocks = range(0, group, 4 * step)
    return [b + first + step * i for first in range(step) for b in blocks for i in range(4)]


@dataclass(frozen=True)
class Added:
    """`widths`: the outputs of each part, whole vectors. `codes`: x's."""

    widths: tuple[int, ...]
    codes: Codes

    @property
    def args(self) -> list[Arg]:
        """groups [units], scales [units] (the bits of float32), the table, a, b."""
        parts, blocks = len(self.widths), sum(self.widths) // LANES
        a = ("pool", parts * self.codes.groups, 1 + self.codes.quads, RANKS)
        weights = [Arg("a", a, "int32"), Arg("b", ("pool", blocks, RANKS * LANES), "int8")]
        return [UNITS[1], Arg("scales", ("units",), "int32"), TABLE, *weights]

    @property
    def scratch(self) -> list[Arg]:
        """t."""
        return [Arg("t", ("units", len(self.widths) * _WORDS), "int32")]

    def of(self, unit: DotUnit, x: Any, args: Sequence[Any]) -> Products:
        """`args`: those and the scratch."""
        return Products(self, unit, x, *args)


@dataclass(frozen=True)
class Products:
    added: Added
    unit: DotUnit
    x: Any
    groups: Any
    scales: Any
    table: Any
    a: Any
    b: Any
    t: Any

    def emit_all(self) -> None:
        """The products of all rows with A, in a loop."""
        rows = T.Cast("int32", self.x.shape[0])
        blocks = emit_value((rows + (ROWS - 1)) // ROWS)
        # Few rows are the work of several tasks each.
        slices = emit_value(T.max(T.int32(_SHARES) // T.max(blocks, 1), 1))
        with T.parallel(blocks * slices) as task, T.sblock("products"):
            T.reads()
            T.writes()
            first, slice = emit_value(task // slices * ROWS), emit_value(task % slices)
            emit_alike(self.table, first, ROWS, partial(self._emit_share, slice, slices))

    @contextmanager
    def shared(self) -> Iterator[Shared]:
        """Those of one row. The base's loop stands within."""
        with counters(2, self.unit) as (taken, done):
            count = emit_value(self.table[0, COUNT] * len(self.added.widths))
            yield Shared(self, taken, done, count)

    def emit_ahead(self, block) -> None:
        """Prefetches what `emit_block` reads first."""
        units = T.Cast("int32", self.groups.shape[0])
        with T.serial(T.min(units, _TOGETHER)) as unit:
            group = emit_value(self.groups[unit])
            with T.If(T.Or(unit == 0, self.groups[T.max(unit - 1, 0)] != group)), T.Then():
                for octet in range(0, RANKS * LANES, 4 * _LINE_WORDS):
                    emit_prefetch(self.b, group, block, octet)

    def emit_block(self, first, rows, load: Callable, store: Callable, *, block) -> None:
        """Reads by `load(row)`, changes and stores by `store(row, value)` the outputs
        [16 * block, + 16) of the rows [first, first + rows)."""
        units = partial(self._emit_units, block=block)
        emit_changed(self.table, first, rows, load, store, units)

    def emit_one(self, value, *, block):
        """The outputs of the only row with what is added to `value`."""
        sums = emit_floats(1)
        T.buffer_store(sums, value, [at(0)])
        self._emit_units(sums, T.int32(0), 0, 1, block=block)
        return emit_value(sums[at(0)])

    # A x

    def _emit_share(self, slice, slices, row, count: int) -> None:
        """A slice of the products of rows that are alike."""
        products = emit_value(self.table[row, COUNT] * len(self.added.widths))
        share = emit_value((products + (slices - 1)) // slices)
        first = emit_value(slice * share)
        turns = emit_value(T.min(products - first, share))
        with T.If(turns > 0), T.Then():
            self.emit_start(row, first, turns)
            with T.serial(turns) as turn:
                self.emit_product(row, count, emit_value(first + turn), turns - turn)

    def emit_start(self, row, index, count) -> None:
        """Prefetches the first groups of some products of a row."""
        unit, part = self._unit_and_part(row, index)
        group, each = emit_value(self.groups[unit]), self.added.codes.groups
        with T.serial(T.min(count * each, _AHEAD)) as i:
            self._emit_prefetch(group, part * each + i)

    def _unit_and_part(self, row, index) -> tuple[Any, Any]:
        parts = len(self.added.widths)
        turn, part = emit_value(index // parts), emit_value(index % parts)
        return emit_value(self.table[row, FIRST] + turn * self.table[row, DISTANCE]), part

    def emit_product(self, row, count: int, index, left) -> None:
        """Of neighbouring rows with a part of a group of A. `left`: products from this one on."""
        codes, (unit, part) = self.added.codes, self._unit_and_part(row, index)
        group, left = emit_value(self.groups[unit]), emit_value(left * codes.groups)
        sums = [T.alloc_buffer((RANKS,), "float32") for _ in range(count)]
        for own in sums:
            T.buffer_store(own, splat(0.0, RANKS), [at(0, RANKS)])
        with T.serial(codes.groups) as i:
            place = emit_value(part * codes.groups + i)
            if count <= PAIR:  # behind a product is the adapter's next
                with T.If(i + _AHEAD < left), T.Then():
                    self._emit_prefetch(group, place + _AHEAD)
            ws = [emit_value(self.a[group, place, q, at(0, RANKS)]) for q in range(1 + codes.quads)]
            scale = emit_value(T.reinterpret(f"float32x{RANKS}", ws[0]))
            for m, own in enumerate(sums):
                self._emit_group(own, emit_value(row + m), i, scale, ws[1:])
        for m, own in enumerate(sums):
            factor = emit_value(T.reinterpret("float32", self.scales[unit + m]))
            value = emit_value(own[at(0, RANKS)] * splat(factor, RANKS))
            self._emit_rounded(value, emit_value(unit + m), part * _WORDS)

    def _emit_group(self, sums, row, group, scale, quads: list) -> None:
        """Adds the products of a group of a row's inputs."""
        codes, x = self.added.codes, self.x
        factor = emit_value(codes.scale(x, row, group))
        offsets = [x[row, codes.place_of_offset(group, i)] for i in range(codes.sums)]
        start = T.int32(0) if codes.scaled else _start(codes.zero, sum(offsets[1:], offsets[0]))
        whole = emit_products(
            codes, self.unit, x, row, group, dict(enumerate(quads)), emit_value(start),
            weight_bits=BITS, lanes=RANKS,
        )  # fmt: skip
        whole, before = to_float(whole, RANKS), sums[at(0, RANKS)]
        if codes.scaled:
            floats = [T.reinterpret("float32", offset) for offset in offsets]
            offset = sum(floats[1:], floats[0]) * T.float32(-ZERO)
            value = emit_value(fma(whole, splat(factor, RANKS), splat(offset, RANKS), RANKS))
        else:
            value = emit_value(whole * splat(factor, RANKS))
        T.buffer_store(sums, fma(value, scale, before, RANKS), [at(0, RANKS)])

    def _emit_rounded(self, value, unit, place) -> None:
        """Stores t of a unit and a part."""
        size = emit_value(absolute(value, RANKS))
        largest = emit_value(T.max(emit_fold(size, T.max, RANKS), T.float32(1e-30)))
        inverse = emit_value(T.float32(_LARGEST) / largest)
        scaled = value * splat(inverse, RANKS)
        whole = T.Cast(f"int32x{RANKS}", rounded(scaled, RANKS))
        codes = emit_value(T.Cast(f"int16x{RANKS}", whole))
        words = T.reinterpret(f"int32x{_PAIRS}", codes)
        T.buffer_store(self.t, words, [unit, at(place, _PAIRS)])
        scale = T.reinterpret("int32", largest * T.float32(1 / _LARGEST))
        T.buffer_store(self.t, scale, [unit, place + _SCALE])

    def _emit_prefetch(self, group, place) -> None:
        for word in range(0, (1 + self.added.codes.quads) * RANKS, _LINE_WORDS):
            emit_prefetch(self.a, group, place, word // RANKS, word % RANKS)

    # B (A x)

    def _emit_units(self, sums, first, begin: int, rows: int, *, block) -> None:
        """Of the rows first + [begin, begin + rows), whose units are neighbours."""
        part = part_of(self.added.widths, block)
        place, row = emit_value(part * _WORDS), emit_value(first + begin)
        with T.serial(self.table[row, COUNT]) as turn:
            unit = emit_value(self.table[row, FIRST] + turn * self.table[row, DISTANCE])
            group = emit_value(self.groups[unit])
            weights = [self._emit_pair(group, block, i) for i in range(_PAIRS)]
            for m in range(rows):
                codes = [self.t[unit + m, place + i] for i in range(_PAIRS)]
                whole = emit_word_dots(self.unit, splat(T.int32(0)), weights, codes)
                scale = emit_value(T.reinterpret("float32", self.t[unit + m, place + _SCALE]))
                lanes = at((begin + m) * LANES)
                T.buffer_store(sums, fma(to_float(whole), splat(scale), sums[lanes]), [lanes])

    def _emit_pair(self, group, block, pair: int) -> Any:
        """Two ranks of B, as numbers of 16 bits in the word of each output."""
        octets = self.b[group, block, at(pair * 2 * LANES, 2 * LANES)]
        words = emit_value(T.Cast(f"int16x{2 * LANES}", octets))
        return emit_value(T.reinterpret(f"int32x{LANES}", words))


@dataclass(frozen=True)
class Shared:
    """Products of one row that threads take in turn."""

    products: Products
    taken: Counter
    done: Counter
    count: Any

    def emit_taken(self) -> None:
        """Takes products while any are left, so that whoever waits later finds all taken."""
        row = T.int32(0)
        with T.While(self.taken.read() < self.count):
            index = self.taken.emit_next()
            with T.If(index < self.count), T.Then():
                self.products.emit_start(row, index, 1)
                self.products.emit_product(row, 1, index, T.int32(1))
                T.evaluate(self.done.emit_next())

    def emit_wait(self) -> None:
        """After `emit_taken`. What a thread can do before it needs t comes between them, so mostly
        all is done by now (the cost where it is not: `Counter.emit_wait`)."""
        self.done.emit_wait(self.count)


def _start(zero: int, offset) -> Any:
    """-ZERO times the sum of codes, from -`zero` times it."""
    if ZERO % zero == 0:
        return offset * T.int32(ZERO // zero)
    return T.Div(offset, T.int32(zero)) * T.int32(ZERO)
