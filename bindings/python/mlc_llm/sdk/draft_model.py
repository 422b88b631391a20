"""Finds the draft model of speculative decoding: `additional_models` of an engine's config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mlc_llm.errors import InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel, StepListener, resolve_model
from mlc_llm.sdk import request_json
from mlc_llm.sdk.engine_config import EngineConfig
from mlc_llm.sdk.paths import absolute

if TYPE_CHECKING:  # slow to import
    from pydantic import BaseModel

    EngineSettings: TypeAlias = Mapping[str, Any] | BaseModel | EngineConfig
else:
    EngineSettings = Any

# MLC-LLM's Python names of settings that have another name on its command line and in this engine.
_OTHER_NAMES = {
    "max_total_sequence_length": "max_total_seq_length",
    "max_single_sequence_length": "context_window_size",
}


@dataclass(frozen=True)
class ModelChoice:
    """What to load. MLC-LLM's `EngineConfig` may contain these settings too."""

    model: str | Path | None
    model_lib: str | Path | None
    opt: str = "O2"

    def with_settings(self, settings: EngineSettings | None) -> ModelChoice:
        if not isinstance(settings, EngineConfig):
            return self
        return ModelChoice(
            _same("model", self.model, settings.model),
            _same("model_lib", self.model_lib, settings.model_lib),
            settings.opt or self.opt,
        )

    def library_settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """What the folder and the library are made with, of an engine's config."""
        shards = config.get("tensor_parallel_shards")
        return {
            "opt": self.opt,
            "overrides": {} if shards is None else {"tensor_parallel_shards": shards},
            "kv_cache_dtype": config.get("kv_cache_dtype"),
            "adapters": bool(config.get("lora_ranks")),
            "mmproj": config.get("mmproj"),
        }

    @staticmethod
    def for_the_core(config: Mapping[str, Any]) -> str:
        """An engine's config without what finding the model has used up."""
        known = {name: value for name, value in config.items() if name != "mmproj"}
        if isinstance(folder := known.get("prefix_cache_dir"), (str, Path)) and folder != "":
            known["prefix_cache_dir"] = absolute(folder)
        return request_json.encode(known)[0].decode()


def core_config(mode: str | None, settings: EngineSettings | None) -> dict[str, Any]:
    """The engine's config in the form of the core, from a mapping or an `EngineConfig`."""
    if isinstance(settings, EngineConfig):
        given: Mapping[str, Any] = settings.core_settings()
        mode = _same("mode", mode, settings.mode)
    elif settings is None or isinstance(settings, Mapping):
        given = settings or {}
    elif (dump := getattr(settings, "model_dump", None)) is not None:
        given = dump(exclude_none=True)
    else:
        raise InvalidRequestError(
            f"engine_config must be a mapping or an EngineConfig, not {settings!r}",
            param="engine_config",
        )
    config: dict[str, Any] = {"mode": mode or "local"} if mode or "mode" not in given else {}
    config |= {_OTHER_NAMES.get(name, name): value for name, value in given.items()}
    models = config.get("additional_models")
    if isinstance(models, (list, tuple)):
        entries = cast("Sequence[Any]", models)
        config["additional_models"] = [_as_text(entry) for entry in entries]
    return config


def resolve_draft(
    config: Mapping[str, Any], *, device: str, progress: StepListener
) -> ResolvedModel | None:
    """The draft model of `small_draft`. Its missing parts are made. The core refuses wrong
    settings."""
    models = config.get("additional_models")
    if config.get("speculative_mode") != "small_draft" or not models:
        return None
    model, library = _split(models[0])
    return resolve_model(
        model,
        device=device,
        model_lib=library,
        kv_cache_dtype=config.get("kv_cache_dtype"),
        progress=progress,
    )


def _same(name: str, argument: Any, setting: Any) -> Any:
    """The value that is given in one of the two places."""
    if None not in (argument, setting) and str(argument) != str(setting):
        raise InvalidRequestError(
            f"{name} is {argument} and engine_config.{name} is {setting}; give it once",
            param=f"engine_config.{name}",
        )
    return setting if argument is None else argument


def _as_text(entry: object) -> object:
    """A pair of model and library, which MLC-LLM also accepts, as one text."""
    if isinstance(entry, (list, tuple)):
        parts = cast("Sequence[object]", entry)
        return f"{parts[0]},{parts[1]}" if len(parts) == 2 else parts
    return str(entry) if isinstance(entry, Path) else entry


def _split(entry: str) -> tuple[str, str | None]:
    """Divides `MODEL` or `MODEL,LIBRARY`."""
    model, comma, library = entry.rpartition(",")
    return (model, library) if comma and not Path(entry).exists() else (entry, None)
