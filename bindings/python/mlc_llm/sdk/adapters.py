"""Adapters of an engine: loaded, unloaded and listed while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlc_llm.prepare.adapter import run_time_adapter
from mlc_llm.prepare.model_source import FAKE_DEVICE
from mlc_llm.sdk.paths import absolute

if TYPE_CHECKING:
    from mlc_llm.sdk.core_engine import CoreEngine
    from mlc_llm.types_gen import AdapterList


def load_adapter(core: CoreEngine, name: str, path: str | Path) -> AdapterList:
    """Makes the file for the core if `path` has another format."""
    file = Path(path)
    if core.device != FAKE_DEVICE:
        file = run_time_adapter(file, core.model.folder)
    return _list_of(core, "load", name=name, path=absolute(file))


def unload_adapter(core: CoreEngine, name: str) -> AdapterList:
    return _list_of(core, "unload", name=name)


def list_adapters(core: CoreEngine) -> AdapterList:
    return _list_of(core, "list")


def _list_of(core: CoreEngine, act: str, **request: str) -> AdapterList:
    from mlc_llm.types_gen import AdapterList

    return AdapterList.model_validate_json(core.call(f"adapters.{act}", request))
