"""Activations as integers, for products with quantized weights.

A row is divided into groups of 32, or of 40 for weights in such groups; the last one is padded
with zeros. A group has one scale: the largest magnitude divided by the largest code. A code has 7,
8 or 16 bits: with 7, two products with weights of 8 bits add up in 16 bits. 16 bits are stored as a
high and a low byte, so that byte instructions can multiply them. The error of 16 bits is far below
that of float16.

A row of codes is one row of int32, group by group. Each group has the bits of the scale; then the
offset: the sum of the group's codes (or two sums, of its halves), times minus the scheme's zero
point; then, for each part (high, low), its quads of four bytes, in the order of the weights in the
scheme's words. A group of 40 has ten quads, and two of zeros. `wide` codes are not cut into bytes:
a part is then the even or the odd inputs of the quads, two codes of 16 bits in a word.

A row takes an odd number of cache lines; nothing uses the words behind the last group. With an even
number, the same groups of many rows could fall into few sets of the first cache, which cannot hold
them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel, split_rows
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float, vector_type
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.integer import takes_words
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import (
    absolute,
    at,
    constant,
    emit_folds,
    emit_pieces,
    emit_prefetch,
    emit_rounded,
    emit_rows,
    emit_tiles,
    emit_value,
    gated,
    lanes_of,
    shuffle,
)

GROUP = 32
TOGETHER = 4  # the most groups of a row that are computed at once, if they divide its groups
PIECE = 32  # groups of a long row: first all their scales, then all their codes
AHEAD = 1024  # gates and ups are prefetched so many floats before they are read


@dataclass(frozen=True)
class Codes:
    """The form in which rows of `size` activations are stored, for weights of `weight_bits`."""

    size: int
    bits: int  # bits of a code: 7, 8 or 16
    weight_bits: int
    zero: int  # the weight code of the value 0; -1 makes offsets plain sums
    halves: bool = False  # an offset is for 16 codes, not for the group
    scaled: bool = False  # offsets are the bits of floats, multiplied by the group's scale
    wide: bool = False  # codes of 16 bits stay whole: one part for even places, one for odd ones
    group: int = GROUP

    def on(self, unit: DotUnit) -> Codes:
        """The form that the instruction multiplies best."""
        return replace(self, wide=self.bits == 16 and takes_words(unit))

    @property
    def groups(self) -> int:
        return -(-self.size // self.group)

    @property
    def quads(self) -> int:
        """The number of quads of a group."""
        return self.group // 4

    @property
    def vectors(self) -> int:
        """The number of vectors of 16 inputs that hold a group."""
        return -(-self.group // LANES)

    @property
    def parts(self) -> int:
        return -(-self.bits // 8)

    @property
    def part_bits(self) -> int:
        """Of a byte that is multiplied."""
        return min(self.bits, 8)

    @property
    def sums(self) -> int:
        """The number of offsets of a group."""
        return 2 if self.halves else 1

    @property
    def largest(self) -> int:
        """The largest magnitude of a code. Its high byte must not be over 127 after rounding."""
        return 127 << (self.bits - 8) if self.bits > 8 else (1 << self.bits - 1) - 1

    @property
    def arg(self) -> Arg:
        return self.arg_of(1)

    def arg_of(self, each: int) -> Arg:
        """`each` rows of codes side by side."""
        lines = -(-self.groups * self._words // LANES)
        odd = lines + 1 - lines % 2
        return Arg("codes", ("rows", each * odd * LANES), "int32")

    @property
    def _words(self) -> int:
        """The number of words of a group."""
        return 1 + self.sums + self.parts * self._places_of_quads

    @property
    def _places_of_quads(self) -> int:
        return self.vectors * (LANES // 4)

    def place_of_scale(self, group):
        return group * self._words

    def place_of_offset(self, group, half: int = 0):
        return group * self._words + 1 + half

    def place_of_quad(self, group, part: int, index: int):
        return group * self._words + 1 + self.sums + part * self._places_of_quads + index

    def scale(self, codes, row, group):
        """The scale, in the form that a kernel reads."""
        return T.reinterpret("float32", codes[row, self.place_of_scale(group)])

    @property
    def places(self) -> list[tuple[int, list[int]]]:
        """The positions of four quads of a group at a time, and the inputs of their bytes."""
        if self.weight_bits == 8 or self.group != GROUP:  # a word has four neighbours
            every = range(0, self.vectors * LANES, LANES)
            return [(first // 4, list(range(first, first + LANES))) for first in every]
        inputs = [[8 * word + parity + 2 * i for word in range(4) for i in range(4)]
                  for parity in (0, 1)]  # fmt: skip
        return [(4 * parity, inputs[parity]) for parity in (0, 1)]


def quantize(codes: Codes, each: int = 1) -> tirx.PrimFunc:
    """f(x [n, each * size], codes [n, each * words]): `each` rows side by side."""

    def body(x, out) -> None:
        x, out = split_rows(x, each), split_rows(out, each)
        _emit_rows(codes, out, lambda row: lambda base: x[row, at(base)])

    return kernel([Arg("x", ("rows", each * codes.size)), codes.arg_of(each)], body)


def norm_and_quantize(codes: Codes, eps: float, dtype: str, *, gather: bool) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], codes): quantizes x / rms(x) * weight.

    With `gather`: f(x [n, size], rows i32 [m], weight, codes); it reads only those rows of x.
    """

    def body(x, *rest) -> None:
        picked, weight, out = (rest[0] if gather else None), *rest[-2:]

        def reader(row) -> Callable:
            source = emit_value(picked[row]) if gather else row
            factor = emit_norm_factor(x, source, codes.size, eps)

            def read(base):
                return x[source, at(base)] * splat(factor) * to_float(weight[at(base)])

            return read

        _emit_rows(codes, out, reader)

    rows = [Arg("picked", ("rows",), "int32")] if gather else []
    x = Arg("x", ("n" if gather else "rows", codes.size))
    return kernel([x, *rows, Arg("weight", (codes.size,), dtype), codes.arg], body)


