"""What every kernel of a library computes, in NumPy: a row of the table for each kind of kernel.

A row makes random calls of a kernel and says what is to come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import library_kernel_choices
import numpy as np
from activation_codes import decoded, encoded, in_groups
from kernel_tools import stored_weight
from library_kernels import EPS, Array, Call, Kernel, Rng, Want
from test_attention import Cache, expected_row, rotate

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, rope_table
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.spec.rope import RopeScaling, inverse_frequencies

Calls = Iterator[Call]
ROWS = (1, 4, 17, 70)  # each way to multiply
HISTORY = [83, 33]  # tokens of two sequences


def int32(values: Any) -> Array:
    return np.asarray(list(values), np.int32)


def weights(kernel: Kernel, rng: Rng, outs: int, ins: int, use: str) -> tuple[dict, Array]:
    """The stored tensors by name, and what they mean in float64."""
    plain = rng.standard_normal((outs, ins)).astype(np.float32)
    stored, exact = stored_weight(kernel.model.scheme, plain, use)
    return {f"weight{i}": array for i, array in enumerate(stored)}, exact


# Between attention


def embedding(kernel: Kernel, rng: Rng) -> Calls:
    (entries, _), hidden = kernel["weight0"].shape, int(kernel["y"].shape[1])
    stored, table = weights(kernel, rng, int(entries), hidden, "embedding")
    ids = np.concatenate([rng.integers(0, entries, 20), [0, int(entries) - 1]]).astype(np.int32)
    arrays = {"ids": ids, **stored, "y": kernel.unwritten("y", len(ids))}
    yield Call(arrays, [kernel.want("y", table[ids], 1e-6)])


def linear(kernel: Kernel, rng: Rng) -> Calls:
    (_, ins), (_, outs) = kernel["x"].shape, kernel["y"].shape
    stored, exact = weights(kernel, rng, int(outs), int(ins), "linear")
    for rows in ROWS:
        x = kernel.random(rng, "x", rows)
        arrays, added = _with_extras(kernel, rng, {"x": x, **stored}, rows, int(outs))
        expected = x.astype(np.float64) @ exact.T + added
        yield Call(arrays, [kernel.want("y", expected, 2e-6 * int(ins))])


def _with_extras(
    kernel: Kernel, rng: Rng, arrays: dict[str, Array], rows: int, outs: int
) -> tuple[dict[str, Array], Any]:
    """The arrays with what is added to the product, that sum, and an unwritten y."""
    added: Any = 0.0
    if "bias" in kernel:
        arrays["bias"] = rng.standard_normal(outs).astype(kernel["bias"].dtype)
        added = added + arrays["bias"].astype(np.float64)
    if "residual" in kernel:
        arrays["residual"] = rng.standard_normal((rows, outs)).astype(np.float32)
        added = added + arrays["residual"]
    arrays["y"] = np.full((rows, outs), np.nan, kernel["y"].dtype)
    return arrays, added


def rms_norm(kernel: Kernel, rng: Rng) -> Calls:
    for rows in ROWS:
        x, weight = kernel.random(rng, "x", rows), kernel.random(rng, "weight")
        picked = int32(rng.integers(0, rows, rows)) if "rows" in kernel else int32(range(rows))
        arrays = {"x": x, **({"rows": picked} if "rows" in kernel else {}), "weight": weight}
        arrays["y"] = kernel.unwritten("y", rows)
        yield Call(arrays, [kernel.want("y", _normed(x, weight)[picked], 1e-5)])


def _normed(x: Array, weight: Array) -> Array:
    exact = x.astype(np.float64)
    return exact / np.sqrt((exact**2).mean(-1, keepdims=True) + EPS) * weight.astype(np.float64)


def gate_and_multiply(kernel: Kernel, rng: Rng) -> Calls:
    for rows in ROWS:
        x = kernel.random(rng, "x", rows) * np.array(4, kernel["x"].dtype)
        arrays = {"x": x, "y": kernel.unwritten("y", rows)}
        yield Call(arrays, [kernel.want("y", _gated(x), 2e-5)])


def _gated(x: Array) -> Array:
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    return gate / (1 + np.exp(-gate)) * up


# The CPU's codes of activations


def _codes(kernel: Kernel, size: int) -> Codes:
    groups, bits = kernel.model.scheme.groups, kernel.model.spec.activation_bits
    options = {"bits": bits, "weight_bits": groups.bits, "zero": groups.qmax, "group": groups.size}
    return Codes(size=size, **options)


def _coded(kernel: Kernel, arrays: dict[str, Array], expected: Array) -> Call:
    """Half a step of each group's codes may be missing."""
    codes = _codes(kernel, expected.shape[1])
    largest = np.abs(in_groups(codes, expected)).max(-1) / codes.largest
    step = np.repeat(largest, codes.group, axis=1)[:, : codes.size]
    step = np.maximum(step, 1e-30)
    out = np.full((len(expected), kernel["codes"].shape[1]), 77, np.int32)
    want = Want("codes", expected / step, 0.51, decode=lambda c: decoded(codes, c) / step)
    return Call({**arrays, "codes": out}, [want])


