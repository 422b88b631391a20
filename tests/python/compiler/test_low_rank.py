"""The kernels of adapters against NumPy, and that a row gets the same bits in any company."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
from activation_codes import decoded, encoded  # noqa: E402
from kernel_tools import compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.common.low_rank import FIELDS  # noqa: E402
from mlc_llm.compiler.kernels.cpu import low_rank  # noqa: E402
from mlc_llm.compiler.kernels.cpu.activations import Codes  # noqa: E402
from mlc_llm.compiler.kernels.cpu.linear import Tile  # noqa: E402
from mlc_llm.compiler.kernels.gpu import low_rank as gpu_low_rank  # noqa: E402

INS, WIDTHS, POOL = 48, (32, 16, 160), 5
OUTS, PARTS = sum(WIDTHS), len(WIDTHS)
# (row, group, scale): two rows of a prompt with two groups, a tile and more of one group, two
# adapters of one row, a row that comes back
UNITS = [(r, g, 0.5) for g in (1, 3) for r in (0, 1)]
UNITS += [(r, 2, -1.25) for r in range(3, 9)] + [(9, 4, 2.0), (9, 2, 0.25)]


def kernels(dtype, tile=(4, 4)):
    return (
        compiled(low_rank.table()),
        compiled(low_rank.shrink(INS, PARTS, dtype, None, tile=Tile(*tile))),
        compiled(low_rank.expand(low_rank.Added(WIDTHS, dtype))),
    )


def run(both, x, y, a, b, units):
    table, shrink, expand = both
    rows, groups = (np.array([u[i] for u in units], np.int32) for i in (0, 1))
    scales = np.array([u[2] for u in units], np.float32).view(np.int32)
    t, y = np.zeros((len(units), 8 * PARTS), np.float32), y.copy()
    found = np.zeros((len(x), FIELDS), np.int32)
    table(np.zeros(len(x), np.int32), frozen(rows), frozen(groups), found)
    shrink(frozen(x), frozen(a), *map(frozen, (groups, scales, found)), t)
    expand(frozen(t), frozen(b), frozen(groups), frozen(found), y)
    return y


def random_arrays(dtype):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((11, INS)), rng.standard_normal((11, OUTS))
    a = rng.standard_normal((POOL, PARTS * INS // 16, 8, 16)).astype(dtype)
    b = rng.standard_normal((POOL, OUTS // 16, 8, 16)).astype(dtype)
    return x.astype(np.float32), y.astype(np.float32), a, b


def expected(x, y, a, b):
    """In float64."""
    wide_a = a.astype(float).reshape(POOL, PARTS, INS // 16, 8, 16).swapaxes(2, 3)
    wide_a = wide_a.reshape(POOL, PARTS, 8, INS)
    wide_b = b.astype(float).swapaxes(1, 2).reshape(POOL, 8, OUTS)
    wanted = y.astype(float)
    ends = np.cumsum(WIDTHS)
    for row, group, scale in UNITS:
        for part, (width, end) in enumerate(zip(WIDTHS, ends, strict=True)):
            columns = slice(end - width, end)
            added = wide_b[group][:, columns].T @ (wide_a[group, part] @ x[row])
            wanted[row, columns] += scale * added
    return wanted


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_units_add_their_products(dtype):
    x, y, a, b = random_arrays(dtype)
    got, wanted = run(kernels(dtype), x, y, a, b, UNITS), expected(x, y, a, b)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())
    assert np.array_equal(got[[2, 10]], y[[2, 10]])


@pytest.mark.parametrize("backend", gpu_tools.EVERY)
def test_gpus_add_the_same(backend):
    """In floats of 16 bits where the device has them."""
    gpu_tools.require(backend)
    dtype = "float16" if gpu_tools.facts(backend)["f16"] else "float32"
    x, y, a, b = random_arrays(dtype)
    x, y = x.astype(dtype), y.astype(dtype)
    table, shrink, expand = (
        gpu_tools.compiled(function, backend)
        for function in (
            gpu_low_rank.table(),
            gpu_low_rank.shrink(INS, PARTS, dtype, dtype),
            gpu_low_rank.expand(gpu_low_rank.Added(WIDTHS, dtype), dtype),
        )
    )
    rows, groups = (frozen(np.array([u[i] for u in UNITS], np.int32)) for i in (0, 1))
    scales = frozen(np.array([u[2] for u in UNITS], np.float32).view(np.int32))
    found = np.zeros((len(x), FIELDS), np.int32)
    t, got = np.zeros((len(UNITS), 8 * PARTS), np.float32), y.copy()
    table(np.zeros(len(x), np.int32), rows, groups, found)
    shrink(frozen(x), frozen(a), rows, groups, scales, t)
    expand(frozen(t), frozen(b), groups, frozen(found), got)
    wanted = expected(x, y, a, b)
    accuracy = {"float16": 1e-3, "float32": 2e-6}[dtype]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=accuracy * np.abs(wanted).max())
    assert np.array_equal(got[[2, 10]], y[[2, 10]])


@pytest.mark.parametrize("device", ["cuda", "metal"])
def test_code_is_generated_for_gpus_that_are_not_here(device):
    import tvm

    from mlc_llm.compiler import lowering, targets

    added = gpu_low_rank.Added(WIDTHS, "float16")
    kernels = {
        "table": gpu_low_rank.table(),
        "shrink": gpu_low_rank.shrink(64, PARTS, "float16", "float16"),
        "expand": gpu_low_rank.expand(added, "float16"),
    }
    named = {name: f.with_attr("global_symbol", name) for name, f in kernels.items()}
    gpu = targets.resolve(device)
    with gpu.code():
        built = tvm.compile(tvm.IRModule(named), target=gpu.target(), tir_pipeline=lowering.GPU)
    (made,) = built.mod.imports
    assert made.kind == device and all(name in made.inspect_source() for name in kernels)


def test_units_are_along_the_first_axis_of_the_grid():
    """CUDA has at most 65,535 groups along the others; a long prompt has more units."""
    text = gpu_low_rank.shrink(64, PARTS, "float16", "float16").script()
    extents = dict(re.findall(r"thread_binding\((.*), thread=\"(blockIdx\..)\"\)", text))
    assert extents.pop(str(PARTS)) == "blockIdx.y" and list(extents.values()) == ["blockIdx.x"]


@pytest.mark.parametrize("many", [1, 1 << 40])
def test_bits_do_not_depend_on_company_tiles_or_threads(many, monkeypatch):
    monkeypatch.setattr(low_rank, "_MANY", many)
    x, y, a, b = random_arrays("float16")
    both = kernels("float16")
    together = run(both, x, y, a, b, UNITS)
    for row in {unit[0] for unit in UNITS}:
        alone = run(both, x, y, a, b, [unit for unit in UNITS if unit[0] == row])
        assert np.array_equal(alone[row], together[row])
    few = [unit for unit in UNITS if unit[0] < 4]  # whose products are the work of several tasks
    assert np.array_equal(run(both, x[:4], y[:4], a, b, few), together[:4])
    assert np.array_equal(run(kernels("float16", (2, 1)), x, y, a, b, UNITS), together)


def test_zero_factors_change_no_bit():
    x, y, a, b = random_arrays("float16")
    assert np.array_equal(run(kernels("float16"), x, y, a, 0 * b, UNITS), y)


@pytest.mark.parametrize(
    "bits, weight_bits, wide, group",
    [(8, 4, 0, 32), (8, 8, 0, 32), (16, 4, 0, 32), (16, 8, 1, 32), (8, 3, 0, 40), (16, 3, 1, 40)],
)
def test_rows_of_codes_are_the_floats_that_the_base_multiplies(bits, weight_bits, wide, group):
    size, rows, options = 96, 6, {"wide": bool(wide), "group": group}
    codes = Codes(size=size, bits=bits, weight_bits=weight_bits, zero=8, **options)
    rng = np.random.default_rng(9)
    coded = encoded(codes, rng.standard_normal((rows, size)).astype(np.float32))
    floats = decoded(codes, coded).astype(np.float32)
    a = rng.standard_normal((POOL, PARTS * size // 16, 8, 16)).astype(np.float16)
    owners, groups = np.array([0, 1, 2, 3, 5], np.int32), np.array([4, 4, 4, 4, 1], np.int32)
    scales = np.full(5, 0.5, np.float32).view(np.int32)
    table = np.zeros((rows, FIELDS), np.int32)
    compiled(low_rank.table())(np.zeros(rows, np.int32), frozen(owners), frozen(groups), table)
    wanted, got = (np.zeros((5, 8 * PARTS), np.float32) for _ in range(2))
    rest = list(map(frozen, (a, groups, scales, table)))
    for form, x, t in ((None, floats, wanted), (codes, coded, got)):
        kernel = compiled(low_rank.shrink(size, PARTS, "float16", form, tile=Tile(4, 4)))
        kernel(frozen(x), *rest, t)
    assert np.array_equal(got, wanted) and wanted.any()
