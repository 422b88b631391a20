"""`mlc_llm package --check`: what each file of a package is, and whether they fit together.

report = check_package(Path("dist"))
report.lines, report.problems

It reads the files alone: it opens no library, and needs no program of the system.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlc_llm.errors import MLCError, NotFoundError
from mlc_llm.package import ar, bundle
from mlc_llm.package.devices import DEVICES, AppDevice
from mlc_llm.package.libraries import binary_symbol, c_name, variant_name
from mlc_llm.package.objects import ObjectFile, is_object, read_object
from mlc_llm.package.web import cpu_name
from mlc_llm.prepare.model_folder import read_json_object

_METADATA = b'{"schema_version"'
_BUILD = b"MLCLLMBUILDINFO\0"
_ENTRY = {"model_id": str, "model_lib": str, "estimated_vram_bytes": int}
_ABI_MACHINES = {device.abi: device.machine for device in DEVICES.values() if device.abi}
# Of a model library that this version's engine runs (compiler/library.py).
_LIBRARY_SCHEMA = 3


@dataclass
class Report:
    """What was found. `problems`: what does not fit; each names its file."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # model_lib -> metadata, as the libraries say
    libraries: dict[str, dict[str, Any]] = field(default_factory=dict)
    # model_lib -> the layers that adapters may change
    adapted_layers: dict[str, set[str]] = field(default_factory=dict)
    runtimes: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    # Android's machines (ABIs), as the folders of shared libraries say
    engine_abis: set[str] = field(default_factory=set)
    model_abis: set[str] = field(default_factory=set)

    def found(self, path: Path, what: str) -> None:
        self.lines.append(f"{path}: {what} ({path.stat().st_size:,} bytes)")

    def wrong(self, path: Path, what: str) -> None:
        self.problems.append(f"{path}: {what}")


def check_package(output: Path) -> Report:
    """Reads the package in the folder `output`."""
    config = output / "bundle" / bundle.APP_CONFIG
    if not config.is_file():
        raise NotFoundError(
            f"{config}: no such file: {output} is no package (`mlc_llm package` makes one)",
            param="output",
        )
    report = Report()
    entries = _app_config(config, report)
    names = [entry["model_lib"] for entry in entries]
    for path in sorted((output / "lib").rglob("*")):
        if path.is_file():
            _library_file(path, names, report)
    for entry in entries:
        _entry_fits(entry, output, report)
        _adapters_fit(entry, output, report)
    _versions(report)
    _abis_fit(output, report)
    return report