def quantize(kernel: Kernel, rng: Rng) -> Calls:
    for rows in ROWS:
        x = kernel.random(rng, "x", rows)
        yield _coded(kernel, {"x": x}, x.astype(np.float64))


def norm_and_quantize(kernel: Kernel, rng: Rng) -> Calls:
    for rows in ROWS:
        x, weight = kernel.random(rng, "x", rows), kernel.random(rng, "weight")
        picked = int32(rng.integers(0, rows, rows))
        if "picked" not in kernel:
            yield _coded(kernel, {"x": x, "weight": weight}, _normed(x, weight))
            continue
        arrays = {"x": x, "picked": picked, "weight": weight}
        yield _coded(kernel, arrays, _normed(x, weight)[picked])


def gate_and_quantize(kernel: Kernel, rng: Rng) -> Calls:
    for rows in ROWS:
        x = kernel.random(rng, "x", rows)
        yield _coded(kernel, {"x": x}, _gated(x))


def linear_integer(kernel: Kernel, rng: Rng) -> Calls:
    scales = int(kernel["weight1"].shape[1])
    codes = _codes(kernel, kernel.model.scheme.groups.size * scales)
    for rows in ROWS:
        outs = 16 * int(rng.integers(1, 6))
        stored, exact = weights(kernel, rng, outs, codes.size, "linear")
        x = encoded(codes, rng.standard_normal((rows, codes.size)).astype(np.float32))
        arrays, added = _with_extras(kernel, rng, {"codes": x, **stored}, rows, outs)
        expected = decoded(codes, x) @ exact.T + added
        yield Call(arrays, [kernel.want("y", expected, 2e-6 * codes.size)])


# Attention


