"""Kernels at random shapes, with what NumPy says in float64: for every instruction set.

    case = CASES["integer8_q4f16_1"](rng, device.vectors)

A case is a kernel and a few calls of it. A kernel that takes rows is called with many of them, and
with some of the same ones alone: those must have the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from activation_codes import decoded, encoded
from kernel_tools import frozen, matrix_of, schemes_with_own_kernels, stored_weight, taken

from mlc_llm.compiler import quantization
from mlc_llm.compiler.kernels.cpu import (
    activations,
    elementwise,
    join,
    linear,
    linear_columns,
    linear_strips,
)
from mlc_llm.compiler.kernels.cpu.activations import Codes
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.quantization.gguf.blocks import read_blocks, strips_of
from mlc_llm.compiler.quantization.gguf.types import TYPES
from mlc_llm.compiler.vector_units import VectorUnit

sys.path.append(str(Path(__file__).parents[2] / "convert"))

from gguf_random import HALVES, exact, random_blocks  # noqa: E402

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Shape = tuple[int, int]
EPS = 1e-5


@dataclass(frozen=True)
class Call:
    """`arrays` in the order of the kernel's; `check` looks at those that it wrote."""

    arrays: Sequence[Array]
    check: Callable[[], None]


@dataclass(frozen=True)
class Case:
    name: str
    function: Any
    calls: Sequence[Call]


@dataclass(frozen=True)
class Rows:
    """An argument whose rows are the call's rows."""

    values: Array


def row_calls(
    rng: Rng, inputs: Sequence[Array | Rows], whole: Array, check: Callable[[Array], None]
) -> list[Call]:
    """All rows, checked; then single rows, a few and more, which must be the same again."""
    count = len(whole)
    calls = [_call(inputs, slice(0, count), whole, lambda: check(whole))]
    for most in (1, 1, 2, 3, 7, *rng.integers(1, count + 1, 2)):
        size = min(most, count)
        begin = int(rng.integers(0, count - size + 1))
        rows = slice(begin, begin + int(size))
        part = np.full_like(whole[rows], _unwritten(whole.dtype))
        calls.append(_call(inputs, rows, part, partial(_check_part, part, whole, rows)))
    return calls


def _call(inputs, rows: slice, out: Array, check: Callable[[], None]) -> Call:
    arrays = [a.values[rows] if isinstance(a, Rows) else a for a in inputs]
    return Call([*map(frozen, arrays), out], check)


def _check_part(part: Array, whole: Array, rows: slice) -> None:
    assert np.array_equal(part, whole[rows]), f"rows {rows} depend on their batch"


def _unwritten(dtype: Any) -> Any:
    return np.nan if np.dtype(dtype).kind == "f" else 77


def unwritten(*shape: int, dtype: Any = np.float32) -> Array:
    return np.full(shape, _unwritten(dtype), dtype)


def close(expected: Array, tolerance: float) -> Callable[[Array], None]:
    """Of the largest."""
    limit = tolerance * np.abs(expected).max()
    return lambda found: np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


def draw_rows(rng: Rng) -> int:
    return int(rng.integers(9, 71))


def draw_x(rng: Rng, rows: int, size: int) -> Array:
    """Activations: one row of zeros, one of codes at both ends, rows of very different sizes."""
    x = rng.standard_normal((rows, size)) * 10.0 ** rng.integers(-2, 3, (rows, 1))
    x[0] = 0
    x[1] = np.abs(x[1]).max() * np.sign(x[1])
    return x.astype(np.float32)


# Linear layers


def _extras(rng: Rng, rows: int, outs: int, dtype: str) -> tuple[dict[str, Any], list, Array]:
    """Sometimes a bias and a residual: options, arrays, and their sum."""
    options: dict[str, Any] = {}
    arrays: list[Array | Rows] = []
    added = np.zeros((rows, outs))
    if rng.random() < 0.5:
        bias = rng.standard_normal(outs).astype(quantization_dtype(dtype))
        options["bias"], added = dtype, added + bias.astype(np.float64)
        arrays.append(bias)
    if rng.random() < 0.5:
        residual = rng.standard_normal((rows, outs)).astype(np.float32)
        options["residual"], added = True, added + residual
        arrays.append(Rows(residual))
    return options, arrays, added


