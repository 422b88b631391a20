"""y = x W^T (+ bias) (+ residual), for integer x and weights quantized in groups of 32.

Weights stay as MLC-LLM stores them, (out, in). A strip is 16 outputs. A block is 16 neighbouring
words of each of its rows. They are transposed in registers, so that a lane belongs to an output. A
lane then takes four bytes of weights and four bytes of activations at a time. For few rows of x the
transposed words are used at once. For many rows they are stored as bytes for the whole strip, and
all rows use them in register tiles.

In both cases y[m, n] is the same number: the products in a group are added exactly, as integers,
and `sum * (weight scale * activation scale)` is added to it, group after group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import (
    LANES,
    half_to_float,
    splat,
    to_float,
    vector_type,
)
from mlc_llm.compiler.kernels.cpu.activations import GROUP, QUADS, Codes
from mlc_llm.compiler.kernels.cpu.integer import (
    DotUnit,
    Steps,
    emit_high,
    emit_low,
    has_half_floats,
    steps_of,
)
from mlc_llm.compiler.kernels.cpu.integer_tile import emit_tile
from mlc_llm.compiler.kernels.cpu.linear import Epilogue
from mlc_llm.compiler.kernels.cpu.products import emit_products
from mlc_llm.compiler.kernels.cpu.transpose import transposed
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_prefetch,
    emit_value,
    emit_zero,
    fma,
    shuffle,
)
from mlc_llm.compiler.quantization.group import Groups
from mlc_llm.compiler.quantization.stored import StoredParam

WORDS_IN_LINE = 16  # of the cache
AHEAD_LINES = 128
FEW = 8  # the most rows of x for which words are transposed each time


def linear_integer(
    codes: Codes,
    stored: Sequence[StoredParam],
    *,
    unit: DotUnit,
    tile: int,
    bias: str | None = None,
    residual: bool = False,
) -> tirx.PrimFunc:
    """f(codes, words, weight scales, bias or none, residual or none, y [m, out]).

    It works for any number of outputs that is a multiple of 16. `stored` describes one such matrix.
    `tile` is the number of rows of x in registers when there are many.
    """

    def body(x, words, scales, *rest) -> None:
        *extras, y = rest
        epilogue = Epilogue(
            bias=extras[0] if bias else None, residual=extras[-1] if residual else None
        )
        rows, strips = y.shape[0], T.Cast("int32", y.shape[1]) // LANES

        def each_strip(emit: Callable[[IntegerStrip, Callable], None]) -> None:
            with T.parallel(strips) as index, T.sblock("strip"):
                T.reads()
                T.writes()
                first = emit_value(index * LANES)
                strip = IntegerStrip(codes, unit, x, words, scales, first)

                def store(row, value) -> None:
                    value = epilogue.apply(value, row, first, LANES)
                    T.buffer_store(y, value, [row, at(first)])

                emit(strip, store)

        one = partial(each_strip, lambda strip, store: strip.emit_one(store))
        few = partial(each_strip, lambda strip, store: strip.emit_few(rows, y, store))
        many = partial(each_strip, lambda strip, store: strip.emit_many(rows, tile, store))
        with T.If(rows > 0), T.Then():  # `one` would write a row
            emit_by_count(rows, [(1, one), (FEW, few), (None, many)])

    weights = [Arg(f"weight{i}", ("outs", *p.shape[1:]), p.dtype) for i, p in enumerate(stored)]
    args = [codes.arg, *weights]
    args += [Arg("bias", ("outs",), bias)] if bias else []
    args += [Arg("residual", ("rows", "outs"))] if residual else []
    return kernel([*args, Arg("y", ("rows", "outs"))], body)


def emit_by_count(rows, ways: Sequence[tuple[int | None, Callable[[], None]]]) -> None:
    """Emits all the ways; the number of rows chooses one at run time. Each comes with the most rows
    that it is for; None: any number."""
    (most, way), *others = ways
    if most is None:
        way()
        return
    with T.If(rows <= most):
        with T.Then():
            way()
        with T.Else():
            emit_by_count(rows, others)


def fits(groups: Groups, shape: tuple[int, int]) -> bool:
    """Whether this kernel can multiply a quantized matrix (out, in): it must have whole strips and
    blocks."""
    outs, ins = shape
    return (
        groups.size == GROUP
        and groups.bits in (4, 8)
        and outs % LANES == 0
        and ins % GROUP == 0
        and ins * groups.bits >= 32 * LANES
    )


def emit_tiles(rows, sizes: Sequence[int], body: Callable[[Any, int], None]) -> None:
    """Calls `body(row, n)` for tiles of n rows that cover [0, rows), the largest tiles first."""
    larger = None
    for size in sizes:
        done = 0 if larger is None else rows // larger * larger
        with T.serial((rows - done) // size) as tile:
            body(done + tile * size, size)
        larger = size


@dataclass(frozen=True)
class IntegerStrip:
    """16 rows of W from `first` on, and the activations that multiply them. Rows of x are counted
    from `begin` on; results are columns of y from `column` on, if these are not `first`."""

    codes: Codes
    unit: DotUnit
    x: Any
    words: Any
    scales: Any  # scales of the weights
    first: Any
    begin: Any = 0
    column: Any = None

    @property
    def block_groups(self) -> int:
        """The number of groups in a block of 16 words."""
        return 16 // self.codes.weight_bits

    def emit_one(self, store: Callable) -> None:
        """Computes a single row of x, directly from the stored words."""
        sums = emit_floats(1)
        emit_zero(sums, 1)

        def group(index, quads: list, scale) -> None:
            total = self._emit_sum(quads, scale, self.begin, index, sums[at(0)])
            T.buffer_store(sums, total, [at(0)])

        self._emit_blocks(group)
        store(self.begin, emit_value(sums[at(0)]))

    def emit_few(self, rows, y, store: Callable) -> None:
        """Computes a few rows of x; each group's words are used for all of them. The sums are kept
        in the result's own memory: memory on the stack would be across cache lines."""
        column = self.first if self.column is None else self.column
        with T.serial(rows) as m:
            T.buffer_store(y, splat(0.0), [self.begin + m, at(column)])

        def group(index, quads: list, scale) -> None:
            with T.serial(rows) as m:
                place = [self.begin + m, at(column)]
                total = self._emit_sum(quads, scale, self.begin + m, index, y[place])
                T.buffer_store(y, total, place)

        self._emit_blocks(group)
        with T.serial(rows) as m:
            store(self.begin + m, emit_value(y[self.begin + m, at(column)]))

    def emit_many(self, rows, tile: int, store: Callable) -> None:
        """Computes any number of rows. The strip is transposed once."""
        quads, scales = self._emit_kept()
        is_byte = self.codes.parts == 1
        steps = steps_of(self.unit, self.codes.weight_bits, QUADS) if is_byte else None

        def tiles(row, count: int) -> None:
            sums = emit_floats(count)
            emit_zero(sums, count)
            if steps is not None and count > 1:
                self._emit_by_quads(steps, quads, scales, row, count, sums)
            else:
                self._emit_by_groups(quads, scales, row, count, sums)
            for m in range(count):
                store(row + m, emit_value(sums[at(m * LANES)]))

        emit_tiles(rows, (tile, 1), lambda row, count: tiles(self.begin + row, count))

    def _emit_kept(self) -> tuple[Any, Any]:
        """The quads and scales of the whole strip, in the order in which tiles read them."""
        quads = T.sblock_alloc_buffer((self.codes.groups * QUADS * LANES,), "uint32")
        scales = T.sblock_alloc_buffer((self.codes.groups * LANES,), "float32")

        def keep(index, vectors: list, scale) -> None:
            T.buffer_store(scales, scale, [at(index * LANES)])
            for i, vector in enumerate(vectors):
                T.buffer_store(quads, vector, [at((index * QUADS + i) * LANES)])

        self._emit_blocks(keep)
        return quads, scales

    def _emit_by_groups(self, quads, scales, row, rows: int, sums) -> None:
        with T.serial(self.codes.groups) as group:
            kept = [quads[at((group * QUADS + i) * LANES)] for i in range(QUADS)]
            kept = [emit_value(vector) for vector in kept]
            scale = emit_value(scales[at(group * LANES)])
            for m in range(rows):
                place = at(m * LANES)
                total = self._emit_sum(kept, scale, row + m, group, sums[place])
                T.buffer_store(sums, total, [place])

    def _emit_by_quads(self, steps: Steps, quads, scales, row, rows: int, sums) -> None:
        def pair(group, turn) -> list[tuple[Any, Any]]:
            places = [turn * 2, turn * 2 + 1]
            return [(i, emit_value(quads[at((group * QUADS + i) * LANES)])) for i in places]

        def finish(group, _, whole) -> None:
            scale = emit_value(scales[at(group * LANES)])
            for m in range(rows):
                place = at(m * LANES)
                found = whole(m, self.x[row + m, self.codes.place_of_offset(group)])
                total = self._emit_scaled(found, scale, row + m, group, sums[place])
                T.buffer_store(sums, total, [place])

        emit_tile(self.codes, steps, self.x, row, rows, pair, finish)

    def _emit_sum(self, quads: list, scale, row, group, total):
        """total + the group's products with a row of x."""
        codes, by_place = self.codes, dict(enumerate(quads))
        start = self.x[row, codes.place_of_offset(group)]
        whole = emit_products(codes, self.unit, self.x, row, group, by_place, start)
        return self._emit_scaled(whole, scale, row, group, total)

    def _emit_scaled(self, whole, scale, row, group, total):
        factor = scale * splat(self.codes.scale(self.x, row, group))
        return emit_value(fma(to_float(whole), factor, total))

    def _emit_blocks(self, body: Callable[[Any, list, Any], None]) -> None:
        """Calls `body(group, quads, scale)` for each group in ascending order. If a row is not a
        whole number of blocks, the last block begins earlier, and its first groups are skipped."""
        each, groups = self.block_groups, self.codes.groups
        with T.serial(-(-groups // each)) as block:
            begin = block * each
            first = emit_value(T.min(begin, groups - each)) if groups % each else begin
            for group in range(each):
                self._emit_prefetch(first + group)
            scales = self._emit_scales(first)
            words = self._emit_turned(first)
            for i in range(each):
                if groups % each == 0 or i == each - 1:
                    body(first + i, self._emit_quads(words, i), scales[i])
                    continue
                with T.If(first + i >= begin), T.Then():
                    body(first + i, self._emit_quads(words, i), scales[i])

    def _emit_prefetch(self, group) -> None:
        """Prefetches the data of a later group, as many cache lines as a group of the strip has. A
        strip is one piece of memory but is read across its rows, and CPUs do not predict that."""
        words = GROUP * self.codes.weight_bits // 32 * LANES
        for line in range(0, words, WORDS_IN_LINE):
            place = group * words + line + AHEAD_LINES * WORDS_IN_LINE
            emit_prefetch(self.words, self.first, place)

    def _emit_turned(self, group) -> list:
        """The words of a block from a group on: one vector for each word, one lane for each row."""
        base = group * (LANES // self.block_groups)
        return transposed([emit_value(self.words[self.first + r, at(base)]) for r in range(LANES)])

    def _emit_quads(self, words: list, group: int) -> list:
        """The 8 quads of a group of a block, one lane for each output, in the order of
        `Codes.places`."""
        if self.codes.weight_bits == 8:
            return words[QUADS * group : QUADS * (group + 1)]
        words = words[4 * group : 4 * group + 4]
        return [*(emit_low(word) for word in words), *(emit_high(word) for word in words)]

    def _emit_scales(self, group) -> list:
        """The scales of the 16 outputs, for each group of a block."""
        each = self.block_groups
        rows = LANES // each  # the rows whose scales fill a vector
        vectors = []  # the lanes are (row, group)
        for r in range(0, LANES, rows):
            parts = [self._stored_scales(self.first + r + i, group) for i in range(rows)]
            stored = emit_value(shuffle(parts, range(LANES)))
            vectors.append(emit_value(self._as_float(stored)))
        found = []
        for g in range(each):
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            picks = [each * i + g for i in range(2 * rows)]
            halves = [emit_value(shuffle(pair, picks)) for pair in pairs]
            found.append(halves[0] if each == 2 else emit_value(shuffle(halves, range(LANES))))
        return found

    def _as_float(self, scales):
        if self.scales.dtype == "float16" and not has_half_floats(self.unit):
            return half_to_float(scales)
        return to_float(scales)

    def _stored_scales(self, row, group):
        """The scales of a block's groups. bfloat16 is read as plain bits, because TVM rewrites
        values of that type."""
        value = self.scales[row, at(group, self.block_groups)]
        if self.scales.dtype == "bfloat16":
            value = T.reinterpret(vector_type("uint16", self.block_groups), value)
        return emit_value(value)
