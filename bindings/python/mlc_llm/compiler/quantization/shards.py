"""The part of a weight that a shard has, in any scheme.

A scheme stores a shard's part as it would store it as a weight of its own: in whole groups, blocks
or words. So the stored tensors of the part are slices of those of the whole weight, and follow from
the shapes of both. A part that would cut a group is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from mlc_llm.compiler.quantization.scheme import Matrix, Scheme
from mlc_llm.compiler.quantization.stored import Shares, StoredParam, WeightUse
from mlc_llm.errors import MLCError, UnsupportedError

Shape = tuple[int, ...]
Run = tuple[int, int, int]  # see `Shares`


@dataclass(frozen=True)
class Split:
    """How `count` shards share a weight: each has an equal part of every piece of the outputs, or
    of the inputs, or has the piece whole. "first": the first shard has the weight, and the others
    have zeros."""

    count: int
    axis: Literal["outputs", "inputs", "first"]
    # of the outputs, or inputs: the size of each, and of what a shard has of it
    pieces: tuple[tuple[int, int], ...] = ()
    behind: int = 0  # the axes behind the divided one, if no scheme quantizes the weight

    @property
    def own(self) -> int:
        """The size of what a shard has."""
        return sum(own for _, own in self.pieces)


def matrices_of(
    scheme: Scheme, name: str, shape: Shape, use: WeightUse, split: Split | None
) -> Sequence[Matrix]:
    """The matrices of a weight, or of a shard's part of it."""
    whole = scheme.stacked(name, shape, use)
    if split is None:
        return whole
    if split.axis == "outputs" and use != "experts":
        return list(_outputs(name, whole, split))
    axis = 1 if split.axis == "outputs" else len(shape) - 1
    part = (*shape[:axis], split.own, *shape[axis + 1 :])
    runs = list(_within(name, split, range(shape[axis])))
    each = whole[0].granule if split.axis == "outputs" else whole[0].inputs_together
    if any(place % each for run in runs for place in run):
        raise _cut(name, f"{each} {split.axis} together", split.count)
    if split.axis == "outputs":
        scheme = scheme.with_rows(name, part[0] * part[1])
    own = _stacked(scheme, name, part, use)
    return [_joined(*pair, runs, split.count) for pair in zip(whole, own, strict=True)]


def plain_of(param: StoredParam, split: Split | None) -> StoredParam:
    """The same of a tensor that no scheme quantizes."""
    if split is None:
        return param
    if split.axis == "first":
        return replace(param, shares=Shares())
    axis, shape = len(param.shape) - 1 - split.behind, list(param.shape)
    runs = tuple(_within(param.name, split, range(shape[axis])))
    shape[axis] = split.own
    return replace(param, shape=tuple(shape), shares=Shares(axis, runs))


def _outputs(name: str, whole: Sequence[Matrix], split: Split) -> Iterator[Matrix]:
    """A shard's part of each matrix, which has some of the pieces."""
    first = 0
    for matrix in whole:
        rows = matrix.shape[0]
        runs = list(_within(name, split, range(first, first + rows)))
        if any(place % matrix.granule for run in runs for place in run):
            raise _cut(name, f"{matrix.granule} outputs together", split.count)
        own = _without_span(matrix.cut(range(sum(size for _, size, _ in runs))))
        yield _joined(matrix, own, runs, split.count)
        first += rows


def _stacked(scheme: Scheme, name: str, shape: Shape, use: WeightUse) -> Sequence[Matrix]:
    try:
        return scheme.stacked(name, shape, use)
    except MLCError as error:
        raise UnsupportedError(
            f"a shard's part of {name}: {error.message}", param="tensor_parallel_shards"
        ) from None


def _within(name: str, split: Split, rows: range) -> Iterator[Run]:
    """The first shard's part of each piece that is among those rows, counted from their first."""
    end = 0
    for size, own in split.pieces:
        first, end = end, end + size
        if first >= rows.start and end <= rows.stop:
            yield first - rows.start, own, own if own < size else 0
        elif end > rows.start and first < rows.stop:
            raise _cut(name, "some of its outputs as another type", split.count)


def _without_span(matrix: Matrix) -> Matrix:
    changed: Any = matrix
    own: Matrix = replace(
        changed, stored=tuple(replace(p, span=None, axis=0, extent=0) for p in matrix.stored)
    )
    return own


def _joined(whole: Matrix, own: Matrix, runs: Sequence[Run], count: int) -> Matrix:
    """A shard's matrix, whose tensors say where they are in those of the whole one. `runs`: the
    first shard's places among those that are divided."""
    if not any(step for _, _, step in runs):
        return whole
    changed: Any = own
    pairs = enumerate(zip(whole.stored, own.stored, strict=True))
    stored = tuple(_shared(*pair, runs, count, is_first=i == 0) for i, pair in pairs)
    joined: Matrix = replace(changed, stored=stored)
    return joined


def _shared(
    whole: StoredParam,
    own: StoredParam,
    runs: Sequence[Run],
    count: int,
    *,
    is_first: bool,
) -> StoredParam:
    """`is_first`: the first tensor has something of each weight, so it is never the same."""
    sizes = list(zip(whole.shape, own.shape, strict=True))
    axes = [axis for axis, (all_of_it, part) in enumerate(sizes) if all_of_it != part]
    if not axes and not is_first:
        return own  # one factor for all
    axis = axes[0] if axes else 0
    each = Fraction(own.shape[axis], sum(size for _, size, _ in runs))
    scaled = [[place * each for place in run] for run in runs]
    is_whole = all(place.denominator == 1 for run in scaled for place in run)
    extent = sum(size * (count if step else 1) for _, size, step in scaled)
    if len(axes) != 1 or sizes[axis][0] != extent or not is_whole:
        raise _cut(own.name, "groups of weights together", count)
    return replace(own, shares=Shares(axis, tuple((int(a), int(b), int(c)) for a, b, c in scaled)))


def _cut(name: str, what: str, count: int) -> UnsupportedError:
    return UnsupportedError(
        f"{name} cannot be divided among {count} shards: the quantization stores {what}",
        param="tensor_parallel_shards",
    )
