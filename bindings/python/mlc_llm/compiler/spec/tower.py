"""A tower: what makes rows of a prompt from the patches of a picture. A model as data, as
`decoder.py` is for texts; `nn/tower.py` builds it, `tower_weights.py` has its tensors.

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
from typing import Literal

from mlc_llm.compiler.spec.decoder import Activation, NormSpec
from mlc_llm.compiler.spec.part import PictureRows
from mlc_llm.compiler.spec.transforms import Shape, Transform


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
class Standardized:
    """(x - bias) * scale, number by number. `name`: of both in the tower, before "_bias" and
    "_scale". `factor`: x is that many times smaller here than in the files."""

    name: str
    factor: float = 1.0


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


@dataclass(frozen=True)
class Learned:
    """Rows that are the same for every picture, as the end of a line of its grid. Each is a tensor
    of the files: its whole name, and its shape there."""

    stored: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Resampled:
    """`count` learned queries look at the patches of each view, and become its rows in place of its
    blocks. Keys have the patch's place in the grid, as sines and cosines. `query`, `joined`: whole
    names in the files, of the queries and of the weights and biases of their layers for queries,
    keys and values."""

    count: int
    heads: int
    norm: NormSpec
    query: str = "query"
    query_norm: str = "ln_q"
    joined: str = "attn.in_proj_"
    output: str = "attn.out_proj"


ProjectorPart = Joined | Averaged | Normed | Standardized | Dense | Learned | Resampled


@dataclass(frozen=True)
class Tap:
    """The hidden state after a layer goes through a projector of its own too. What that makes
    stands behind the rows of the last layer, side by side."""

    layer: int
    projector: tuple[ProjectorPart, ...]


@dataclass(frozen=True)
class PatchRope:
    """The rotation of queries and keys by the place of a patch in the grid of its view: the pair
    (i, i + dim / 2) of a head by the row (axis 0) or the column (axis 1) times its frequency."""

    axes: tuple[int, ...]
    frequencies: tuple[float, ...]
    apart: bool = False  # in files the pairs of an axis are within one half of the head


def same_for_both(dim: int, theta: float = 10000.0) -> PatchRope:
    """Qwen's: the same frequencies for the row, then for the column."""
    quarter = dim // 4
    own = tuple(theta ** (-4 * i / dim) for i in range(quarter))
    return PatchRope((0,) * quarter + (1,) * quarter, own * 2)


def alternating(dim: int, theta: float = 10000.0) -> PatchRope:
    """Pixtral's: of the frequencies of a text the row has the first, the third and so on."""
    quarter, every = dim // 4, tuple(theta ** (-2 * i / dim) for i in range(dim // 2))
    return PatchRope((0,) * quarter + (1,) * quarter, every[0::2] + every[1::2])


def half_for_each(dim: int, theta: float = 100.0) -> PatchRope:
    """Gemma 4's: the first half of a head by the column, the second by the row."""
    quarter = dim // 4
    own = tuple(theta ** (-4 * i / dim) for i in range(quarter))
    return PatchRope((1,) * quarter + (0,) * quarter, own * 2, apart=True)


@dataclass(frozen=True)
class PatchWindows:
    """Patches see those of their window, a square of the view's grid; in some layers all."""

    side: int  # patches
    whole: tuple[int, ...]  # layers


# Of SigLIP and CLIP: our names, and those in Hugging Face's files behind the prefix of a tower.
SIGLIP: Mapping[str, str] = {
    "patch": "embeddings.patch_embedding",
    "positions": "embeddings.position_embedding",
    "class": "embeddings.class_embedding",
    "before": "pre_layrnorm",
    "layer": "encoder.layers.{}.",
    "attention_norm": "layer_norm1",
    "qkv": "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "output": "self_attn.out_proj",
    "mlp_norm": "layer_norm2",
    "gate_up": "mlp.gate_proj mlp.up_proj",
    "gate": "mlp.gate_proj",
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
    frames: int = 1  # of a film in a patch; a picture is all of them
    patch_size: int
    positions: int = 0  # entries of the learned table; the first one is the class row's; 0: none
    columns: int = 0  # of the grid that the table covers
    # How the table covers a grid of another size. "exact": the core names an entry for each patch;
    # "corners": stretched, so that corners meet; "resized": as a picture, bilinear, antialiased;
    # "axes": one for columns and one for rows, half of the entries each, and a patch gets both;
    # "buckets": stretched, and a patch gets the nearest entry before it
    table: Literal["exact", "corners", "resized", "axes", "buckets"] = "exact"
    rope: PatchRope | None = None
    largest_view: int = 0  # patches; 0: those of the table
    windows: PatchWindows | None = None
    norm: NormSpec
    activation: Activation
    gated: bool = False  # down(activation(gate(x)) * up(x))
    bias: bool = True  # of the linear layers
    qkv_bias: bool = True  # of the one for queries, keys and values, if they have biases
    query_norm: NormSpec | None = None  # of the queries and of the keys, over all heads
    head_norms: NormSpec | None = None  # of queries, keys and (without a weight) values of a head
    attention_scale: float = 0.0  # factor on scores; 0: dim ** -0.5
    norms_behind: bool = False  # of what a half of a layer adds
    clamped: bool = False  # files have bounds for what a linear layer of a layer takes and gives
    layer_scales: bool = False  # what a half of a layer adds is multiplied, output by output
    patch_bias: bool = True
    patch_is_linear: bool = False  # its weight is stored as (row, column, channel)
    class_row: bool = False
    flat_table: bool = True  # False: files store the class row and the table as (1, ..., width)
    pre_norm: bool = False  # a norm before the layers
    last_norm: bool = True
    merge: int = 1
    projector: tuple[ProjectorPart, ...]
    taps: tuple[Tap, ...] = ()
    prefix: str  # of the tower's names in Hugging Face's files
    projector_prefix: str
    rows: PictureRows = PictureRows()  # in the text model
    names: Mapping[str, str] = field(default_factory=lambda: SIGLIP)

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def patch_dim(self) -> int:
        return self.channels * self.patch_size**2

    @property
    def view_patches(self) -> int:
        """Of the largest view; the class row is one of them."""
        return self.largest_view or self.positions

    @property
    def window(self) -> int:
        return self.windows.side if self.windows else 0

    @property
    def block(self) -> int:
        """Patches that become one row."""
        return self.merge**2

    @property
    def learned_rows(self) -> int:
        return sum(len(part.stored) for part in self.projector if isinstance(part, Learned))

    @property
    def queries(self) -> int:
        """Rows of a view; 0: one of each block."""
        return sum(part.count for part in self.projector if isinstance(part, Resampled))

    @property
    def out_width(self) -> int:
        """Of the rows that it makes."""
        every = [self.projector, *(tap.projector for tap in self.taps)]
        dense = [[part.width for part in one if isinstance(part, Dense)] for one in every]
        return sum(widths[-1] for widths in dense)

    def widths(self, projector: Sequence[ProjectorPart]) -> Iterator[tuple[ProjectorPart, int]]:
        """The parts of a projector with the widths of what they get."""
        width = self.width
        for part in projector:
            yield part, width
            if isinstance(part, Joined):
                width *= self.block
            elif isinstance(part, Dense):
                width = part.width
