"""The draft model of speculative decoding: `additional_models` of an engine's config, prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from mlc_llm.model_source import Log, ResolvedModel, resolve_model

EngineSettings = Mapping[str, Any] | BaseModel


def core_config(mode: str, settings: EngineSettings | None) -> dict[str, Any]:
    """The engine's config as the core takes it, from a mapping or an `EngineConfig`."""
    if isinstance(settings, BaseModel):
        settings = settings.model_dump(exclude_none=True)
    config = {"mode": mode, **(settings or {})}
    models = config.get("additional_models")
    if isinstance(models, (list, tuple)):
        entries = cast("Sequence[Any]", models)
        config["additional_models"] = [_as_text(entry) for entry in entries]
    return config


def resolve_draft(
    config: Mapping[str, Any], *, device: str, progress: Log | None
) -> ResolvedModel | None:
    """The draft model of `small_draft`; what it lacks is made. Wrong settings are the core's to
    refuse."""
    models = config.get("additional_models")
    if config.get("speculative_mode") != "small_draft" or not models:
        return None
    model, library = _split(models[0])
    return resolve_model(model, device=device, model_lib=library, progress=progress)


def _as_text(entry: object) -> object:
    """A pair of model and library, as MLC-LLM takes too, in one text."""
    if isinstance(entry, (list, tuple)):
        parts = cast("Sequence[object]", entry)
        return f"{parts[0]},{parts[1]}" if len(parts) == 2 else parts
    return str(entry) if isinstance(entry, Path) else entry


def _split(entry: str) -> tuple[str, str | None]:
    """`MODEL` or `MODEL,LIBRARY`."""
    model, comma, library = entry.rpartition(",")
    return (model, library) if comma and not Path(entry).exists() else (entry, None)
