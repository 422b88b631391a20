"""One of our tensors, and the tensors of a file from which it is made; a tensor of a decoder and
its names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mlc_llm.compiler.quantization import Scheme, StoredParam, WeightUse
from mlc_llm.compiler.spec.transforms import Shape, Transform


@dataclass(frozen=True)
class Part:
    """One tensor of a file and its transforms. `shape` is the shape after the transforms.

    `expert`: the tensor is (experts, ...), and the part is made of this expert, out of `experts`.
    """

    tensor: str
    shape: Shape
    transforms: tuple[Transform, ...] = ()
    expert: int | None = None
    experts: int = 0

    @property
    def source_shape(self) -> Shape:
        """The shape of the tensor in the file."""
        shape = self.shape
        for transform in reversed(self.transforms):
            shape = transform.source_shape(shape)
        return shape if self.expert is None else (self.experts, *shape)

    @property
    def moves_rows(self) -> bool:
        """Whether its transforms only move rows, so that rows can keep their stored form."""
        return all(transform.moves_rows for transform in self.transforms)

    @property
    def rows_together(self) -> int:
        """How many rows must be read at a time; 0: all."""
        counts = [transform.rows_together for transform in self.transforms]
        return 0 if 0 in counts else max(counts, default=1)


@dataclass(frozen=True)
class WeightSource:
    """One of our tensors: its parts, stacked in order along the outputs (axis 0).

    With `experts` the parts are those of expert 0, then those of expert 1, and so on, and the
    tensor is (experts, outputs, inputs).
    """

    name: str
    parts: tuple[Part, ...]
    quantizable: WeightUse | None
    experts: int = 0
    draft: bool = False  # of the part that drafts, which other engines do not need

    @property
    def shape(self) -> Shape:
        count = len(self.parts) // max(self.experts, 1)
        stacked = (sum(part.shape[0] for part in self.parts[:count]), *self.parts[0].shape[1:])
        return (self.experts, *stacked) if self.experts else stacked

    def stored_params(self, scheme: Scheme) -> tuple[StoredParam, ...]:
        """The tensors that a weight folder with this scheme has for it."""
        return scheme.stored_params(self.name, self.shape, use=self.quantizable)


FileTable = Literal["huggingface", "gguf"]


@dataclass(frozen=True)
class Source:
    """A tensor in a file and its transforms. The name has no ".weight" unless `is_whole`.

    For weights of experts: if the name contains `{}`, the file has a tensor for each expert, with
    its number there. Otherwise it has one tensor (experts, ...).
    """

    name: str
    transforms: tuple[Transform, ...] = ()
    is_whole: bool = False


def sources_of(names: str) -> tuple[Source, ...]:
    """Of names with spaces between them, without transforms."""
    return tuple(Source(name) for name in names.split())


@dataclass(frozen=True)
class Tensor:
    """The names of a tensor. A family may have others (`DecoderSpec.names`, `TensorMap`).

    `ours` are MLC-LLM's names, so that its repositories load. The tensors of a file that are
    stacked along the outputs have names with spaces between them, or are `Source`s.
    """

    ours: str
    huggingface: str | Source = ""  # "": as ours
    gguf: str | Source = ""
    norm: bool = False  # of a norm: `TensorMap.norm` transforms its weight

    def sources(self, table: FileTable) -> tuple[Source, ...]:
        found: str | Source = getattr(self, table)
        if not found and table == "huggingface":
            found = self.ours
        return (found,) if isinstance(found, Source) else sources_of(found)


NAMELESS = Tensor("")  # of a role whose names only families have


@dataclass(frozen=True)
class Parameter:
    """A tensor of the decoder. `pieces`: the numbers of outputs of the tensors fused in it.
    `runs`: the parts of its outputs, or else of its last axis, of each of which a shard has an
    equal share or all, if they are not the pieces, or not the whole axis."""

    role: str
    name: str  # our full name
    pieces: tuple[int, ...]
    inputs: tuple[int, ...] = ()
    use: WeightUse | None = None
    layer: int | None = None
    experts: int = 0  # it has an axis for that many experts before the others
    tensor: Tensor = NAMELESS
    draft: bool = False  # of the part that drafts
    runs: tuple[int, ...] = ()

    @property
    def is_norm(self) -> bool:
        """Whether it is the weight of a norm, which a `TensorMap` may transform."""
        return self.tensor.norm and self.kind == "weight"

    @property
    def kind(self) -> str:
        """ "weight" or "bias"."""
        return "bias" if self.name.endswith("bias") else "weight"
