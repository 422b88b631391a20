"""The sizes of a tile of attention over a prompt (`attention_tiles.py`), for a device."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.targets import TileLimits

ACROSS = 16  # work-items with the same queries; it divides every size of heads, and of keys
_LEAST_CHUNK = 1024  # floats of keys or values between two barriers, if they are not fewer in all

# Queries, those of one work-item, and keys. The first that fit are taken.
_CHOICES = ((32, 4, 64), (32, 4, 32), (16, 4, 32), (16, 4, 16), (8, 2, 16))


@dataclass(frozen=True)
class TileSizes:
    """`queries` are those of `rows` rows with `heads` heads each. `lines` times `own` may be more;
    the results of those are not stored."""

    dim: int
    rows: int
    heads: int
    lines: int  # of ACROSS work-items, with the same queries
    own: int  # queries of a work-item
    keys: int  # of a tile
    chunk: int  # floats of keys or values in shared memory
    vectors: bool  # reads of 16 bytes

    @property
    def items(self) -> int:
        return self.lines * ACROSS

    @property
    def queries(self) -> int:
        return self.rows * self.heads

    @property
    def query_stride(self) -> int:
        """Between the elements of queries, and the weights of keys, with less conflict of banks."""
        return _stride(self.lines * self.own, self.vectors)

    @property
    def own_keys(self) -> int:
        return self.keys // ACROSS

    @property
    def own_dims(self) -> int:
        return self.dim // ACROSS

    @property
    def key_dims(self) -> int:
        """Dimensions of keys in shared memory at a time."""
        most = self.chunk // self.keys
        return max(n for n in range(4, self.dim + 1, 4) if self.dim % n == 0 and n <= most)

    @property
    def value_slots(self) -> int:
        most = self.chunk // self.dim
        return max(n for n in range(1, self.keys + 1) if self.keys % n == 0 and n <= most)

    # How many floats a work-item reads at once:

    @property
    def query_vector(self) -> int:
        return self._vector(self.own)

    @property
    def key_vector(self) -> int:
        return self._vector(self.own_keys)

    @property
    def dim_vector(self) -> int:
        return self._vector(self.own_dims)

    @property
    def load_vector(self) -> int:
        return self._vector(PAGE_SIZE)

    def _vector(self, count: int) -> int:
        return math.gcd(count, 4) if self.vectors else 1


def tile_sizes(shape: AttentionShape, limits: TileLimits) -> TileSizes | None:
    """None: the heads are too wide for tiles."""
    for queries, own, keys in _CHOICES:
        lines = queries // own
        fixed = (shape.dim + keys) * _stride(queries, limits.vectors) + queries * ACROSS
        all_keys = shape.dim * keys
        chunk = min(limits.floats - fixed, all_keys)
        if chunk >= min(max(_LEAST_CHUNK, 24 * keys, 4 * shape.dim), all_keys):
            heads = _heads(shape.group, queries)
            return TileSizes(
                dim=shape.dim,
                rows=queries // heads,
                heads=heads,
                lines=lines,
                own=own,
                keys=keys,
                chunk=chunk,
                vectors=limits.vectors,
            )
    return None


def _stride(queries: int, vectors: bool) -> int:
    return queries + (4 if vectors else 1)


def _heads(group: int, queries: int) -> int:
    """How many heads of a row a tile has. All have the same key head. The fewest queries stay
    unused; of those numbers the largest."""
    fitting = [h for h in range(1, min(group, queries) + 1) if group % h == 0]
    return max(fitting, key=lambda heads: (queries // heads * heads, heads))
