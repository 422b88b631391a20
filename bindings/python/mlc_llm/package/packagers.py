"""Writes the libraries of an app's models into the folder `lib` of its package: one class for each
kind of device (`AppDevice.kind`).

packager_of(device, models, config, rules).write(folder)
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlc_llm.package import android, bundle, libraries, web
from mlc_llm.package.config import PackageConfig
from mlc_llm.package.devices import WEB_CPU, AppDevice, DeviceKind
from mlc_llm.package.libraries import PreparedModel
from mlc_llm.prepare.jit_cache import MakeRules


@dataclass(frozen=True)
class SharedPackager:
    """Shared libraries, which the engine opens by name."""

    device: AppDevice
    models: Sequence[PreparedModel]
    config: PackageConfig
    rules: MakeRules

    mode = 0o755

    def write(self, folder: Path) -> None:
        self.copy_all(self.compiled(self.device), folder)

    def copy_all(self, made: Mapping[str, Path], folder: Path) -> None:
        for name, path in made.items():
            self.copy(path, folder / self.device.file(name))

    def compiled(self, device: AppDevice) -> Mapping[str, Path]:
        """The library of each model, by its name."""
        return libraries.compiled(self.models, self.config, device, self.rules)

    def copy(self, source: Path, file: Path) -> None:
        file.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, file)
        file.chmod(self.mode)


class WebPackager(SharedPackager):
    """A folder for web servers: modules for WebGPU and for browsers without it, and their
    checksums."""

    mode = 0o644

    def write(self, folder: Path) -> None:
        made = self.compiled(self.device)
        self.copy_all(made, folder)
        others = self.compiled(WEB_CPU)
        for name, path in others.items():
            self.copy(path, folder / WEB_CPU.file(web.cpu_name(name)))
        with self.rules.steps.step("Writing the checksums for the web"):
            web.write(folder / self.device.name, self.models, made, others)


class ArchivePackager(SharedPackager):
    """One archive of all objects, which the app links."""

    def write(self, folder: Path) -> None:
        self.write_archive(folder)

    def write_archive(self, folder: Path) -> dict[str, dict[str, bytes]]:
        """Returns the objects of each library."""
        device, made = self.device, self.compiled(self.device)
        variants = libraries.cpu_variants(self.models, self.config, device, self.rules)
        parts = {
            name: libraries.members_of({name: path, **variants.get(name, {})}, device)
            for name, path in made.items()
        }
        with self.rules.steps.step(f"Joining the libraries for {device.name}"):
            (folder / device.file("")).write_bytes(libraries.joined(parts))
        return parts


class AndroidPackager(ArchivePackager):
    """The same objects as shared libraries too, which an app opens by name and need not link; the
    app's config lies among its assets."""

    def write(self, folder: Path) -> None:
        main = folder / "mlc4j" / "src" / "main"
        self._write_shared(main / "jniLibs" / self.device.abi, self.write_archive(folder))
        app_config = bundle.app_config(self.models, self.device)
        bundle.write_config(main / "assets" / bundle.APP_CONFIG, app_config)

    def _write_shared(self, folder: Path, parts: Mapping[str, Mapping[str, bytes]]) -> None:
        if android.find_linker() is None:
            self.rules.steps.note(
                "no linker for Android is here: an app must link the archive; with `pip install "
                "ziglang` the package also has shared libraries"
            )
            return
        folder.mkdir(parents=True)
        for name, objects in parts.items():
            file = folder / f"lib{libraries.c_name(name)}.so"
            android.link_objects(file, objects, abi=self.device.abi)
            file.chmod(self.mode)


_PACKAGERS: dict[DeviceKind, type[SharedPackager]] = {
    "shared": SharedPackager,
    "web": WebPackager,
    "archive": ArchivePackager,
    "android": AndroidPackager,
}


def packager_of(
    device: AppDevice, models: Sequence[PreparedModel], config: PackageConfig, rules: MakeRules
) -> SharedPackager:
    return _PACKAGERS[device.kind](device, models, config, rules)
