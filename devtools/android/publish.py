"""The AAR and the Maven folder with it, out of the libraries that build.py made.

publish(("arm64-v8a",)) writes build/runtimes/android:
    lib/<abi>/*.so            for apps that take neither Gradle nor Maven
    include/mlc_llm.h
    mlcllm-<version>.aar
    maven/ai/mlc/mlcllm/...   the AAR with POM, sources and reference
Two runs give the same bytes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from devtools.android import build
from devtools.kotlin_parts import (
    COROUTINES,
    GROUP,
    KOTLIN,
    LIBRARIES_OF_KOTLIN,
    classes,
    reference_jar,
    sources_jar,
    version,
)

from mlc_llm.package.aar import Aar, write_aar
from mlc_llm.package.maven import Artifact, Dependency
from mlc_llm.package.maven import publish as publish_artifact

ROOT = build.ROOT
RUNTIME = ROOT / "build" / "runtimes" / "android"


def built(abis: tuple[str, ...]) -> dict[str, dict[str, bytes]]:
    """The libraries of each ABI."""
    return {
        abi: {name: (build.FOLDER / abi / "lib" / name).read_bytes() for name in build.LIBRARIES}
        for abi in abis
    }


def aar_of(libraries: dict[str, dict[str, bytes]]) -> Aar:
    return Aar(
        version=version(),
        classes=classes(android=True),
        libraries=libraries,
        headers={"mlc_llm.h": (ROOT / "core" / "include" / "mlc_llm.h").read_bytes()},
        shrinker_rules=(KOTLIN / "android" / "consumer-rules.pro").read_bytes(),
    )


def android_artifact() -> Artifact:
    coroutines = Dependency("org.jetbrains.kotlinx", "kotlinx-coroutines-android", COROUTINES)
    return Artifact(
        GROUP, "mlcllm", version(), "aar",
        "Runs large language models on the phone: the engine and its Kotlin interface",
        (*LIBRARIES_OF_KOTLIN, coroutines),
    )  # fmt: skip


def publish(abis: tuple[str, ...]) -> list[Path]:
    """Returns the files that were made."""
    RUNTIME.mkdir(parents=True, exist_ok=True)
    aar = aar_of(built(abis))
    shutil.rmtree(RUNTIME / "lib", ignore_errors=True)  # no ABI of an older build
    for abi, libraries in aar.libraries.items():
        for name, data in libraries.items():
            path = RUNTIME / "lib" / abi / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (RUNTIME / "include").mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "core" / "include" / "mlc_llm.h", RUNTIME / "include" / "mlc_llm.h")
    file = write_aar(RUNTIME / f"mlcllm-{aar.version}.aar", aar)
    files = {
        "aar": file.read_bytes(),
        "sources.jar": sources_jar(RUNTIME, android=True),
        "javadoc.jar": reference_jar(RUNTIME),
    }
    folder = publish_artifact(RUNTIME / "maven", android_artifact(), files)
    return [file, folder / file.name]
