"""Products with weights in strips, of GGUF's types and of group schemes: against NumPy float64, and
the same bits on every machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

import quick_code  # noqa: E402
from gguf_random import EVERY, HALVES, exact, random_blocks, write_mixed  # noqa: E402
from kernel_tools import (  # noqa: E402
    FLAGS,
    activated,
    compiled,
    entry_of,
    frozen,
    host_device,
    matrix_of,
    stored_weight,
    taken,
)
from test_activations import coded_rows, quantize  # noqa: E402
from test_gguf_schemes import meaning  # noqa: E402
from tiny_llama import Tiny  # noqa: E402
from tiny_models import read_mlc_folder  # noqa: E402

from mlc_llm.compiler import models, quantization, targets  # noqa: E402
from mlc_llm.compiler.compile import library_spec, read_chat_config  # noqa: E402
from mlc_llm.compiler.convert import convert_model, open_source  # noqa: E402
from mlc_llm.compiler.kernels.cpu import (  # noqa: E402
    elementwise,
    join,
    linear,
    linear_strips,
    strip_groups,
    strips,
)
from mlc_llm.compiler.kernels.cpu.strip_groups import StoredGroups  # noqa: E402
from mlc_llm.compiler.kernels.cpu.strips import Strips  # noqa: E402
from mlc_llm.compiler.quantization.gguf.blocks import read_blocks, strips_of  # noqa: E402
from mlc_llm.compiler.quantization.gguf.types import TYPES  # noqa: E402

ROWS = (1, 2, 3, 4, 7, 8, 13, 45)
# Schemes that have strips.
GROUPS = ("q3f16_0", "q3f16_1", "q4f16_0", "q4f16_1", "q4bf16_1", "q4f32_1", "q8f32_1")
TILE = 2  # code for more rows at a time takes several times as long to compile
IN_LARGE_TILES = ("Q4_K", "Q6_K", "q3f16_1", "q4f16_1")  # those of the processor


def stored(kind, rows, ins, seed=0):
    """A random matrix of a type or scheme as a library takes it, its reader, and what it means in
    float32."""
    if kind in GROUPS:
        scheme = quantization.get(kind)
        plain = np.random.default_rng(seed).standard_normal((rows, ins)).astype(np.float32)
        arrays, weight = stored_weight(scheme, plain, "linear")
        reader = matrix_of(scheme, (rows, ins)).on_cpu().rows
        return taken(reader, arrays), reader, weight.astype(np.float32)
    raw = random_blocks(kind, rows, ins, np.random.default_rng(seed))
    tensors = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw))
    reader = Strips(TYPES[kind].stored_params("w", (rows, ins)), TYPES[kind])
    return tensors, reader, exact(kind, raw)


def make(reader, shape, bits=16, unit=None, tile=TILE, **options):
    codes = linear_strips.codes_for(reader.kind, shape[1], bits)
    tools = {"unit": unit or host_device().vectors.dot, "tile": tile}
    function = linear_strips.linear_strips(codes, reader, **tools, **options)
    return codes, compiled(function)


def run(codes, kernel, x, *arrays, outs):
    y = np.zeros((len(x), outs), np.float32)
    kernel(frozen(coded_rows(codes, quantize(codes), x)), *map(frozen, arrays), y)
    return y


# Whole strips and a part of one; groups behind whole blocks of 128 activations.
@pytest.mark.parametrize("kind", [*HALVES, *GROUPS])
@pytest.mark.parametrize("shape", [(21, 768)])
def test_product_equals_numpy_and_rows_do_not_depend_on_their_batch(kind, shape):
    check(kind, shape, tile=host_device().vectors.integer_tile if kind in IN_LARGE_TILES else TILE)


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0", "q3f16_1", "q4f16_1"])
@pytest.mark.parametrize("shape", [(3, 32), (33, 160), (32, 352)])
def test_odd_numbers_of_groups(kind, shape):
    check(kind, shape)


@pytest.mark.parametrize("most", [64, 128, 256])
def test_tasks_have_equal_rows(most):
    for rows in range(1, 2100):
        each = linear_strips.equal_rows(rows, most)
        tasks = -(-rows // each)
        assert each <= most and each % 8 == 0 and (tasks == 1) == (rows <= most)
        assert tasks == 1 or (each <= rows / tasks + 8 and tasks != 3)


@pytest.mark.parametrize(
    ("kind", "ins"), [("Q4_1", 32), ("Q4_1", 256), ("Q6_K", 1280), ("q3f16_1", 320)]
)
def test_blocks_of_many_rows(kind, ins):
    """Outputs of a block of rows are stored in halves beside the groups of the next block, of which
    there may be only one."""
    tensors, reader, _ = stored(kind, 40, ins)
    codes, kernel = make(reader, (40, ins), bits=8)
    x = np.random.default_rng(1).standard_normal((517, ins)).astype(np.float32)
    ones = [run(codes, kernel, x[i : i + 1], *tensors, outs=40) for i in range(len(x))]
    for rows in (32, 33, 64, 65, 97, 131, 257, 300, 517):  # tasks have at most 256
        found = run(codes, kernel, x[:rows], *tensors, outs=40)
        assert np.array_equal(found, np.concatenate(ones[:rows]))


def test_eight_bits_are_coarser():
    check("Q4_1", (32, 128), bits=8, tolerance=2e-2)


@pytest.mark.parametrize("byte", [-128, 127])
def test_the_largest_bytes_fit_their_sums(byte):
    """Two products of the largest weights and codes are just below 2 ** 15."""
    raw = random_blocks("Q8_0", 16, 64, np.random.default_rng(3))
    raw.reshape(-1, 34)[:, 2:] = np.int8(byte).view(np.uint8)
    tensors = strips_of(TYPES["Q8_0"], read_blocks(TYPES["Q8_0"], raw))
    reader = Strips(TYPES["Q8_0"].stored_params("w", (16, 64)), TYPES["Q8_0"])
    codes, kernel = make(reader, (16, 64), bits=8, tile=4)
    x = np.full((5, 64), 1.0, np.float32)
    y = run(codes, kernel, x, *tensors, outs=16)
    np.testing.assert_allclose(y[0], exact("Q8_0", raw).sum(axis=1), rtol=1e-5)
    assert (y == y[0]).all()


def check(kind, shape, bits=16, tolerance=6e-5, tile=TILE):
    outs, ins = shape
    tensors, reader, weight = stored(kind, outs, ins)
    codes, kernel = make(reader, shape, bits, tile=tile)
    x = np.random.default_rng(ins).standard_normal((max(ROWS), ins)).astype(np.float32)
    whole = run(codes, kernel, x, *tensors, outs=outs)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T
    np.testing.assert_allclose(whole, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    for rows in ROWS:
        found = run(codes, kernel, x[:rows], *tensors, outs=outs)
        assert np.array_equal(found, whole[:rows])
        assert np.array_equal(run(codes, kernel, x[-rows:], *tensors, outs=outs), whole[-rows:])


@pytest.mark.parametrize("outs", [32, 19])
def test_bias_and_residual_are_added(outs):
    tensors, reader, weight = stored("Q4_1", outs, 64)
    rng = np.random.default_rng(1)
    bias = rng.standard_normal(outs).astype(np.float32)
    residual = rng.standard_normal((5, outs)).astype(np.float32)
    codes, kernel = make(reader, (outs, 64), bias="float32", residual=True)
    x = rng.standard_normal((5, 64)).astype(np.float32)
    y = run(codes, kernel, x, *tensors, bias, residual, outs=outs)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T + bias + residual
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q6_K", "Q8_0"])
def test_pairs_of_quads_ask_for_every_line_of_codes(kind, monkeypatch):
    asked = []
    monkeypatch.setattr(strips, "emit_prefetch", lambda *line: asked.append(line))
    reader = Strips(TYPES[kind].stored_params("w", (16, 256)), TYPES[kind])
    for turn in range(4):
        reader.emit_prefetch_pair(list(TYPES[kind].tensors), 0, 30, turn)
    planes = TYPES[kind].planes
    lines = {(p.tensor, 0, 30 * p.bits + word, 0) for p in planes for word in range(p.bits)}
    assert set(asked) == lines


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize(("kind", "groups"), [("Q4_0", 16), ("Q4_0", 64), ("Q6_K", 24)])
def test_strips_read_together_ask_for_what_they_read_next(kind, groups, together):
    reader = Strips(TYPES[kind].stored_params("w", (16, 32 * groups)), TYPES[kind])
    read, asked = [], []
    for begin in range(0, 6 * together, together):
        found = [StoredGroups(reader, [], begin + i, groups, together) for i in range(together)]
        for group in range(groups):
            for one in found:
                read.append(one.index * groups + group)
                strip, later = one.ahead(group)
                asked.append(strip * groups + later)
    ahead = reader.groups_in(strip_groups.AHEAD_LINES) * together
    assert asked[:-ahead] == read[ahead:]


@pytest.mark.parametrize(("unit", "together"), [("avx512vnni", {1, 2}), ("avx2", {1})])
def test_many_rows_ask_for_outputs_and_residual(unit, together, monkeypatch):
    """And for weights, of as many strips as are read together."""
    found, asked, ahead = set(), set(), StoredGroups.ahead

    def ahead_of(groups: StoredGroups, group):
        found.add(groups.together)
        return ahead(groups, group)

    def ask(buffer, *_, writes: bool = False) -> None:
        asked.add((str(buffer.dtype), writes))

    monkeypatch.setattr(StoredGroups, "ahead", ahead_of)
    for module in (strips, linear, linear_strips):
        monkeypatch.setattr(module, "emit_prefetch", ask)
    reader = Strips(TYPES["Q4_0"].stored_params("w", (64, 256)), TYPES["Q4_0"])
    codes = linear_strips.codes_for(reader.kind, 256, 8)
    linear_strips.linear_strips(codes, reader, unit=unit, tile=4, residual=True)
    assert found == together
    codes_and_scales, residual, y = {"uint32", "float16"}, "float32", "float32"
    assert asked == {(dtype, False) for dtype in {*codes_and_scales, residual}} | {(y, True)}


@cache
def usual_output(kind: str):
    """Of this processor's kernel: weights (16, 256), inputs (3, 256), outputs (3, 16)."""
    tensors, reader, _ = stored(kind, 16, 256)
    x = (np.random.default_rng(7).standard_normal((3, 256)) * 9).astype(np.float32)
    x[:2, :40] = np.abs(x[:2, :40]).max() * np.sign(x[:2, :40])  # codes at both ends
    return tensors, reader, x, run(*make(reader, (16, 256)), x, *tensors, outs=16)


