"""Rotary positions and append on GPUs, and copies of pages and slots, with the pages of
`kernels/common/attention_shape.py`."""

from __future__ import annotations

from functools import partial

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.attention_shape import (
    GROWTHS,
    PAGE_SIZE,
    ROPE_FINE,
    AttentionShape,
)
from mlc_llm.compiler.kernels.common.function import Arg, kernel, named_kernel
from mlc_llm.compiler.kernels.gpu.elementwise import emit_norm_factor
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_spread,
    emit_store,
    emit_value,
    grid,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.pages import ITEMS, Slot, emit_hadamard


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
    norms = [norm for norm in (q_norm, k_norm) if norm is not None]
    dim, heads, kv_heads, half = shape.dim, shape.heads, shape.kv_heads, shape.rotated_dim // 2
    groups = heads + 2 * kv_heads if shape.appends else heads
    with grid((groups, qkv.shape[0]), ITEMS) as ((head, row), item):
        position = emit_value(positions[row])
        read, read_value, weight = _emit_readers(shape, qkv, row, head, norms, item)
        floats = shared(dim) if shape.is_q8 else None  # of a head, until they are transformed
        if shape.appends:
            page, offset = (
                emit_value(e) for e in (slots[row] // PAGE_SIZE, slots[row] % PAGE_SIZE)
            )
            slot = Slot(shape, pages, page, offset, item, ITEMS, floats)

        def grown(value):
            if growth is None:
                return value
            step = (position + shape.growth_from) // shape.growth_length
            return value * growth[T.min(step, GROWTHS - 1)]

        def store(d, value) -> None:
            value = value * weight(d) if norms and shape.norms_rotated else value
            if floats is not None:
                T.buffer_store(floats, value, [d])
                return
            if not shape.appends:
                emit_store(q, grown(value), [row, head, d])
                return
            with T.If(head < heads):
                with T.Then():
                    emit_store(q, grown(value), [row, T.min(head, heads - 1), d])
                with T.Else():
                    slot.emit_part(0, head - heads, d, value)

        def rotate(i) -> None:
            place = position if rotary is None else on_axis(shape.axes, rotary, row, i)
            cos, sin = emit_rotation(table, place, i)
            low, high = emit_value(read(i)), emit_value(read(half + i))
            store(i, low * cos - high * sin)
            store(i + half, high * cos + low * sin)

        def turn() -> None:
            emit_spread(half, ITEMS, item, rotate)
            if shape.rotated_dim < dim:
                emit_spread(
                    dim - shape.rotated_dim,
                    ITEMS,
                    item,
                    lambda i: store(shape.rotated_dim + i, read(shape.rotated_dim + i)),
                )

        def copy(d) -> None:
            slot.emit_part(1, head - heads - kv_heads, d, read_value(d))

        def finish() -> None:
            if floats is None:
                return
            emit_hadamard(floats, dim, item, ITEMS, head < heads + kv_heads)
            with T.If(head < heads), T.Then():
                own = T.min(head, heads - 1)
                emit_spread(
                    dim, ITEMS, item, lambda d: emit_store(q, grown(floats[d]), [row, own, d])
                )

        if not shape.appends:
            turn()
            finish()
            return
        with T.If(head < heads + kv_heads):
            with T.Then():
                turn()
            with T.Else():
                emit_spread(dim, ITEMS, item, copy)
        finish()
        kept = T.max(head - heads, 0)
        slot.emit_end(head >= heads, emit_value(kept // kv_heads), emit_value(kept % kv_heads))


def _emit_readers(shape: AttentionShape, qkv, row, head, norms: list, item) -> tuple:
    """Functions that return an element of a query or a key, after what of its norm comes before the
    rotation; an element of a value, after its norm; and the weight of an element."""
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    factor = _emit_factor(shape, qkv, row, head, item)

    def weight(d):
        query_place = T.min(head, heads - 1) * dim + d if shape.norms_all_heads else d
        query = to_float(norms[0][query_place], 1)
        if len(norms) == 1:
            return query
        key_head = T.max(T.min(head - heads, kv_heads - 1), 0)
        key_place = key_head * dim + d if shape.norms_all_heads else d
        return T.Select(head < heads, query, to_float(norms[1][key_place], 1))

    def read(d):
        value = to_float(qkv[row, head * dim + d], 1)
        value = value if shape.qk_norm is None else value * factor
        return value * weight(d) if norms and not shape.norms_rotated else value

    def read_value(d):
        value = to_float(qkv[row, _source(shape, head) * dim + d], 1)
        return value if shape.value_norm is None else value * factor

    return read, read_value, weight


def _source(shape: AttentionShape, head):
    """The place of a head in the input, in which values may be the keys."""
    if not shape.values_are_keys:
        return head
    return T.Select(head < shape.heads + shape.kv_heads, head, head - shape.kv_heads)


def _emit_factor(shape: AttentionShape, qkv, row, head, item):
    """1 / rms of a head, or of all heads together, for every work-item of the group. None: nothing
    is normed."""
    if shape.qk_norm is None and shape.value_norm is None:
        return None
    dim, heads, kv_heads = shape.dim, shape.heads, shape.kv_heads
    is_value = head >= heads + kv_heads
    eps = shape.value_norm if shape.qk_norm is None else shape.qk_norm
    if shape.value_norm not in (None, eps):
        eps = emit_value(T.Select(is_value, scalar(shape.value_norm), scalar(eps)))
    first, most, used = _source(shape, head) * dim, dim, None
    if shape.norms_all_heads and shape.qk_norm is not None:
        begin = T.Select(head < heads, 0, heads * dim)
        used = T.Select(head < heads, heads * dim, kv_heads * dim)
        if shape.value_norm is not None:
            begin, used = T.Select(is_value, first, begin), T.Select(is_value, dim, used)
        first, most, used = begin, heads * dim, emit_value(used)
    return emit_norm_factor(qkv, row, emit_value(first), most, eps, item, used)


def on_axis(axes: tuple[int, ...], positions, row, pair):
    """The position of a row by which a pair turns. The axes are bits of constants."""
    place = positions[row, 0]
    for axis in sorted({*axes} - {0}):
        bits = sum(1 << i for i, own in enumerate(axes) if own == axis)
        word = T.uint32(0)
        for number in range(-(-len(axes) // 32)):
            own = T.uint32(bits >> 32 * number & 0xFFFFFFFF)
            word = T.Select(pair // 32 == number, own, word)
        shift = T.Cast("uint32", pair % 32)
        is_own = T.bitwise_and(T.shift_right(word, shift), T.uint32(1)) == T.uint32(1)
        place = T.Select(is_own, positions[row, axis], place)
    return emit_value(place)


def emit_rotation(table, position, pair):
    """cos and sin of position * frequency, by adding angles."""
    rows = (
        position % ROPE_FINE,
        position // ROPE_FINE % ROPE_FINE + ROPE_FINE,
        T.min(position // ROPE_FINE**2, ROPE_FINE - 1) + 2 * ROPE_FINE,
    )
    angles = [[emit_value(table[row, part, pair]) for part in (0, 1)] for row in rows]
    cos, sin = angles[0]
    for other_cos, other_sin in angles[1:]:
        turned = cos * other_cos - sin * other_sin
        sin = emit_value(sin * other_cos + cos * other_sin)
        cos = emit_value(turned)
    return cos, sin


def copy_pages(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [k], destination i32 [k], pages): pages[destination[i]] = pages[source[i]]."""
    width = shape.page_shape[2]

    def body(source, destination, pages) -> None:
        with grid((2 * shape.kv_heads, source.shape[0]), ITEMS) as ((block, i), item):
            old, new = emit_value(source[i]), emit_value(destination[i])
            part, head = block // shape.kv_heads, block % shape.kv_heads

            def copy(place) -> None:
                value = pages[old, part, head, place]
                T.buffer_store(pages, value, [new, part, head, place])

            emit_spread(width, ITEMS, item, copy)

    indices = [Arg(name, ("k",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)


def copy_slots(shape: AttentionShape) -> tirx.PrimFunc:
    """f(source i32 [c], destination i32 [c], pages): copies the key and value at slot source[i] to
    slot destination[i]. No slot may be both."""
    size, extra = shape.row_elements, 1 if shape.is_q8 else 0

    def body(source, destination, pages) -> None:
        with grid((2 * shape.kv_heads, source.shape[0]), ITEMS) as ((block, i), item):
            old, new = emit_value(source[i]), emit_value(destination[i])
            part, head = block // shape.kv_heads, block % shape.kv_heads

            def place(slot, d):
                offset = slot % PAGE_SIZE
                as_key, as_value = d * PAGE_SIZE + offset, offset * size + d
                if extra:  # a key's scale is like one element more
                    as_value = T.Select(d == size, shape.scales_at + offset, as_value)
                return T.Select(part == 0, as_key, as_value)

            def copy(d) -> None:
                value = pages[old // PAGE_SIZE, part, head, place(old, d)]
                T.buffer_store(pages, value, [new // PAGE_SIZE, part, head, place(new, d)])

            emit_spread(size + extra, ITEMS, item, copy)

    indices = [Arg(name, ("c",), "int32") for name in ("source", "destination")]
    return kernel([*indices, shape.pages], body)