def quantization_dtype(name: str) -> Any:
    from mlc_llm.compiler.quantization.pack import numpy_dtype

    return numpy_dtype(name)


def _by_scheme(rng: Rng, scheme: Any, outs: int, ins: int) -> tuple[Any, list[Array], Array]:
    """The reader, the stored tensors and the meaning of a random matrix."""
    plain = rng.standard_normal((outs, ins)).astype(np.float32)
    stored, meaning = stored_weight(scheme, plain, "linear")
    reader = matrix_of(scheme, (outs, ins)).on_cpu()
    return reader, taken(reader, stored), meaning


def _by_type(rng: Rng, kind: str, outs: int, ins: int) -> tuple[Any, list[Array], Array]:
    raw = random_blocks(kind, outs, ins, rng)
    stored = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw))
    reader = Strips(TYPES[kind].stored_params("w", (outs, ins)), TYPES[kind])
    return reader, list(stored), exact(kind, raw).astype(np.float64)


def _type_ins(rng: Rng, kind: str) -> int:
    block = TYPES[kind].block
    return block * int(rng.integers(1, 4 if block > 32 else 14))


def float_linear(name: str, make: Callable, dtype: str, rng: Rng, unit: VectorUnit) -> Case:
    rows, (reader, stored, meaning) = draw_rows(rng), make(rng)
    x = draw_x(rng, rows, meaning.shape[1])
    options, extras, added = _extras(rng, rows, len(meaning), dtype)
    tile = linear.Tile(*unit.dot_tile)
    function = linear.linear(reader, meaning.shape, tile=tile, **options)
    check = close(x.astype(np.float64) @ meaning.T + added, 3e-6)
    whole = unwritten(rows, len(meaning))
    return Case(name, function, row_calls(rng, [Rows(x), *stored, *extras], whole, check))


def column_linear(name: str, scheme: Any, rng: Rng, unit: VectorUnit) -> Case:
    outs, ins = int(rng.integers(16, 70)), int(rng.integers(1, 130))
    while matrix_of(scheme, (outs, ins)).on_cpu().kind != "columns":
        ins = int(rng.integers(1, 130))
    shape = (outs, ins)
    rows, (reader, stored, meaning) = draw_rows(rng), _by_scheme(rng, scheme, *shape)
    x = draw_x(rng, rows, shape[1])
    options, extras, added = _extras(rng, rows, shape[0], scheme.model_dtype)
    tile = linear.Tile(*unit.column_tile)
    function = linear_columns.linear_columns(reader.columns, shape, tile=tile, **options)
    check = close(x.astype(np.float64) @ meaning.T + added, 3e-6)
    whole = unwritten(rows, shape[0])
    return Case(name, function, row_calls(rng, [Rows(x), *stored, *extras], whole, check))


def integer_linear(
    name: str, scheme: Any, bits: int, rng: Rng, unit: VectorUnit, shape: Shape | None = None
) -> Case:
    outs, ins = shape or (int(rng.integers(1, 50)), 32 * int(rng.integers(1, 14)))
    matrix, stored, meaning = _by_scheme(rng, scheme, outs, ins)
    return _of_codes(name, matrix.rows, bits, stored, meaning, scheme.model_dtype, rng, unit)


def strip_linear(
    name: str, kind: str, bits: int, rng: Rng, unit: VectorUnit, shape: Shape | None = None
) -> Case:
    outs, ins = shape or (int(rng.integers(1, 50)), _type_ins(rng, kind))
    reader, stored, meaning = _by_type(rng, kind, outs, ins)
    return _of_codes(name, reader, bits, stored, meaning, "float32", rng, unit)


def _of_codes(
    name, reader: Strips, bits: int, stored, meaning, dtype: str, rng: Rng, unit: VectorUnit
) -> Case:
    """The codes are given, so the product is as exact as adding up."""
    codes = linear_strips.codes_for(reader.kind, meaning.shape[1], bits).on(unit.dot)
    make = partial(
        linear_strips.linear_strips, codes, reader, unit=unit.dot, tile=unit.integer_tile
    )
    rows = draw_rows(rng)
    x = encoded(codes, draw_x(rng, rows, codes.size))
    options, extras, added = _extras(rng, rows, len(meaning), dtype)
    check = close(decoded(codes, x) @ meaning.T + added, 2e-6)
    whole = unwritten(rows, len(meaning))
    calls = row_calls(rng, [Rows(x), *stored, *extras], whole, check)
    return Case(name, make(**options), calls)


