"""`./dev build jvm [aarch64]`: a jar with the engine for desktop programs in Kotlin and Java.

The result is build/runtimes/jvm: mlcllm-jvm-<version>.jar, which holds the binding's classes and
the native libraries of this system, and a Maven folder with it. A program needs no system property:
the classes find the libraries beside them (BundledLibrary.kt). A release merges the folders
`ai/mlc/mlcllm/native/<system>` that this command made on several systems; MLC_JVM_NATIVES names a
folder with those of other systems. `aarch64`: also those of Linux on that CPU (jvm_machines.py).
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools import jvm_machines
from devtools.kotlin_parts import (
    COROUTINES,
    GROUP,
    LIBRARIES_OF_KOTLIN,
    ROOT,
    classes,
    kotlin_build,
    reference_jar,
    sources_jar,
    version,
)

from mlc_llm.package.archive import files_below, write_zip
from mlc_llm.package.maven import Artifact, Dependency, publish

RUNTIME = ROOT / "build" / "runtimes" / "jvm"
BUILD = ROOT / "build" / "dev"
NATIVE = "ai/mlc/mlcllm/native"
MACHINES = ("aarch64",)
_MANIFEST = b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: ai.mlc.mlcllm\r\n\r\n"


def installed_core(folder: Path) -> bytes:
    """libmlc_llm.so as a wheel has it: it finds the libraries beside it."""
    cmake = Path(sys.executable).parent / "cmake"
    command = [cmake, "--install", BUILD, "--prefix", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (core,) = folder.rglob("libmlc_llm.so")
    return core.read_bytes()


def system_folder() -> str:
    """As BundledLibrary.folderOf names it: linux-x86_64."""
    return f"{platform.system().lower()}-{platform.machine().lower()}"


def natives() -> dict[str, bytes]:
    """The libraries of this system."""
    import tvm_ffi

    packages = Path(tvm_ffi.__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
        found = {"libmlc_llm.so": installed_core(Path(scratch))}
    found |= jvm_machines.tvm_libraries(packages)
    kotlin = kotlin_build()
    with kotlin.exclusive():
        found["libmlc_llm_jni.so"] = kotlin.native_library().read_bytes()
    return entries(system_folder(), found)


def entries(system: str, libraries: dict[str, bytes]) -> dict[str, bytes]:
    """A system's libraries by their names in the jar, and the list of them."""
    listed = "".join(f"{name}\n" for name in sorted(libraries)).encode()
    files = libraries | {"libraries.txt": listed}
    return {f"{NATIVE}/{system}/{name}": data for name, data in files.items()}


def natives_of_machines(machines: Sequence[str]) -> dict[str, bytes]:
    """Those of Linux on other CPUs."""
    found: dict[str, bytes] = {}
    for machine in machines:
        if machine not in MACHINES:
            raise SystemExit(f"[dev] {machine}: not a CPU of this build ({', '.join(MACHINES)})")
        if f"linux-{machine}" == system_folder():
            continue  # natives() has them
        found |= entries(f"linux-{machine}", jvm_machines.natives(machine))
    return found


def natives_of_other_systems() -> dict[str, bytes]:
    """Those of other systems, from MLC_JVM_NATIVES/<system>/."""
    named = os.environ.get("MLC_JVM_NATIVES")
    if not named:
        return {}
    for folder in Path(named).iterdir():
        if not re.fullmatch(r"(linux|macos|windows)-(x86_64|aarch64)", folder.name):
            raise SystemExit(f"[dev] MLC_JVM_NATIVES: {folder.name} is not <system>-<machine>")
    return files_below(Path(named), f"{NATIVE}/")


def artifact() -> Artifact:
    coroutines = Dependency("org.jetbrains.kotlinx", "kotlinx-coroutines-core-jvm", COROUTINES)
    return Artifact(
        GROUP, "mlcllm-jvm", version(), "jar",
        "Runs large language models on this machine: the engine for programs in Kotlin and Java",
        (*LIBRARIES_OF_KOTLIN, coroutines),
    )  # fmt: skip


def make(machines: Sequence[str] = ()) -> Path:
    """Returns the jar."""
    libraries = {**natives_of_other_systems(), **natives_of_machines(machines), **natives()}
    held = {"META-INF/MANIFEST.MF": _MANIFEST, **libraries, **classes()}
    one = artifact()
    jar = write_zip(RUNTIME / one.file_name("jar"), held, first=("META-INF/MANIFEST.MF",))
    files = {
        "jar": jar.read_bytes(),
        "sources.jar": sources_jar(RUNTIME),
        "javadoc.jar": reference_jar(RUNTIME),
    }
    publish(RUNTIME / "maven", one, files)
    return jar


if __name__ == "__main__":
    path = make(sys.argv[1:])
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.2f} MB")