def _app_config(path: Path, report: Report) -> list[dict[str, Any]]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["model_list"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        report.wrong(path, f"not an app's config: {type(error).__name__}: {error}")
        return []
    entries = []
    for at, entry in enumerate(listed if isinstance(listed, list) else []):
        place = f"model_list[{at}]"
        if not isinstance(entry, dict):
            report.wrong(path, f"{place} must be an object")
            continue
        wrong = [
            name
            for name, kind in _ENTRY.items()
            if not isinstance(entry.get(name), kind) or isinstance(entry.get(name), bool)
        ]
        for name in wrong:
            report.wrong(path, f"{place}.{name} is missing or of another type")
        if ("model_path" in entry) == ("model_url" in entry):
            report.wrong(path, f"{place} must have either model_path or model_url")
        if not wrong:
            entries.append(entry)
    report.found(path, f"the app's config, {len(entries)} models")
    return entries


def _library_file(path: Path, names: list[str], report: Report) -> None:
    device = DEVICES.get(path.stem.removeprefix("libmodel_")) if path.suffix == ".a" else None
    try:
        if device is not None:
            _archive(path, names, device, report)
        elif path.suffix in (".so", ".dylib") or path.stem in (*names, *map(cpu_name, names)):
            _shared(path, names, report)
        elif path.suffix == ".a":
            members = ar.read_members(path)
            _build_info(path, b"".join(members.values()), report)
            report.found(path, f"an archive of {len(members)} objects")
        else:
            report.found(path, "a file of the package")
    except MLCError as error:
        report.problems.append(error.message if str(path) in error.message else f"{path}: {error}")


def _archive(path: Path, names: list[str], device: AppDevice, report: Report) -> None:
    members = ar.read_members(path)
    objects = {name: read_object(data) for name, data in members.items()}
    for name, item in objects.items():
        if item.machine != device.machine:
            report.wrong(path, f"{name} is for {item.machine}, not {device.machine}")
    defined = set[str]().union(*(item.defined for item in objects.values()))
    cpus = _cpus(names, defined, device)
    found = []
    for name in names:
        if binary_symbol(name) not in defined:
            report.wrong(path, f"has no symbol {binary_symbol(name)}: {name} is not in it")
            continue
        found.append(name)
        variants = [variant_name(name, cpu) for cpu in device.cpus]
        for symbol in map(binary_symbol, [*variants, name]):
            for member in (one for one in members if symbol in objects[one].defined):
                _metadata(path, name, members[member], report)
    minimum = _oldest(objects)
    report.found(
        path, f"the libraries {', '.join(found) or 'of no model'} for {device.name}{cpus}{minimum}"
    )


def _cpus(names: list[str], defined: Set[str], device: AppDevice) -> str:
    """The generations of CPUs for which every model has kernels beside those for a GPU."""
    found = [
        cpu
        for cpu in device.cpus
        if names and all(binary_symbol(variant_name(name, cpu)) in defined for name in names)
    ]
    return f", also for the CPUs {', '.join(found)}" if found else ""


def _oldest(objects: Mapping[str, ObjectFile]) -> str:
    minimums = sorted({item.minimum for item in objects.values() if item.minimum})
    return f", from version {minimums[-1]} on" if minimums else ""


def _shared(path: Path, names: list[str], report: Report) -> None:
    data = path.read_bytes()
    abi = _abi(path, data, report)
    if _BUILD in data:
        _build_info(path, data, report)
        report.found(path, f"the engine, for {read_object(data).machine}")
        report.engine_abis |= abi
        return
    files = {
        name: (f"lib{c_name(name)}.so", f"lib{name}.so", f"{name}.wasm", f"{cpu_name(name)}.wasm")
        for name in names
    }
    name = next((name for name in names if path.name in files[name]), None)
    if name is None:
        machine = read_object(data).machine if is_object(data) else "another format"
        report.found(path, f"a library of the runtime, {machine}")
        return
    if not _is_whole(data):
        report.wrong(path, "the model library is damaged; package it again")
    _metadata(path, name, data, report)
    report.model_abis |= abi
    cpus = ""
    for device in (one for one in DEVICES.values() if one.abi in abi and is_object(data)):
        cpus = _cpus([name], read_object(data).defined, device)
    report.found(path, f"the library {name}" + "".join(f" for {one}" for one in abi) + cpus)


def _abi(path: Path, data: bytes, report: Report) -> set[str]:
    """The ABI that the folder of a library for Android names. The library must be for it."""
    machine = _ABI_MACHINES.get(path.parent.name)
    if machine is None:
        return set()
    found = read_object(data).machine
    if found != machine:
        report.wrong(path, f"is for {found}; the folder {path.parent.name} is for {machine}")
    return {path.parent.name}


def _abis_fit(output: Path, report: Report) -> None:
    """An app is installed with the libraries of one ABI: the engine must have each ABI of the
    models."""
    models, engine = (sorted(abis) for abis in (report.model_abis, report.engine_abis))
    if not models or not engine:
        return
    report.lines.append(
        f"{output}: Android's ABIs: {', '.join(models)} of the models, {', '.join(engine)} of the "
        "engine"
    )
    if missing := sorted(set(models) - set(engine)):
        report.wrong(output, f"the engine is missing for {', '.join(missing)}; the models have it")


def _is_whole(data: bytes) -> bool:
    """By the trailer's length, or by the seal of a stripped library."""
    from mlc_llm.compiler.seal import seal_fits
    from mlc_llm.compiler.trailer import MAGIC

    if data[-24:-16] == MAGIC:
        return bool(struct.unpack_from("<Q", data, len(data) - 16)[0] == len(data) - 24)
    return bool(seal_fits(data))


def _metadata(path: Path, name: str, data: bytes, report: Report) -> None:
    """The metadata of a library, which is JSON text among its constants: of each variant."""
    found = []
    at = data.find(_METADATA)
    while at >= 0:
        try:
            text = data[at:].decode("utf-8", "replace")
            found.append(json.JSONDecoder().raw_decode(text)[0])
        except ValueError:
            break
        at = data.find(_METADATA, at + len(_METADATA))
    if not found or at >= 0:
        report.wrong(path, f"{name}: no metadata of a model library is in it")
        return
    for schema in sorted({str(one.get("schema_version")) for one in found}):
        if schema != str(_LIBRARY_SCHEMA):
            report.wrong(
                path,
                f"{name}: was compiled for schema {schema} of model libraries; this version's "
                f"engine runs {_LIBRARY_SCHEMA}; package it again",
            )
    report.libraries[name] = found[0]
    # there may be several libraries with one name, for several devices
    layers = [one.get("adapters", {}).get("layers", ()) for one in found]
    named = {layer["name"] for every in layers for layer in every}
    report.adapted_layers.setdefault(name, set()).update(named)


def _build_info(path: Path, data: bytes, report: Report) -> None:
    at = data.find(_BUILD)
    if at < 0 or at + len(_BUILD) + 68 > len(data):
        return
    abi, schema, version = struct.unpack_from("<i32s32s", data, at + len(_BUILD))
    texts = [field.partition(b"\0")[0].decode("utf-8", "replace") for field in (schema, version)]
    report.runtimes[str(path)] = (abi, texts[0], texts[1])


def _versions(report: Report) -> None:
    """All runtimes must be of one version, and of this package's."""
    from mlc_llm import _core

    own = (_core.abi_version(), _core.schema_hash(), _core.version())
    for path, found in report.runtimes.items():
        if found != own:
            report.problems.append(
                f"{path}: the engine {found[2]} (ABI {found[0]}, schema {found[1]}) is not of this "
                f"package's version {own[2]} (ABI {own[0]}, schema {own[1]}): take all files from "
                "one release"
            )


def _adapters_fit(entry: dict[str, Any], output: Path, report: Report) -> None:
    """The bundled adapters of a model: there, and for layers of its library."""
    from mlc_llm.compiler.convert.safetensors_file import SafetensorsFile

    layers = report.adapted_layers.get(entry["model_lib"])
    places = entry.get("adapters", {})
    if not isinstance(places, dict) or not all(isinstance(p, str) for p in places.values()):
        report.wrong(
            output / "bundle", f"the adapters of {entry['model_id']} must be paths by name"
        )
        return
    for place in places.values():
        path = output / "bundle" / place
        try:
            tensors = SafetensorsFile(path).tensors
        except (OSError, MLCError) as error:
            report.wrong(path, f"no adapter: {error}")
            continue
        named = {name.removesuffix(".a") for name in tensors if name.endswith(".a")}
        if layers is not None and named - layers:
            report.wrong(path, f"changes layers that {entry['model_lib']} gives no adapters")
        report.found(path, f"an adapter of {entry['model_id']}")


def _entry_fits(entry: dict[str, Any], output: Path, report: Report) -> None:
    """The bundled weights of a model: whole, and of its library."""
    folder = output / "bundle" / str(entry.get("model_path", ""))
    if "model_path" not in entry:
        return
    if not (folder / "mlc-chat-config.json").is_file():
        report.wrong(folder, "has no mlc-chat-config.json: the bundled weights are missing")
        return
    try:
        files = bundle.weight_files(folder)
    except MLCError as error:
        report.wrong(folder, str(error))
        return
    config = read_json_object(folder / "mlc-chat-config.json")
    total = sum(file.stat().st_size for file in files)
    report.lines.append(f"{folder}: the weights of {entry['model_id']} ({total:,} bytes)")
    metadata = report.libraries.get(entry["model_lib"])
    for name in ("model_type", "quantization", "vocab_size"):
        if metadata is not None and metadata.get(name) != config.get(name):
            report.wrong(
                folder,
                f"{name} is {config.get(name)}, and {entry['model_lib']} was compiled for "
                f"{metadata.get(name)}",
            )
