"""Mixers side by side, as in Falcon-H1: each gets the same rows, and all results are added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mlc_llm.compiler.spec.part import LayerPart, Mixer, Place
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True)
class BesideSpec(Mixer):
    """The sum of what several mixers make of the same rows."""

    parts: tuple[LayerPart, ...]

    @property
    def sees(self) -> Literal["", "before", "all"]:
        return next((part.sees for part in self.parts if part.sees), "")

    def sharded(self, count: int) -> BesideSpec:
        return BesideSpec(tuple(part.sharded(count) for part in self.parts))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        for part in self.parts:
            yield from part.parameters(replace(at, tensors=part.tensors))

    def build(self, nn: Builder, at: Place) -> _Beside:
        built = [part.build(nn, replace(at, tensors=part.tensors)) for part in self.parts]
        return _Beside(built)

    def reference(self, at: Reference, x: Array) -> Array:
        made: Array = sum(at.part(part, x) for part in self.parts)
        return made


@dataclass(frozen=True)
class _Beside:
    """Each part adds to what those before it have made."""

    parts: list[Any]

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        for part in self.parts:
            residual = part(x, batch, memory, residual=residual)
        return residual
