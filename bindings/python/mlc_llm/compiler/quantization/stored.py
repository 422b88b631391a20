"""What is stored of a weight, whatever the scheme."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

# How the model uses a weight; None means that no scheme ever quantizes it (norms, biases).
WeightUse = Literal["linear", "embedding", "lm_head"]


@dataclass(frozen=True)
class StoredParam:
    """One tensor as it lies in the weight files; or, with `span`, some of its rows or columns."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    span: range | None = None  # along `axis`, where the tensor has `extent`
    axis: int = 0
    extent: int = 0

    def part(self, span: range, axis: int = 0) -> StoredParam:
        """Those rows (axis 0) or columns (1)."""
        shape = (*self.shape[:axis], len(span), *self.shape[axis + 1 :])
        return replace(self, shape=shape, span=span, axis=axis, extent=self.shape[axis])

    @property
    def first(self) -> int:
        return self.span.start if self.span else 0
