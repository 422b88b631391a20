"""y = x W^T (+ bias) (+ residual), for x as whole numbers and weights quantized in groups of 32.

Weights stay as MLC-LLM stores them, (out, in). A strip is 16 outputs. Its words are turned in
registers so that a lane belongs to an output; a lane then takes four bytes of weights and four of
activations at a time. Few rows of x use the turned words at once; for many rows they are kept for
the strip, as bytes, and serve all rows in register tiles.

Either way y[m, n] is the same number: products within a group are summed exactly, as whole numbers;
group g adds `sum * (weight scale * activation scale)` to partial sum g % 4, in ascending order; and
the four partial sums are added as (0 + 2) + (1 + 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.activations import GROUP, GROUPS, Codes
from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.integer import DotUnit, dot
from mlc_llm.compiler.kernels.cpu.linear import Epilogue
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    emit_floats,
    emit_prefetch,
    emit_value,
    emit_zero,
    fma,
    shuffle,
    splat,
    to_float,
    vector_type,
)
from mlc_llm.compiler.quantization import Scheme, StoredParam

GROUP_QUADS = GROUP // 4
WORDS_IN_LINE = 16  # of a cache
AHEAD_LINES = 128
FEW = 2  # rows of x up to which words are turned for each of their tiles anew


def linear_integer(
    codes: Codes,
    stored: Sequence[StoredParam],
    shape: tuple[int, int],
    *,
    unit: DotUnit,
    tiles: Sequence[int] = (8, 4, 2, 1),
    bias: str | None = None,
    residual: bool = False,
) -> tirx.PrimFunc:
    """f(codes, scales, offsets, words, weight scales, bias or none, residual or none, y [m, out]).

    `shape` is (outputs, inputs): a multiple of 16 and one of 32. `tiles` are the rows of x that
    are in registers at a time, descending, each a divisor of the one before, 1 the last.
    """
    outs, ins = shape
    assert outs % LANES == 0 and ins % GROUP == 0 and ins == codes.size, (shape, codes)

    def body(quads, scales, offsets, words, weight_scales, *rest) -> None:
        *extras, y = rest
        epilogue = Epilogue(
            bias=extras[0] if bias else None, residual=extras[-1] if residual else None
        )
        rows = quads.shape[0]
        with T.parallel(outs // LANES) as index, T.sblock("strip"):
            T.reads()
            T.writes()
            first = emit_value(index * LANES)
            strip = _Strip(codes, unit, quads, scales, offsets, words, weight_scales, first)

            def store(row, value) -> None:
                value = epilogue.apply(value, row, first, LANES)
                T.buffer_store(y, value, [row, at(first)])

            with T.If(rows <= FEW):
                with T.Then():
                    few = [n for n in tiles if n <= FEW]
                    emit_tiles(rows, few, lambda row, n: strip.emit_few(row, n, store))
                with T.Else(), T.sblock("kept"):  # a block of its own: few rows need no room
                    T.reads()
                    T.writes()
                    kept = strip.emit_kept(tiles[0])
                    emit_tiles(rows, tiles, lambda row, n: strip.emit_many(kept, row, n, store))

    weights = [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(stored)]
    args = [*codes.args, *weights]
    args += [Arg("bias", (outs,), bias)] if bias else []
    args += [Arg("residual", ("rows", outs))] if residual else []
    return kernel([*args, Arg("y", ("rows", outs))], body)


def fits(scheme: Scheme, shape: tuple[int, int]) -> bool:
    """Whether a quantized matrix (out, in) can be multiplied so."""
    return scheme.group_size == GROUP and scheme.bits in (4, 8) and not (
        shape[0] % LANES or shape[1] % GROUP
    )  # fmt: skip


def emit_tiles(rows, sizes: Sequence[int], body: Callable[[Any, int], None]) -> None:
    """`body(row, n)` for tiles of n rows that cover [0, rows): the largest first."""
    larger = None
    for size in sizes:
        done = 0 if larger is None else rows // larger * larger
        with T.serial((rows - done) // size) as tile:
            body(done + tile * size, size)
        larger = size


@dataclass(frozen=True)
class _Kept:
    """A strip's weights as bytes [group, 8 quads, 16 outputs], and their scales."""

    quads: Any
    floats: Any  # the scales, then partial sums