def gate_and_quantize(codes: Codes, activation: str = "silu", each: int = 1) -> tirx.PrimFunc:
    """f(x [n, each * 2 size], codes [n, each * words]): quantizes activation(gate) * up. x has
    gate, then up, `each` times."""

    def body(x, out) -> None:
        x, out = split_rows(x, each), split_rows(out, each)

        def reader(row) -> Callable:
            def read(base):
                ahead = base + AHEAD  # behind a row's ups are the gates of the next one
                ahead = emit_value(T.Select(ahead < codes.size, ahead, ahead + codes.size))
                for place in (ahead, ahead + codes.size):
                    emit_prefetch(x, row, place)
                gate = emit_value(x[row, at(base)])
                return gated(activation, gate, x[row, at(base + codes.size)])

            return read

        _emit_rows(codes, out, reader, keeps=True)

    x = Arg("x", ("rows", each * 2 * codes.size))
    return kernel([x, codes.arg_of(each)], body)


def _emit_rows(codes: Codes, out, reader: Callable, *, keeps: bool = False) -> None:
    """Stores every row. `reader(row)` returns a function that reads 16 of its values, each of them
    twice. It does so once with `keeps`, or if groups are not whole.

    All scales of a piece of a row come before its codes. Both in one pass would be a chain of
    operations, of which each waits for the one before. A whole row of gated values would not stay
    in the first cache.
    """
    is_whole = codes.group % LANES == 0 and codes.size % codes.group == 0
    size = PIECE if is_whole and codes.groups >= 2 * PIECE else codes.groups

    def row(r) -> None:
        read, made = reader(r), _RowCodes(codes, out, r)

        def piece(first, count: int) -> None:
            def of_piece(base):
                return read(first * codes.group + base)

            is_kept = keeps or not is_whole
            source = _emit_kept(codes, of_piece, count) if is_kept else of_piece

            def groups(i, n: int) -> list[list]:
                return [_emit_group(codes, source, i + k) for k in range(n)]

            emit_tiles(count, TOGETHER, lambda i, n: made.emit_scales(first + i, groups(i, n)))
            emit_tiles(count, TOGETHER, lambda i, n: made.emit_codes(first + i, groups(i, n)))

        emit_pieces(codes.groups, size, piece)

    emit_rows(out.shape[0], row)


def _emit_group(codes: Codes, read: Callable, group) -> list:
    """The vectors of a group."""
    values = [emit_value(read(group * codes.group + i)) for i in range(0, codes.group, LANES)]
    if rest := codes.group % LANES:
        inside = constant([int(lane < rest) for lane in range(LANES)], "int32")
        last = T.Select(inside > splat(T.int32(0)), values[-1], splat(0.0))
        values[-1] = emit_value(last)
    return values


