"""Rotary positions, the paged key/value cache, and attention over it.

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
    NEVER,
    at,
    constant,
    emit_floats,
    emit_max,
    emit_rows,
    emit_sum,
    emit_value,
    emit_zero,
    exp2,
    fma,
    splat,
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
        return Arg("pages", ("num_pages", *self.page_shape))


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
                        T.buffer_store(pages, value, [page, 0, h, place])
            with T.serial(kv_heads) as h:
                for base in range(0, dim, LANES):
                    value = qkv[r, at((heads + kv_heads + h) * dim + base)]
                    T.buffer_store(pages, value, [page, 1, h, at(offset * dim + base)])

        emit_rows(qkv.shape[0], row)

    args = [
        Arg("qkv", ("n", (heads + 2 * kv_heads) * dim)),
        Arg("positions", ("n",), "int32"),
        Arg("slots", ("n",), "int32"),
        Arg("table", (3 * ROPE_FINE, 2, half)),
        shape.pages,
        Arg("q", ("n", heads, dim)),
    ]
    return kernel(args, body)


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


def paged_attention(shape: AttentionShape, scale: float) -> tirx.PrimFunc:
    """f(q [n, heads, dim], positions, row_sequence, page_indptr, page_indices, pages, y).

    Causal softmax attention of each row over its own sequence, by an online softmax over pages.
    One kernel serves prompts and single steps.
    """

    def body(q, positions, row_sequence, page_indptr, page_indices, pages, y) -> None:
        with T.parallel(q.shape[0] * shape.kv_heads) as task, T.sblock("attend"):
            T.reads()
            T.writes()
            row, head = emit_value(task // shape.kv_heads), emit_value(task % shape.kv_heads)
            position = emit_value(positions[row])
            first = emit_value(page_indptr[row_sequence[row]])
            state = _Softmax(shape, q, pages, row, T.Cast("int32", head), scale)
            with T.serial(position // PAGE_SIZE + 1) as index:
                with T.If(_in_reach(shape, position, index)), T.Then():
                    state.emit_page(page_indices[first + index], index * PAGE_SIZE, position)
            state.emit_result(y)

    args = [
        Arg("q", ("n", shape.heads, shape.dim)),
        Arg("positions", ("n",), "int32"),
        Arg("row_sequence", ("n",), "int32"),
        Arg("page_indptr", ("indptr",), "int32"),
        Arg("page_indices", ("indices",), "int32"),
        shape.pages,
        Arg("y", ("n", shape.heads * shape.dim)),
    ]
    return kernel(args, body)


def _in_reach(shape: AttentionShape, position, index):
    """Whether any position of the page can be attended to."""
    if shape.sliding_window < 0:
        return index >= 0
    recent = (index + 1) * PAGE_SIZE > position - shape.sliding_window + 1
    return T.Or(recent, index * PAGE_SIZE < shape.sinks)


class _Softmax:
    """The running state of a row and key head: maxima, sums, weighted values by query head."""

    def __init__(self, shape: AttentionShape, q, pages, row, head, scale: float) -> None:
        self.shape, self.q, self.pages = shape, q, pages
        self.row, self.head, self.scale = row, head, scale
        group, vectors = shape.group, shape.dim // LANES
        self.maximum = T.sblock_alloc_buffer((group,), "float32")
        self.sums = emit_floats(group)
        self.values = T.sblock_alloc_buffer((group * shape.dim,), "float32")
        self.weights = T.sblock_alloc_buffer((group * LANES,), "float32")
        for g in range(group):
            T.buffer_store(self.maximum, T.float32(NEVER), [g])
        emit_zero(self.sums, group)
        with T.serial(group * vectors) as i:
            T.buffer_store(self.values, splat(0.0), [at(i * LANES)])

    def emit_page(self, page, start, position) -> None:
        page = emit_value(page)
        scores = self._emit_scores(page)
        allowed = self._allowed(start, position)
        decays = []
        for g, score in enumerate(scores):
            # Through memory: under a Select of the same lanes TVM's simplifier would drop this one
            # even from the maximum across lanes.
            masked = T.Select(allowed, score, splat(NEVER))
            T.buffer_store(self.weights, masked, [at(g * LANES)])
            score = emit_value(self.weights[at(g * LANES)])
            old = emit_value(self.maximum[g])
            new = emit_value(T.max(old, emit_max(score)))
            T.buffer_store(self.maximum, new, [g])
            weight = emit_value(T.Select(allowed, exp2(score - splat(new)), splat(0.0)))
            decays.append(exp2(splat(old) - splat(new)))
            total = fma(self.sums[at(g * LANES)], decays[g], weight)
            T.buffer_store(self.sums, total, [at(g * LANES)])
            T.buffer_store(self.weights, weight, [at(g * LANES)])
        filled = emit_value(T.min(position - start + 1, PAGE_SIZE))
        self._emit_values(page, filled, decays)

    def _allowed(self, start, position):
        """Which of the page's 16 positions the row attends to."""
        lane = constant(range(LANES), "int32")
        places = emit_value(lane + splat(start))
        causal = places <= splat(position)
        if self.shape.sliding_window < 0:
            return causal
        recent = places > splat(position - self.shape.sliding_window)
        sink = places < splat(T.int32(self.shape.sinks))
        return T.And(causal, T.Or(recent, sink))

    def _emit_scores(self, page) -> list:
        """For each query head, q . k of the page's 16 positions, in base-2 logarithms."""
        group, dim = self.shape.group, self.shape.dim
        parts = max(1, min(4, 8 // group))  # partial sums, to hide the latency of the chain
        sums = emit_floats(group * parts)
        emit_zero(sums, group * parts)
        with T.serial(dim // 4) as block:
            for i in range(4):
                d = block * 4 + i
                key = emit_value(self.pages[page, 0, self.head, at(d * PAGE_SIZE)])
                for g in range(group):
                    place = at((g * parts + i % parts) * LANES)
                    query = splat(self.q[self.row, self.head * group + g, d])
                    T.buffer_store(sums, fma(query, key, sums[place]), [place])
        return [self._emit_score(sums, g * parts, parts) for g in range(group)]

    def _emit_score(self, sums, first: int, parts: int):
        total = sums[at(first * LANES)]
        for i in range(1, parts):
            total = total + sums[at((first + i) * LANES)]
        return emit_value(total * splat(self.scale * math.log2(math.e)))

    def _emit_values(self, page, filled, decays: list) -> None:
        """values = values * decay + weights . v, a few vectors of all query heads at a time."""
        group, dim = self.shape.group, self.shape.dim
        vectors = dim // LANES
        step = max(1, 12 // group)
        for begin in range(0, vectors, step):
            part = range(begin, min(begin + step, vectors))
            sums = emit_floats(group * len(part))
            places = [(g, i, v) for g in range(group) for i, v in enumerate(part)]

            def place(g: int, i: int, width: int = len(part)):
                return at((g * width + i) * LANES)

            for g, i, v in places:
                old = self.values[at(g * dim + v * LANES)]
                T.buffer_store(sums, old * decays[g], [place(g, i)])
            with T.serial(filled) as slot:
                loads = [self.pages[page, 1, self.head, at(slot * dim + v * LANES)] for v in part]
                loads = [emit_value(load) for load in loads]
                for g, i, _ in places:
                    weight = splat(self.weights[g * LANES + slot])
                    T.buffer_store(sums, fma(weight, loads[i], sums[place(g, i)]), [place(g, i)])
            for g, i, v in places:
                T.buffer_store(self.values, sums[place(g, i)], [at(g * dim + v * LANES)])

    def emit_result(self, y) -> None:
        group, dim = self.shape.group, self.shape.dim
        for g in range(group):
            total = emit_sum(self.sums[at(g * LANES)])
            with T.serial(dim // LANES) as v:
                value = self.values[at(g * dim + v * LANES)] / splat(total)
                place = (self.head * group + g) * dim + v * LANES
                T.buffer_store(y, value, [self.row, at(place)])


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
