"""Whether, and how, a model is divided among the shards of one library."""

from __future__ import annotations

from typing import Any

from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.quantization import Scheme
from mlc_llm.compiler.quantization.shards import Split, matrices_of
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.compiler.spec.shards import sharded, splits
from mlc_llm.errors import UnsupportedError

MOST = 64  # shards


def divided(
    family: ModelFamily, config: Any, scheme: Scheme, count: int
) -> tuple[DecoderSpec, dict[str, Split]]:
    """What one of `count` shards computes, and how they share the weights. Error: UnsupportedError
    that says how many shards the model can have."""
    whole = family.decoder(config)
    if count == 1:
        return whole, {}
    try:
        return _divided(family, config, scheme, count)
    except UnsupportedError as error:
        possible = [str(n) for n in range(2, MOST + 1) if _can(family, config, scheme, n)]
        advice = "use one shard"
        if possible:
            advice = f"this model can have {', '.join(possible)} shards, or one"
        raise UnsupportedError(
            f"tensor_parallel_shards {count}: {error.message}; {advice}",
            param="tensor_parallel_shards",
        ) from None


def _can(family: ModelFamily, config: Any, scheme: Scheme, count: int) -> bool:
    try:
        _divided(family, config, scheme, count)
    except UnsupportedError:
        return False
    return True


def _divided(
    family: ModelFamily, config: Any, scheme: Scheme, count: int
) -> tuple[DecoderSpec, dict[str, Split]]:
    whole = family.decoder(config)
    own = sharded(whole, count)
    found = splits(whole, own, count)
    for weight in family.weight_map(config):
        split = None if weight.draft else found.get(weight.name)
        if split is None:
            continue
        if weight.quantizable is not None:
            matrices_of(scheme, weight.name, weight.shape, weight.quantizable, split)
    return own, found
