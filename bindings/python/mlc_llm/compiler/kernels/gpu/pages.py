"""How GPU kernels write and read the pages of `kernels/common/attention_shape.py`: floats, or codes
of 8 bits in words of 32 bits. So a device needs no types of 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import (
    PAGE_SIZE,
    Q8_LARGEST,
    Q8_ZERO,
    AttentionShape,
    hadamard_size,
)
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_spread,
    emit_store,
    emit_value,
    registers,
    scalar,
    to_float,
)

ITEMS = 64  # of a work-group; where a row walks its history, also the keys of a step


def reader_of(shape: AttentionShape, pages) -> Floats | Codes:
    return (Codes if shape.is_q8 else Floats)(shape, pages)


def emit_ahead(count: int, ahead: int, read: Callable, use: Callable) -> None:
    """Calls `use(i, read(i))` for all i, in order. Values are read before earlier ones are used,
    `ahead` at a time (or the largest part of that which divides `count`): a GPU waits for memory
    once for all of them. So `read` emits what it returns."""
    ahead = math.gcd(count, ahead)
    with T.serial(count // ahead) as step:
        places = [emit_value(step * ahead + i) for i in range(ahead)]
        values = [read(place) for place in places]
        for place, value in zip(places, values, strict=True):
            use(place, value)


@dataclass(frozen=True)
class Floats:
    """Reads pages of floats."""

    shape: AttentionShape
    pages: Any

    def emit_key(self, page, head, slot, use: Callable, ahead: int) -> None:
        """Calls `use(d, element)` for each element of a key, without its scale. So many elements
        are read `ahead` of their use."""

        def read(d):
            return emit_value(to_float(self.pages[page, 0, head, d * PAGE_SIZE + slot], 1))

        emit_ahead(self.shape.dim, ahead, read, use)

    def scaled(self, dot, page, head, slot):
        """A dot product with a key, times the key's scale."""
        return dot

    def value(self, page, head, slot, d):
        """Element d of a value."""
        return to_float(self.pages[page, 1, head, slot * self.shape.dim + d], 1)

    # For tiles: `width` neighbouring elements, as one vector if they are several.

    def width(self, vector: int) -> int:
        return vector

    def place_of_key(self, index, width: int) -> tuple[Any, Any]:
        """The dimension, and the slot, of the first of the elements with such an index in keys."""
        return index * width // PAGE_SIZE, index * width % PAGE_SIZE

    def emit_keys(self, page, head, d, slot, width: int) -> list:
        """Elements of keys: one dimension of neighbouring slots."""
        return self._emit(page, 0, head, d * PAGE_SIZE + slot, width)

    def emit_values(self, page, head, slot, d, width: int) -> list:
        """Elements of one value."""
        return self._emit(page, 1, head, slot * self.shape.dim + d, width)

    def _emit(self, page, part: int, head, place, width: int) -> list:
        at = place if width == 1 else T.ramp(place, 1, width)
        return [emit_value(to_float(self.pages[page, part, head, at], width))]


