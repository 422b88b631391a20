"""The kernels of adapters against NumPy, and that a row gets the same bits in any company."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import compiled, frozen  # noqa: E402

from mlc_llm.compiler.kernels.cpu import low_rank  # noqa: E402
from mlc_llm.compiler.kernels.cpu.linear import Tile  # noqa: E402

INS, WIDTHS, POOL = 48, (32, 16, 160), 5
OUTS, PARTS = sum(WIDTHS), len(WIDTHS)
# (row, group, scale): two rows of a prompt with two groups, a tile and more of one group, two
# adapters of one row, a row that comes back
UNITS = [(r, g, 0.5) for g in (1, 3) for r in (0, 1)]
UNITS += [(r, 2, -1.25) for r in range(3, 9)] + [(9, 4, 2.0), (9, 2, 0.25)]


def kernels(dtype, tile=(4, 4)):
    return (
        compiled(low_rank.table()),
        compiled(low_rank.shrink(INS, PARTS, dtype, tile=Tile(*tile))),
        compiled(low_rank.expand(low_rank.Added(WIDTHS, dtype))),
    )


def run(both, x, y, a, b, units):
    table, shrink, expand = both
    rows, groups = (np.array([u[i] for u in units], np.int32) for i in (0, 1))
    scales = np.array([u[2] for u in units], np.float32).view(np.int32)
    t, y = np.zeros((len(units), 8 * PARTS), np.float32), y.copy()
    shrink(frozen(x), frozen(a), *map(frozen, (rows, groups, scales)), t)
    found = np.zeros((len(x), 3), np.int32)
    table(np.zeros(len(x), np.int32), frozen(rows), found)
    expand(frozen(t), frozen(b), frozen(groups), frozen(found), y)
    return y


def random_arrays(dtype):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((11, INS)), rng.standard_normal((11, OUTS))
    a = rng.standard_normal((POOL, PARTS * INS // 16, 8, 16)).astype(dtype)
    b = rng.standard_normal((POOL, OUTS // 16, 8, 16)).astype(dtype)
    return x.astype(np.float32), y.astype(np.float32), a, b


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_units_add_their_products(dtype):
    x, y, a, b = random_arrays(dtype)
    wide_a = a.astype(float).reshape(POOL, PARTS, INS // 16, 8, 16).swapaxes(2, 3)
    wide_a = wide_a.reshape(POOL, PARTS, 8, INS)
    wide_b = b.astype(float).swapaxes(1, 2).reshape(POOL, 8, OUTS)
    expected = y.astype(float)
    ends = np.cumsum(WIDTHS)
    for row, group, scale in UNITS:
        for part, (width, end) in enumerate(zip(WIDTHS, ends, strict=True)):
            columns = slice(end - width, end)
            added = wide_b[group][:, columns].T @ (wide_a[group, part] @ x[row])
            expected[row, columns] += scale * added
    got = run(kernels(dtype), x, y, a, b, UNITS)
    np.testing.assert_allclose(got, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert np.array_equal(got[[2, 10]], y[[2, 10]])


@pytest.mark.parametrize("many", [1, 1 << 40])
def test_bits_do_not_depend_on_company_tiles_or_threads(many, monkeypatch):
    monkeypatch.setattr(low_rank, "_MANY", many)
    x, y, a, b = random_arrays("float16")
    both = kernels("float16")
    together = run(both, x, y, a, b, UNITS)
    for row in {unit[0] for unit in UNITS}:
        alone = run(both, x, y, a, b, [unit for unit in UNITS if unit[0] == row])
        assert np.array_equal(alone[row], together[row])
    assert np.array_equal(run(kernels("float16", (2, 1)), x, y, a, b, UNITS), together)


def test_zero_factors_change_no_bit():
    x, y, a, b = random_arrays("float16")
    assert np.array_equal(run(kernels("float16"), x, y, a, 0 * b, UNITS), y)


@pytest.mark.parametrize("rows", [1, 8, 70])
def test_a_product_with_strips_adds_the_same(rows):
    """As the product alone, then `expand`; and the product alone without units."""
    from test_linear_strips import coded_rows, make, quantize, stored

    tensors, reader, _ = stored("q4f16_1", OUTS, 64)
    added = low_rank.Added(WIDTHS, "float16")
    (codes, plain), (_, fused) = (make(reader, (OUTS, 64), added=a) for a in (None, added))
    rng = np.random.default_rng(7)
    coded = frozen(coded_rows(codes, quantize(codes), rng.standard_normal((rows, 64), np.float32)))
    b = rng.standard_normal((POOL, OUTS // 16, 8, 16)).astype(np.float16)
    # neighbours of one adapter, of another one, and without
    sets = {r: (1, 3) for r in range(min(rows, 21))} | {r: (2,) for r in range(40, min(rows, 53))}
    for of_row in (sets, {}):
        order = [(r, s) for s in dict.fromkeys(of_row.values()) for r in of_row if of_row[r] == s]
        units = [
            (r, s[i]) for s in ((1, 3), (2,)) for i in range(len(s)) for r, t in order if t == s
        ]
        owners, groups = (np.array([u[i] for u in units], np.int32) for i in (0, 1))
        t = rng.standard_normal((len(units), 8 * PARTS)).astype(np.float32)
        table = np.zeros((rows, 3), np.int32)
        compiled(low_rank.table())(np.zeros(rows, np.int32), frozen(owners), table)
        extras = list(map(frozen, (t, b, groups, table)))
        wanted, got = (np.zeros((rows, OUTS), np.float32) for _ in range(2))
        plain(coded, *map(frozen, tensors), wanted)
        fused(coded, *map(frozen, tensors), *extras, got)
        if units:
            compiled(low_rank.expand(added))(*extras, wanted)
        assert np.array_equal(got, wanted), len(units)
