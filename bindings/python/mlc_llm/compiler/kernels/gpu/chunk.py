"""What a work-item reads of a quantized matrix at once: 16 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T


@dataclass(frozen=True)
class Chunk:
    """Four words of a quantized matrix, with one scale. A weight is (code - zero) * scale.

    A code stays in its place in the word: there it is a float `2 ** shift` times too large, and the
    input is made so much smaller instead. This needs no shift for each weight.
    """

    bits: int
    zero: int

    @property
    def word_size(self) -> int:
        """The number of codes in a word."""
        return 32 // self.bits

    @property
    def size(self) -> int:
        return 4 * self.word_size

    @property
    def factors(self) -> list[float]:
        """By which the inputs of a word's codes are multiplied."""
        return [2.0 ** -(self.bits * i) for i in range(self.word_size)]

    def codes(self, word: Any) -> list[Any]:
        """The codes of a word as float32, each divided by its factor."""
        return [
            T.Cast("float32", T.bitwise_and(word, T.uint32(((1 << self.bits) - 1) << shift)))
            for shift in range(0, self.bits * self.word_size, self.bits)
        ]
