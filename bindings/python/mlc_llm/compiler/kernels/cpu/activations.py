"""Activations as whole numbers, for products with quantized weights.

A row is cut into groups of 32. A group has one scale, the largest magnitude over the largest code;
a code has 16 bits, written as a high and a low byte (or 8 bits: the high one alone), so that
instructions for bytes can multiply it. The error of 16 bits is far below that of float16.

The bytes lie as `linear_integer` reads them. A block is 128 inputs; for each part (high, low) it
holds 32 quads of four bytes, in the order in which the scheme's words hold their weights.
`offsets` is the sum of a group's codes times minus the scheme's zero point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    emit_fold,
    emit_max,
    emit_rows,
    emit_value,
    shuffle,
    sigmoid,
    splat,
    to_float,
)

GROUP = 32
BLOCK = 128
GROUPS = BLOCK // GROUP  # in a block
QUADS = BLOCK // 4


@dataclass(frozen=True)
class Codes:
    """How rows of `size` activations are stored for weights of `weight_bits`."""

    size: int
    bits: int  # of a code: 8 or 16
    weight_bits: int
    zero: int  # the weight code that means 0

    @property
    def blocks(self) -> int:
        return -(-self.size // BLOCK)

    @property
    def parts(self) -> int:
        return self.bits // 8

    @property
    def largest(self) -> int:
        """Of a code's magnitude: its high byte must not pass 127 after rounding."""
        return 127 << (self.bits - 8)

    @property
    def args(self) -> list[Arg]:
        groups = self.blocks * GROUPS
        return [
            Arg("codes", ("rows", self.blocks * self.parts * QUADS), "int32"),
            Arg("scales", ("rows", groups)),
            Arg("offsets", ("rows", groups), "int32"),
        ]

    def quad(self, block, part: int, index):
        """Where a quad of a block lies in the row of codes."""
        return (block * self.parts + part) * QUADS + index

    def places(self, group: int) -> list[tuple[int, list[int]]]:
        """For the quads of a group of a block: where each 4 lie, and the inputs of their bytes."""
        if self.weight_bits == 8:  # a word holds four neighbours
            return [(group * 8 + i, list(range(4 * i, 4 * i + 16))) for i in (0, 4)]
        inputs = [[8 * word + parity + 2 * i for word in range(4) for i in range(4)]
                  for parity in (0, 1)]  # fmt: skip
        return [(parity * 16 + group * 4, inputs[parity]) for parity in (0, 1)]


def quantize(codes: Codes) -> tirx.PrimFunc:
    """f(x [n, size], codes, scales, offsets)."""

    def body(x, *out) -> None:
        _emit_rows(codes, out, lambda row: lambda base: x[row, at(base)])

    return kernel([Arg("x", ("rows", codes.size)), *codes.args], body)


def norm_and_quantize(codes: Codes, eps: float, dtype: str, *, gather: bool) -> tirx.PrimFunc:
    """f(x [n, size], weight [size], out...): of x / rms(x) * weight.

    With `gather`: f(x [n, size], rows i32 [m], weight, out...), of those rows of x.
    """

    def body(x, *rest) -> None:
        picked, (weight, *out) = (rest[0] if gather else None), rest[1 if gather else 0 :]

        def reader(row) -> Callable:
            source = emit_value(picked[row]) if gather else row
            factor = emit_norm_factor(x, source, codes.size, eps)

            def read(base):
                return x[source, at(base)] * splat(factor) * to_float(weight[at(base)])

            return read

        _emit_rows(codes, out, reader)

    rows = [Arg("picked", ("rows",), "int32")] if gather else []
    x = Arg("x", ("n" if gather else "rows", codes.size))
    return kernel([x, *rows, Arg("weight", (codes.size,), dtype), *codes.args], body)


def silu_and_quantize(codes: Codes) -> tirx.PrimFunc:
    """f(x [n, 2 size], out...): of silu(gate) * up, x holding gate then up."""

    def body(x, *out) -> None:
        def reader(row) -> Callable:
            def read(base):
                gate = emit_value(x[row, at(base)])
                return gate * sigmoid(gate) * x[row, at(base + codes.size)]

            return read

        _emit_rows(codes, out, reader)

    return kernel([Arg("x", ("rows", 2 * codes.size)), *codes.args], body)


def _emit_rows(codes: Codes, out, reader: Callable) -> None:
    """Stores every row; `reader(row)` gives what reads 16 of its values."""
    whole, rest = divmod(codes.size // GROUP, GROUPS)

    def row(r) -> None:
        read = reader(r)

        def block(index, groups: int) -> None:
            for group in range(GROUPS):
                place = (r, index, group)
                if group < groups:
                    base = index * BLOCK + group * GROUP
                    _emit_group(codes, out, place, [emit_value(read(base + i)) for i in (0, LANES)])
                else:
                    _emit_padding(codes, out, place)

        if whole:
            with T.serial(whole) as index:
                block(index, GROUPS)
        if rest:
            block(whole, rest)

    emit_rows(out[0].shape[0], row)


def _emit_group(codes: Codes, out, place, values: list) -> None:
    quads, scales, offsets = out
    row, block, group = place
    largest = emit_max(T.max(*(T.max(v, splat(0.0) - v) for v in values)))
    largest = emit_value(T.max(largest, T.float32(1e-30)))
    T.buffer_store(scales, largest * T.float32(1 / codes.largest), [row, block * GROUPS + group])
    inverse = splat(emit_value(T.float32(codes.largest) / largest))
    whole = [_emit_rounded(v * inverse) for v in values]
    total = emit_fold(whole[0] + whole[1], lambda a, b: a + b)
    T.buffer_store(offsets, total * T.int32(-codes.zero), [row, block * GROUPS + group])
    for part, halves in enumerate(_emit_bytes(codes, whole)):
        for first, inputs in codes.places(group):
            lanes = T.reinterpret("int32x4", shuffle(halves, inputs))
            T.buffer_store(quads, lanes, [row, at(codes.quad(block, part, first), 4)])


def _emit_rounded(value):
    rounded = T.call_llvm_pure_intrin(f"float32x{LANES}", "llvm.rint", value)
    return emit_value(T.Cast(f"int32x{LANES}", rounded))


def _emit_bytes(codes: Codes, whole: list) -> list[list]:
    """The bytes of each part of 32 codes, high part first."""
    if codes.parts == 1:
        return [[T.Cast(f"int8x{LANES}", v) for v in whole]]
    high = [emit_value(T.shift_right(v + splat(T.int32(128)), splat(T.int32(8)))) for v in whole]
    low = [v - T.shift_left(h, splat(T.int32(8))) for v, h in zip(whole, high, strict=True)]
    return [[emit_value(T.Cast(f"int8x{LANES}", v)) for v in part] for part in (high, low)]


def _emit_padding(codes: Codes, out, place) -> None:
    """A group behind the row's end: it adds nothing."""
    quads, scales, offsets = out
    row, block, group = place
    T.buffer_store(scales, T.float32(0), [row, block * GROUPS + group])
    T.buffer_store(offsets, T.int32(0), [row, block * GROUPS + group])
    for part in range(codes.parts):
        for first, _ in codes.places(group):
            zeros = T.Broadcast(T.int32(0), 4)
            T.buffer_store(quads, zeros, [row, at(codes.quad(block, part, first), 4)])
