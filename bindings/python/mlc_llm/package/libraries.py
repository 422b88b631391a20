"""The compiled library of each model, and how the libraries of a device are joined.

A library's name (`model_lib`) is the same on every run: what the config says, else
`<model_type>_<quantization>_<digest of the settings>`. Its symbols begin with the name and an
underscore, where a character that no C name has is an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_llm.errors import CorruptFileError, InvalidRequestError
from mlc_llm.package import ar
from mlc_llm.package.config import ModelEntry, PackageConfig
from mlc_llm.package.devices import AppDevice
from mlc_llm.package.objects import read_object
from mlc_llm.prepare.jit_cache import LibraryOptions, MakeRules, library_digest, packaged_library

_BINARY = "__tvm_ffi__library_bin"


@dataclass(frozen=True, kw_only=True)
class PreparedModel:
    """A model with its weights in an -MLC folder. `identity`: what changes when they change."""

    entry: ModelEntry
    folder: Path
    config: Mapping[str, Any]
    model_lib: str

    @property
    def options(self) -> LibraryOptions:
        return library_options(self.entry)


def library_options(entry: ModelEntry) -> LibraryOptions:
    return LibraryOptions(
        opt=entry.opt,
        overrides=dict(entry.sizes),
        kv_cache_dtype=entry.kv_cache_dtype,
        adapters=bool(entry.adapters),
    )


def library_name(entry: ModelEntry, config: Mapping[str, Any]) -> str:
    """The `model_lib` of a model."""
    if entry.model_lib is not None:
        return entry.model_lib
    options = library_options(entry)
    kind = f"{config.get('model_type')}_{config.get('quantization')}"
    return c_name(f"{kind}_{library_digest(config, options)}")


def c_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def binary_symbol(model_lib: str) -> str:
    """The symbol that a linked library of that name has."""
    return f"{c_name(model_lib)}_{_BINARY}"


def require_one_library_a_name(models: Sequence[PreparedModel]) -> None:
    """Two models may share a library only if they have the same settings."""
    first: dict[str, PreparedModel] = {}
    for model in models:
        other = first.setdefault(c_name(model.model_lib), model)
        mine, theirs = (library_digest(m.config, m.options) for m in (model, other))
        if mine != theirs:
            raise InvalidRequestError(
                f"{model.entry.place}.model_lib: {model.model_lib} is the library of "
                f"{other.entry.place} already, which has other settings",
                param=f"{model.entry.place}.model_lib",
            )


def compiled(
    models: Sequence[PreparedModel], config: PackageConfig, device: AppDevice, rules: MakeRules
) -> dict[str, Path]:
    """The library of each name: from the config, from the cache, or compiled."""
    libraries: dict[str, Path] = {}
    for model in models:
        name = model.model_lib
        if name in libraries:
            continue
        given = config.prebuilt.get(name)
        if given is not None and not device.is_shared:
            require_library(given, name, device)
            libraries[name] = given
            continue
        libraries[name] = _library(model, name, device, device.target, rules)
    return libraries


def cpu_variants(
    models: Sequence[PreparedModel], config: PackageConfig, device: AppDevice, rules: MakeRules
) -> dict[str, dict[str, Path]]:
    """Of each name the libraries for generations of CPUs, by their own names. A library that the
    config gives is taken as it is."""
    return {
        model.model_lib: {
            variant_name(model.model_lib, cpu): _library(
                model, variant_name(model.model_lib, cpu), device, cpu, rules
            )
            for cpu in device.cpus
        }
        for model in {model.model_lib: model for model in models}.values()
        if model.model_lib not in config.prebuilt
    }


def variant_name(model_lib: str, cpu: str) -> str:
    """The engine looks for these names (core/src/runtime/library_names.cc)."""
    return f"{model_lib}_{c_name(cpu)}"


def _library(
    model: PreparedModel, name: str, device: AppDevice, target: str, rules: MakeRules
) -> Path:
    return packaged_library(
        model.folder,
        model.config,
        name=f"{model.entry.model_id} ({name})",
        device=target,
        host=device.host,
        prefix=None if device.is_shared else f"{c_name(name)}_",
        options=model.options,
        rules=rules,
    )


def members_of(libraries: Mapping[str, Path], device: AppDevice) -> dict[str, bytes]:
    """The objects of a model's libraries, by names that begin with those of the libraries."""
    members: dict[str, bytes] = {}
    for name, path in libraries.items():
        for member, data in require_library(path, name, device).items():
            unique = member if member.startswith(c_name(name)) else f"{c_name(name)}_{member}"
            members[unique] = data
    return members


def joined(parts: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """One archive of all libraries of a device, which an app links as a whole. `parts`: the objects
    of each."""
    members: dict[str, bytes] = {}
    for name, objects in parts.items():
        if taken := members.keys() & objects:
            raise InvalidRequestError(
                f"model_lib: {name} has an object {min(taken)}, as another model's library has: "
                "choose another name for one of them",
                param="model_lib",
            )
        members |= objects
    return ar.write_ar(members)


def require_library(path: Path, model_lib: str, device: AppDevice) -> dict[str, bytes]:
    """The objects of an archive. Checks that they are this device's and have the library's
    symbol."""
    members = ar.read_members(path)
    wanted = binary_symbol(model_lib)
    found = set[str]()
    for member, data in members.items():
        item = read_object(data)
        if item.machine != device.machine:
            raise InvalidRequestError(
                f"{path}: {member} is for {item.machine}; {device.name} needs {device.machine}",
                param=f"model_lib_path_for_prepare_libs.{model_lib}",
            )
        found |= item.defined
    if wanted not in found:
        others = sorted(name for name in found if name.endswith(_BINARY))
        what = f"it has {', '.join(others)}" if others else "it has no model library"
        raise CorruptFileError(
            f"{path}: has no symbol {wanted}: the library {model_lib} is not in it; {what}",
            param=f"model_lib_path_for_prepare_libs.{model_lib}",
        )
    return members
