"""The stored tensors of a weight, in any scheme."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

# How the model uses a weight. None: no scheme quantizes it (norms, biases). "embedding": a table of
# which rows are read, and nothing else; "tied_embedding": one that is the output layer too.
# "experts": a stack (experts, out, in) of linear weights. "router": a linear weight that chooses
# experts, or that makes a text's vector into its score; schemes that quantize floats leave it as it
# is. "tower": a linear weight of what reads pictures, of `Scheme.tower`.
WeightUse = Literal[
    "linear", "embedding", "tied_embedding", "lm_head", "experts", "router", "tower"
]

Array = np.ndarray[Any, Any]
_AXES = ("rows", "columns")  # along which a parameter may be a part of its tensor
STRIP = 16  # outputs of which a CPU reads the same place together
HALVES, THREES = 16, 3  # bits: what the core changes when it lays out strips
_WORD_BYTES = 4
_SIZES = {"float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1}


@dataclass(frozen=True)
class Shares:
    """How shards share a tensor: of each run [first, count, step] along `axis`, shard r has the
    `count` places from `first + r * step` on. The step is `count`, or 0 if all shards have the same
    places. Without runs the first shard has the tensor, and the others zeros."""

    axis: int = 0
    runs: tuple[tuple[int, int, int], ...] = ()

    def describe(self) -> dict[str, Any]:
        runs = [[first, count, *([] if step else [0])] for first, count, step in self.runs]
        return {"axis": self.axis, "runs": runs}


@dataclass(frozen=True)
class StoredParam:
    """One tensor in the weight files; with `span`, some of its rows or columns; with `shares`, what
    one shard has of it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    span: range | None = None  # along `axis`, in which the tensor has `extent` elements
    axis: int = 0
    extent: int = 0
    file_dtype: str = ""  # the type in the files, if a library reads the same bytes as another type
    strips: tuple[int, ...] | None = None  # `in_strips`
    shares: Shares | None = None

    def part(self, span: range, axis: int = 0) -> StoredParam:
        """Some rows (axis 0) or columns (axis 1) of it."""
        if span == range(self.shape[axis]):
            return self
        shape = (*self.shape[:axis], len(span), *self.shape[axis + 1 :])
        return replace(self, shape=shape, span=span, axis=axis, extent=self.shape[axis])

    def seen_as(self, dtype: str) -> StoredParam:
        """The same bytes as a library reads them if it does not have their own type: float8 as
        bytes, or small types as words of 32 bits."""
        if dtype == self.dtype:
            return self
        if self.dtype.startswith("float8"):  # the core reads these as bytes
            return replace(self, dtype="uint8").seen_as(dtype)
        of_new = _SIZES.get(dtype, _WORD_BYTES) // _SIZES.get(self.dtype, _WORD_BYTES)
        assert of_new > 0 and self.shape[-1] % of_new == 0, (self, dtype)
        shape = (*self.shape[:-1], self.shape[-1] // of_new)
        seen = replace(self, shape=shape, dtype=dtype, file_dtype=self.dtype)
        if self.span is None or self.axis < len(shape) - 1:
            return seen
        assert self.span.start % of_new == 0 and self.extent % of_new == 0, (self, dtype)
        span = range(self.span.start // of_new, self.span.start // of_new + shape[-1])
        return replace(seen, span=span, extent=self.extent // of_new)

    def in_strips(self, axis: int, *, threes: bool = False) -> StoredParam:
        """The matrix (or the stack of matrices) as the core lays it out when it loads it: [strips,
        places, 16], the last strip padded with zeros. `axis`: the one of the last two that has the
        outputs. `threes`: the words have ten codes of 3 bits, which become bytes' (`threes.py`)."""
        *stack, rows, columns = self.shape
        outs, places = (columns, rows) if axis else (rows, columns)
        shape = (*stack, -(-outs // STRIP), places, STRIP)
        return replace(self, shape=shape, strips=(outs, axis, THREES) if threes else (outs, axis))

    def in_halves(self) -> StoredParam:
        """In strips, as float16 if it is float32: the core rounds its numbers."""
        if self.strips is None or self.dtype != "float32":
            return self
        return replace(self, dtype="float16", strips=(*self.strips, HALVES))

    @property
    def first(self) -> int:
        return self.span.start if self.span else 0

    def describe(self) -> dict[str, Any]:
        """As a library's metadata names it."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            **({"stored_dtype": self.file_dtype} if self.file_dtype else {}),
            **({_AXES[self.axis]: [self.first, self.extent]} if self.span else {}),
            **({"shares": self.shares.describe()} if self.shares else {}),
            **({"strips": list(self.strips)} if self.strips else {}),
        }


@dataclass(frozen=True)
class Float8Part:
    """A tensor of a repository whose weights are 8-bit floats already, as it is stored there."""

    name: str
    codes: Array  # float8_e4m3fn (out, in)
    scales: Array  # for each block of 128 x 128, or (1, 1)
    activation_scale: Array | None = None  # of activations, if the repository has one
