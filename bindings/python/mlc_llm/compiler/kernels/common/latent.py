"""The sizes of a layer with latent attention, and the layout of its pages.

A page is `[1, 1, PAGE_SIZE * row]`: for each of its positions the latent vector, then the rotated
key. Both the scores and the values are computed from the same row, for all heads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.errors import UnsupportedError

GROUP = 8  # the most heads for which a task of the attention kernel walks a history


@dataclass(frozen=True, kw_only=True)
class LatentShape(AttentionShape):
    """`dim` is the size of the latent vector, which is the value of all heads; `rotary` that of the
    rotated key. `kv_heads` is the number of groups of heads; a task computes one group."""

    rotary: int

    def __post_init__(self) -> None:
        for name, size in (("kv_lora_rank", self.dim), ("qk_rope_head_dim", self.rotary)):
            if size % LANES:
                raise UnsupportedError(f"{name} {size} is not a multiple of {LANES}", param=name)
        if self.is_q8:
            raise UnsupportedError(
                "kv_cache_dtype q8: models with latent attention have no kernels for it; choose "
                "f32, f16 or bf16",
                param="kv_cache_dtype",
            )

    @property
    def row(self) -> int:
        """The elements of a position."""
        return self.dim + self.rotary

    @property
    def page_shape(self) -> tuple[int, int, int]:
        return (1, 1, PAGE_SIZE * self.row)

    @property
    def slot_runs(self) -> list[tuple[int, int]]:
        return [(1, self.row)]

    @property
    def of_pages(self) -> LatentShape:
        one = {"heads": 1, "kv_heads": 1, "sliding_window": -1, "sinks": 0}
        return replace(self, **one)

    @property
    def attend_args(self) -> list[Arg]:
        first, *most, last = super().attend_args
        return [replace(first, shape=("n", self.heads, self.row)), *most, last]


def groups_of(heads: int) -> int:
    """The smallest number of equal groups with at most GROUP heads in each."""
    return next(n for n in range(1, heads + 1) if heads % n == 0 and heads // n <= GROUP)
