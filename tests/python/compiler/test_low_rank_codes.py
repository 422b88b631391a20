"""What adapters add to products of integers, against NumPy, and that a row gets the same bits in
any company."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

from activation_codes import decoded  # noqa: E402
from adapter_codes import coded  # noqa: E402
from kernel_tools import FLAGS, compiled, frozen, host_device  # noqa: E402
from test_linear_strips import UNITS, coded_rows, make, quantize, stored  # noqa: E402

from mlc_llm.compiler import targets  # noqa: E402
from mlc_llm.compiler.kernels.common.low_rank import FIELDS  # noqa: E402
from mlc_llm.compiler.kernels.cpu import linear_strips, low_rank, low_rank_codes  # noqa: E402

INS, WIDTHS, POOL = 256, (32, 16, 32), 5
OUTS = sum(WIDTHS)
# The codes of activations have 8 or 16 bits; minimums; halves; groups of 40; a zero of 12.
KINDS = [
    ("q4f16_1", 8), ("q4f16_1", 16), ("Q4_1", 16), ("Q6_K", 8), ("q3f16_1", 8), ("MXFP4", 16),
    ("Q8_0", 8),
]  # fmt: skip
# The groups of each row: neighbours of one adapter, of two in turn, none.
OF_ROWS = [(1, 3)] * 7 + [(2,), (4,)] * 3 + [()] * 2 + [(0, 2)]


class Case:
    def __init__(self, kind: str, bits: int, unit: str | None = None) -> None:
        tensors, reader, _ = stored(kind, OUTS, INS)
        self.codes = linear_strips.codes_for(reader.kind, INS, bits)
        self.codes = self.codes.on(unit or host_device().vectors.dot)
        self.added = low_rank_codes.Added(WIDTHS, self.codes)
        options = {"bits": bits, "unit": unit}
        self.plain, self.fused = (
            make(reader, (OUTS, INS), **options, added=one)[1] for one in (None, self.added)
        )
        rng = np.random.default_rng(5)
        a = rng.standard_normal((POOL, len(WIDTHS) * INS // 16, 8, 16)).astype(np.float32)
        b = rng.standard_normal((POOL, OUTS // 16, 8, 16)).astype(np.float32)
        a[0, 3], a[:, :, 2], b[:, :, 1] = 1e3, 0, 0  # an outlier, and what is 0
        self.a, self.b, self.wide_a, self.wide_b = coded(self.added, a, b)
        self.tensors = [frozen(tensor) for tensor in tensors]
        x = rng.standard_normal((len(OF_ROWS), INS), np.float32)
        self.x = coded_rows(self.codes, quantize(self.codes), x)

    def run(self, rows: list[int], scale: float = 0.5):
        """Of some rows, in units that are listed adapter by adapter."""
        x, count = frozen(self.x[rows]), len(rows)
        sets = [OF_ROWS[row] for row in rows]
        units = [(m, g) for one in dict.fromkeys(sets) for g in one for m in range(count)
                 if sets[m] == one]  # fmt: skip
        owners, groups = (np.array([u[i] for u in units], np.int32) for i in (0, 1))
        scales = np.full(len(units), scale, np.float32).view(np.int32)
        table = np.zeros((count, FIELDS), np.int32)
        compiled_table()(np.zeros(count, np.int32), frozen(owners), frozen(groups), table)
        y = np.zeros((count, OUTS), np.float32)
        t = np.zeros((len(units), 8 * len(WIDTHS)), np.int32)
        more = map(frozen, (groups, scales, table, self.a, self.b))
        self.fused(x, *self.tensors, *more, y, t)
        return y

    def without(self):
        y = np.zeros((len(self.x), OUTS), np.float32)
        self.plain(frozen(self.x), *self.tensors, y)
        return y

    def wanted(self, scale: float = 0.5):
        """In float64; and how much rounding t to 16 bits may change."""
        y, x = self.without().astype(float), decoded(self.codes, self.x)
        change = np.zeros_like(y)
        parts = np.repeat(range(len(WIDTHS)), WIDTHS)
        for row, groups in enumerate(OF_ROWS):
            for group in groups:
                t = scale * self.wide_a[group] @ x[row]
                y[row] += (t[parts] * self.wide_b[group].T).sum(-1)
                step = np.abs(t).max(-1) / ((1 << 15) - 1)
                change[row] += step[parts] * np.abs(self.wide_b[group]).sum(0)
        return y, change


_TABLE = []


def compiled_table():
    if not _TABLE:
        _TABLE.append(compiled(low_rank.table()))
    return _TABLE[0]


@pytest.mark.parametrize("kind, bits", KINDS)
def test_units_add_their_products(kind, bits):
    case, every = Case(kind, bits), list(range(len(OF_ROWS)))
    got, (wanted, change) = case.run(every), case.wanted()
    assert (np.abs(got - wanted) <= 0.5 * change + 3e-6 * np.abs(wanted).max()).all()
    alone = [row for row, groups in enumerate(OF_ROWS) if not groups]
    plain = case.without()
    assert np.array_equal(got[alone], plain[alone]) and not np.array_equal(got, plain)
    # No bit depends on the company, the order or the number of rows.
    for rows in ([0], [7], [15], [3, 4, 5], [8, 1, 0, 13, 2], every[4:12], every[::-1]):
        assert np.array_equal(case.run(rows), got[rows]), rows
    many = every * 5  # which take one group after another
    assert np.array_equal(case.run(many), got[many])


def test_a_scale_of_0_changes_no_bit():
    case = Case("q4f16_1", 8)
    assert np.array_equal(case.run(list(range(len(OF_ROWS))), 0.0), case.without())


@pytest.mark.parametrize("unit", UNITS)
def test_every_instruction_gives_the_same_bits(unit):
    if unit in FLAGS and FLAGS[unit] not in targets._usable_features():
        pytest.skip(f"this processor has no {FLAGS[unit]}")
    case, every = Case("q4f16_1", 8, unit), list(range(len(OF_ROWS)))
    assert np.array_equal(case.run(every), Case("q4f16_1", 8).run(every))
