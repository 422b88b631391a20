"""The folder `bundle` of a package: weights, and `mlc-app-config.json`, which apps read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlc_llm.errors import CorruptFileError, InvalidRequestError
from mlc_llm.package.config import ADAPTERS, ADDRESSES
from mlc_llm.package.devices import AppDevice
from mlc_llm.package.libraries import PreparedModel
from mlc_llm.prepare.adapter import SUFFIX, run_time_adapter
from mlc_llm.prepare.hub_download import PREFIX
from mlc_llm.prepare.progress import Steps

APP_CONFIG = "mlc-app-config.json"
HUB = "https://huggingface.co/"
_KEPT = (
    "mlc-chat-config.json", "tensor-cache.json", "ndarray-cache.json", "tokenizer.json",
    "tokenizer_config.json", "chat_template.jinja",
)  # fmt: skip


def app_config(models: Sequence[PreparedModel], device: AppDevice) -> dict[str, Any]:
    """The content of `mlc-app-config.json` for a device."""
    return {"model_list": [_entry(model, device) for model in models]}


def _entry(model: PreparedModel, device: AppDevice) -> dict[str, Any]:
    entry = model.entry
    return {
        "model_id": entry.model_id,
        "model_lib": model.model_lib,
        "estimated_vram_bytes": entry.estimated_vram_bytes,
        **_place(model, device),
        **({"adapters": _adapters(model)} if entry.adapters else {}),
    }


def _adapters(model: PreparedModel) -> dict[str, str]:
    """Where the app finds each adapter, in the folder `bundle`."""
    folder = f"{ADAPTERS}/{model.entry.model_id}"
    return {name: f"{folder}/{name}{SUFFIX}" for name in model.entry.adapters}


def write_adapters(folder: Path, model: PreparedModel, steps: Steps) -> None:
    """Makes the files that an app's engine loads."""
    for name, place in _adapters(model).items():
        made = run_time_adapter(model.entry.adapters[name], model.folder, progress=steps)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, folder / place)
        (folder / place).chmod(0o644)


def _place(model: PreparedModel, device: AppDevice) -> dict[str, str]:
    """Where the app finds the weights. A folder of this machine has no address."""
    address = url_of(model.entry.model)
    if model.entry.bundle_weight and (address is None or not device.needs_url):
        return {"model_path": model.entry.model_id}
    assert address is not None  # the config was checked
    return {"model_url": address}


def url_of(model: str) -> str | None:
    """The address of a model's repository; None for a folder."""
    if model.startswith(PREFIX):
        return HUB + model.removeprefix(PREFIX).partition(":")[0]
    return model if model.startswith(ADDRESSES) else None


def as_hub_model(model: str, place: str) -> str:
    """The model argument of an address of the hub."""
    if model.startswith(PREFIX) or not model.startswith(ADDRESSES):
        return model
    for hub in (HUB, os.environ.get("HF_ENDPOINT", HUB).rstrip("/") + "/"):
        if model.startswith(hub):
            return PREFIX + model.removeprefix(hub).rstrip("/").removesuffix(".git")
    raise InvalidRequestError(
        f"{place}.model: {model}: models are downloaded from {HUB} (HF://org/repo)",
        param=f"{place}.model",
    )


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def weight_files(folder: Path) -> list[Path]:
    """The files of an -MLC folder that an app needs. Raises CorruptFileError if one is missing."""
    from mlc_llm.compiler.convert.json_files import read_json

    index = folder / "tensor-cache.json"
    if not index.is_file():
        index = folder / "ndarray-cache.json"
    try:
        records = read_json(index)["records"]
        shards = [(str(record["dataPath"]), int(record["nbytes"])) for record in records]
    except (ArithmeticError, ValueError, KeyError, TypeError) as error:
        raise CorruptFileError(f"{index}: {error}", param="model") from None
    for name, size in shards:
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            raise CorruptFileError(
                f"{folder / name}: is missing or not {size} bytes long; convert or download the "
                "model again",
                param="model",
            )
    if not (folder / "tokenizer.json").is_file():  # what the engine reads
        again = "convert or download the model again"
        raise CorruptFileError(f"{folder / 'tokenizer.json'}: is missing; {again}", param="model")
    tokenizer = read_json(folder / "mlc-chat-config.json").get("tokenizer_files")
    listed = tokenizer if isinstance(tokenizer, list) else []
    named = [*_KEPT, *(name for name in listed if isinstance(name, str))]
    kept = [folder / name for name in dict.fromkeys(named) if (folder / name).is_file()]
    return kept + [folder / name for name, _ in shards]


def identity_of(folder: Path) -> list[list[Any]]:
    """What changes when a file of the model changes."""
    files = weight_files(folder)
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]


def copy_weights(folder: Path, target: Path) -> None:
    """Copies a model's files. Where the file system can, the copies share their blocks."""
    target.mkdir(parents=True)
    for file in weight_files(folder):
        place = target / file.name
        shutil.copyfile(file, place)
        place.chmod(0o644)