def _emit_kept(codes: Codes, read: Callable, count: int) -> Callable:
    """Keeps the first `count` groups of what `read` reads. Returns a function that reads 16 of
    their values from any place on, and zeros behind them."""
    size = min(count * codes.group, codes.size)
    behind = range(size, count * codes.group + LANES, LANES)
    kept = T.sblock_alloc_buffer((size + len(behind) * LANES,), "float32")
    with T.serial(size // LANES) as vector:
        T.buffer_store(kept, read(vector * LANES), [at(vector * LANES)])
    for place in behind:
        T.buffer_store(kept, splat(0.0), [at(place)])
    return lambda base: kept[at(base)]


class _RowCodes:
    """A row of codes that is made from some neighbouring groups at a time. What there is once for a
    group are lanes of vectors, one for each of these groups."""

    def __init__(self, codes: Codes, out, row) -> None:
        self.codes, self.out, self.row = codes, out, row
        some = (codes.groups + TOGETHER,)  # the last lanes may be behind the last group
        self.scales, self.inverses = (T.sblock_alloc_buffer(some, "float32") for _ in range(2))

    def emit_scales(self, first, groups: list[list]) -> None:
        """Keeps the scales of groups from `first` on, and their inverses."""
        sizes = _emit_lanes([reduce(T.max, map(absolute, values)) for values in groups], T.max)
        lanes = lanes_of(sizes)
        largest = emit_value(T.max(sizes, splat(1e-30, lanes)))
        scales = largest * splat(1 / self.codes.largest, lanes)
        T.buffer_store(self.scales, scales, [at(first, lanes)])
        inverses = splat(float(self.codes.largest), lanes) / largest
        T.buffer_store(self.inverses, inverses, [at(first, lanes)])

    def emit_codes(self, first, groups: list[list]) -> None:
        """Stores groups whose scales are kept."""
        whole = []
        for i, values in enumerate(groups):
            inverse = splat(emit_value(self.inverses[first + i]))
            whole.append([emit_rounded(value * inverse) for value in values])
            scale = T.reinterpret("int32", self.scales[first + i])
            T.buffer_store(self.out, scale, [self.row, self.codes.place_of_scale(first + i)])
        self._emit_offsets(first, whole)
        for i, numbers in enumerate(whole):
            for part, vectors in enumerate(_emit_parts(self.codes, numbers)):
                self._emit_quads(first + i, part, vectors)

    def _emit_offsets(self, first, groups: list[list]) -> None:
        codes = self.codes
        added = [v if codes.halves else [reduce(operator.add, v)] for v in groups]
        for half, sums in enumerate(zip(*added, strict=True)):
            totals = _emit_lanes(sums, operator.add)
            lanes = lanes_of(totals)
            offsets = emit_value(totals * splat(T.int32(-codes.zero), lanes))
            if codes.scaled:
                floats = to_float(offsets, lanes) * self.scales[at(first, lanes)]
                offsets = emit_value(T.reinterpret(vector_type("int32", lanes), floats))
            for i in range(len(groups)):
                place = [self.row, codes.place_of_offset(first + i, half)]
                T.buffer_store(self.out, shuffle([offsets], [i]), place)

    def _emit_quads(self, group, part: int, vectors: list) -> None:
        """The quads of a part, from vectors of neighbours. Two vectors are one operation."""
        codes, bits = self.codes, 16 if self.codes.wide else 8
        step = 2 if len(vectors) == 2 else 1
        for begin in range(0, len(vectors), step):
            places = codes.places[begin : begin + step]
            inputs = [i - begin * LANES for _, some in places for i in some]
            narrow = _narrowed(vectors[begin : begin + step], bits)
            made = shuffle([narrow], inputs[part::2] if codes.wide else inputs)
            words = T.reinterpret(f"int32x{4 * step}", made)
            place = at(codes.place_of_quad(group, part, places[0][0]), 4 * step)
            T.buffer_store(self.out, words, [self.row, place])


def _emit_lanes(vectors: Sequence, combine: Callable):
    """Each vector's lanes combined to one. There are as many lanes as vectors, or one more."""
    padded = 1 << (len(vectors) - 1).bit_length()
    return emit_folds([*vectors, *vectors[-1:] * (padded - len(vectors))], combine)


def _narrowed(vectors: list, bits: int):
    """Numbers that fit into so many bits, side by side. The limits let LLVM narrow them by
    instructions that saturate."""
    lanes, most = len(vectors) * LANES, (1 << bits - 1) - 1
    whole = vectors[0] if len(vectors) == 1 else shuffle(vectors, range(lanes))
    limits = splat(T.int32(most), lanes), splat(T.int32(-most - 1), lanes)
    return emit_value(T.Cast(f"int{bits}x{lanes}", T.max(T.min(whole, limits[0]), limits[1])))


def emit_values(codes: Codes, x, row, group) -> list:
    """The values of a group of a row of codes, as vectors of neighbours: what products with the
    codes multiply. Behind a group of 40 are zeros."""
    scale, found = splat(emit_value(codes.scale(x, row, group))), []
    dtype = f"int{16 if codes.wide else 8}x{8 if codes.wide else 16}"
    places = {i: n for n, i in enumerate(i for _, inputs in codes.places for i in inputs)}
    parts = [
        [
            emit_value(T.reinterpret(dtype, x[row, at(codes.place_of_quad(group, part, first), 4)]))
            for first, _ in codes.places
        ]
        for part in range(codes.parts)
    ]
    for first in range(0, codes.group, LANES):
        order = [places[first + lane] for lane in range(LANES)]
        if codes.wide:  # the even places, then the odd ones
            both, odd = [*parts[0], *parts[1]], codes.vectors * LANES // 2
            whole = shuffle(both, [place // 2 + odd * (place % 2) for place in order])
        else:
            wide = [T.Cast(f"int32x{LANES}", shuffle(part, order)) for part in parts]
            whole = wide[0] if len(wide) == 1 else wide[0] * splat(T.int32(256)) + wide[1]
        found.append(emit_value(to_float(whole) * scale))
    return found


def _emit_parts(codes: Codes, whole: list) -> list[list]:
    """The numbers of each part of a group, the high part first; or the whole codes for each."""
    if codes.parts == 1 or codes.wide:
        return [whole] * codes.parts
    high = [emit_value(T.shift_right(v + splat(T.int32(128)), splat(T.int32(8)))) for v in whole]
    low = [v - T.shift_left(h, splat(T.int32(8))) for v, h in zip(whole, high, strict=True)]
    return [high, low]
