"""An AAR: what an Android app takes as one dependency.

write_aar(Path("mlcllm-0.1.0.aar"), Aar(version="0.1.0", classes=..., libraries=...))

Besides Kotlin's classes and the native libraries it has what Gradle's plugin reads: the manifest,
rules for the shrinker, a list of resources (empty), the least compileSdk, and `prefab`, by which
C++ code of an app finds the C header. The engine is in it once, for all of the app's code.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from mlc_llm.package.archive import write_zip, zipped

PACKAGE = "ai.mlc.mlcllm"
MIN_SDK = 26
COMPILE_SDK = 31
# Since targetSdk 31 a vendor's library is only found when the app names it.
OPENCL_LIBRARIES = ("libOpenCL.so", "libOpenCL-pixel.so", "libOpenCL-car.so")
_METADATA = "META-INF/com/android/build/gradle/aar-metadata.properties"
_MODULE = "prefab/modules/mlc_llm"


@dataclass(frozen=True)
class Aar:
    """`classes`: name in the jar -> class file. `libraries`: ABI -> file name -> ELF file.
    `headers`: name -> text, for C++. `assets`: files for the app's AssetManager."""

    version: str
    classes: Mapping[str, bytes]
    libraries: Mapping[str, Mapping[str, bytes]]
    headers: Mapping[str, bytes]
    shrinker_rules: bytes
    assets: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def manifest() -> bytes:
    uses = "\n".join(
        f'        <uses-native-library android:name="{name}" android:required="false" />'
        for name in OPENCL_LIBRARIES
    )
    template = Path(__file__).with_name("AndroidManifest.xml").read_text(encoding="utf-8")
    return Template(template).substitute(package=PACKAGE, sdk=MIN_SDK, libraries=uses).encode()


def _metadata() -> bytes:
    values = {
        "aarFormatVersion": "1.0",
        "aarMetadataVersion": "1.0",
        "minCompileSdk": COMPILE_SDK,
        "minCompileSdkExtension": 0,
        "minAndroidGradlePluginVersion": "1.0.0",
    }
    return "".join(f"{key}={value}\n" for key, value in values.items()).encode()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _prefab(aar: Aar) -> dict[str, bytes]:
    """A module of headers alone: prefab's own copy of the library would double the file."""
    numbers = aar.version.split("+")[0].split("-")[0]  # prefab takes numbers and dots alone
    entries = {
        "prefab/prefab.json": _json(
            {"schema_version": 2, "name": "mlcllm", "version": numbers, "dependencies": []}
        ),
        f"{_MODULE}/module.json": _json(
            {"export_libraries": [], "library_name": "libmlc_llm", "android": {}}
        ),
    }
    for name, text in aar.headers.items():
        entries[f"{_MODULE}/include/{name}"] = text
    return entries


def entries(aar: Aar) -> dict[str, bytes]:
    """Every file of the AAR."""
    with tempfile.TemporaryDirectory() as scratch:
        classes = zipped(aar.classes, Path(scratch))
    content = {
        "AndroidManifest.xml": manifest(),
        "R.txt": b"",
        "classes.jar": classes,
        "proguard.txt": aar.shrinker_rules,
        _METADATA: _metadata(),
        **_prefab(aar),
    }
    for abi, libraries in aar.libraries.items():
        content |= {f"jni/{abi}/{name}": data for name, data in libraries.items()}
    return content | {f"assets/{name}": data for name, data in aar.assets.items()}


def write_aar(path: Path, aar: Aar) -> Path:
    return write_zip(path, entries(aar), first=("AndroidManifest.xml",))
