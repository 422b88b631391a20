"""The engine as one static library for each CPU of Apple's systems, made on Linux.

engine("arm64")     # one Mach-O object, for iOS 16
engine("x86_64")    # for the simulator of iOS 16

Clang of the PyPI package `ziglang` compiles, over the headers of Apple's libc that it carries and
libc++'s. TVM's runtime, xgrammar and the core need no others. zig's linker joins the objects to
one, as devtools/swift/linux.py does for Linux and for the same reasons.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from devtools.zig import ROOT, archivers, cmake, core_settings, wrapper, zig_program

from mlc_llm.package.ar import members
from mlc_llm.package.macho import with_aligned_thread_variables, with_local_names

FOLDER = ROOT / "build" / "xcframework"
TARGETS = {"arm64": "aarch64-ios.16.0", "x86_64": "x86_64-ios.16.0-simulator"}
SHOWN = ("mlc_", "TVMFFI", "TVMBackend")  # as core/exports.map
# libc++'s headers name what the oldest system has.
_AVAILABILITY = "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS"
AVAILABILITY = (f"-U{_AVAILABILITY}", f"-D{_AVAILABILITY}=1")
_STATIC = ("libmlc_llm_static.a", "libxgrammar.a")


def environment() -> dict[str, str]:
    """What zig reads: where it keeps what it compiled."""
    cache = str(FOLDER / "zig-cache")
    return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}


def compiler(machine: str, language: str = "c++") -> Path:
    """The systems' own libc++ is used, so what a system has is asked of its headers."""
    zig = zig_program()
    headers = zig.parent / "lib" / "libc" / "include" / "any-darwin-any"
    return wrapper(
        FOLDER / "tools" / machine / language, zig, language, "-target", TARGETS[machine],
        "-isystem", headers, *AVAILABILITY,
    )  # fmt: skip


def _settings(machine: str) -> dict[str, str]:
    zig, tools = zig_program(), FOLDER / "tools" / machine
    return {
        "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "AppleByZig.cmake"),
        "MLC_APPLE_MACHINE": machine,
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_C_COMPILER": str(compiler(machine, "cc")),
        "CMAKE_CXX_COMPILER": str(compiler(machine)),
        **archivers(tools, zig),
        # __FILE__ in an error's text has no path of this machine.
        "CMAKE_CXX_FLAGS_RELEASE": f"-Os -DNDEBUG -fmacro-prefix-map={ROOT}/=",
        **core_settings(),
    }


def objects(machine: str) -> list[bytes]:
    """Compiles the engine and returns its objects."""
    os.environ.update(environment())
    folder = FOLDER / machine
    cmake(ROOT, folder, "mlc_llm_static", _settings(machine))
    return [data for name in _STATIC for _, data in members((folder / "core" / name).read_bytes())]


def joined(machine: str, parts: list[bytes], shown: tuple[str, ...] = SHOWN) -> bytes:
    """One object. A name that begins with none of `shown` is local to it."""
    folder = FOLDER / machine / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i}.o" for i in range(len(parts))]
    for path, data in zip(paths, parts, strict=True):
        path.write_bytes(with_aligned_thread_variables(data))
    output = folder / "mlc_llm.o"
    link = [zig_program(), "c++", "-target", TARGETS[machine], "-r", *paths, "-o", output]
    subprocess.run(link, check=True)
    return with_local_names(output.read_bytes(), lambda name: name.startswith(shown))


def engine(machine: str) -> bytes:
    return joined(machine, objects(machine))
