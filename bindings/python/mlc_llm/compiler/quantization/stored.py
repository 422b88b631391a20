"""What is stored of a weight, whatever the scheme."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

# How the model uses a weight; None means that no scheme ever quantizes it (norms, biases).
WeightUse = Literal["linear", "embedding", "lm_head"]


@dataclass(frozen=True)
class StoredParam:
    """One tensor as it lies in the weight files; or, with `rows`, those of its rows."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    rows: range | None = None  # of a tensor that has `num_rows`
    num_rows: int = 0

    def part(self, rows: range) -> StoredParam:
        return replace(self, shape=(len(rows), *self.shape[1:]), rows=rows, num_rows=self.shape[0])

    @property
    def first_row(self) -> int:
        return self.rows.start if self.rows else 0
