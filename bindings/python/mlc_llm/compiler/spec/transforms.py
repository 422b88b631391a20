"""Transforms that a weight map applies to a tensor of a file. Each does one thing.

A transform has `apply(array)` and `source_shape(shape)`: the shape of its input when `shape` is the
shape of its result. All work along axis 0 (the outputs), unless their docstring says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Transform(Protocol):
    @property
    def moves_rows(self) -> bool:
        """Whether it only moves or drops whole rows."""

    @property
    def rows_together(self) -> int:
        """It needs a multiple of this number of source rows at a time; 0: all rows."""

    def source_shape(self, shape: Shape) -> Shape: ...

    def apply(self, array: Array) -> Array: ...


@dataclass(frozen=True)
class Rows:
    """Rows [start, stop) of a tensor with `total` rows: a split."""

    start: int
    stop: int
    total: int
    moves_rows = True
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] == self.stop - self.start, (self, shape)
        return (self.total, *shape[1:])

    def apply(self, array: Array) -> Array:
        return array[self.start : self.stop]


@dataclass(frozen=True)
class Grouped:
    """One member of each group. The rows are (groups, sum(sizes)); the result has the rows of
    member `index` of each group. For files that store q, k and v head by head."""

    groups: int
    sizes: tuple[int, ...]
    index: int
    moves_rows = True

    @property
    def rows_together(self) -> int:
        return sum(self.sizes)

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] == self.groups * self.sizes[self.index], (self, shape)
        return (self.groups * sum(self.sizes), *shape[1:])

    def apply(self, array: Array) -> Array:
        first = sum(self.sizes[: self.index])
        groups = array.reshape(-1, sum(self.sizes), *array.shape[1:])
        return groups[:, first : first + self.sizes[self.index]].reshape(-1, *array.shape[1:])


@dataclass(frozen=True)
class Members:
    """Several members of each group (see `Grouped`): all rows of one, then all of the next."""

    groups: int
    sizes: tuple[int, ...]
    members: tuple[int, ...]
    moves_rows = True
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        kept = sum(self.sizes[member] for member in self.members)
        assert shape[0] == self.groups * kept, (self, shape)
        return (self.groups * sum(self.sizes), *shape[1:])

    def apply(self, array: Array) -> Array:
        one = [Grouped(self.groups, self.sizes, member).apply(array) for member in self.members]
        return np.concatenate(one)


@dataclass(frozen=True)
class HeadRows:
    """A matrix for each head: rows [start, stop) of the `total` rows of each of `heads`. The result
    is (heads, stop - start, in), or `transposed` (heads, in, stop - start)."""

    heads: int
    start: int
    stop: int
    total: int
    transposed: bool = False
    moves_rows = False

    @property
    def rows_together(self) -> int:
        return self.total

    def source_shape(self, shape: Shape) -> Shape:
        rows, ins = shape[:0:-1] if self.transposed else shape[1:]
        assert shape[0] == self.heads and rows == self.stop - self.start, (self, shape)
        return (self.heads * self.total, ins)

    def apply(self, array: Array) -> Array:
        heads = array.reshape(-1, self.total, array.shape[1])[:, self.start : self.stop]
        return np.ascontiguousarray(heads.swapaxes(1, 2) if self.transposed else heads)


@dataclass(frozen=True)
class Unpaired:
    """Reorders the rotary rows of each head from pairs (x0, y0), (x1, y1) to halves (x..., y...).
    A head has `head_rows` rows, of which the first `rotated` are rotary (0: all)."""

    head_rows: int
    rotated: int = 0
    moves_rows = True

    @property
    def rows_together(self) -> int:
        return self.head_rows

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] % self.head_rows == 0, (self, shape)
        return shape

    def apply(self, array: Array) -> Array:
        count, inner = self.rotated or self.head_rows, array.shape[1:]
        heads = array.reshape(-1, self.head_rows, *inner)
        pairs = heads[:, :count].reshape(-1, count // 2, 2, *inner)  # (heads, D/2, 2, ...)
        turned = pairs.swapaxes(1, 2).reshape(-1, count, *inner)
        return np.concatenate([turned, heads[:, count:]], axis=1).reshape(array.shape)


@dataclass(frozen=True)
class Exchanged:
    """Reorders the rotary rows of each head from (axis, half, pair) to (half, axis, pair). A head
    has `head_rows` rows, and there are two axes."""

    head_rows: int
    moves_rows = True

    @property
    def rows_together(self) -> int:
        return self.head_rows

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] % self.head_rows == 0 and self.head_rows % 4 == 0, (self, shape)
        return shape

    def apply(self, array: Array) -> Array:
        heads = array.reshape(-1, 2, 2, self.head_rows // 4, *array.shape[1:])
        return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(array.shape)


@dataclass(frozen=True)
class Transposed:
    """(in, out) to (out, in). A vector does not change."""

    moves_rows = False
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        return shape[::-1]

    def apply(self, array: Array) -> Array:
        return np.ascontiguousarray(array.T)


@dataclass(frozen=True)
class Turned:
    """(n, in, out) to (n, out, in)."""

    moves_rows = False
    rows_together = 1

    def source_shape(self, shape: Shape) -> Shape:
        return (shape[0], *shape[:0:-1])

    def apply(self, array: Array) -> Array:
        return np.ascontiguousarray(array.swapaxes(1, 2))


@dataclass(frozen=True)
class Squeezed:
    """(out, 1, in) to (out, in), for depthwise convolutions."""

    moves_rows = False
    rows_together = 1

    def source_shape(self, shape: Shape) -> Shape:
        return (shape[0], 1, *shape[1:])

    def apply(self, array: Array) -> Array:
        return array.reshape(array.shape[0], *array.shape[2:])


@dataclass(frozen=True)
class Stacked:
    """(...) to (1, ...), for tensors that are put beside each other along a new axis."""

    moves_rows = False
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] == 1, (self, shape)
        return shape[1:]

    def apply(self, array: Array) -> Array:
        return array[None]


@dataclass(frozen=True)
class Reshaped:
    """A vector, or a matrix of `rows`, from a tensor of another shape with the same order of
    elements."""

    stored: Shape
    rows: int = 0  # 0: a vector
    moves_rows = False
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        fits = shape[0] == self.rows if self.rows else len(shape) == 1
        assert fits and math.prod(shape) == math.prod(self.stored), (self, shape)
        return self.stored

    def apply(self, array: Array) -> Array:
        return array.reshape(self.rows, -1) if self.rows else array.reshape(-1)


@dataclass(frozen=True)
class Summed:
    """The sum over an axis of `count` places, for convolutions whose inputs there are equal."""

    axis: int
    count: int
    moves_rows = False
    rows_together = 1

    def source_shape(self, shape: Shape) -> Shape:
        return (*shape[: self.axis], self.count, *shape[self.axis :])

    def apply(self, array: Array) -> Array:
        return np.asarray(array.astype(np.float32).sum(self.axis))


class _Rows:
    """What transforms share that change numbers row by row and leave the shape."""

    moves_rows = False
    rows_together = 1

    def source_shape(self, shape: Shape) -> Shape:
        return shape


@dataclass(frozen=True)
class Regrouped(_Rows):
    """The inputs of each row from (groups, members) to (members, groups)."""

    groups: int

    def apply(self, array: Array) -> Array:
        rows = array.reshape(len(array), self.groups, -1)
        return np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(array.shape)


@dataclass(frozen=True)
class PlusOne(_Rows):
    """w + 1, for norms whose files store the weight minus 1."""

    def apply(self, array: Array) -> Array:
        return array.astype(np.float32) + np.float32(1)


@dataclass(frozen=True)
class Times(_Rows):
    """w * factor."""

    factor: float

    def apply(self, array: Array) -> Array:
        return array.astype(np.float32) * np.float32(self.factor)


@dataclass(frozen=True)
class TimesParts:
    """Neighbouring rows times a factor: of each part, its number of rows and its factor."""

    parts: tuple[tuple[int, float], ...]
    moves_rows = False
    rows_together = 0

    def source_shape(self, shape: Shape) -> Shape:
        assert shape[0] == sum(count for count, _ in self.parts), (self, shape)
        return shape

    def apply(self, array: Array) -> Array:
        counts, factors = zip(*self.parts, strict=True)
        column = np.repeat(np.array(factors, np.float32), counts)
        return array.astype(np.float32) * column.reshape(-1, *[1] * (array.ndim - 1))


@dataclass(frozen=True)
class Normalized(_Rows):
    """Each row divided by its length."""

    def apply(self, array: Array) -> Array:
        rows = array.astype(np.float32)
        length = np.sqrt((rows * rows).sum(-1, keepdims=True))
        return rows / np.maximum(length, np.float32(1e-12))


@dataclass(frozen=True)
class MinusExp(_Rows):
    """-exp(w), for decays that are stored as logarithms."""

    def apply(self, array: Array) -> Array:
        return (-np.exp(array.astype(np.float64))).astype(np.float32)  # as the core does


@dataclass(frozen=True)
class Softplus(_Rows):
    """log(1 + exp(w)), for positive numbers that are stored as any."""

    def apply(self, array: Array) -> Array:
        return np.logaddexp(0.0, array.astype(np.float64)).astype(np.float32)


@dataclass(frozen=True)
class LogMinusLog(_Rows):
    """log(-log(w)), for decays that are stored as exp(-exp(w))."""

    def apply(self, array: Array) -> Array:
        with np.errstate(divide="ignore"):  # 0 and 1 are decays too
            return np.log(-np.log(array.astype(np.float64))).astype(np.float32)  # as the core does


def apply_all(transforms: Sequence[Transform], array: Array) -> Array:
    for transform in transforms:
        array = transform.apply(array)
    return array
