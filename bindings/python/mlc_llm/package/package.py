"""Makes a package: the folders `bundle` and `lib`, from a config file.

package_app(config, output=Path("dist"), rules=rules)

The folders appear when everything is made; a package that is there stays until then. What did not
change is taken from the last package and from the cache.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlc_llm import linker
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError, ResourceError
from mlc_llm.jit_cache import MakeRules
from mlc_llm.model_source import CHAT_CONFIG, read_chat_config, resolve_folder, resolve_source
from mlc_llm.package import android, bundle, libraries, web
from mlc_llm.package.config import ModelEntry, PackageConfig
from mlc_llm.package.devices import WEB_CPU, AppDevice
from mlc_llm.package.libraries import PreparedModel
from mlc_llm.package.runtime import folder_of, lacks_abi, missing_runtime, runtime_for
from mlc_llm.scratch import remove_leftovers, scratch_folder

# In the package's folder: which weights were copied, so that they are not copied again.
RECORD = ".mlc-package.json"
_PARTS = ("bundle", "lib")


def package_app(config: PackageConfig, *, output: Path, rules: MakeRules) -> None:
    """Makes or updates the package in the folder `output`."""
    _require_folder(output)
    if any(device.is_shared and not device.is_web for device in config.devices):
        linker.require(rules.steps)  # checked before the work
    models = [_prepared(entry, config.devices, rules) for entry in config.models]
    libraries.require_one_library_a_name(models)
    if any(device.is_web for device in config.devices):
        web.require_own_names(models)
    record = _read_record(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
        remove_leftovers(output)
        with scratch_folder(output / "package") as work:
            for device in config.devices:
                _write_libraries(work / "lib", models, config, device, rules)
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
        source = resolve_source(model, policies=rules.policies, progress=rules.steps)
        is_ready = (source / CHAT_CONFIG).is_file()
        quantization = entry.quantization
        if quantization is None and not is_ready:
            quantization = "q4f32_1" if any(d.is_shared for d in devices) else "q4f16_1"
        folder = resolve_folder(
            model, quantization=quantization, policies=rules.policies, progress=rules.steps
        )
    except (InvalidRequestError, NotFoundError, CorruptFileError) as error:
        raise type(error)(
            f"{entry.place}.model: {error.message}", param=f"{entry.place}.model", code=error.code
        ) from None
    config = read_chat_config(folder)
    name = libraries.library_name(entry, config)
    return PreparedModel(entry=entry, folder=folder, config=config, model_lib=name)


def _write_libraries(
    folder: Path,
    models: Sequence[PreparedModel],
    config: PackageConfig,
    device: AppDevice,
    rules: MakeRules,
) -> None:
    folder.mkdir(exist_ok=True)
    made = libraries.compiled(models, config, device, rules)
    if device.is_shared:
        for name, path in made.items():
            _copy_library(path, folder / device.file(name), device)
    else:
        variants = libraries.cpu_variants(models, config, device, rules)
        parts = {
            name: libraries.members_of({name: path, **variants.get(name, {})}, device)
            for name, path in made.items()
        }
        with rules.steps.step(f"Joining the libraries for {device.name}"):
            (folder / device.file("")).write_bytes(libraries.joined(parts))
        if device.abi:
            jni = folder / "mlc4j" / "src" / "main" / "jniLibs" / device.abi
            _write_jni_libraries(jni, parts, device, rules)
    if device.needs_url:
        assets = folder / "mlc4j" / "src" / "main" / "assets"
        bundle.write_config(assets / bundle.APP_CONFIG, bundle.app_config(models, device))
    if device.is_web:
        others = libraries.compiled(models, config, WEB_CPU, rules)
        for name, path in others.items():
            _copy_library(path, folder / WEB_CPU.file(web.cpu_name(name)), device)
        with rules.steps.step("Writing the checksums for the web"):
            web.write(folder / device.name, models, made, others)
    _copy_runtime(folder, device, rules)


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


def _copy_library(source: Path, file: Path, device: AppDevice) -> None:
    file.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, file)
    file.chmod(0o644 if device.is_web else 0o755)


def _write_jni_libraries(
    folder: Path, parts: Mapping[str, Mapping[str, bytes]], device: AppDevice, rules: MakeRules
) -> None:
    """Shared libraries of the same objects, which an app opens by name and need not link."""
    if android.find_linker() is None:
        rules.steps.note(
            "no linker for Android is here: an app must link the archive; with `pip install "
            "ziglang` the package also has shared libraries"
        )
        return
    folder.mkdir(parents=True)
    for name, objects in parts.items():
        file = folder / f"lib{libraries.c_name(name)}.so"
        android.link_objects(file, objects, abi=device.abi)
        file.chmod(0o755)


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