@dataclass(frozen=True)
class Codes:
    """Reads pages of codes."""

    shape: AttentionShape
    pages: Any

    def emit_key(self, page, head, slot, use: Callable, ahead: int) -> None:
        def read(w):
            return emit_value(self.pages[page, 0, head, w * PAGE_SIZE + slot])

        def use_codes(w, word) -> None:
            for i in range(4):
                use(w * 4 + i, emit_value(_code(word, i, Q8_ZERO[0])))

        emit_ahead(self.shape.row_elements, max(1, ahead // 4), read, use_codes)

    def scaled(self, dot, page, head, slot):
        return dot * self._scale(page, 0, head, slot)

    def value(self, page, head, slot, d):
        word = self.pages[page, 1, head, slot * self.shape.row_elements + d // 4]
        return _code(word, d % 4, Q8_ZERO[1]) * self._scale(page, 1, head, slot)

    def width(self, vector: int) -> int:
        return 4

    def place_of_key(self, index, width: int) -> tuple[Any, Any]:
        return index // PAGE_SIZE * 4, index % PAGE_SIZE

    def emit_keys(self, page, head, d, slot, width: int) -> list:
        """A word: neighbouring dimensions of one slot."""
        return self._emit(page, 0, head, slot, d // 4 * PAGE_SIZE + slot)

    def emit_values(self, page, head, slot, d, width: int) -> list:
        return self._emit(page, 1, head, slot, slot * self.shape.row_elements + d // 4)

    def _emit(self, page, part: int, head, slot, place) -> list:
        word = emit_value(self.pages[page, part, head, place])
        scale = emit_value(self._scale(page, part, head, slot))
        return [emit_value(_code(word, i, Q8_ZERO[part]) * scale) for i in range(4)]

    def _scale(self, page, part: int, head, slot):
        return T.reinterpret("float32", self.pages[page, part, head, self.shape.scales_at + slot])


def _code(word, lane, zero: int):
    """One of the four codes of a word, as a float. `zero`: the stored code of 0; if that is 0,
    codes are signed."""
    shift = T.uint32(8 * lane) if isinstance(lane, int) else T.Cast("uint32", lane * 8)
    octet = T.bitwise_and(T.shift_right(word, shift), T.uint32(255))
    if zero == 0:  # the number + 128
        octet, zero = T.bitwise_xor(octet, T.uint32(128)), 128
    return T.Cast("float32", T.Cast("int32", octet) - T.int32(zero))


def emit_hadamard(floats, dim: int, item, items: int, is_wanted) -> None:
    """The Walsh-Hadamard transform of a head in shared memory, block by block, if `is_wanted`. All
    work-items call it."""
    size, stride = hadamard_size(dim), 1

    def add(i, stride: int) -> None:
        first = emit_value(i // stride * (2 * stride) + i % stride)
        low, high = emit_value(floats[first]), emit_value(floats[first + stride])
        T.buffer_store(floats, low + high, [first])
        T.buffer_store(floats, low - high, [first + stride])

    def shrink(d) -> None:
        T.buffer_store(floats, floats[d] * scalar(size**-0.5), [d])

    while stride < size:
        barrier()
        with T.If(is_wanted), T.Then():
            emit_spread(dim // 2, items, item, partial(add, stride=stride))
        stride *= 2
    barrier()
    with T.If(is_wanted), T.Then():
        emit_spread(dim, items, item, shrink)
    barrier()


class Slot:
    """The slot of a row's keys and values. A work-group writes one head of one row."""

    def __init__(
        self, shape: AttentionShape, pages, page, offset, item, items: int, floats
    ) -> None:
        self.shape, self.pages, self.page, self.offset = shape, pages, page, offset
        self.item, self.items = item, items
        self.floats = floats  # shared memory for a key or a value that becomes codes, or None

    def emit_part(self, part: int, head, d, value) -> None:
        """Writes element d of a key (part 0) or of a value (part 1)."""
        if self.floats is not None:
            T.buffer_store(self.floats, value, [d])
            return
        place = d * PAGE_SIZE + self.offset if part == 0 else self.offset * self.shape.dim + d
        emit_store(self.pages, value, [self.page, part, head, place])

    def emit_end(self, is_kept, part, head) -> None:
        """Called by all work-items, when all elements are written. `is_kept`: the head is a key or
        a value."""
        if self.floats is None:
            return
        shape = self.shape
        barrier()
        with T.If(is_kept), T.Then():
            largest = registers(1)
            T.buffer_store(largest, scalar(1e-30), [0])
            with T.serial(shape.dim) as d:
                value = self.floats[d]
                T.buffer_store(largest, T.max(largest[0], T.max(value, scalar(0.0) - value)), [0])
            inverse = emit_value(scalar(float(Q8_LARGEST)) / largest[0])
            emit_spread(
                shape.row_elements,
                self.items,
                self.item,
                lambda w: self._emit_word(part, head, w, inverse),
            )
            with T.If(self.item == 0), T.Then():
                scale = T.reinterpret("uint32", largest[0] * scalar(1 / Q8_LARGEST))
                place = shape.scales_at + self.offset
                T.buffer_store(self.pages, scale, [self.page, part, head, place])

    def _emit_word(self, part, head, w, inverse) -> None:
        zero = emit_value(T.Select(part == 0, T.int32(Q8_ZERO[0]), T.int32(Q8_ZERO[1])))
        word = T.uint32(0)
        for i in range(4):
            whole = T.floor(self.floats[w * 4 + i] * inverse + scalar(0.5))
            code = T.bitwise_and(T.Cast("int32", whole) + zero, T.int32(255))
            word = T.bitwise_or(word, T.shift_left(T.Cast("uint32", code), T.uint32(8 * i)))
        as_key, as_value = w * PAGE_SIZE + self.offset, self.offset * self.shape.row_elements + w
        place = T.Select(part == 0, as_key, as_value)
        T.buffer_store(self.pages, word, [self.page, part, head, place])
