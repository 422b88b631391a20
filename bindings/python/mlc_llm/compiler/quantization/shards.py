"""The part of a weight that a shard has, in any scheme.

A scheme stores a shard's part as it would store it as a weight of its own: in whole groups, blocks
or words. So the stored tensors of the part are slices of those of the whole weight, and follow from
the shapes of both. A part that would cut a group is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal

from mlc_llm.compiler.quantization.scheme import Matrix, Scheme
from mlc_llm.compiler.quantization.stored import Shares, StoredParam, WeightUse
from mlc_llm.errors import MLCError, UnsupportedError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """How `count` shards share a weight: each has an equal part of every piece of the outputs, or
    of the inputs. "first": the first shard has it, and the others have zeros."""

    count: int
    axis: Literal["outputs", "inputs", "first"]
    pieces: tuple[int, ...] = ()  # of the outputs, or inputs, of the whole weight
    behind: int = 0  # the axes behind the divided one, if no scheme quantizes the weight


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
    part = (*shape[:axis], shape[axis] // split.count, *shape[axis + 1 :])
    runs = list(_within(name, split, range(shape[axis])))
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
    shape[axis] //= split.count
    return replace(param, shape=tuple(shape), shares=Shares(axis, runs))


def _outputs(name: str, whole: Sequence[Matrix], split: Split) -> Iterator[Matrix]:
    """A shard's part of each matrix, which has some of the pieces."""
    first = 0
    for matrix in whole:
        rows = matrix.shape[0]
        runs = list(_within(name, split, range(first, first + rows)))
        if any(place % matrix.granule for run in runs for place in run):
            raise _cut(name, f"{matrix.granule} outputs together", split.count)
        own = _without_span(matrix.cut(range(rows // split.count)))
        yield _joined(matrix, own, runs, split.count)
        first += rows


def _stacked(scheme: Scheme, name: str, shape: Shape, use: WeightUse) -> Sequence[Matrix]:
    try:
        return scheme.stacked(name, shape, use)
    except MLCError as error:
        raise UnsupportedError(
            f"a shard's part of {name}: {error.message}", param="tensor_parallel_shards"
        ) from None


def _within(name: str, split: Split, rows: range) -> Iterator[tuple[int, int]]:
    """The first shard's part of each piece that is among those rows, counted from their first."""
    for end, size in zip(accumulate(split.pieces), split.pieces, strict=True):
        if end - size >= rows.start and end <= rows.stop:
            yield end - size - rows.start, size // split.count
        elif end > rows.start and end - size < rows.stop:
            raise _cut(name, "some of its outputs as another type", split.count)


def _without_span(matrix: Matrix) -> Matrix:
    changed: Any = matrix
    own: Matrix = replace(
        changed, stored=tuple(replace(p, span=None, axis=0, extent=0) for p in matrix.stored)
    )
    return own


def _joined(whole: Matrix, own: Matrix, runs: Sequence[tuple[int, int]], count: int) -> Matrix:
    """A shard's matrix, whose tensors say where they are in those of the whole one. `runs`: the
    first shard's places among those that are divided."""
    changed: Any = own
    pairs = enumerate(zip(whole.stored, own.stored, strict=True))
    stored = tuple(_shared(*pair, runs, count, is_first=i == 0) for i, pair in pairs)
    joined: Matrix = replace(changed, stored=stored)
    return joined


def _shared(
    whole: StoredParam,
    own: StoredParam,
    runs: Sequence[tuple[int, int]],
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
    each = Fraction(own.shape[axis], sum(size for _, size in runs))
    scaled = [(first * each, size * each) for first, size in runs]
    is_whole = all(place.denominator == 1 for run in scaled for place in run)
    if len(axes) != 1 or sizes[axis][0] != count * sizes[axis][1] or not is_whole:
        raise _cut(own.name, "groups of weights together", count)
    return replace(own, shares=Shares(axis, tuple((int(a), int(b)) for a, b in scaled)))


def _cut(name: str, what: str, count: int) -> UnsupportedError:
    return UnsupportedError(
        f"{name} cannot be divided among {count} shards: the quantization stores {what}",
        param="tensor_parallel_shards",
    )