@dataclass(frozen=True)
class _Strip:
    """16 rows of W from `first` on, and what it is multiplied with."""

    codes: Codes
    unit: DotUnit
    quads: Any
    scales: Any
    offsets: Any
    words: Any
    weight_scales: Any
    first: Any

    @property
    def groups(self) -> int:
        return self.codes.size // GROUP

    def emit_few(self, row, rows: int, store: Callable) -> None:
        """Rows [row, row + rows) of x, straight from the stored words."""
        sums = emit_floats(rows * GROUPS)
        emit_zero(sums, rows * GROUPS)

        def block(index, groups: int) -> None:
            for group in range(groups):
                self._emit_prefetch(index * GROUPS + group)
            scales = self._emit_scales(index, groups)
            for group, quads in enumerate(self._emit_quads(index, groups)):
                for m in range(rows):
                    place = at((m * GROUPS + group) * LANES)
                    add = self._emit_sum(quads, row + m, index, group, scales[group], sums[place])
                    T.buffer_store(sums, add, [place])

        self._emit_blocks(block)
        for m in range(rows):
            store(row + m, emit_total(sums, m * GROUPS, 1))

    def emit_kept(self, tile: int) -> _Kept:
        """The whole strip, turned; with room for the partial sums of `tile` rows of x."""
        quads = T.sblock_alloc_buffer((self.groups * GROUP_QUADS * LANES,), "uint32")
        scales = T.sblock_alloc_buffer(((self.groups + GROUPS * tile) * LANES,), "float32")

        def block(index, groups: int) -> None:
            for group, scale in enumerate(self._emit_scales(index, groups)):
                T.buffer_store(scales, scale, [at((index * GROUPS + group) * LANES)])
            for group, vectors in enumerate(self._emit_quads(index, groups)):
                for i, quad in enumerate(vectors):
                    place = ((index * GROUPS + group) * GROUP_QUADS + i) * LANES
                    T.buffer_store(quads, quad, [at(place)])

        self._emit_blocks(block)
        return _Kept(quads, scales)

    def emit_many(self, kept: _Kept, row, rows: int, store: Callable) -> None:
        """Rows [row, row + rows) of x against the kept strip, one partial sum after the other."""
        partial = kept.floats  # behind the scales
        base = self.groups * LANES
        with T.serial(GROUPS) as group:
            sums = emit_floats(rows)
            emit_zero(sums, rows)
            with T.serial((self.groups + GROUPS - 1 - group) // GROUPS) as block:
                index = emit_value(block * GROUPS + group)
                self._emit_prefetch(index)
                quads = [
                    emit_value(kept.quads[at((index * GROUP_QUADS + i) * LANES)])
                    for i in range(GROUP_QUADS)
                ]
                scale = emit_value(kept.floats[at(index * LANES)])
                for m in range(rows):
                    old = sums[at(m * LANES)]
                    add = self._emit_sum(quads, row + m, block, group, scale, old)
                    T.buffer_store(sums, add, [at(m * LANES)])
            for m in range(rows):
                place = at(base + (group * rows + m) * LANES)
                T.buffer_store(partial, sums[at(m * LANES)], [place])
        for m in range(rows):
            store(row + m, emit_total(partial, self.groups + m, rows))

    def _emit_prefetch(self, index) -> None:
        """Asks for what will be read a while later, as many lines as a group of the strip has: a
        strip lies in one piece of memory, but is read across, which processors do not foresee."""
        words = GROUP * self.codes.weight_bits // 32 * LANES
        for line in range(0, words, WORDS_IN_LINE):
            place = index * words + line + AHEAD_LINES * WORDS_IN_LINE
            emit_prefetch(self.words, self.first, place)

    def _emit_blocks(self, body: Callable) -> None:
        whole, rest = divmod(self.groups, GROUPS)
        if whole:
            with T.serial(whole) as index:
                body(index, GROUPS)
        if rest:
            body(whole, rest)

    def _emit_sum(self, quads: list, row, block, group, scale, total):
        """total + the group's products with a row of x."""
        parts = []
        for part in range(self.codes.parts):
            place = emit_value(self.codes.quad(block, part, 0))
            products = splat(T.int32(0))
            for i, weights in enumerate(quads):
                code = splat(self.quads[row, place + self._quad_index(group, i)])
                products = dot(
                    self.unit, products, weights, code, weight_bits=self.codes.weight_bits
                )
            parts.append(products)
        whole = parts[-1]
        if self.codes.parts == 2:
            whole = whole + T.shift_left(parts[0], splat(T.int32(8)))
        index = block * GROUPS + group
        whole = whole + splat(self.offsets[row, index])
        factor = scale * splat(self.scales[row, index])
        return emit_value(fma(to_float(whole), factor, total))

    def _quad_index(self, group, i: int):
        """Where quad i of a group lies among its block's: see `Codes.places`."""
        if self.codes.weight_bits == 8:
            return group * GROUP_QUADS + i
        return i // 4 * LANES + group * 4 + i % 4

    def _emit_quads(self, block, groups: int) -> list[list]:
        """For each group of a block its 8 quads, lane by output."""
        if self.codes.weight_bits == 8:
            turned = [
                word
                for half in range(0, groups * GROUP_QUADS, LANES)
                for word in self._emit_turned(
                    block * 2 * LANES + half, min(LANES, groups * GROUP_QUADS - half)
                )
            ]
            return [turned[g * GROUP_QUADS : (g + 1) * GROUP_QUADS] for g in range(groups)]
        turned = self._emit_turned(block * LANES, groups * 4)
        mask = splat(T.uint32(0x0F0F0F0F))
        found = []
        for g in range(groups):
            words = turned[4 * g : 4 * g + 4]
            even = [emit_value(T.bitwise_and(w, mask)) for w in words]
            odd = [T.bitwise_and(T.shift_right(w, splat(T.uint32(4))), mask) for w in words]
            found.append([*even, *(emit_value(o) for o in odd)])
        return found

    def _emit_turned(self, base, count: int) -> list:
        """Words [base, base + count) of the strip's rows: one vector a word, one lane a row."""
        rows = [
            _load_padded(lambda i, n, r=r: self.words[self.first + r, at(base + i, n)], count)
            for r in range(LANES)
        ]
        return turned([emit_value(row) for row in rows])[:count]

    def _emit_scales(self, block, groups: int) -> list:
        """For each group of a block the 16 outputs' scales."""
        fours = []  # lanes (row, group), four rows each
        for r in range(0, LANES, 4):
            parts = [self._scales_of(r + i, block, groups) for i in range(4)]
            fours.append(emit_value(to_float(emit_value(shuffle(parts, range(LANES))))))
        found = []
        for g in range(groups):
            picks = [4 * i + g for i in range(8)]
            halves = [emit_value(shuffle(fours[i : i + 2], picks)) for i in (0, 2)]
            found.append(emit_value(shuffle(halves, range(LANES))))
        return found

    def _scales_of(self, row: int, block, groups: int):
        """Four scales of a row; behind its end the last one is repeated."""
        base = block * GROUPS
        if groups == 1:
            return emit_value(T.Broadcast(self._stored_scales(row, base, 1), GROUPS))
        part = emit_value(self._stored_scales(row, base, groups))
        if groups == GROUPS:
            return part
        return emit_value(shuffle([part, part], [min(i, groups - 1) for i in range(GROUPS)]))

    def _stored_scales(self, row: int, base, lanes: int):
        """As they are stored; bfloat16 as plain bits, since TVM rewrites that type's values."""
        value = self.weight_scales[self.first + row, at(base, lanes)]
        if self.weight_scales.dtype != "bfloat16":
            return value
        return T.reinterpret(vector_type("uint16", lanes), value)


def emit_total(partial, first: int, stride: int):
    """The sum of four partial sums."""
    a, b, c, d = (partial[at((first + i * stride) * LANES)] for i in range(GROUPS))
    return emit_value((a + c) + (b + d))


def turned(rows: list) -> list:
    """16 vectors of 16 lanes, transposed: every step is one instruction where vectors are whole."""
    fours = []  # [four rows][word % 4]: 128-bit part p holds word 4 p + w of four rows
    for r in range(0, LANES, 4):
        low = [_interleaved(rows[r + i], rows[r + i + 1], half) for i in (0, 2) for half in (0, 1)]
        fours.append([
            _paired(low[half], low[half + 2], part) for half in (0, 1) for part in (0, 1)
        ])  # fmt: skip
    columns: list = [None] * LANES
    for w in range(4):
        even_odd = [
            [_every_other(fours[i][w], fours[i + 1][w], odd) for i in (0, 2)] for odd in (0, 1)
        ]
        for odd in (0, 1):
            for upper in (0, 1):
                part = odd + 2 * upper
                columns[4 * part + w] = _every_other(*even_odd[odd], upper)
    return columns


def _interleaved(a, b, half: int):
    """In each 128-bit part: a0 b0 a1 b1, or a2 b2 a3 b3."""
    picks = [
        p + 2 * half + i + LANES * s for p in range(0, LANES, 4) for i in (0, 1) for s in (0, 1)
    ]
    return emit_value(shuffle([a, b], picks))


def _paired(a, b, part: int):
    """In each 128-bit part: the lower halves of a and b, or the upper ones."""
    picks = [
        p + 2 * part + i + LANES * s for p in range(0, LANES, 4) for s in (0, 1) for i in (0, 1)
    ]
    return emit_value(shuffle([a, b], picks))


def _every_other(a, b, odd: int):
    """The even 128-bit parts of a and b, or the odd ones."""
    picks = [LANES * s + 4 * (2 * p + odd) + i for s in (0, 1) for p in (0, 1) for i in range(4)]
    return emit_value(shuffle([a, b], picks))


def _load_padded(load: Callable, count: int):
    """16 lanes of which `count`, a multiple of 4, are loaded."""
    if count == LANES:
        return load(0, LANES)
    parts = [load(i, 4) if i < count else load(0, 4) for i in range(0, LANES, 4)]
    return shuffle([emit_value(part) for part in parts], range(LANES))
