"""Model libraries of one test run, kept by content: its processes and files share them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from filelock import FileLock


def library_of(
    folder: Path, config: Mapping[str, Any] | Path, *, device: str, **options: Any
) -> Path:
    """The library of a config (or of the config in a model's folder), compiled if it is missing.

    `options` are those of `compile_model`. If several processes ask at once, one compiles and the
    others wait.
    """
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    values = read_chat_config(config) if isinstance(config, Path) else config
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"{_key(values, device, options)}.so"
    with FileLock(f"{library}.lock"):
        if not library.exists():
            compile_model(values, output=library, device=device, **options)
    return library


def _key(config: Mapping[str, Any], device: str, options: Mapping[str, Any]) -> str:
    """For a GPU it also has what tests change in the compiler itself."""
    from mlc_llm.compiler import targets
    from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling

    changed: list[Any] = []
    if (gpu := targets.GPUS.get(device)) is not None:
        names = {f.name: getattr(gpu, f.name) for f in fields(gpu)}
        changed = [gpu_sampling.SAMPLER_VERSION, names]
    text = json.dumps([config, device, options, changed], sort_keys=True, default=_name)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _name(value: Any) -> str:
    """The same in all processes, also for a function."""
    return getattr(value, "__qualname__", None) or repr(value)
