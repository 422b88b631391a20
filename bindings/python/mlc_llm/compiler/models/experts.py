"""The fields of configs that mixtures of experts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, MoESpec, RouterSpec
from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.declared import flag, integer, number
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class MoEConfig(DecoderConfig):
    num_experts: int = integer(maximum=4096)
    num_experts_per_tok: int = integer(maximum=64)
    moe_intermediate_size: int = integer(default=lambda found: found["intermediate_size"])
    norm_topk_prob: bool = flag(default=False)

    aliases = {"num_experts": ("num_local_experts", "n_routed_experts")}

    def check(self) -> None:
        super().check()
        if self.num_experts_per_tok > self.num_experts:
            raise corrupt(
                "num_experts_per_tok",
                f"is {self.num_experts_per_tok}, and there are {self.num_experts} experts",
            )

    def router(self, **changes: Any) -> RouterSpec:
        """A softmax over all experts, with `changes`."""
        fields: dict[str, Any] = {
            "experts": self.num_experts,
            "chosen": self.num_experts_per_tok,
            "normalize": self.norm_topk_prob,
        }
        return RouterSpec(**{**fields, **changes})

    def experts(self, router: RouterSpec | None = None, **changes: Any) -> MoESpec:
        return MoESpec(router=router or self.router(), width=self.moe_intermediate_size, **changes)


@dataclass(frozen=True, kw_only=True)
class GroupedExpertsConfig(MoEConfig):
    """Experts in groups, of which some are chosen first; the first layers have a plain MLP, and the
    others shared experts too (DeepSeek, GLM-4.5)."""

    n_shared_experts: int = integer(default=1, minimum=0)
    first_k_dense_replace: int = integer(default=0, minimum=0)
    n_group: int = integer(default=1)
    topk_group: int = integer(default=1)
    routed_scaling_factor: float = number(default=1.0)

    def check(self) -> None:
        super().check()
        if self.num_experts % self.n_group or self.topk_group > self.n_group:
            raise corrupt(
                "n_group",
                f"is {self.n_group} and topk_group {self.topk_group}; groups must divide "
                f"{self.num_experts} experts, and topk_group is at most n_group",
            )

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        if layer < self.first_k_dense_replace:
            return MLPSpec(width=self.intermediate_size)
        shared = self.n_shared_experts * self.moe_intermediate_size
        return self.experts(self.grouped_router(), shared_width=shared)

    def grouped_router(self) -> RouterSpec:
        """A family's router."""
        raise NotImplementedError


# llama.cpp's `expert_gating_func`.
SOFTMAX, SIGMOID, SOFTMAX_OF_CHOSEN = 1, 2, 3


def gguf_experts(fields: GGUFFields, *, gating: int = SOFTMAX) -> dict[str, Any]:
    """The fields that all architectures with experts write. `gating`: the way in which the family
    makes scores."""
    found = size_or(fields, "expert_gating_func", gating)
    if found != gating:
        raise UnsupportedError(
            f"expert_gating_func {found} is not supported for this architecture; {gating} is",
            param="expert_gating_func",
        )
    own = size_or(fields, "expert_feed_forward_length", 0)
    return {
        "num_experts": fields.size("expert_count"),
        "num_experts_per_tok": fields.size("expert_used_count"),
        "moe_intermediate_size": own or fields.size("feed_forward_length"),
    }


def size_or(fields: GGUFFields, key: str, default: int) -> int:
    """A number that may be missing or 0."""
    if key not in fields or fields.sizes(key)[:1] == [0]:
        return default
    return fields.size(key)
