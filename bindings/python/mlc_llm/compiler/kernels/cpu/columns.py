"""Readers for `linear_columns.py`: weights that are stored (in, out), in any scheme.

A reader returns floats: for one group of inputs after another, and for one input at a time, the
weights of 16 neighbouring outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import at, constant, emit_value
from mlc_llm.compiler.kernels.cpu.weights import dequantized, spread
from mlc_llm.compiler.quantization.awq import GROUP, NIBBLES, PER_WORD
from mlc_llm.compiler.quantization.group import Groups
from mlc_llm.compiler.quantization.stored import StoredParam

Use = Callable[[Any, Any], None]  # gets an input, and its weights for the 16 outputs


class Columns(Protocol):
    @property
    def stored(self) -> tuple[StoredParam, ...]: ...

    @property
    def size(self) -> int:
        """The number of inputs of a group."""

    def emit_group(self, buffers, group, inputs: int, column, use: Use) -> None:
        """Reads the first `inputs` inputs of a group in ascending order, for outputs [column,
        column + 16)."""


@dataclass(frozen=True)
class GroupColumns:
    """For group schemes in MLC-LLM's `_0` layouts: a word has neighbouring inputs."""

    stored: tuple[StoredParam, ...]
    groups: Groups

    @property
    def size(self) -> int:
        return self.groups.size

    def emit_group(self, buffers, group, inputs: int, column, use: Use) -> None:
        (words, scales), per_word = buffers, self.groups.codes_per_word
        scale = emit_value(to_float(scales[group, at(column)]))

        def word(index, codes: int) -> None:
            packed = emit_value(words[group * self.groups.words + index, at(column)])
            first = group * self.groups.size + index * per_word
            for k in range(codes):
                shift = splat(T.uint32(k * self.groups.bits))
                use(first + k, dequantized(self.groups, packed, shift, scale))

        whole, rest = divmod(inputs, per_word)
        if whole:
            with T.serial(whole) as index:
                word(index, per_word)
        if rest:
            word(whole, rest)


@dataclass(frozen=True)
class AWQColumns:
    """For AWQ: a word has neighbouring outputs."""

    stored: tuple[StoredParam, ...]
    size: int = GROUP

    def emit_group(self, buffers, group, inputs: int, column, use: Use) -> None:
        words, zeros, scales = buffers
        scale = emit_value(to_float(scales[group, at(column)]))
        zero = emit_value(self._codes(zeros, group, column))
        with T.serial(inputs) as k:
            row = emit_value(group * GROUP + k)
            code = self._codes(words, row, column)
            use(row, emit_value(to_float(code - zero) * scale))

    def _codes(self, buffer, row, column):
        """The codes of 16 outputs, as int32."""
        lanes = range(LANES)
        packed = spread(
            lambda i: buffer[row, column // PER_WORD + i], [lane // PER_WORD for lane in lanes]
        )
        shifts = constant([4 * NIBBLES[lane % PER_WORD] for lane in lanes], "uint32")
        codes = T.bitwise_and(T.shift_right(packed, shifts), splat(T.uint32(15)))
        return T.Cast(f"int32x{LANES}", codes)