# Rows of a table, norms and activations


def embedding(name: str, make: Callable, rng: Rng, unit: VectorUnit) -> Case:
    reader, stored, meaning = make(rng)
    entries = len(meaning)
    ids = rng.integers(-5, entries + 5, draw_rows(rng)).astype(np.int32)
    expected = meaning[np.clip(ids, 0, entries - 1)]
    check = close(expected, 3e-7)
    whole = unwritten(*expected.shape)
    function = elementwise.embedding(reader, meaning.shape)
    return Case(name, function, row_calls(rng, [Rows(ids), *stored], whole, check))


def _normed(x: Array, weight: Array) -> Array:
    x = x.astype(np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS) * weight.astype(np.float64)


def _gated(x: Array) -> Array:
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    return gate / (1 + np.exp(-np.clip(gate, -700, 700))) * up


def rms_norm(
    name: str, rng: Rng, unit: VectorUnit, *, gather: bool, dtype: str, size: int = 0
) -> Case:
    rows, size = draw_rows(rng), size or int(rng.integers(1, 700))
    x = draw_x(rng, rows, size)
    weight = rng.standard_normal(size).astype(quantization_dtype(dtype))
    picked = rng.integers(0, rows, rows).astype(np.int32) if gather else np.arange(rows)
    inputs = [x, Rows(picked), weight] if gather else [Rows(x), weight]
    check = close(_normed(x, weight)[picked], 2e-6)
    function = elementwise.rms_norm(size, EPS, dtype, gather=gather)
    return Case(name, function, row_calls(rng, inputs, unwritten(rows, size), check))


def silu(name: str, rng: Rng, unit: VectorUnit) -> Case:
    rows, size = draw_rows(rng), int(rng.integers(1, 300))
    x = draw_x(rng, rows, 2 * size)
    function = elementwise.gate_and_multiply(size)
    expected = _gated(x)

    def check(found: Array) -> None:
        np.testing.assert_allclose(found, expected, rtol=5e-6, atol=1e-12)

    return Case(name, function, row_calls(rng, [Rows(x)], unwritten(rows, size), check))


def joined(name: str, rng: Rng, unit: VectorUnit) -> Case:
    rows, widths = draw_rows(rng), tuple(int(w) for w in rng.integers(1, 60, 3))
    parts = [rng.standard_normal((rows, width)).astype(np.float32) for width in widths]
    options, extras, added = _extras(rng, rows, sum(widths), "float16")
    check = close(np.concatenate(parts, axis=1) + added, 3e-7)
    inputs = [*map(Rows, parts), *extras]
    calls = row_calls(rng, inputs, unwritten(rows, sum(widths)), check)
    return Case(name, join.join(widths, **options), calls)


# Activations as whole numbers


def draw_codes(rng: Rng, bits: int) -> Codes:
    weight_bits, zero = ((4, 7), (4, 8), (8, 127), (8, 128))[rng.integers(4)]
    size = 32 * int(rng.integers(4, 14))
    if rng.random() < 0.25:  # as types with minimums take them
        return Codes(size=size, bits=bits, weight_bits=weight_bits, zero=-1, scaled=True)
    halves = bool(rng.random() < 0.25)
    return Codes(size=size, bits=bits, weight_bits=weight_bits, zero=zero, halves=halves)


