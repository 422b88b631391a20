"""Rotary positions and the paged key/value cache; `paged_attention.py` attends over it.

A page holds PAGE_SIZE positions of one sequence, for one layer: `[2, kv_heads, PAGE_SIZE * dim]`.
Keys lie with their positions side by side (dim, position), so that one vector multiply serves 16
positions; values lie position by position (position, dim).

Every row walks its pages in order, whatever else is in the batch, and reads no slot that it may not
attend to: pages may be shared, reused without clearing, or (outside a sliding window) gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.function import Arg, kernel
from mlc_llm.compiler.kernels.cpu.vector import (
    LANES,
    at,
    emit_rows,
    emit_value,
    fma,
    splat,
    to_float,
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
    rotated: int = 0  # first elements of a head that are turned; 0: all
    qk_norm: float | None = None  # the epsilon of the norm of each query and key; None: no norm
    norm_dtype: str = "float32"  # of that norm's weights
    softcap: float = 0.0  # of scores; 0: none
    learned_sinks: str | None = None  # the dtype of a score for each head that no value has
    appends: bool = True  # False: `qkv` holds queries alone, the pages are another layer's

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
    def turned(self) -> int:
        """Elements of a head that are turned."""
        return self.rotated or self.dim

    @property
    def append_args(self) -> list[Arg]:
        """Of `rope_and_append`."""
        made = 2 * self.kv_heads if self.appends else 0
        norm = Arg("q_norm", (self.dim,), self.norm_dtype)
        norms = [norm, replace(norm, name="k_norm")] if self.appends else [norm]
        return [
            Arg("qkv", ("n", (self.heads + made) * self.dim), self.row_dtype),
            Arg("positions", ("n",), "int32"),
            *([Arg("slots", ("n",), "int32")] if self.appends else []),
            Arg("table", (3 * ROPE_FINE, 2, self.turned // 2)),
            *([] if self.qk_norm is None else norms),
            *([self.pages] if self.appends else []),
            Arg("q", ("n", self.heads, self.dim), self.row_dtype),
        ]

    @property
    def of_append(self) -> AttentionShape:
        """Without what `rope_and_append` does not depend on."""
        return replace(self, sliding_window=-1, sinks=0, softcap=0.0, learned_sinks=None)

    @property
    def of_pages(self) -> AttentionShape:
        """Without what the copies of pages do not depend on."""
        pages = {"kv_heads": self.kv_heads, "dim": self.dim, "page_dtype": self.page_dtype}
        return AttentionShape(heads=self.kv_heads, row_dtype=self.row_dtype, **pages)

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
            *([Arg("sinks", (self.heads,), self.learned_sinks)] if self.learned_sinks else []),
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
    """f(qkv [n, (heads + 2 kv_heads) dim], positions, slots, table, *norms, pages, q), with
    q [n, heads, dim].

    Norms queries and keys where `norms` are given: a weight [dim] for each. Rotates queries into q;
    writes rotated keys, and values, into their slots of the pages. Without `appends` there are no
    slots, no keys and no pages.
    """
    return kernel(shape.append_args, lambda *buffers: _emit_append(shape, *buffers))


def _emit_append(shape: AttentionShape, qkv, positions, *rest) -> None:
    slots, rest = (rest[0], rest[1:]) if shape.appends else (None, rest)
    table, *norms, q = rest
    pages = norms.pop() if shape.appends else None
    half, heads, kv_heads = shape.turned // 2, shape.heads, shape.kv_heads
    lanes, rest_lanes = math.gcd(half, LANES), math.gcd(shape.dim - shape.turned, LANES)

    def row(r) -> None:
        position = emit_value(positions[r])
        queries = _Heads(shape, qkv, r, 0, heads, norms[:1])
        queries.emit_factors()

        def store_query(h, d, value, lanes) -> None:
            T.buffer_store(q, value, [r, h, at(d, lanes)])

        stores = [(queries, store_query)]
        if shape.appends:
            page, offset = (emit_value(e) for e in (slots[r] // PAGE_SIZE, slots[r] % PAGE_SIZE))
            keys = _Heads(shape, qkv, r, heads, kv_heads, norms[1:])
            keys.emit_factors()

            def store_key(h, d, value, lanes) -> None:
                place = T.ramp(d * PAGE_SIZE + offset, PAGE_SIZE, lanes)
                value = T.Cast(vector_type(shape.page_dtype, lanes), value)
                T.buffer_store(pages, value, [page, 0, h, place])

            stores.append((keys, store_key))
        for base in range(0, half, lanes):
            rotation = _emit_rotation(table, position, base, lanes)
            for some, store in stores:
                with T.serial(some.count) as h:
                    pair = [some.emit_read(h, d, lanes) for d in (base, base + half)]
                    low, high = _emit_rotated(*pair, rotation, lanes)
                    store(h, base, low, lanes)
                    store(h, base + half, high, lanes)
        for base in range(shape.turned, shape.dim, rest_lanes):
            for some, store in stores:
                with T.serial(some.count) as h:
                    store(h, base, some.emit_read(h, base, rest_lanes), rest_lanes)
        if shape.appends:
            values = _Heads(shape, qkv, r, heads + kv_heads, kv_heads, [])
            _emit_values(shape, values, pages, page, offset)

    emit_rows(qkv.shape[0], row)


def _emit_values(shape: AttentionShape, values: _Heads, pages, page, offset) -> None:
    with T.serial(values.count) as h:
        for base in range(0, shape.dim, LANES):
            value = T.Cast(vector_type(shape.page_dtype), values.emit_read(h, base, LANES))
            T.buffer_store(pages, value, [page, 1, h, at(offset * shape.dim + base)])


@dataclass
class _Heads:
    """`count` heads of a row of x, from head number `first` on, and their norm's weight, if any."""

    shape: AttentionShape
    x: Any
    row: Any
    first: int
    count: int
    norm: list
    factors: Any = None

    def emit_factors(self) -> None:
        """1 / rms of every head."""
        if not self.norm:
            return
        dim, eps = self.shape.dim, self.shape.qk_norm
        self.factors = T.sblock_alloc_buffer((self.count,), "float32")
        with T.serial(self.count) as h:
            factor = emit_norm_factor(self.x, self.row, dim, eps, (self.first + h) * dim)
            T.buffer_store(self.factors, factor, [h])

    def emit_read(self, h, d, lanes: int):
        """Elements [d, d + lanes) of head h, normed."""
        value = self.x[self.row, at((self.first + h) * self.shape.dim + d, lanes)]
        if self.norm:
            weight = to_float(self.norm[0][at(d, lanes)], lanes)
            value = value * splat(self.factors[h], lanes) * weight
        return emit_value(value)


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


def _emit_rotated(low, high, rotation, lanes: int):
    """A pair of vectors, turned."""
    cos, sin = rotation
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
