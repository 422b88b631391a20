"""LoRA adapters of a server's models: loaded with a model, and while it serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlc_llm.errors import MLCError, NotFoundError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.sdk import adapters
from mlc_llm.serve.model_names import require_path

if TYPE_CHECKING:
    from mlc_llm.sdk.core_engine import CoreEngine
    from mlc_llm.serve.registry import ModelRegistry
    from mlc_llm.types_gen import AdapterList


def load_all(engine: CoreEngine, paths: Mapping[str, str]) -> None:
    """The adapters of a model that was loaded now. After an error the engine is closed."""
    try:
        for name, path in paths.items():
            adapters.load_adapter(engine, name, path)
    except BaseException:
        engine.close()
        raise


def load(models: ModelRegistry, model: str | None, name: str, path: str) -> AdapterList:
    """Adds an adapter to a model in memory; `model` None: the first one."""
    require_path(path, "lora_path")
    slot = models.loaded(model)
    if any(name in other.spec.names for other in models.known()):
        raise error_of(
            reasons.MODEL_EXISTS, f"a model has the name '{name}' already", param="lora_name"
        )
    assert slot.served is not None
    try:
        found = adapters.load_adapter(slot.served.engine, name, path)
    except MLCError as error:
        error.param = {"path": "lora_path", "name": "lora_name"}.get(error.param or "", error.param)
        raise
    models.set_adapters(slot, {**slot.spec.adapters, name: path})
    return found


def unload(models: ModelRegistry, name: str) -> AdapterList:
    """`name`: the adapter's, or MODEL:ADAPTER."""
    missing = error_of(
        reasons.ADAPTER_NOT_FOUND, f"no adapter '{name}' is loaded", param="lora_name"
    )
    try:
        slot = models.loaded(name)
    except NotFoundError as error:
        raise missing from error
    adapter = slot.spec.adapter_of(name)
    if adapter is None:
        raise missing
    assert slot.served is not None
    found = adapters.unload_adapter(slot.served.engine, adapter)
    rest = {key: path for key, path in slot.spec.adapters.items() if key != adapter}
    models.set_adapters(slot, rest)
    return found