def coded(name: str, bits: int, what: str, rng: Rng, unit: VectorUnit) -> Case:
    """`what` stands before the codes: nothing, the norm or the activation."""
    codes, rows = draw_codes(rng, bits).on(unit.dot), draw_rows(rng)
    x = draw_x(rng, rows, codes.size * (2 if what == "silu" else 1))
    weight = rng.standard_normal(codes.size).astype(np.float16)
    inputs: list[Array | Rows] = [Rows(x)]
    if what == "norm":
        picked = rng.integers(0, rows, rows).astype(np.int32)
        function = activations.norm_and_quantize(codes, EPS, "float16", gather=True)
        inputs, expected = [x, Rows(picked), weight], _normed(x, weight)[picked]
    elif what == "silu":
        function, expected = activations.gate_and_quantize(codes), _gated(x)
    else:
        function, expected = activations.quantize(codes), x.astype(np.float64)
    largest = np.abs(expected).reshape(rows, -1, 32).max(-1)
    step = np.repeat(largest / codes.largest, 32, axis=1)

    def check(found: Array) -> None:
        assert (np.abs(decoded(codes, found) - expected) <= 0.51 * step + 1e-30).all()

    whole = unwritten(rows, codes.arg.shape[1], dtype=np.int32)
    return Case(name, function, row_calls(rng, inputs, whole, check))


def _cases() -> dict[str, Callable[[Rng, VectorUnit], Case]]:
    """Every kernel in every form, by a name that C allows; attention is in attention_cases.py."""
    makers: dict[str, Callable] = {}

    def add(name: str, maker: Callable, *args: Any, **options: Any) -> None:
        makers[name] = partial(maker, name, *args, **options)

    for scheme in schemes_with_own_kernels():
        if matrix_of(scheme, (16, 33)).on_cpu().kind == "columns":
            add(f"columns_{scheme.name}", column_linear, scheme)
        else:
            plain = partial(_odd_matrix, scheme)
            add(f"linear_{scheme.name}", float_linear, plain, scheme.model_dtype)
        if matrix_of(scheme, (16, 128)).on_cpu().codes(8) is not None:
            add(f"integer8_{scheme.name}", integer_linear, scheme, 8)
            add(f"integer16_{scheme.name}", integer_linear, scheme, 16)
        add(f"embedding_{scheme.name}", embedding, partial(_odd_table, scheme))
    add("integer7_q8f32_1", integer_linear, quantization.get("q8f32_1"), 7)
    for kind in HALVES:
        make = partial(_odd_strips, kind)
        add(f"strips8_{kind}", strip_linear, kind, 8)
        add(f"strips16_{kind}", strip_linear, kind, 16)
        add(f"linear_{kind}", float_linear, make, "float32")
        add(f"embedding_{kind}", embedding, make)
    for bits in (8, 16):
        for what in ("quantize", "norm", "silu"):
            add(f"codes{bits}_{what}", coded, bits, what)
    add("rms_norm", rms_norm, gather=False, dtype="float32")
    add("rms_norm_gather", rms_norm, gather=True, dtype="bfloat16")
    # Gemma-3-270M's layers: queries, keys and values; attention's output; the way up and down;
    # its norms.
    add("gemma_qkv", integer_linear, quantization.get("q4f16_1"), 8, shape=(1536, 640))
    add("gemma_out", integer_linear, quantization.get("q8f32_1"), 8, shape=(640, 1024))
    add("gemma_up", strip_linear, "Q4_0", 8, shape=(4096, 640))
    add("gemma_down", strip_linear, "Q8_0", 8, shape=(640, 2048))
    add("gemma_norm", rms_norm, gather=False, dtype="float32", size=640)
    add("gemma_head_norm", rms_norm, gather=False, dtype="float32", size=256)
    add("silu", silu)
    add("join", joined)
    return makers


def _odd_matrix(scheme: Any, rng: Rng) -> tuple[Any, list[Array], Array]:
    shape = int(rng.integers(1, 50)), int(rng.integers(1, 200))
    matrix, stored, meaning = _by_scheme(rng, scheme, *shape)
    return matrix.rows, stored, meaning


def _odd_table(scheme: Any, rng: Rng) -> tuple[Any, list[Array], Array]:
    shape = (int(rng.integers(1, 50)), int(rng.integers(1, 200)))
    plain = rng.standard_normal(shape).astype(np.float32)
    stored, meaning = stored_weight(scheme, plain, "embedding")
    return matrix_of(scheme, shape, "embedding").on_cpu().rows, stored, meaning


def _odd_strips(kind: str, rng: Rng) -> tuple[Any, list[Array], Array]:
    return _by_type(rng, kind, int(rng.integers(1, 50)), _type_ins(rng, kind))


CASES = _cases()
