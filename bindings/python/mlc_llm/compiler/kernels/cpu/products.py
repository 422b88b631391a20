"""The products of a group of weights with the codes of a row of activations, as exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.integer import emit_dots, emit_word_dots, emit_words
from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit
from mlc_llm.compiler.kernels.cpu.vector import emit_value


def emit_products(
    codes: Codes,
    unit: DotUnit,
    x: Any,
    row: Any,
    group: Any,
    quads: Mapping[int, Any],
    start: Any,
    *,
    weight_bits: int | None = None,
    lanes: int = LANES,
):
    """start + the sum, in `lanes` lanes of int32 (`emit_dots`). `quads` are vectors of weights by
    their positions in the group; `x` has rows of codes. `weight_bits`: of other weights than those
    that the codes are for."""
    weights, bits = list(quads.values()), weight_bits or codes.weight_bits
    start = splat(start, lanes)

    def factors(part: int) -> list[Any]:
        return [x[row, codes.place_of_quad(group, part, i)] for i in quads]

    def dots(first: Any, part: int):
        sizes = {"weight_bits": bits, "code_bits": codes.part_bits}
        return emit_dots(unit, first, weights, factors(part), **sizes, lanes=lanes)

    if codes.wide:
        words = [word for weight in weights for word in emit_words(weight, lanes)]
        pairs = zip(factors(0), factors(1), strict=True)
        return emit_word_dots(unit, start, words, [code for pair in pairs for code in pair])
    if codes.parts == 1:
        return dots(start, 0)
    high, low = dots(splat(T.int32(0), lanes), 0), dots(start, 1)
    return emit_value(low + T.shift_left(high, splat(T.int32(8), lanes)))
