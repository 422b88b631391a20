"""The sizes of a step that is measured, and the numbers that its inputs hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """`batch` sequences with `rows` rows each, behind `history` tokens."""

    batch: int
    rows: int
    history: int

    @property
    def sizes(self) -> dict[str, int]:
        pages = self.batch * self.pages_of_sequence
        rows = self.batch * self.rows
        return {"n": rows, "m": self.batch, "b_plus_1": self.batch + 1, "p": pages,
                "num_pages": pages}  # fmt: skip

    @property
    def pages_of_sequence(self) -> int:
        return -(-(self.history + self.rows) // PAGE_SIZE)

    @property
    def attended(self) -> int:
        """Sum over the rows of the positions that they see."""
        return self.batch * sum(self.history + i + 1 for i in range(self.rows))

    def indices(self) -> dict[str, Array]:
        sequence = np.repeat(np.arange(self.batch), self.rows)
        position = np.tile(np.arange(self.rows) + self.history, self.batch)
        page = sequence * self.pages_of_sequence + position // PAGE_SIZE
        return {
            "positions": position,
            "slots": page * PAGE_SIZE + position % PAGE_SIZE,
            "row_sequence": sequence,
            "page_indptr": np.arange(self.batch + 1) * self.pages_of_sequence,
            "page_indices": np.arange(self.batch * self.pages_of_sequence),
            "logit_rows": np.arange(1, self.batch + 1) * self.rows - 1,
        }
