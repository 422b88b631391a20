"""What the kernels for CPUs are told about a CPU, as a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class VectorUnit:
    """The vector registers of a CPU, and the instruction with which it multiplies bytes.

    `dot_tile` is a tile (rows of x, rows of W) of dot products with sums of 16 floats.
    `column_tile` is a tile (rows of x, vectors of outputs), and `panel_tile` one for the many rows
    of pictures (`panels.py`). `integer_tile` is the number of rows of
    x for 16 outputs in integers (`block_strip.py` in `kernels/cpu`). `attention_sums` is the
    number of vectors of `attention_width` floats in which attention keeps sums, if there is one for
    each head; `attention_heads` is the most query heads, of all rows, that have sums at a time;
    `attention_run` is the most bytes of a head's values that several rows walk at a time
    (`paged_attention.py`). `dot` is a name in `integer_instructions.py`.
    `half_floats`: the CPU has instructions that read and write float16.
    """

    dot_tile: tuple[int, int]
    column_tile: tuple[int, int]
    dot: str
    panel_tile: tuple[int, int] = (6, 1)
    integer_tile: int = 4
    attention_width: int = 16
    attention_sums: int = 4
    attention_heads: int = 6
    attention_run: int = 9 << 10
    half_floats: bool = True

    @property
    def attention_sizes(self) -> dict[str, Any]:
        """The keyword arguments of `paged_attention`."""
        return {
            "width": self.attention_width,
            "registers": self.attention_sums,
            "heads": self.attention_heads,
            "run": self.attention_run,
            "dot": self.dot,
        }


AVX512 = VectorUnit(
    dot_tile=(4, 4),
    column_tile=(4, 2),
    dot="avx512bw",
    panel_tile=(12, 2),
    integer_tile=8,
    attention_sums=24,
    attention_heads=10,
    attention_run=18 << 10,
)
AVX512_VNNI = replace(AVX512, dot="avx512vnni")
AVX2 = VectorUnit(
    dot_tile=(2, 2),
    column_tile=(4, 1),
    dot="avx2",
    attention_width=8,
    attention_sums=12,
)
AVX_VNNI = replace(AVX2, dot="avxvnni", integer_tile=6)
NEON = VectorUnit(dot_tile=(2, 2), column_tile=(4, 1), dot="neon")
NEON_DOT = replace(NEON, dot="neondot")
NEON_I8MM = replace(NEON, dot="neoni8mm")
# all heads at a time: converting float16 costs it more time than spilling registers
SSE = VectorUnit(
    dot_tile=(2, 1),
    column_tile=(2, 1),
    dot="ssse3",
    panel_tile=(3, 1),
    integer_tile=8,
    attention_heads=1 << 20,
    half_floats=False,
)
