"""How one position's keys and values are written into its slot of a page.

`common/attention_shape.py` describes the layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import (
    PAGE_SIZE,
    Q8_LARGEST,
    Q8_ZERO,
    AttentionShape,
)
from mlc_llm.compiler.kernels.common.values import LANES, from_float, splat
from mlc_llm.compiler.kernels.cpu.hadamard import emit_hadamard
from mlc_llm.compiler.kernels.cpu.vector import (
    absolute,
    at,
    emit_max,
    emit_rounded,
    emit_value,
)


def slot_of(shape: AttentionShape, pages, page, offset) -> FloatSlot | Q8Slot:
    return (Q8Slot if shape.is_q8 else FloatSlot)(shape, pages, page, offset)


@dataclass(frozen=True)
class FloatSlot:
    """A slot of a page of floats."""

    shape: AttentionShape
    pages: Any
    page: Any
    offset: Any

    def emit_key_part(self, h, d, value, lanes: int) -> None:
        """Writes elements [d, d + lanes) of the key of head h."""
        place = d * PAGE_SIZE + self.offset
        place = T.ramp(place, PAGE_SIZE, lanes) if lanes > 1 else place
        value = from_float(value, self.shape.page_dtype, lanes)
        T.buffer_store(self.pages, value, [self.page, 0, h, place])

    def emit_value_part(self, h, d, value) -> None:
        """Writes elements [d, d + LANES) of the value of head h."""
        place = at(self.offset * self.shape.dim + d)
        value = from_float(value, self.shape.page_dtype)
        T.buffer_store(self.pages, value, [self.page, 1, h, place])

    def emit_end(self) -> None:
        """Called when all heads are written."""


class Q8Slot:
    """A slot of a page of codes. It keeps the floats until the scales are known."""

    def __init__(self, shape: AttentionShape, pages, page, offset) -> None:
        self.shape, self.pages, self.page, self.offset = shape, pages, page, offset
        size = shape.kv_heads * shape.dim
        self.floats = [T.sblock_alloc_buffer((size,), "float32") for _ in range(2)]

    def emit_key_part(self, h, d, value, lanes: int) -> None:
        T.buffer_store(self.floats[0], value, [at(h * self.shape.dim + d, lanes)])

    def emit_value_part(self, h, d, value) -> None:
        T.buffer_store(self.floats[1], value, [at(h * self.shape.dim + d)])

    def emit_end(self) -> None:
        keys, dim = self.floats[0], self.shape.dim
        with T.serial(self.shape.kv_heads) as h:
            emit_hadamard(
                dim,
                lambda d: keys[at(h * dim + d)],
                lambda d, vector: T.buffer_store(keys, vector, [at(h * dim + d)]),
            )
        for part in (0, 1):
            with T.serial(self.shape.kv_heads) as h:
                self._emit_head(part, h)

    def _emit_head(self, part: int, h) -> None:
        shape, first, stride = self.shape, h * self.shape.dim, (PAGE_SIZE, 1)[part]
        begin = self.offset if part == 0 else self.offset * shape.row_elements

        def read(d):
            return self.floats[part][at(first + d)]

        scale, inverse = emit_scale(read, shape.dim, Q8_LARGEST)
        place = [self.page, part, h, shape.scales_at + self.offset]
        T.buffer_store(self.pages, T.reinterpret("uint32", scale), place)
        for d in range(0, shape.dim, LANES):
            codes = emit_codes(read(d), inverse)
            codes = T.Cast(f"uint8x{LANES}", codes + splat(T.int32(Q8_ZERO[part])))
            words = emit_value(T.reinterpret(f"uint32x{LANES // 4}", codes))
            target = T.ramp(begin + d // 4 * stride, stride, LANES // 4)
            T.buffer_store(self.pages, words, [self.page, part, h, target])


def emit_scale(read: Callable, size: int, largest: int) -> tuple:
    """The scale of `size` floats for codes up to `largest`, and its inverse. `read(d)` returns 16
    of them."""
    most = splat(0.0)
    for d in range(0, size, LANES):
        value = emit_value(read(d))
        most = emit_value(T.max(most, absolute(value)))
    most = emit_value(T.max(emit_max(most), T.float32(1e-30)))
    scale = emit_value(most * T.float32(1 / largest))
    return scale, emit_value(T.float32(largest) / most)


def emit_codes(floats, inverse):
    """Floats as rounded int32 codes."""
    return emit_rounded(floats * splat(inverse))
