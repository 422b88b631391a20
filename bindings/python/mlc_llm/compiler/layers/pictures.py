"""What a decoder has for the rows of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec
from mlc_llm.compiler.spec.part import LayerPart, PictureRows, Place, TokenInputs
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter
from mlc_llm.errors import CorruptFileError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder
    from mlc_llm.compiler.reference import Reference


def with_pictures(decoder: DecoderSpec, rows: PictureRows) -> DecoderSpec:
    """The same decoder where prompts have rows of pictures."""
    if rows.levels and decoder.layer_inputs is not None:
        raise UnsupportedError(
            "config: pictures have vectors for layers of the text, whose layers get more of each "
            "token already",
            param="deepstack_visual_indexes",
        )
    if rows.levels > len(decoder.layers):
        raise CorruptFileError(
            f"config: pictures have vectors for {rows.levels} layers, and the text model has "
            f"{len(decoder.layers)}",
            param="deepstack_visual_indexes",
        )

    def changed(index: int, layer: LayerSpec) -> LayerSpec:
        own = tuple(part.with_pictures(rows) for part in layer.parts)
        return replace(layer, parts=(*own, LevelPart(index)) if index < rows.levels else own)

    layers = tuple(changed(index, layer) for index, layer in enumerate(decoder.layers))
    levels = LevelsSpec(rows.levels) if rows.levels else decoder.layer_inputs
    return replace(decoder, layers=layers, layer_inputs=levels)


@dataclass(frozen=True)
class LevelsSpec(TokenInputs):
    """Behind an embedding stand vectors for the results of the first layers (Meng
    and others: DeepStack, 2024). Rows of a tower bring them; those of tokens are zeros."""

    levels: int

    def parameters(self, at: Place) -> Iterator[Parameter]:
        return iter(())

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn.layer_inputs import Levels

        return Levels(nn, at.hidden, self.levels)

    def reference(self, at: Reference, x: Array, ids: list[int]) -> Array:
        zeros = np.zeros((len(ids), self.levels, at.hidden))
        return np.asarray(at.step.get("levels", zeros))


@dataclass(frozen=True)
class LevelPart(LayerPart):
    """x + the row's vector of that level."""

    level: int

    def parameters(self, at: Place) -> Iterator[Parameter]:
        return iter(())

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn.layer_inputs import AddedLevel

        return AddedLevel(nn, at.hidden, self.level)

    def reference(self, at: Reference, x: Array) -> Array:
        assert at.inputs is not None
        return x + at.inputs[:, self.level]
