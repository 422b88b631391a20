"""Makes a package: the folders `bundle` and `lib`, from a config file.

package_app(config, output=Path("dist"), rules=rules)

The folders appear when everything is made; a package that is there stays until then. What did not
change is taken from the last package and from the cache.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError, ResourceError
from mlc_llm.package import bundle, libraries, web
from mlc_llm.package.config import ModelEntry, PackageConfig
from mlc_llm.package.devices import AppDevice
from mlc_llm.package.libraries import PreparedModel
from mlc_llm.package.packagers import packager_of
from mlc_llm.package.runtime import folder_of, lacks_abi, missing_runtime, runtime_for
from mlc_llm.prepare import linker
from mlc_llm.prepare.jit_cache import MakeRules
from mlc_llm.prepare.model_source import read_chat_config, resolve_folder
from mlc_llm.prepare.temporary_files import remove_leftovers, scratch_folder

# In the package's folder: which weights were copied, so that they are not copied again.
RECORD = ".mlc-package.json"
_PARTS = ("bundle", "lib")


def package_app(config: PackageConfig, *, output: Path, rules: MakeRules) -> None:
    """Makes or updates the package in the folder `output`."""
    _require_folder(output)
    if any(device.kind == "shared" for device in config.devices):
        linker.require(rules.steps)  # checked before the work
    models = [_prepared(entry, config.devices, rules) for entry in config.models]
    libraries.require_one_library_a_name(models)
    if any(device.kind == "web" for device in config.devices):
        web.require_own_names(models)
    record = _read_record(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
        remove_leftovers(output)
        with scratch_folder(output / "package") as work:
            (work / "lib").mkdir()
            for device in config.devices:
                packager = packager_of(device, models, config, rules)
                packager.write(work / "lib")
                _copy_runtime(work / "lib", device, rules)
            _write_bundle(work / "bundle", output / "bundle", models, config.devices, record, rules)
            _swap(work, output)
        (output / RECORD).write_text(json.dumps(_record(models), indent=1), encoding="utf-8")
    except OSError as error:
        raise ResourceError(
            f"{error.filename or output}: {error.strerror or error}; make room, or choose another "
            "--output",
            param="output",
        ) from None


def _prepared(entry: ModelEntry, devices: Sequence[AppDevice], rules: MakeRules) -> PreparedModel:
    """Downloads and converts a model if necessary."""
    model = bundle.as_hub_model(entry.model, entry.place)
    try:
        folder = resolve_folder(
            model,
            quantization=entry.quantization,
            policies=rules.policies,
            progress=rules.steps,
            otherwise="q4f32_1" if any(d.is_shared for d in devices) else "q4f16_1",
            unread={kind for device in devices for kind in device.unread},
        )
    except (InvalidRequestError, NotFoundError, CorruptFileError) as error:
        raise type(error)(
            f"{entry.place}.model: {error.message}", param=f"{entry.place}.model", code=error.code
        ) from None
    config = read_chat_config(folder)
    rules.steps.note(f"{entry.model_id}: {_types_said(str(config.get('quantization')))}")
    name = libraries.library_name(entry, config)
    return PreparedModel(entry=entry, folder=folder, config=config, model_lib=name)


def _types_said(quantization: str) -> str:
    own = quantization.startswith("gguf_")
    return f"quantization {quantization}{', the types of its GGUF file' if own else ''}"


def _copy_runtime(folder: Path, device: AppDevice, rules: MakeRules) -> None:
    runtime = runtime_for(device)
    if runtime is None:
        rules.steps.note(missing_runtime(device))
        return
    shutil.copytree(runtime, folder / folder_of(device), dirs_exist_ok=True)
    if lacks_abi(runtime, device):
        rules.steps.note(
            f"the runtime in {runtime} has no engine for {device.abi} (lib/{device.abi})"
        )


def _write_bundle(
    folder: Path,
    old: Path,
    models: Sequence[PreparedModel],
    devices: Sequence[AppDevice],
    record: dict[str, Any],
    rules: MakeRules,
) -> None:
    """Weights that did not change are moved from the old bundle, after everything else is made."""
    folder.mkdir()
    # One file for all: Android's app has its own among its assets.
    device = next((d for d in devices if not d.needs_url), devices[0])
    bundle.write_config(folder / bundle.APP_CONFIG, bundle.app_config(models, device))
    kept: list[tuple[Path, Path]] = []
    for model in models:
        name = model.entry.model_id
        bundle.write_adapters(folder, model, rules.steps)
        if not model.entry.bundle_weight:
            continue
        if _is_same(old / name, model, record):
            kept.append((old / name, folder / name))
            continue
        with rules.steps.step(f"Copying the weights of {name}"):
            bundle.copy_weights(model.folder, folder / name)
    for source, target in kept:
        source.rename(target)


def _is_same(old: Path, model: PreparedModel, record: dict[str, Any]) -> bool:
    """Whether the last package has these weights, whole."""
    identity = bundle.identity_of(model.folder)
    if record.get(model.entry.model_id) != identity:
        return False
    return all(
        (old / name).is_file() and (old / name).stat().st_size == size for name, size, _ in identity
    )


def _record(models: Sequence[PreparedModel]) -> dict[str, Any]:
    bundled = [model for model in models if model.entry.bundle_weight]
    return {model.entry.model_id: bundle.identity_of(model.folder) for model in bundled}


def _read_record(output: Path) -> dict[str, Any]:
    try:
        record = json.loads((output / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _swap(work: Path, output: Path) -> None:
    """Puts the new folders into the place of the old ones, which go with the scratch folder."""
    for name in _PARTS:
        target = output / name
        if target.exists():
            target.rename(work / f"old-{name}")
        (work / name).rename(target)


def _require_folder(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise InvalidRequestError(f"{output} is not a folder", param="output")
    if (output / RECORD).exists() or (output / "bundle" / bundle.APP_CONFIG).exists():
        return
    for taken in filter(Path.exists, (output / name for name in _PARTS)):
        raise InvalidRequestError(
            f"{taken} is not from `mlc_llm package`, which would replace it; choose another "
            "--output",
            param="output",
        )