def rope_and_append(kernel: Kernel, rng: Rng) -> Calls:
    shape = kernel.model.attention(kernel)
    frequencies = inverse_frequencies(shape.dim, 1e4, RopeScaling(kind="linear", factor=2.0))
    heads = shape.heads + 2 * shape.kv_heads
    for rows in (1, 40):
        qkv = kernel.random(rng, "qkv", rows)
        positions = int32(rng.integers(0, rng.choice([500, 2_000_000]), rows))
        slots = int32(rng.permutation(6 * PAGE_SIZE)[:rows])
        cache = Cache(shape, [4 * PAGE_SIZE])
        cache.pages[...] = 7.0
        arrays = {
            **{"qkv": qkv, "positions": positions, "slots": slots},
            "table": rope_table(frequencies),
            "pages": cache.pages.copy(),
            "q": kernel.unwritten("q", rows),
        }
        split = qkv.reshape(rows, heads, shape.dim)
        rotated = rotate(split.astype(np.float64), positions[:, None] * np.array(frequencies))
        for i, slot in enumerate(slots):
            key = rotated[i, shape.heads : shape.heads + shape.kv_heads]
            value = split[i, shape.heads + shape.kv_heads :]
            cache.write(slot // PAGE_SIZE, slot % PAGE_SIZE, key, value)
        expected = cache.pages.astype(np.float64)
        wants = [kernel.want("q", rotated[:, : shape.heads], 3e-6)]
        wants += [kernel.want("pages", expected, 3e-6)]
        yield Call(arrays, wants)


def paged_attention(kernel: Kernel, rng: Rng) -> Calls:
    """Whole histories, chunks behind them, single rows: both kinds of work-group."""
    shape = kernel.model.attention(kernel)
    cache = Cache(shape, HISTORY, seed=int(rng.integers(1 << 30)))
    everything = [(p, s) for s, n in enumerate(HISTORY) for p in range(n)]
    chunk = [(p, 0) for p in range(70, 83)] + [(p, 1) for p in range(5, 33)]
    indptr, indices = cache.indices()
    for rows in (everything, chunk, [(82, 0), (32, 1)], [(16, 0)]):
        q = kernel.random(rng, "q", len(rows))
        positions, sequences = (int32(a) for a in zip(*rows, strict=True))
        arrays = {
            **{"q": q, "positions": positions, "row_sequence": sequences},
            **{"page_indptr": indptr, "page_indices": indices, "pages": cache.pages},
            "y": kernel.unwritten("y", len(rows)),
        }
        if "partials" in kernel:
            arrays["partials"] = kernel.unwritten("partials")
        exact = [expected_row(cache, q[i], *row) for i, row in enumerate(rows)]
        yield Call(arrays, [kernel.want("y", np.stack(exact), 1e-5)])


def copy_pages(kernel: Kernel, rng: Rng) -> Calls:
    pages, order = kernel.random(rng, "pages", 7), int32(rng.permutation(7))
    expected = pages.copy()
    expected[order[3:6]] = pages[order[:3]]
    arrays = {"source": order[:3], "destination": order[3:6], "pages": pages}
    yield Call(arrays, [Want("pages", expected)])


def copy_slots(kernel: Kernel, rng: Rng) -> Calls:
    shape, pages = kernel.model.attention(kernel), kernel.random(rng, "pages", 5)
    order = int32(rng.permutation(5 * PAGE_SIZE))
    keys, values = (
        np.empty((5, shape.kv_heads, PAGE_SIZE, shape.dim), pages.dtype) for _ in range(2)
    )
    for count in (1, 23):
        source, destination = order[:count], order[count : 2 * count]
        flat = pages.reshape(5, 2, shape.kv_heads, -1)
        keys[...] = flat[:, 0].reshape(5, -1, shape.dim, PAGE_SIZE).swapaxes(2, 3)
        values[...] = flat[:, 1].reshape(5, -1, PAGE_SIZE, shape.dim)
        for side in (keys, values):
            copied = side[source // PAGE_SIZE, :, source % PAGE_SIZE]
            side[destination // PAGE_SIZE, :, destination % PAGE_SIZE] = copied
        sides = [keys.swapaxes(2, 3).reshape(flat[:, 0].shape), values.reshape(flat[:, 1].shape)]
        expected = np.stack(sides, axis=1).reshape(pages.shape)
        arrays = {"source": source, "destination": destination, "pages": pages.copy()}
        yield Call(arrays, [Want("pages", expected)])


TABLE: dict[str, Callable[[Kernel, Rng], Calls]] = {
    **{f.__name__: f for f in (embedding, linear, rms_norm, gate_and_multiply)},
    **{f.__name__: f for f in (quantize, norm_and_quantize, gate_and_quantize, linear_integer)},
    **{f.__name__: f for f in (rope_and_append, paged_attention, copy_pages, copy_slots)},
    **library_kernel_choices.TABLE,
}