@pytest.mark.parametrize("kind", ["Q4_0", "Q6_K", "Q8_0", "IQ4_NL", "MXFP4", "q3f16_1", "q8f32_1"])
def test_products_of_eight_bits_are_exact_in_every_way(kind):
    """One row, a few and many take different ways: the bits are those of plain arithmetic."""
    tensors, reader, _ = stored(kind, 19, 256)
    x = (np.random.default_rng(8).standard_normal((45, 256)) * 9).astype(np.float32)
    plain = make(reader, (19, 256), bits=8, unit="portable", tile=1)
    codes, kernel = make(reader, (19, 256), bits=8, tile=4)
    expected = run(*plain, x, *tensors, outs=19)
    for rows in (1, 3, 8, 9, 45):
        assert np.array_equal(run(codes, kernel, x[:rows], *tensors, outs=19), expected[:rows])


UNITS = (*FLAGS, "portable")
KINDS = ("Q4_K", "Q5_1", "Q6_K", "Q3_K", "q4f16_1", "q8f32_1", "q3f16_1")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_instruction_set_gives_the_same_bits(kind, unit, request):
    """The usual run has half of the types for each instruction set."""
    if (KINDS.index(kind) + UNITS.index(unit)) % 2 and not request.config.getoption("--long"):
        pytest.skip("another type runs; run with --long")
    if unit in FLAGS and FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    tensors, reader, x, usual = usual_output(kind)
    other = run(*make(reader, (16, 256), unit=unit, tile=1), x, *tensors, outs=16)
    assert np.array_equal(other, usual)


