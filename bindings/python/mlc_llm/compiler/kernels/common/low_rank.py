"""What kernels of adapters take on all devices (formulas: `kernels/cpu/low_rank.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.values import LANES

RANKS = 8  # of a group
UNITS = [Arg(name, ("units",), "int32") for name in ("rows", "groups")]
# Of each row: its first unit, how many it has, how far they are from one another, and (on CPUs) how
# many rows from this one on have neighbouring units of the same groups, or none.
FIELDS = 4
FIRST, COUNT, DISTANCE, RUN = range(FIELDS)
TABLE = Arg("table", ("rows", FIELDS), "int32")


@dataclass(frozen=True)
class Added:
    """What adapters add to the outputs of a layer. `widths`: the outputs of each part, whole
    vectors."""

    widths: tuple[int, ...]
    dtype: str

    @property
    def blocks(self) -> int:
        return sum(self.widths) // LANES

    @property
    def args(self) -> list[Arg]:
        """t [units, parts * 8], b, groups [units], the table."""
        weights = Arg("b", ("pool", self.blocks, RANKS, LANES), self.dtype)
        t = Arg("t", ("units", len(self.widths) * RANKS))
        return [t, weights, UNITS[1], TABLE]
