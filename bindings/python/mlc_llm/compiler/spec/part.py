"""The interface of a part of a layer, and how a part names its tensors.

    class ShortConvSpec(Mixer):
        tensors = {"recurrent_out": Tensor("conv.out_proj", gguf="shortconv.out_proj")}

        def parameters(self, at):
            yield from at.linear("recurrent_out", (at.hidden,), self.width)

Each kind of part is one module of `compiler/layers`. No kind is known here or anywhere else outside
of its module and of the families that have it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mlc_llm.compiler.quantization import WeightUse
from mlc_llm.compiler.spec.transforms import Array, Shape
from mlc_llm.compiler.spec.weights import NAMELESS, Parameter, Source, Tensor
from mlc_llm.errors import UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder
    from mlc_llm.compiler.reference import Reference
    from mlc_llm.compiler.spec.decoder import DecoderSpec, NormSpec

_LAYER = "model.layers.{}"  # our name of a layer


@dataclass(frozen=True)
class Named:
    """Where a part stands: in layer `index`, or outside the layers. It names the modules of the
    roles in `tensors`."""

    spec: DecoderSpec
    tensors: Mapping[str, Tensor]
    index: int | None = None

    @property
    def hidden(self) -> int:
        return self.spec.hidden_size

    @property
    def norm_spec(self) -> NormSpec:
        """The layer's kind of norm."""
        assert self.index is not None
        return self.spec.layer(self.index).norm

    def name(self, role: str) -> str:
        """Our full name of a role's module."""
        names = self.spec.names
        own = names[role] if role in names else self.tensors[role].ours
        if self.index is None:
            return own
        return f"{names.get('layer', _LAYER).format(self.index)}.{own}"


@dataclass(frozen=True)
class Place(Named):
    """The same, for what makes parameters and builds."""

    pages: dict[int, int] = field(default_factory=dict)  # of each earlier layer; for all layers

    def parameter(
        self,
        role: str,
        kind: str,
        pieces: Shape,
        ins: Shape = (),
        use: WeightUse | None = None,
        experts: int = 0,
        runs: Shape = (),
    ) -> Parameter:
        """`kind`: "weight", "bias", or "" where MLC-LLM's name has neither."""
        name = f"{self.name(role)}.{kind}" if kind else self.name(role)
        tensor = self.tensors.get(role, NAMELESS)
        return Parameter(role, name, pieces, ins, use, self.index, experts, tensor, runs=runs)

    def linear(
        self,
        role: str,
        pieces: Shape,
        ins: int,
        bias: bool = False,
        *,
        use: WeightUse = "linear",
        experts: int = 0,
        runs: Shape = (),
    ) -> Iterator[Parameter]:
        yield self.parameter(role, "weight", pieces, (ins,), use, experts, runs)
        if bias:
            yield self.parameter(role, "bias", pieces, experts=experts, runs=runs)

    def vector(self, role: str, *shape: int, runs: Shape = ()) -> Parameter:
        """A weight that no scheme quantizes."""
        return self.parameter(role, "weight", shape[:1], shape[1:], runs=runs)

    def plain(self, role: str, *shape: int) -> Parameter:
        """The same, with a name that does not end in ".weight"."""
        return self.parameter(role, "", shape[:1], shape[1:])

    def norm(self, role: str, norm: NormSpec, size: int = 0) -> Iterator[Parameter]:
        """`size`: that of the vectors, if not the hidden size."""
        for kind, is_there in (("weight", norm.weight), ("bias", norm.bias)):
            if is_there:
                yield self.parameter(role, kind, (size or self.hidden,))


@dataclass(frozen=True)
class PictureRows:
    """What the rows of pictures ask of a decoder."""

    see_each_other: bool = False  # those of one picture, in both directions
    only_in_windows: bool = False  # in layers without a window they do not
    # By which of a row's three positions (time, height, width) each pair of a head turns; empty:
    # all by the position in the sequence (M-RoPE)
    axes: tuple[int, ...] = ()
    levels: int = 0  # of vectors behind each row, added to the results of the first layers


class LayerPart(ABC):
    """A part of a layer: sizes and switches (a frozen dataclass), and what follows from them."""

    tensors: ClassVar[Mapping[str, Tensor]] = {}
    # The roles of the norms before and behind it; None: it adds nothing to the residual, but
    # changes it
    norms: ClassVar[tuple[str, str] | None] = None

    @classmethod
    def sources(cls, *roles: str) -> dict[str, tuple[Source, ...]]:
        """Where Hugging Face's files usually have these roles."""
        return {role: cls.tensors[role].sources("huggingface") for role in roles}

    @property
    def sees(self) -> Literal["", "before", "all"]:
        """The rows of its text that attention sees."""
        return ""

    @property
    def has_own_norm(self) -> bool:
        """Whether it has the norm before it itself."""
        return False

    @property
    def kept_heads(self) -> tuple[int, int] | None:
        """The heads of keys (and as many of values) that it keeps of each row in pages of its own,
        and their elements; None: it keeps no such pages."""
        return None

    def with_pictures(self, rows: PictureRows) -> LayerPart:
        """The same in a model that reads such rows."""
        return self

    def sharded(self, count: int) -> LayerPart:
        """What one of `count` shards computes of it (`spec/shards.py`). What the shards make adds
        up to what the part makes. Error: UnsupportedError."""
        raise no_shards(f"layers of the kind {type(self).__name__.removesuffix('Spec')}")

    @staticmethod
    def share_of(size: int, count: int, what: str) -> int:
        """The part of one shard."""
        if size % count:
            raise no_shards(f"{size} {what}", f" into {count} equal parts")
        return size // count

    @abstractmethod
    def parameters(self, at: Place) -> Iterator[Parameter]:
        """Its tensors."""

    @abstractmethod
    def build(self, nn: Builder, at: Place) -> Any:
        """f(x, batch, memory, residual=None) on Relax expressions. The states and pages that it
        keeps between steps are asked of `nn` here."""

    @abstractmethod
    def reference(self, at: Reference, x: Array) -> Array:
        """The same in NumPy and float64, for all rows of a text, with nothing of `nn` and
        `kernels`."""


def no_shards(what: str, how: str = " among shards") -> UnsupportedError:
    """The error of what shards cannot share."""
    return UnsupportedError(f"{what} cannot be divided{how}", param="tensor_parallel_shards")


class Mixer(LayerPart):
    """The half of a layer that looks at other rows."""

    norms = ("attention_norm", "post_attention_norm")
    can_draft = False  # whether an Eagle layer may have it


class FeedForward(LayerPart):
    """The other half."""

    norms = ("mlp_norm", "post_mlp_norm")


class TokenInputs(ABC):
    """What every layer gets of a row's token besides the residual; a part of each layer uses it."""

    tensors: ClassVar[Mapping[str, Tensor]] = {}

    @abstractmethod
    def parameters(self, at: Place) -> Iterator[Parameter]:
        """Those outside the layers."""

    @abstractmethod
    def build(self, nn: Builder, at: Place) -> Any:
        """`nn.layer_inputs.LayerInputs`."""

    @abstractmethod
    def reference(self, at: Reference, x: Array, ids: list[int]) -> Array:
        """(rows, layers, width) of tokens whose embeddings are `x`."""
