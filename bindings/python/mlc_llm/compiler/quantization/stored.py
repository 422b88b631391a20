"""What is stored of a weight, whatever the scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# How the model uses a weight; None means that no scheme ever quantizes it (norms, biases).
WeightUse = Literal["linear", "embedding", "lm_head"]


@dataclass(frozen=True)
class StoredParam:
    """One tensor as it lies in the weight files."""

    name: str
    shape: tuple[int, ...]
    dtype: str
