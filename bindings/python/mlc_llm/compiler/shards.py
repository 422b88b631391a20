"""Whether, and how, a model is divided among the shards of one library."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from mlc_llm.compiler.hosts import is_wasm
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.quantization import Scheme, StoredParam
from mlc_llm.compiler.quantization.shards import Split, matrices_of
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.compiler.spec.shards import sharded, splits
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import InvalidRequestError, UnsupportedError

MOST = 64  # shards
ONE = "use --tensor-parallel-shards 1 (tensor_parallel_shards of a config)"


def hindrance(device: Device | GPU, *, adapters: bool) -> str:
    """What keeps a library from being the program of a shard, apart from the model; "": nothing."""
    if adapters:
        return "adapters that requests choose"
    return f"the device {device.name} of a browser" if is_wasm(device) else ""


def check_shared(params: Iterable[StoredParam], joined: Container[str]) -> None:
    """Refuses a folder that MLC-LLM's converter made, if a shard needs several pieces of a
    parameter that is made when the model loads. (The core cuts one piece.)"""
    for param in params:
        runs, axis = (param.shares.runs, param.shares.axis) if param.shares else ((), 0)
        if param.name in joined and runs and (len(runs) > 1 or axis > 1):
            raise UnsupportedError(
                f"shards cannot share {param.name} in a folder that MLC-LLM's converter made; "
                f"convert the model again (mlc_llm convert_weight), or {ONE}",
                param="tensor_parallel_shards",
            )


def divided(
    family: ModelFamily, config: Any, scheme: Scheme, count: int
) -> tuple[DecoderSpec, dict[str, Split]]:
    """What one of `count` shards computes, and how they share the weights. Error: UnsupportedError
    that says how many shards the model can have."""
    if not 1 <= count <= MOST:
        raise InvalidRequestError(
            f"tensor_parallel_shards must be from 1 to {MOST}, not {count}",
            param="tensor_parallel_shards",
        )
    whole = family.decoder(config)
    if count == 1:
        return whole, {}
    try:
        return _divided(family, config, scheme, count)
    except UnsupportedError as error:
        possible = [str(n) for n in range(2, MOST + 1) if _can(family, config, scheme, n)]
        advice = ONE
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
