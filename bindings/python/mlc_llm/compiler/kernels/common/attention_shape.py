"""The sizes of one attention layer, and the layout of its pages and of its rotary table.

A page holds PAGE_SIZE positions of one sequence, for one layer: `[2, kv_heads, PAGE_SIZE * dim]`.
Keys are stored as (dim, position), so that one vector multiply serves 16 positions. Values are
stored as (position, dim).

With `page_dtype` "q8" (`Q8`) a page holds words of 32 bits, each with four codes of 8 bits:
`[2, kv_heads, PAGE_SIZE * (dim / 4 + 1)]`. Keys are (dim / 4, position), values are (position,
dim / 4); behind the codes of a head are its float32 scales, one for each position. A scale is the
largest magnitude of that key or value, divided by 127. Codes of keys are stored with 128 added,
for instructions that multiply unsigned bytes by signed ones. Codes of values are signed.

Before a key becomes codes, it is multiplied by an orthogonal matrix, and so are the queries: their
products stay the same. The matrix is Walsh-Hadamard's, over blocks of `hadamard_size(dim)`
elements. Every element of the result is a sum over the whole block, so a few large elements, which
keys often have, do not make the scale of all others large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.errors import UnsupportedError

PAGE_SIZE = LANES
Q8 = "q8"
Q8_LARGEST = 127  # the largest magnitude of a code
Q8_ZERO = (128, 0)  # the stored code of 0, for keys and for values
ROPE_FINE = 256  # positions in each of the three parts of the rope table
GROWTHS = 1024  # entries of the table of growing queries
ROPE_POSITIONS = ROPE_FINE**3  # a larger position is replaced by one of the last 65536


@dataclass(frozen=True, kw_only=True)
class AttentionShape:
    """The sizes of one attention layer. A sliding window of -1 means none."""

    heads: int
    kv_heads: int
    dim: int
    sliding_window: int = -1
    ahead: int = 0  # in an encoder with windows: positions that a row sees on each side
    rows_ahead: bool = False  # a row with a window may see later rows: its position is told apart
    sinks: int = 0
    page_dtype: str = "float32"  # of keys and values in the cache; Q8: codes and scales
    row_dtype: str = "float32"  # of the inputs and outputs; float32 on the CPU
    rotated: int = 0  # how many first elements of a head are rotated; 0: all
    axes: tuple[int, ...] = ()  # by which of three positions each pair turns; empty: by its own
    qk_norm: float | None = None  # the epsilon of the norm of each query and key; None: no norm
    norm_dtype: str | None = "float32"  # of that norm's weights; None: it has none
    norms_all_heads: bool = False  # one norm for the queries of all heads, one for all keys
    norms_rotated: bool = False  # the weights of these norms are applied after the rotation
    softcap: float = 0.0  # of scores; 0: none
    learned_sinks: str | None = None  # the dtype of a score for each head that no value has
    growth_length: int = 0  # queries grow after each such number of positions; 0: never
    growth_from: int = 0  # what is added to positions for that
    chunked: bool = False  # the window begins at a multiple of its size
    alibi: bool = False  # scores fall with the distance, for each head by its own slope
    appends: bool = True  # False: `qkv` holds queries alone, the pages are another layer's
    value_norm: float | None = None  # the epsilon of the norm of each value; it has no weight
    values_are_keys: bool = False  # `qkv` has no values: they are the keys without their norm

    def __post_init__(self) -> None:
        if self.dim % LANES:
            raise UnsupportedError(
                f"head_dim {self.dim} is not a multiple of {LANES}", param="head_dim"
            )

    def first_seen(self, position: Any) -> Any:
        """The first position that a row sees because of its window."""
        if self.chunked:
            return position - position % self.sliding_window
        return position - self.sliding_window + 1

    @property
    def takes_own(self) -> bool:
        """Whether `paged_attention` takes a row's own position beside the last one that it sees."""
        return bool(self.ahead) or self.rows_ahead

    def oldest(self, own: Any, seen: Any) -> Any:
        """The first position that a row sees because of its window. `own`: its own position, where
        the kernel takes it; `seen`: the last one that it sees."""
        if self.ahead:
            return own - self.ahead
        return self.first_seen(seen if own is None else own)

    @property
    def group(self) -> int:
        """The number of query heads that share a key head."""
        return self.heads // self.kv_heads

    @property
    def is_q8(self) -> bool:
        return self.page_dtype == Q8

    @property
    def element_dtype(self) -> str:
        """The type of a page's elements."""
        return "uint32" if self.is_q8 else self.page_dtype

    @property
    def row_elements(self) -> int:
        """The number of elements of a key or a value of one head, without its scale."""
        return self.dim // 4 if self.is_q8 else self.dim

    @property
    def scales_at(self) -> int:
        """The index of the first scale in a head's part of a page."""
        return PAGE_SIZE * self.row_elements

    @property
    def page_shape(self) -> tuple[int, int, int]:
        return (2, self.kv_heads, self.scales_at + (PAGE_SIZE if self.is_q8 else 0))

    @property
    def slot_runs(self) -> list[tuple[int, int]]:
        """The layout of a page: the number of blocks, and how many elements of each slot a block
        contains.

        The order of keys is by dimension, the order of values is by slot.
        """
        if not self.is_q8:
            return [(self.kv_heads * self.dim, 1), (self.kv_heads, self.dim)]
        keys = (self.kv_heads * (self.row_elements + 1), 1)  # scales are like one element more
        return [keys, *([(1, self.row_elements), (1, 1)] * self.kv_heads)]

    @property
    def pages(self) -> Arg:
        return Arg("pages", ("num_pages", *self.page_shape), self.element_dtype)

    @property
    def rotated_dim(self) -> int:
        """The number of elements of a head that are rotated."""
        return self.rotated or self.dim

    @property
    def qkv_heads(self) -> int:
        """The number of heads in a row of `qkv`: of queries, keys and values."""
        made = self.kv_heads * (1 if self.values_are_keys else 2) if self.appends else 0
        return self.heads + made

    def norm_size(self, heads: int) -> int:
        """The number of elements that the norm of that many heads takes at a time."""
        return self.dim * heads if self.norms_all_heads else self.dim

    @property
    def num_norms(self) -> int:
        """The number of weights of norms: of queries, and of keys."""
        if self.qk_norm is None or self.norm_dtype is None:
            return 0
        return 2 if self.appends else 1

    @property
    def append_args(self) -> list[Arg]:
        """The arguments of `rope_and_append`."""
        sizes = [self.norm_size(count) for count in (self.heads, self.kv_heads)]
        norms = [
            Arg(name, (size,), self.norm_dtype or "")
            for name, size in zip(("q_norm", "k_norm"), sizes, strict=True)
        ][: self.num_norms]
        return [
            Arg("qkv", ("n", self.qkv_heads * self.dim), self.row_dtype),
            Arg("positions", ("n",), "int32"),
            *([Arg("rotary", ("n", 3), "int32")] if self.axes else []),
            *([Arg("slots", ("n",), "int32")] if self.appends else []),
            Arg("table", (3 * ROPE_FINE, 2, self.rotated_dim // 2)),
            *([Arg("growth", (GROWTHS,))] if self.growth_length else []),
            *norms,
            *([self.pages] if self.appends else []),
            Arg("q", ("n", self.heads, self.dim), self.row_dtype),
        ]

    @property
    def of_append(self) -> AttentionShape:
        """Without what `rope_and_append` does not depend on."""
        rest = {"softcap": 0.0, "learned_sinks": None, "chunked": False, "alibi": False}
        return replace(self, sliding_window=-1, ahead=0, rows_ahead=False, sinks=0, **rest)

    @property
    def of_pages(self) -> AttentionShape:
        """A copy without the fields that copying pages does not use."""
        pages = {"kv_heads": self.kv_heads, "dim": self.dim, "page_dtype": self.page_dtype}
        return AttentionShape(heads=self.kv_heads, row_dtype=self.row_dtype, **pages)

    @property
    def attend_args(self) -> list[Arg]:
        """The arguments of `paged_attention`."""
        return [
            Arg("q", ("n", self.heads, self.dim), self.row_dtype),
            Arg("positions", ("n",), "int32"),
            Arg("row_sequence", ("n",), "int32"),
            Arg("page_indptr", ("indptr",), "int32"),
            Arg("page_indices", ("indices",), "int32"),
            self.pages,
            *([Arg("slopes", (self.heads,))] if self.alibi else []),
            *([Arg("sinks", (self.heads,), self.learned_sinks)] if self.learned_sinks else []),
            *([Arg("own", ("n",), "int32")] if self.takes_own else []),
            Arg("y", ("n", self.heads * self.dim), self.row_dtype),
        ]


@dataclass(frozen=True, kw_only=True)
class AttendBuffers:
    """The buffers of `AttentionShape.attend_args`, in a kernel."""

    q: Any
    positions: Any
    row_sequence: Any
    page_indptr: Any
    page_indices: Any
    pages: Any
    y: Any
    sinks: Any = None  # learned, of each head
    slopes: Any = None  # of each head, by which its scores fall with the distance
    own: Any = None  # the positions of the rows, if rows with windows see later ones


def alibi_slopes(heads: int) -> np.ndarray:
    """How much the score of each head falls with a position's distance. (Press, Smith and Lewis
    2021, and their code for other numbers of heads than powers of 2.)"""
    whole = 1 << (heads.bit_length() - 1)
    slopes = 2.0 ** (-8.0 * np.arange(1, whole + 1) / whole)
    between = 2.0 ** (-4.0 * np.arange(1, 2 * (heads - whole) + 1, 2) / whole)
    return np.concatenate([slopes, between]).astype(np.float32)


def hadamard_size(dim: int) -> int:
    """The largest power of two that divides the size of a head."""
    return dim & -dim


def growth_table(growth: float) -> np.ndarray:
    """The factor on queries after each `growth_length` positions."""
    return (1 + growth * np.log1p(np.arange(GROWTHS))).astype(np.float32)


def rope_table(frequencies: list[float], magnitude: float = 1.0) -> np.ndarray:
    """cos and sin as `[768, 2, dim / 2]`. An angle is the sum of three angles, as with digits: row
    i < 256 is position i, row 256 + j is position 256 * j, row 512 + k is position 65536 * k.

    It is computed in float64, so far positions are as exact as near ones, and kernels need no sine.
    It does not end at a context window, because positions go on when the window slides.
    """
    digits = np.arange(ROPE_FINE, dtype=np.float64)
    positions = np.concatenate([digits, digits * ROPE_FINE, digits * ROPE_FINE**2])
    angles = positions[:, None] * np.asarray(frequencies, np.float64)
    table = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    table[:ROPE_FINE] *= magnitude
    return table.astype(np.float32)
