"""Codes of 4 bits that are places in a table of 16 bytes, on numbers of any width.

The table is four words of 32 bits: the upper two bits of a code choose the word, the lower two the
byte in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.tirx.script import builder as T


def words_of(values: Sequence[int]) -> list[int]:
    """The table, the first byte in the lowest bits of the first word."""
    return [
        sum(value << 8 * i for i, value in enumerate(values[first : first + 4]))
        for first in range(0, 16, 4)
    ]


def looked_up(code: Any, values: Sequence[int], constant: Callable[[int], Any]) -> Any:
    """The byte at the place `code`, which is below 16. `constant(n)` is n in the form of `code`."""
    words = [constant(word) for word in words_of(values)]
    low = T.Select(code < constant(4), words[0], words[1])
    high = T.Select(code < constant(12), words[2], words[3])
    word = T.Select(code < constant(8), low, high)
    shift = T.shift_left(T.bitwise_and(code, constant(3)), constant(3))
    return T.bitwise_and(T.shift_right(word, shift), constant(0xFF))
