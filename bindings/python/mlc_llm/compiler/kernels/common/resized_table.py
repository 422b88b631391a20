"""The entries of a table that a place of a resized one is mixed from, for CPUs and GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T


@dataclass(frozen=True)
class Taps:
    """Along one side of the table: a tent over the pixels of the table that the place covers, at
    least two wide."""

    emit_value: Callable[[Any], Any]  # the device's
    centre: Any
    support: Any
    first: Any
    count: Any
    total: Any  # the sum of the weights before they are divided by it

    @classmethod
    def of(cls, index, size, side: int, emit_value: Callable[[Any], Any], sums) -> Taps:
        """Of the place `index` of `size` places. `sums`: memory for a float."""
        half, one = T.float32(0.5), T.float32(1)
        scale = emit_value(T.float32(side) / T.Cast("float32", T.max(size, 1)))
        centre = emit_value((T.Cast("float32", index) + half) * scale - half)
        support = emit_value(T.max(scale, one))
        first = T.max(T.Cast("int32", T.floor(centre - support)) + 1, 0)
        last = T.min(T.Cast("int32", T.ceil(centre + support)) - 1, side - 1)
        first = emit_value(T.min(first, side - 1))
        count = emit_value(T.max(last - first + 1, 1))
        T.buffer_store(sums, T.float32(0), [0])
        taps = cls(emit_value, centre, support, first, count, one)
        with T.serial(count) as i:
            T.buffer_store(sums, sums[0] + taps.weight(i), [0])
        return cls(emit_value, centre, support, first, count, emit_value(sums[0]))

    def weight(self, i):
        offset = self.emit_value(T.Cast("float32", self.first + i) - self.centre)
        away = T.max(offset, T.float32(0) - offset) / self.support
        return T.max(T.float32(1) - away, T.float32(0)) / self.total
