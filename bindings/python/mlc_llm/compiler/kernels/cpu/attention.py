"""Rotary positions and the paged key/value cache; `paged_attention.py` attends over it.

A page holds PAGE_SIZE positions of one sequence, for one layer: `[2, kv_heads, PAGE_SIZE * dim]`.
Keys lie with their positions side by side (dim, position), so that one vector multiply serves 16
positions; values lie position by position (position, dim).

Every row walks its pages in order, whatever else is in the batch, and reads no slot that it may not
attend to: pages may be shared, reused without clearing, or (outside a sliding window) gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    emit_rows,
    emit_value,
    fma,
    splat,
    vector_type,
)
from mlc_llm.errors import UnsupportedError

PAGE_SIZE = LANES
ROPE_FINE = 256  # positions in each of the three parts of the rope table
ROPE_POSITIONS = ROPE_FINE**3  # beyond them positions are taken for the last 65536


@dataclass(frozen=True, kw_only=True)
class AttentionShape:
    """Sizes of one attention layer. A sliding window of -1 is none."""

    heads: int
    kv_heads: int
    dim: int
    sliding_window: int = -1
    sinks: int = 0
    page_dtype: str = "float32"  # of keys and values in the cache
    row_dtype: str = "float32"  # of what comes in and goes out; the CPU's are float32

    def __post_init__(self) -> None:
        if self.dim % LANES:
            raise UnsupportedError(
                f"head_dim {self.dim} is not a multiple of {LANES}", param="head_dim"
            )

    @property
    def group(self) -> int:
        """Query heads that share a key head."""
        return self.heads // self.kv_heads

    @property
    def page_shape(self) -> tuple[int, int, int]:
        return (2, self.kv_heads, PAGE_SIZE * self.dim)

    @property
    def slot_runs(self) -> list[tuple[int, int]]:
        """Of a page: how many blocks, and how many elements of each slot are in one.

        Keys lie one dimension after another, values one slot after another.
        """
        return [(self.kv_heads * self.dim, 1), (self.kv_heads, self.dim)]

    @property
    def pages(self) -> Arg:
        return Arg("pages", ("num_pages", *self.page_shape), self.page_dtype)

    @property
    def append_args(self) -> list[Arg]:
        """Of `rope_and_append`."""
        return [
            Arg("qkv", ("n", (self.heads + 2 * self.kv_heads) * self.dim), self.row_dtype),
            Arg("positions", ("n",), "int32"),
            Arg("slots", ("n",), "int32"),
            Arg("table", (3 * ROPE_FINE, 2, self.dim // 2)),
            self.pages,
            Arg("q", ("n", self.heads, self.dim), self.row_dtype),
        ]

    @property
    def attend_args(self) -> list[Arg]:
        """Of `paged_attention`."""
        return [
            Arg("q", ("n", self.heads, self.dim), self.row_dtype),
            Arg("positions", ("n",), "int32"),
            Arg("row_sequence", ("n",), "int32"),
            Arg("page_indptr", ("indptr",), "int32"),
            Arg("page_indices", ("indices",), "int32"),
            self.pages,
            Arg("y", ("n", self.heads * self.dim), self.row_dtype),
        ]


def rope_table(frequencies: list[float], magnitude: float = 1.0) -> np.ndarray:
    """cos and sin `[768, 2, dim / 2]`, from which an angle is the sum of three: as with digits, row
    i < 256 is position i, row 256 + j position 256 * j, row 512 + k position 65536 * k.

    Computed in float64, so that far positions are as exact as near ones; kernels need no sine. The
    table ends at no context window: where attention slides, positions go on.
    """
    digits = np.arange(ROPE_FINE, dtype=np.float64)
    positions = np.concatenate([digits, digits * ROPE_FINE, digits * ROPE_FINE**2])
    angles = positions[:, None] * np.asarray(frequencies, np.float64)
    table = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    table[:ROPE_FINE] *= magnitude
    return table.astype(np.float32)


def rope_and_append(shape: AttentionShape) -> tirx.PrimFunc:
    """f(qkv [n, (heads + 2 kv_heads) dim], positions, slots, table, pages, q [n, heads, dim]).

    Rotates queries into q; writes rotated keys, and values, into their slots of the pages.
    """
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    half = dim // 2
    lanes = math.gcd(half, LANES)

    def body(qkv, positions, slots, table, pages, q) -> None:
        def row(r) -> None:
            position = emit_value(positions[r])
            page, offset = (emit_value(e) for e in (slots[r] // PAGE_SIZE, slots[r] % PAGE_SIZE))
            for base in range(0, half, lanes):
                rotation = _emit_rotation(table, position, base, lanes)
                with T.serial(heads) as h:
                    low, high = _emit_rotated(qkv, r, h * dim + base, half, rotation, lanes)
                    T.buffer_store(q, low, [r, h, at(base, lanes)])
                    T.buffer_store(q, high, [r, h, at(base + half, lanes)])
                with T.serial(kv_heads) as h:
                    source = (heads + h) * dim + base
                    pair = _emit_rotated(qkv, r, source, half, rotation, lanes)
                    for d, value in zip((base, base + half), pair, strict=True):
                        place = T.ramp(d * PAGE_SIZE + offset, PAGE_SIZE, lanes)
                        value = T.Cast(vector_type(shape.page_dtype, lanes), value)
                        T.buffer_store(pages, value, [page, 0, h, place])
            with T.serial(kv_heads) as h:
                for base in range(0, dim, LANES):
                    value = qkv[r, at((heads + kv_heads + h) * dim + base)]
                    value = T.Cast(vector_type(shape.page_dtype), value)
                    T.buffer_store(pages, value, [page, 1, h, at(offset * dim + base)])

        emit_rows(qkv.shape[0], row)

    return kernel(shape.append_args, body)


def _emit_rotation(table, position, base: int, lanes: int):
    """cos and sin of position * frequency for pairs [base, base + lanes), by angle addition."""
    rows = (
        position % ROPE_FINE,
        position // ROPE_FINE % ROPE_FINE + ROPE_FINE,
        T.min(position // ROPE_FINE**2, ROPE_FINE - 1) + 2 * ROPE_FINE,
    )
    angles = [
        tuple(emit_value(table[row, part, at(base, lanes)]) for part in (0, 1)) for row in rows
    ]
    fine, coarse, top = angles
    return _emit_sum_of_angles(_emit_sum_of_angles(fine, coarse, lanes), top, lanes)


def _emit_sum_of_angles(a, b, lanes: int):
    (cos_a, sin_a), (cos_b, sin_b) = a, b
    cos = emit_value(fma(cos_b, cos_a, splat(0.0, lanes) - sin_b * sin_a, lanes))
    return cos, emit_value(fma(sin_b, cos_a, cos_b * sin_a, lanes))


def _emit_rotated(x, row, base, half: int, rotation, lanes: int):
    """The pair of vectors at base and base + half, turned."""
    cos, sin = rotation
    low, high = (emit_value(x[row, at(base + i, lanes)]) for i in (0, half))
    turned_low = emit_value(fma(low, cos, splat(0.0, lanes) - high * sin, lanes))
    return turned_low, emit_value(fma(high, cos, low * sin, lanes))


def copy_pages(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [k], destination i32 [k], pages): pages[destination[i]] = pages[source[i]]."""
    size = math.prod(shape.page_shape[1:]) // LANES

    def body(source, destination, pages) -> None:
        width = shape.page_shape[2]
        with T.serial(source.shape[0]) as i, T.sblock("copy"):
            T.reads()
            T.writes()
            old, new = emit_value(source[i]), emit_value(destination[i])
            for part in (0, 1):
                with T.serial(size) as v:
                    head, base = v * LANES // width, v * LANES % width
                    value = pages[old, part, head, at(base)]
                    T.buffer_store(pages, value, [new, part, head, at(base)])

    indices = [Arg(name, ("k",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)


def copy_slots(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): the key and value at slot destination[i]
    become those at slot source[i]. No slot may be both.

    So a step verifies a tree of tokens: each branch has pages of its own from where it leaves the
    others, in which tokens before it of the same step are wanted too. Every row then reads a
    plain history, by the same steps as in any other batch.
    """
    dim = shape.dim

    def body(source, destination, pages) -> None:
        with T.serial(source.shape[0]) as i, T.sblock("copy"):
            T.reads()
            T.writes()
            old, new = emit_value(source[i]), emit_value(destination[i])
            from_page, from_offset = (emit_value(e) for e in (old // PAGE_SIZE, old % PAGE_SIZE))
            page, offset = (emit_value(e) for e in (new // PAGE_SIZE, new % PAGE_SIZE))
            with T.serial(shape.kv_heads) as head:
                with T.serial(dim) as d:
                    key = pages[from_page, 0, head, d * PAGE_SIZE + from_offset]
                    T.buffer_store(pages, key, [page, 0, head, d * PAGE_SIZE + offset])
                with T.serial(dim // LANES) as v:
                    value = pages[from_page, 1, head, at(from_offset * dim + v * LANES)]
                    T.buffer_store(pages, value, [page, 1, head, at(offset * dim + v * LANES)])

    indices = [Arg(name, ("c",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
