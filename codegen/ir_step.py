"""The intermediate representation of an input of a step (`schema/step.py`)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class StepInput:
    """An int32 input of a step. `shape`, `when`, `unset`: as in `schema.base.StepInputModel`."""

    name: str
    shape: tuple[str | int, ...]
    description: str
    when: str
    unset: int | str | None

    @property
    def width(self) -> int:
        """The numbers of each entry."""
        return math.prod(extent for extent in self.shape if isinstance(extent, int))
