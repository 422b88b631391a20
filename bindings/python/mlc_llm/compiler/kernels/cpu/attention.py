"""Rotary positions and the paged KV cache. `paged_attention.py` computes the attention.

`common/attention_shape.py` describes the layout of keys and values in a page.

Every row walks its pages in order, whatever else is in the batch. It reads only slots to which it
may attend: other pages may be shared, used again without clearing, or (outside a sliding window)
missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import (
    GROWTHS,
    PAGE_SIZE,
    ROPE_FINE,
    AttentionShape,
)
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat, to_float
from mlc_llm.compiler.kernels.cpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.cpu.hadamard import emit_hadamard
from mlc_llm.compiler.kernels.cpu.page_slots import slot_of
from mlc_llm.compiler.kernels.cpu.vector import at, constant, emit_rows, emit_value, fma


def rope_and_append(shape: AttentionShape) -> tirx.PrimFunc:
    """f(qkv [n, (heads + 2 kv_heads) dim], positions, rotary?, slots, table, growth?, *norms,
    pages, q), with q [n, heads, dim].

    Queries, keys and values are normed if the shape says so. The norms of queries and of keys may
    have weights `norms`: [dim] each, or one for all heads.
    Rotates queries into q, times a factor of their position if there is a table `growth`.
    Writes rotated keys, and values, into their slots of the pages. If `appends` is False there are
    no slots, no keys and no pages. For pages of codes, queries and keys are transformed last.
    """
    return named_kernel(shape.append_args, partial(_emit_append, shape))


def _emit_append(
    shape: AttentionShape,
    qkv,
    positions,
    table,
    q,
    *,
    rotary=None,
    slots=None,
    growth=None,
    q_norm=None,
    k_norm=None,
    pages=None,
) -> None:
    half, heads, kv_heads = shape.rotated_dim // 2, shape.heads, shape.kv_heads
    lanes, rest_lanes = math.gcd(half, LANES), math.gcd(shape.dim - shape.rotated_dim, LANES)

    def row(r) -> None:
        position = emit_value(positions[r])
        places = [emit_value(rotary[r, axis]) for axis in range(3)] if shape.axes else [position]
        queries = _Heads(shape, qkv, r, 0, heads, shape.qk_norm, q_norm)
        queries.emit_factors()
        grown = None
        if shape.growth_length:
            grown_at = position + shape.growth_from
            step = T.min(grown_at // shape.growth_length, GROWTHS - 1)
            grown = emit_value(growth[step])

        def store_query(h, d, value, lanes) -> None:
            value = value if grown is None else value * splat(grown, lanes)
            T.buffer_store(q, value, [r, h, at(d, lanes)])

        stores = [(queries, store_query)]
        if shape.appends:
            page, offset = (emit_value(e) for e in (slots[r] // PAGE_SIZE, slots[r] % PAGE_SIZE))
            keys = _Heads(shape, qkv, r, heads, kv_heads, shape.qk_norm, k_norm)
            keys.emit_factors()

            slot = slot_of(shape, pages, page, offset)
            stores.append((keys, slot.emit_key_part))
        for base in range(0, half, lanes):
            axes = shape.axes[base : base + lanes] or (0,) * lanes
            rotation = emit_rotation_of(table, places, axes, base, lanes)
            for some, store in stores:
                with T.serial(some.count) as h:
                    pair = [some.emit_read(h, d, lanes) for d in (base, base + half)]
                    low, high = emit_rotated(*pair, rotation, lanes)
                    store(h, base, some.after(base, low, lanes), lanes)
                    store(h, base + half, some.after(base + half, high, lanes), lanes)
        for base in range(shape.rotated_dim, shape.dim, rest_lanes):
            for some, store in stores:
                with T.serial(some.count) as h:
                    value = some.emit_read(h, base, rest_lanes)
                    store(h, base, some.after(base, value, rest_lanes), rest_lanes)
        if shape.is_q8:
            _emit_query_blocks(shape, q, r)
        if shape.appends:
            first = heads if shape.values_are_keys else heads + kv_heads
            values = _Heads(shape, qkv, r, first, kv_heads, shape.value_norm, None, by_head=True)
            values.emit_factors()
            with T.serial(kv_heads) as h:
                for base in range(0, shape.dim, LANES):
                    slot.emit_value_part(h, base, values.emit_read(h, base, LANES))
            slot.emit_end()

    emit_rows(qkv.shape[0], row)


def _emit_query_blocks(shape: AttentionShape, q, r) -> None:
    """Transforms the queries of a row as keys of codes are."""
    with T.serial(shape.heads) as h:
        emit_hadamard(
            shape.dim,
            lambda d: q[r, h, at(d)],
            lambda d, vector: T.buffer_store(q, vector, [r, h, at(d)]),
        )


@dataclass
class _Heads:
    """`count` heads of a row of x, from head number `first` on, and the epsilon and the weight of
    their norm, if any. `by_head`: the norm is of each head, even if others are of all heads."""

    shape: AttentionShape
    x: Any
    row: Any
    first: int
    count: int
    eps: float | None
    weight: Any = None
    by_head: bool = False
    factors: Any = None

    @property
    def together(self) -> bool:
        """Whether there is one norm for all heads."""
        return self.shape.norms_all_heads and not self.by_head

    def emit_factors(self) -> None:
        """Computes 1 / rms of every head, or of all heads together."""
        if self.eps is None:
            return
        dim, eps = self.shape.dim, self.eps
        size = dim * self.count if self.together else dim
        self.factors = T.sblock_alloc_buffer((self.count,), "float32")
        with T.serial(self.count * dim // size) as h:
            factor = emit_norm_factor(self.x, self.row, size, eps, self.first * dim + h * size)
            T.buffer_store(self.factors, factor, [h])

    def emit_read(self, h, d, lanes: int):
        """Elements [d, d + lanes) of head h, after what of the norm comes before the rotation."""
        shape = self.shape
        value = self.x[self.row, at((self.first + h) * shape.dim + d, lanes)]
        if self.eps is not None:
            value = value * splat(self.factors[0 if self.together else h], lanes)
        if self.weight is not None and not shape.norms_rotated:
            place = h * shape.dim + d if self.together else d
            value = value * to_float(self.weight[at(place, lanes)], lanes)
        return emit_value(value)

    def after(self, d, value, lanes: int):
        """A rotated value, times the weight of a norm after the rotation. (A rotation does not
        change the rms of a head.)"""
        if self.weight is None or not self.shape.norms_rotated:
            return value
        return value * to_float(self.weight[at(d, lanes)], lanes)


def emit_rotation_of(table, places, axes: tuple[int, ...], base: int, lanes: int):
    """The rotation of pairs [base, base + lanes), each by the position on its own axis."""
    first, *others = sorted(set(axes))
    rotation = emit_rotation(table, places[first], base, lanes)
    for axis in others:
        own = constant([int(one == axis) for one in axes], "int32") > splat(T.int32(0), lanes)
        turned = emit_rotation(table, places[axis], base, lanes)
        pairs = zip(turned, rotation, strict=True)
        rotation = tuple(emit_value(T.Select(own, new, old)) for new, old in pairs)
    return rotation


def emit_rotation(table, position, base: int, lanes: int):
    """cos and sin of position * frequency for pairs [base, base + lanes), by adding angles."""
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


def emit_rotated(low, high, rotation, lanes: int):
    """A pair of vectors after the rotation."""
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
            for part in range(shape.page_shape[0]):
                with T.serial(size) as v:
                    head, base = v * LANES // width, v * LANES % width
                    value = pages[old, part, head, at(base)]
                    T.buffer_store(pages, value, [new, part, head, at(base)])

    indices = [Arg(name, ("k",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)


def copy_slots(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): copies the key and value at slot source[i] to
    slot destination[i]. No slot may be both.

    A step verifies a tree of tokens with it. Each branch has its own pages from the point where it
    leaves the others, and it needs there the earlier tokens of the same step. So every row reads a
    plain history, with the same steps as in any other batch.
    """
    size, extra = shape.row_elements, 1 if shape.is_q8 else 0
    lanes = math.gcd(size, LANES)

    def body(source, destination, pages) -> None:
        with T.serial(source.shape[0]) as i, T.sblock("copy"):
            T.reads()
            T.writes()
            old, new = emit_value(source[i]), emit_value(destination[i])
            from_page, from_offset = (emit_value(e) for e in (old // PAGE_SIZE, old % PAGE_SIZE))
            page, offset = (emit_value(e) for e in (new // PAGE_SIZE, new % PAGE_SIZE))
            with T.serial(shape.kv_heads) as head:
                with T.serial(size + extra) as d:  # a key's scale is like one element more
                    key = pages[from_page, 0, head, d * PAGE_SIZE + from_offset]
                    T.buffer_store(pages, key, [page, 0, head, d * PAGE_SIZE + offset])
                with T.serial(size // lanes) as v:
                    base = v * lanes
                    value = pages[from_page, 1, head, at(from_offset * size + base, lanes)]
                    T.buffer_store(pages, value, [page, 1, head, at(offset * size + base, lanes)])
                if extra:
                    scale = pages[from_page, 1, head, shape.scales_at + from_offset]
                    T.buffer_store(pages, scale, [page, 1, head, shape.scales_at + offset])

    indices = [Arg(name, ("c",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