@pytest.mark.parametrize(("unit", "tile"), [("avx2", 4), ("avxvnni", 6)])
@pytest.mark.parametrize("kind", ["Q4_0", "Q6_K", "Q8_0", "q3f16_1"])
def test_tiles_with_sums_in_registers_give_the_same_bits(kind, unit, tile):
    """Few rows and many, and what is left of them behind the largest tiles."""
    if FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    tensors, reader, _ = stored(kind, 19, 256)
    x = np.random.default_rng(9).standard_normal((59, 256)).astype(np.float32)
    plain = make(reader, (19, 256), bits=8, unit="portable", tile=1)
    codes, kernel = make(reader, (19, 256), bits=8, unit=unit, tile=tile)
    expected = run(*plain, x, *tensors, outs=19)
    for rows in (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 59):
        assert np.array_equal(run(codes, kernel, x[:rows], *tensors, outs=19), expected[:rows])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["Q5_0", "Q6_K"])
def test_the_largest_codes_do_not_overflow(kind, unit):
    """Instructions that add products in 16 bits take fewer of them the more bits a code has."""
    if unit in FLAGS and FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    octets = random_blocks(kind, 1, 256, np.random.default_rng(0)).shape[1]
    raw = np.full((16, octets), 0xFF, np.uint8)
    size = octets // (256 // TYPES[kind].block)
    for place in HALVES[kind]:
        raw.reshape(16, -1, size)[:, :, place : place + 2] = np.array([1], "<f2").view(np.uint8)
    tensors = strips_of(TYPES[kind], read_blocks(TYPES[kind], raw))
    reader = Strips(TYPES[kind].stored_params("w", (16, 256)), TYPES[kind])
    x = np.ones((12, 256), np.float32)  # few rows and many
    codes, kernel = make(reader, (16, 256), bits=8, unit=unit)
    expected = x.astype(np.float64) @ exact(kind, raw).astype(np.float64).T
    for rows in (1, 4, 12):
        found = run(codes, kernel, x[:rows], *tensors, outs=16)
        np.testing.assert_allclose(found, expected[:rows], rtol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_weights_of_eight_bits_and_codes_of_seven(unit):
    """As towers have them: numbers at both ends; half of a group; an activation, and factors before
    the residual; more rows than a task has."""
    if unit in FLAGS and FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    rng, shape, rows = np.random.default_rng(5), (19, 336), 1000
    scheme = quantization.get("q8f32_1")
    plain = np.where(rng.random(shape) < 0.5, 1, -1) * rng.choice([0.02, 1], (19, 1))
    plain[:5] = np.abs(plain[:5])
    arrays, weight = stored_weight(scheme, plain.astype(np.float32), "linear")
    reader = replace(matrix_of(scheme, shape), pads=True).on_cpu()
    given = taken(reader, arrays)
    x = np.where(rng.random((rows, 336)) < 0.5, 1, -1) * rng.choice([0.1, 3], (rows, 1))
    x[::2] = np.abs(x[::2])
    bias, factors = rng.standard_normal((2, 19)).astype(np.float32)
    residual = rng.standard_normal((rows, 19)).astype(np.float32)
    options = {"bias": "float32", "residual": True, "activation": "quick_gelu", "scale": "float32"}
    codes, kernel = make(reader.rows, shape, 7, unit, tile=4, **options)
    added = (bias, factors, residual)
    y = run(codes, kernel, x.astype(np.float32), *given, *added, outs=19)
    expected = activated(x @ weight.T + bias, "quick_gelu") * factors + residual
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    few = (x[:3].astype(np.float32), *given, bias, factors, residual[:3])
    assert np.array_equal(run(codes, kernel, *few, outs=19), y[:3])


@pytest.mark.parametrize("kind", [*HALVES, *GROUPS])
def test_embedding_reads_rows_bit_for_bit(kind):
    tensors, reader, weight = stored(kind, 37, 512)
    ids = np.array([0, 36, 5, 16, 15, 99, -3], np.int32)
    y = np.zeros((len(ids), 512), np.float32)
    compiled(elementwise.embedding(reader, (37, 512)))(frozen(ids), *map(frozen, tensors), y)
    expected = weight[np.clip(ids, 0, 36)]
    assert np.array_equal(y.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_1", "Q4_K", "Q6_K", "q3f16_1", "q4f16_1", "q8f32_1"])
def test_float_products(kind):
    tensors, reader, weight = stored(kind, 19, 256)
    x = np.random.default_rng(3).standard_normal((9, 256)).astype(np.float32)
    y = np.zeros((9, 19), np.float32)
    kernel = compiled(linear.linear(reader, (19, 256), tile=linear.Tile(2, 2)))
    kernel(frozen(x), *map(frozen, tensors), y)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T
    np.testing.assert_allclose(y, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_a_product_of_no_rows_writes_nothing():
    """A step may want no logits; what is behind their place is another tensor's."""
    import tvm

    weights, reader, _ = stored("q4f16_1", 32, 256)
    codes = linear_strips.codes_for(reader.kind, 256, 8)
    tools = {"unit": host_device().vectors.dot, "tile": host_device().vectors.integer_tile}
    entry = entry_of(linear_strips.linear_strips(codes, reader, **tools))
    coded = tvm.runtime.tensor(coded_rows(codes, quantize(codes), np.ones((1, 256), np.float32)))
    behind, taken_weights = np.full((2, 32), 77, np.float32), map(tvm.runtime.tensor, weights)
    args = [*taken_weights]
    for rows in (1, 0):
        y = tvm.runtime.tensor(behind)
        entry(coded._create_view((rows, coded.shape[1])), *args, y._create_view((rows, 32)))
        assert (y.numpy()[rows:] == 77).all()


@pytest.mark.parametrize(
    ("scheme", "shape", "use"),
    [
        ("q4f16_1", (48, 144), "linear"),  # a group is not whole
        ("q4f16_1", (48, 160), "embedding"),  # its rows alone are read
        ("q3f16_1", (48, 120), "linear"),  # vectors of inputs are not whole
    ],
)
def test_other_matrices_are_left_to_floats(scheme, shape, use):
    matrix = matrix_of(quantization.get(scheme), shape, use).on_cpu()
    assert matrix.codes(8) is None and all(param.strips is None for param in matrix.stored)


def test_parts_are_joined_side_by_side():
    rng = np.random.default_rng(4)
    parts = [rng.standard_normal((5, width)).astype(np.float32) for width in (48, 7, 16)]
    bias = rng.standard_normal(71).astype(np.float32)
    y = np.zeros((5, 71), np.float32)
    compiled(join.join((48, 7, 16), bias="float32"))(*map(frozen, [*parts, bias]), y)
    assert np.array_equal(y, np.concatenate(parts, axis=1) + bias)


@pytest.mark.parametrize("bits", [16, 32])
def test_a_mixed_file_computes_what_its_weights_say(bits, tmp_path, request):
    """A whole model: every type, pieces in one layer, floats among them."""
    if bits == 32 and not request.config.getoption("--long"):
        pytest.skip("compiles long; run with --long")
    write_mixed(tmp_path / "m.gguf", EVERY, default="Q4_K")
    convert_model(open_source(tmp_path / "m.gguf"), tmp_path / "m", quantization="auto")
    config = read_chat_config(tmp_path / "m")
    spec = library_spec(config, device="cpu", opt=f"activation_bits={bits}")
    module = quick_code.build(spec, models.get("llama"))
    model = Tiny(
        spec.config, module, read_mlc_folder(tmp_path / "m"), meaning(tmp_path / "m", config)
    )
    ids = [int(i) for i in np.random.default_rng(2).integers(0, 300, 21)]
    runner = model.runner()
    found = np.concatenate(
        [runner.forward([("a", part)]) for part in (ids[:13], ids[13:20], ids[20:])]
    )
    expected = model.expected(ids)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-4 * np.abs(expected).max())
