"""A tower: what makes rows of a prompt from the patches of a picture. A model as data, as
`decoder.py` is for texts; `nn/tower.py` builds it.

    TowerSpec(layers=12, width=768, heads=12, ff=3072, patch_dim=768, positions=1024, columns=32,
              norm=NormSpec(eps=1e-6, kind="layer", bias=True), activation="gelu_tanh", merge=4,
              projector=(Joined(), Dense("modality_projection", 576)))

Patches are rows; those of a merge x merge block are neighbours (block row, block column, row,
column), so that a projector joins or averages neighbours. (Facts: transformers' `modeling_siglip`,
`modeling_clip`, `modeling_idefics3`, `modeling_gemma3`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlc_llm.compiler.quantization import WeightUse
from mlc_llm.compiler.spec.decoder import Activation, NormSpec
from mlc_llm.compiler.spec.transforms import Reshaped, Shape, Transform
from mlc_llm.compiler.spec.weights import Part, WeightSource

_OURS, _PROJECTOR = "vision_tower.", "multi_modal_projector."


@dataclass(frozen=True)
class Joined:
    """The patches of a block side by side, in the order (row, column, channel): "pixel shuffle"."""


@dataclass(frozen=True)
class Averaged:
    """The mean of the patches of a block."""


@dataclass(frozen=True)
class Normed:
    """A norm. `transforms`: of its weight in the files."""

    name: str
    norm: NormSpec
    transforms: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class Dense:
    """activation(linear layer). `stored`: the whole name of its weight in the files if that does
    not end in ".weight", and `transforms` of it."""

    name: str
    width: int
    bias: bool = False
    activation: Activation | None = None
    stored: str = ""
    transforms: tuple[Transform, ...] = ()


ProjectorPart = Joined | Averaged | Normed | Dense
# Of SigLIP and CLIP: our names, and those in Hugging Face's files behind the prefix of a tower.
SIGLIP: Mapping[str, str] = {
    "patch": "embeddings.patch_embedding",
    "positions": "embeddings.position_embedding",
    "class": "embeddings.class_embedding",
    "before": "pre_layrnorm",
    "layer": "encoder.layers.{}.",
    "attention_norm": "layer_norm1",
    "qkv": "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
    "output": "self_attn.out_proj",
    "mlp_norm": "layer_norm2",
    "up": "mlp.fc1",
    "down": "mlp.fc2",
    "norm": "post_layernorm",
}


@dataclass(frozen=True, kw_only=True)
class TowerSpec:
    """A vision transformer whose patches see all patches of their view, and its projector."""

    layers: int  # that run; a file may have more
    width: int
    heads: int
    ff: int
    channels: int = 3
    patch_size: int
    positions: int  # entries of the learned table; the first one is the class row's
    columns: int  # of the grid that the table covers
    norm: NormSpec
    activation: Activation
    patch_bias: bool = True
    class_row: bool = False
    pre_norm: bool = False  # a norm before the layers
    last_norm: bool = True
    merge: int = 1
    projector: tuple[ProjectorPart, ...]
    prefix: str  # of the tower's names in Hugging Face's files
    projector_prefix: str
    rows_see_each_other: bool = False  # in the text model: the rows of one picture, both ways
    names: Mapping[str, str] = field(default_factory=lambda: SIGLIP)

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def patch_dim(self) -> int:
        return self.channels * self.patch_size**2

    @property
    def view_patches(self) -> int:
        """Of a view that fills the table; the class row is one of them."""
        return self.positions

    @property
    def block(self) -> int:
        """Patches that become one row."""
        return self.merge**2

    @property
    def out_width(self) -> int:
        """Of the rows that it makes."""
        return [part.width for part in self.projector if isinstance(part, Dense)][-1]

    def widths(self) -> Iterator[tuple[ProjectorPart, int]]:
        """The parts of the projector with the widths of what they get."""
        width = self.width
        for part in self.projector:
            yield part, width
            if isinstance(part, Joined):
                width *= self.block
            elif isinstance(part, Dense):
                width = part.width


def name_of(role: str, layer: int | None = None) -> str:
    """Our full name of a role's module."""
    own = {"qkv": "self_attn.qkv_proj"}.get(role, SIGLIP.get(role, role))
    place = "" if layer is None else SIGLIP["layer"].format(layer)
    return f"{_OURS}{place}{own}"


