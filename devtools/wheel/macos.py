"""The wheel for macOS on arm64.

wheel()      # on a Mac: dist/mlc_llm-<version>-cp311-cp311-macosx_13_0_arm64.whl. Never run.
linked()     # on Linux: build/wheel/macos/{libmlc_llm.dylib,_core.cpython-311-darwin.so}

On Linux the core and `_core` are linked with TVM's libraries for macOS: it shows that a Mac can do
it. The objects are those of the XCFramework (devtools/xcframework) without TVM's, under macOS's
name. The plugins are not linked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from devtools.wheel.build import FOLDER, tvm_packages
from devtools.xcframework import build
from devtools.zig import ROOT, objects_of, zig_program

from mlc_llm.package.ar import members
from mlc_llm.package.macho import with_platform
from mlc_llm.package.objects import read_object

MACHINE, OLDEST = "arm64", (13, 0)
HERE = FOLDER / "macos"
TARGET = "aarch64-macos.13.0"
# As exports.map: `_core` and the plugins call the core's C++.
SHOWN = ("mlc_", "_ZN3mlc", "_ZNK3mlc", "_ZTIN3mlc", "_ZTSN3mlc", "_ZTVN3mlc")
# Apple's systems have this library. zig knows only the names in libSystem.
LIBCPP = "/usr/lib/libc++.1.dylib"
RPATHS = ("@loader_path", "@loader_path/../tvm/lib", "@loader_path/../tvm_ffi/lib")


def tvm() -> list[Path]:
    """TVM's libraries for macOS, out of its wheels."""
    found = tvm_packages("macosx_11_0_arm64", HERE / "packages")
    return [
        Path(found["MLC_TVM_DIR"]) / "lib" / "libtvm_runtime.dylib",
        Path(found["MLC_TVM_FFI_DIR"]) / "lib" / "libtvm_ffi.dylib",
    ]


def core_objects() -> list[bytes]:
    """The core's and xgrammar's."""
    folder = build.FOLDER / MACHINE
    build.objects(MACHINE)  # compiles what has changed
    own = [path.read_bytes() for path in objects_of(folder, r"mlc_\w+")]
    xgrammar = (folder / "core" / "libxgrammar.a").read_bytes()
    return own + [data for _, data in members(xgrammar)]


def libcpp(called: set[str]) -> Path:
    """A library of names, as Apple's SDKs have them (`.tbd`)."""
    cpp = sorted(
        name for name in called if name.startswith(("_ZN", "_ZS", "_ZT", "_Zn", "_Zd", "__"))
    )
    listed = ", ".join(f"'_{name}'" for name in cpp)
    path = HERE / "libc++.tbd"
    path.write_text(
        f"--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: '{LIBCPP}'\n"
        f"exports:\n  - targets: [ arm64-macos ]\n    symbols: [ {listed} ]\n...\n"
    )
    return path


def link(output: Path, parts: list[Path], libraries: list[Path], *options: str) -> Path:
    """A library that is found as @rpath/NAME, with @rpath beside it and in TVM's packages."""
    name = ("-dynamiclib", f"-Wl,-install_name,@rpath/{output.name}")
    command = [zig_program(), "c++", "-target", TARGET, "-nostdlib++", *name, *options]
    command += [*parts, *libraries]
    command += [f"-Wl,-rpath,{folder}" for folder in RPATHS]
    subprocess.run([str(word) for word in [*command, "-o", output]], check=True)
    return output


def core() -> Path:
    """libmlc_llm.dylib, which TVM's own libraries complete."""
    merged = HERE / "mlc_llm.o"
    merged.write_bytes(with_platform(build.joined(MACHINE, core_objects(), SHOWN), 1, OLDEST))
    libraries = tvm()
    of_tvm = set().union(*(read_object(path.read_bytes()).defined for path in libraries))
    called = set(read_object(merged.read_bytes()).undefined)
    return link(HERE / "libmlc_llm.dylib", [merged], [*libraries, libcpp(called - of_tvm)])


def extension(library: Path) -> Path:
    """_core, compiled for macOS. Names of Python are looked up when it is opened."""
    import pybind11

    compiler = [str(zig_program()), "c++", "-target", TARGET, *build.AVAILABILITY]
    include = [pybind11.get_include(), sysconfig.get_paths()["include"]]
    include += [str(ROOT / "core" / name) for name in ("include", "src")]
    words = ["-std=c++17", "-O1", "-g0", "-fvisibility=hidden", "-fno-sanitize=all"]
    words += [f"-I{folder}" for folder in include]
    parts = []
    for source in sorted((ROOT / "bindings" / "python" / "src").glob("*.cc")):
        parts.append(HERE / f"{source.stem}.o")
        subprocess.run([*compiler, *words, "-c", source, "-o", parts[-1]], check=True)
    called = set().union(*(read_object(part.read_bytes()).undefined for part in parts))
    name = f"_core.cpython-{sys.version_info.major}{sys.version_info.minor}-darwin.so"
    return link(HERE / name, parts, [library, libcpp(called)], "-Wl,-undefined,dynamic_lookup")


def linked() -> list[Path]:
    HERE.mkdir(parents=True, exist_ok=True)
    library = core()
    return [library, extension(library)]


def wheel() -> Path:
    """Xcode's compiler makes it; its name says the oldest system (scikit-build-core reads it)."""
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": ".".join(map(str, OLDEST))}
    output = HERE / "plain"
    shutil.rmtree(output, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", output]
    subprocess.run([*pip, "."], check=True, cwd=ROOT, env=environment)
    (made,) = output.glob("*.whl")
    (ROOT / "dist").mkdir(exist_ok=True)
    return Path(shutil.copy(made, ROOT / "dist"))
