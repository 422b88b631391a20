"""Adds adapters to the weights while a model is converted, in float32 and before any rounding.

The names and the order of rows of an adapter are those of its own format. The family's weight map
of that format leads from there to our tensors, so that a PEFT adapter also fits a GGUF file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.adapters.factors import (
    Adapter,
    Array,
    Factors,
    unfit,
    unsupported,
)
from mlc_llm.compiler.convert.source import TensorInfo
from mlc_llm.compiler.convert.weights import as_in_files
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import Part, WeightSource
from mlc_llm.compiler.spec.transforms import HeadRows, Times, TimesParts, Transposed, apply_all


@dataclass(frozen=True)
class Change:
    """What one adapter adds to neighbouring rows of a weight, from row `first` on."""

    first: int
    b: Array  # (rows, ..., rank), the scale included
    a: Array  # (rank, in)
    magnitude: Array | None
    is_turned: bool = False  # (rows, in, ...) in place of (rows, ..., in)

    def applied(self, values: Array, first: int) -> Array:
        """The rows [first, first + len(values)) of the weight with what is added to them."""
        begin = max(self.first, first)
        end = min(self.first + len(self.b), first + len(values))
        if begin >= end:
            return values
        merged = np.array(values, np.float32)
        mine = slice(begin - self.first, end - self.first)
        added = self.b[mine] @ self.a
        rows = merged[begin - first : end - first]
        rows += added.swapaxes(1, 2) if self.is_turned else added
        if self.magnitude is not None:
            length = np.sqrt(np.square(rows, dtype=np.float64).sum(-1))
            rows *= (self.magnitude[mine] / np.maximum(length, 1e-30))[:, None].astype(np.float32)
        return merged


class Merge:
    """The changes of all weights, by our names. Adapters are added in their order."""

    def __init__(
        self, adapters: Sequence[tuple[Adapter, float]], family: ModelFamily, config: Any
    ) -> None:
        """Each adapter has a factor for its own scale. Error: one that does not fit the model."""
        self._changes: dict[str, list[Change]] = {}
        for adapter, factor in adapters:
            for name, change in changes_of(adapter, factor, family, config):
                self._changes.setdefault(name, []).append(change)

    def __contains__(self, name: str) -> bool:
        return name in self._changes

    def of(self, name: str) -> Callable[[Array, int], Array] | None:
        """Gives rows of that weight, from a row on, with what is added; None: nothing is."""
        changes = self._changes.get(name)
        if changes is None:
            return None

        def applied(values: Array, first: int) -> Array:
            for change in changes:
                values = change.applied(values, first)
            return values

        return applied


def changes_of(
    adapter: Adapter, factor: float, family: ModelFamily, config: Any
) -> Iterator[tuple[str, Change]]:
    """What the adapter adds, by our names of the weights. Error: it does not fit the model."""
    _check_architecture(adapter, family)
    names = {name: TensorInfo(name, f.shape, "F32") for name, f in adapter.factors.items()}
    left = set(names)
    for weight in as_in_files(family.weight_map(config, adapter.format), names):
        first = 0
        for part in weight.parts:
            if (factors := adapter.factors.get(part.tensor)) is not None:
                left.discard(part.tensor)
                _check_use(adapter, weight, part)
                yield weight.name, _change(adapter, part, factors, factor, first)
            first += part.shape[0]
    if left:
        some = ", ".join(sorted(left)[:3])
        raise unfit(adapter.path, f"the model has no weight {some} ({len(left)} in all)")


def _check_architecture(adapter: Adapter, family: ModelFamily) -> None:
    if adapter.format != "gguf":
        return
    known = None if family.gguf is None else family.gguf.architecture
    if family.gguf is None or adapter.architecture not in (known, *family.gguf.others):
        raise unfit(
            adapter.path,
            f"its architecture is {adapter.architecture!r}, and the model's {known or 'has none'}",
        )


def _check_use(adapter: Adapter, weight: WeightSource, part: Part) -> None:
    if weight.quantizable == "tied_embedding":
        raise unsupported(
            adapter.path,
            f"{part.tensor} is also the head of this model, which the adapter leaves as it is",
        )
    if part.expert is not None:
        raise unsupported(adapter.path, f"{part.tensor} is a stack of experts")


def _change(adapter: Adapter, part: Part, factors: Factors, factor: float, first: int) -> Change:
    transforms = part.transforms
    shape = part.source_shape
    if transforms[:1] == (Transposed(),):  # GPT-2 keeps (in, out); factors are (out, in) anyway
        transforms, shape = transforms[1:], shape[::-1]
    if factors.shape != shape:
        raise unfit(
            adapter.path,
            f"its change of {part.tensor} is {list(factors.shape)}, and the weight {list(shape)}",
        )
    rows_only = all(t.moves_rows or isinstance(t, (Times, TimesParts)) for t in transforms)
    is_heads = len(transforms) == 1 and isinstance(transforms[0], HeadRows)
    if not rows_only and (not is_heads or factors.magnitude is not None):
        raise unsupported(adapter.path, f"{part.tensor} cannot have an adapter in this family")
    is_turned = any(isinstance(t, HeadRows) and t.transposed for t in transforms)
    transforms = tuple(
        replace(t, transposed=False) if isinstance(t, HeadRows) else t for t in transforms
    )
    b = apply_all(transforms, factors.b) * np.float32(factors.scale * factor)
    m = factors.magnitude
    moved = None if m is None else apply_all(transforms, m[:, None])[:, 0]
    return Change(first, b, factors.a, moved, is_turned)