def projector_name(part: Normed | Dense) -> str:
    return f"{_PROJECTOR}{part.name}"


def tower_weights(spec: TowerSpec) -> list[WeightSource]:
    """All its tensors, and where Hugging Face's files store them."""
    return [*_of_tower(spec), *_of_projector(spec)]


def with_tower(weights: Sequence[WeightSource], spec: TowerSpec | None) -> list[WeightSource]:
    """The weights of a model and of its tower, in the order of the library's parameters: those of
    the part that drafts are the last ones."""
    if spec is None:
        return list(weights)
    first = [weight for weight in weights if not weight.draft]
    return [*first, *tower_weights(spec), *weights[len(first) :]]


def _of_tower(spec: TowerSpec) -> Iterator[WeightSource]:
    at, width, side = _Names(spec), spec.width, spec.patch_size
    conv = Reshaped((width, spec.channels, side, side), rows=width)
    yield at.weight("patch", (width, spec.patch_dim), use="tower", transforms=(conv,))
    if spec.patch_bias:
        yield at.weight("patch", (width,), kind="bias")
    if spec.class_row:
        yield at.weight("class", (width,), kind="")
    yield at.weight("positions", (spec.positions, width))
    if spec.pre_norm:
        yield from at.norm("before")
    for layer in range(spec.layers):
        yield from at.norm("attention_norm", layer)
        yield from at.linear("qkv", (3 * width, width), layer)
        yield from at.linear("output", (width, width), layer)
        yield from at.norm("mlp_norm", layer)
        yield from at.linear("up", (spec.ff, width), layer)
        yield from at.linear("down", (width, spec.ff), layer)
    if spec.last_norm:
        yield from at.norm("norm")


def _of_projector(spec: TowerSpec) -> Iterator[WeightSource]:
    for part, width in spec.widths():
        if isinstance(part, Joined | Averaged):
            continue
        ours, theirs = projector_name(part), f"{spec.projector_prefix}{part.name}"
        if isinstance(part, Normed):
            weight = Part(f"{theirs}.weight", (width,), part.transforms)
            yield WeightSource(f"{ours}.weight", (weight,), None)
            if part.norm.bias:
                yield WeightSource(f"{ours}.bias", (Part(f"{theirs}.bias", (width,)),), None)
            continue
        stored = part.stored and f"{spec.projector_prefix}{part.stored}" or f"{theirs}.weight"
        matrix = Part(stored, (part.width, width), part.transforms)
        yield WeightSource(f"{ours}.weight", (matrix,), "tower")
        if part.bias:
            yield WeightSource(f"{ours}.bias", (Part(f"{theirs}.bias", (part.width,)),), None)


@dataclass(frozen=True)
class _Names:
    """Makes tensors of roles."""

    spec: TowerSpec

    def weight(
        self,
        role: str,
        shape: Shape,
        layer: int | None = None,
        kind: str = "weight",
        use: WeightUse | None = None,
        transforms: tuple[Transform, ...] = (),
    ) -> WeightSource:
        end = f".{kind}" if kind else ""
        names = self.spec.names
        place = "" if layer is None else names["layer"].format(layer)
        files = names[role].split()
        each = (shape[0] // len(files), *shape[1:])
        parts = [Part(f"{self.spec.prefix}{place}{name}{end}", each, transforms) for name in files]
        return WeightSource(f"{name_of(role, layer)}{end}", tuple(parts), use)

    def linear(self, role: str, shape: Shape, layer: int) -> Iterator[WeightSource]:
        yield self.weight(role, shape, layer, use="tower")
        yield self.weight(role, shape[:1], layer, "bias")

    def norm(self, role: str, layer: int | None = None) -> Iterator[WeightSource]:
        yield self.weight(role, (self.spec.width,), layer)
        if self.spec.norm.bias:
            yield self.weight(role, (self.spec.width,), layer, "bias")
