"""Latent attention (MLA): the cache holds one short row for all heads of a position.

    LatentSpec(heads=16, plain=128, values=128, latent=512, queries=1536, scale=..., rope=rope,
               norm=NormSpec(eps=1e-6))

A position's row is `latent` numbers, normed, and a rotated key of `rope.dim` numbers. Head h has
two matrices that act on the row: `keys_up[h]` (latent, plain) and `values_up[h]` (values, latent).
Its query has `plain` numbers without a position, and `rope.dim` rotated ones:

    score = (keys_up[h] @ q_plain) . latent + q_rotated . key
    result = values_up[h] @ (sum of weight * latent)

So the matrices act on queries and results ("absorbed"), and keys and values are never computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mlc_llm.compiler.spec.rope import RopeSpec

if TYPE_CHECKING:
    from mlc_llm.compiler.spec.decoder import NormSpec


@dataclass(frozen=True, kw_only=True)
class LatentSpec:
    """Latent attention of one layer."""

    heads: int
    plain: int  # elements of a head's query that are not rotated
    values: int  # elements of a head's result
    latent: int  # elements of a position's latent vector
    queries: int = 0  # elements of the latent vector of queries; 0: one linear layer makes them
    scale: float  # factor on scores
    rope: RopeSpec
    norm: NormSpec  # of the latent vectors
    pairs: bool = True  # the rotated elements are pairs (0, 1), (2, 3), ...; False: two halves
    bias: bool = False  # of the linear layers from and to the hidden states
    window: int = -1  # positions that a row looks back, itself included; -1: all
    pinned: int = 0  # first positions that every row still sees with a window

    # What `AttentionSpec` says of other layers.
    causal: ClassVar[bool] = True
    pages_of: ClassVar[None] = None

    @property
    def query(self) -> int:
        """The elements of a head's query."""
        return self.plain + self.rope.dim

    @property
    def row(self) -> int:
        """The elements of a position's row in the cache."""
        return self.latent + self.rope.dim
