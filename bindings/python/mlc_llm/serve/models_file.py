"""The models of the settings file:

[defaults]              # of the models below and of those in folders
idle_timeout = 600

[models.writer]         # `writer` is the model's name for clients
model = "HF://org/repo" # or a folder or a .gguf file; a relative path begins at this file
names = ["gpt-4o"]      # more names
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from mlc_llm.errors import MLCError
from mlc_llm.prepare.hub_download import PREFIX
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.serve.catalogue import ModelSpec, WhenIdle
from mlc_llm.serve.model_names import name_and_path
from mlc_llm.serve.settings_file import Table
from mlc_llm.serve.validation import check

_MODES = ("local", "interactive", "server")


@dataclass(frozen=True)
class ModelSettings:
    """What the file says about models."""

    defaults: ModelSpec  # the template of models that the file does not name
    models: tuple[ModelSpec, ...]
    at_start: tuple[str, ...]  # names of models that are loaded when the server starts


def read_models(settings: Table, template: ModelSpec) -> ModelSettings:
    """Takes the tables `defaults` and `models`. `template`: the options of the command line, which
    hold where the file says nothing. Raises InvalidRequestError, with the key and its line."""
    table = settings.table("defaults")
    defaults = _common(table, template)
    table.end()
    taken: dict[str, str] = {}
    models, at_start = [], []
    for name, table in settings.tables("models"):
        spec = _common(table, defaults)
        place = table.text("model")
        if place is None:
            raise table.error("model", "is missing: a folder, a .gguf file or HF://org/repo")
        spec = replace(
            spec,
            model=_place(table.file, place),
            model_lib=_path(table.file, table.text("model_lib")),
            names=tuple(dict.fromkeys((name, *table.texts("names")))),
            pinned=table.flag("pin") or False,
            adapters=_adapters(table),
        )
        for one in spec.names:
            if taken.setdefault(one, name) != name:
                raise table.error("names", f"'{one}' is a name of models.{taken[one]} already")
        if table.flag("load"):
            at_start.append(name)
        table.end()
        models.append(spec)
    return ModelSettings(defaults, tuple(models), tuple(at_start))


def _common(table: Table, base: ModelSpec) -> ModelSpec:
    """The settings that a model and the defaults can have."""
    engine = table.table("engine")
    given: dict[str, Any] = engine.values()
    for key, value in (
        ("context_window_size", table.integer("context", at_least=1)),
        ("kv_cache_dtype", table.text("kv_cache_dtype")),
    ):
        if value is not None:
            given[key] = value
    try:
        check(given, "EngineConfig")
    except MLCError as error:
        raise engine.error(error.param or "", error.message) from None
    values: dict[str, Any] = {
        "device": table.text("device"),
        "mode": table.text("mode", _MODES),
        "quantization": table.text("quantization"),
        "idle_timeout": table.number("idle_timeout", at_least=0),
        "when_idle": table.text("when_idle", get_args(WhenIdle)),
    }
    known = {key: value for key, value in values.items() if value is not None}
    return replace(base, engine_config={**base.engine_config, **given}, **known)


def _adapters(table: Table) -> dict[str, str]:
    """`adapters = ["style=adapters/style"]`."""
    found: dict[str, str] = {}
    for text in table.texts("adapters"):
        if (pair := name_and_path(text)) is None:
            raise table.error("adapters", f"'{text[:100]}' must be NAME=PATH")
        found[pair[0]] = str(_path(table.file, pair[1]))
    return found


def _place(file: Path, text: str) -> str | None:
    """A model argument; None for the embedded model. A relative path begins at the file's
    folder."""
    if text == DEFAULT_MODEL:
        return None
    return text if text.startswith(PREFIX) else _path(file, text)


def _path(file: Path, text: str | None) -> str | None:
    return None if text is None else str(file.absolute().parent / os.path.expanduser(text))
