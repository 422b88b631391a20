"""What a model takes on devices that need not be here, each with a shard, by its config alone.

plan = device_plan(json.load(open("config.json")), "q4f16_1", shards=4, memory_bytes=24 * 10**9)
plan.tokens    # that fit beside the weights, of all chats together
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler import kv_cache, models
from mlc_llm.compiler import quantization as schemes
from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape
from mlc_llm.compiler.options import merged_config
from mlc_llm.compiler.quantization import Scheme
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.compiler.quantization.shards import Split, matrices_of, plain_of
from mlc_llm.compiler.shards import divided
from mlc_llm.compiler.spec import DecoderSpec, WeightSource
from mlc_llm.errors import UnsupportedError

# Of a device's memory; the rest is for temporaries. It is MLC-LLM's `gpu_memory_utilization`.
UTILIZATION = 0.85


@dataclass(frozen=True, kw_only=True)
class DevicePlan:
    """The bytes of one device."""

    shards: int
    memory_bytes: int
    weight_bytes: int
    kv_bytes_per_token: int
    context_window_size: int

    @property
    def kv_cache_bytes(self) -> int:
        """What is left for pages; below 0: the weights alone do not fit."""
        return int(self.memory_bytes * UTILIZATION) - self.weight_bytes

    @property
    def tokens(self) -> int:
        return max(0, self.kv_cache_bytes // self.kv_bytes_per_token)

    def lines(self) -> list[str]:
        """For people."""
        each = f"each of {self.shards} devices" if self.shards > 1 else "the device"
        lines = [
            f"Weights: {self.weight_bytes / 1e9:.2f} GB on {each} of {self.memory_bytes / 1e9:.0f} "
            f"GB. KV cache: {self.kv_bytes_per_token} bytes a token on each."
        ]
        if self.kv_cache_bytes < self.kv_bytes_per_token * PAGE_SIZE:
            return [*lines, "It does not fit: use more shards, or a quantization with fewer bits."]
        chats = self.tokens / self.context_window_size
        return [
            *lines,
            f"{self.kv_cache_bytes / 1e9:.2f} GB are left for the KV cache ({UTILIZATION:.0%} of "
            f"the memory is used): {self.tokens} tokens, {chats:.1f} times the context of "
            f"{self.context_window_size}.",
        ]


def device_plan(
    config: Mapping[str, Any],
    quantization: str,
    *,
    shards: int,
    memory_bytes: int,
    kv_cache_dtype: str | None = None,
) -> DevicePlan:
    """`config`: of a config.json or an mlc-chat-config.json. Error: UnsupportedError if so many
    shards cannot share the model."""
    name = models.model_type_of(config)
    typed = models.config_from_hf(merged_config(config, {}), name)
    family, scheme = models.get(name), schemes.get(quantization)
    own, splits = divided(family, typed, scheme, shards)
    weights = [weight for weight in family.weight_map(typed) if not weight.draft]
    return DevicePlan(
        shards=shards,
        memory_bytes=memory_bytes,
        weight_bytes=sum(weight_bytes(w, scheme, splits.get(w.name)) for w in weights),
        kv_bytes_per_token=_kv_bytes(own, kv_cache_dtype or "f16"),
        context_window_size=typed.context_window_size,
    )


def weight_bytes(weight: WeightSource, scheme: Scheme, split: Split | None) -> int:
    """The bytes of a weight, or of a shard's part of it."""
    if weight.quantizable is None:
        stored = [plain_of(param, split) for param in weight.stored_params(scheme)]
    else:
        of = (scheme, weight.name, weight.shape, weight.quantizable)
        stored = [param for matrix in matrices_of(*of, split) for param in matrix.stored]
    return sum(math.prod(p.shape) * numpy_dtype(p.dtype).itemsize for p in stored)


def _kv_bytes(decoder: DecoderSpec, name: str) -> int:
    """Of the pages of all layers, for a token."""
    dtype, found = kv_cache.PAGE_DTYPES[kv_cache.checked(name)], 0
    for kept in (part.kept_heads for layer in decoder.layers for part in layer.parts):
        if kept is not None:
            heads, dim = kept
            shape = AttentionShape(heads=heads, kv_heads=heads, dim=dim, page_dtype=dtype)
            element = numpy_dtype(shape.element_dtype).itemsize
            found += math.prod(shape.page_shape) * element // PAGE_SIZE
    if not found:
        raise UnsupportedError(
            "a model without attention over keys and values has no such plan", param="model"
        )
    return found
