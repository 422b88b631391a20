"""The core for x86-64 Windows, made on Linux.

linked()                    # build/wheel/windows/{mlc_llm.dll,libmlc_llm.dll.a}
tests()                     # build/wheel/windows/mlc_core_test.exe, and the DLLs that it opens
client()                    # build/wheel/windows/client.exe: a program in C that needs the DLL

Clang of the PyPI package `ziglang` compiles over the headers of MinGW that it carries, and its
linker links; libc++ is inside. TVM's runtime is inside too: TVM's DLLs on PyPI are Microsoft's C++,
whose names this compiler does not have. The files need Windows' own DLLs alone (Windows 10 or
later: its C library, `ucrtbase`, is part of the system).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from devtools.wheel.build import FOLDER
from devtools.zig import ROOT, archivers, cmake, core_settings, wrapper, zig_program

HERE = FOLDER / "windows"
TARGET = "x86_64-windows-gnu"
# A linker takes the names of a DLL out of a library of imports.
LIBRARY, IMPORTS = "mlc_llm.dll", "libmlc_llm.dll.a"
TESTS, CLIENT = "mlc_core_test.exe", "client.exe"
# What the tests open and read, beside them.
OPENED = ("libmlc_tvm_loop.dll", "libmlc_pool.dll")
FIXTURES = ("fixtures/fake-model", "fixtures/templates")
# Debian's libgtest-dev has GoogleTest's sources.
GTEST = Path("/usr/src/googletest/googletest")


def environment() -> dict[str, str]:
    """What zig reads: where it keeps what it compiled."""
    cache = str(HERE / "zig-cache")
    return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}


def _settings() -> dict[str, str]:
    zig, tools = zig_program(), HERE / "tools"
    return {
        "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "WindowsByZig.cmake"),
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_C_COMPILER": str(wrapper(tools / "cc", zig, "cc", "-target", TARGET)),
        "CMAKE_CXX_COMPILER": str(wrapper(tools / "c++", zig, "c++", "-target", TARGET)),
        **archivers(tools, zig),
        "CMAKE_RC_COMPILER": str(wrapper(tools / "rc", zig, "rc")),
        # __FILE__ in an error's text has no path of this machine.
        "CMAKE_CXX_FLAGS_RELEASE": f"-O2 -DNDEBUG -fmacro-prefix-map={ROOT}/=",
        "CMAKE_SHARED_LINKER_FLAGS": "-s",
        "MLC_BUILD_TESTS": "ON",
        "MLC_GTEST_DIR": str(GTEST),
        **core_settings(),
    }


def _built(target: str, names: tuple[str, ...]) -> list[Path]:
    """Builds a target of CMake and copies what it is."""
    if not GTEST.is_dir():
        raise SystemExit(f"[dev] {GTEST} is missing: apt-get install libgtest-dev")
    os.environ.update(environment())
    folder = HERE / "core"
    cmake(ROOT, folder, target, _settings())
    return [Path(shutil.copy(folder / "core" / name, HERE / name)) for name in names]


def linked() -> list[Path]:
    return _built("mlc_llm", (LIBRARY, IMPORTS))


def tests() -> list[Path]:
    for name in FIXTURES:
        shutil.copytree(ROOT / "tests" / name, HERE / name, dirs_exist_ok=True)
    return _built("mlc_core_test", (TESTS, *OPENED))


def client() -> Path:
    """The C program of tests/bindings over the DLL that `linked` made."""
    sources = sorted((ROOT / "tests" / "bindings" / "c").glob("*.c"))
    command = [zig_program(), "cc", "-target", TARGET, "-std=c11", "-O1", "-fno-sanitize=all"]
    command += ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'core' / 'include'}", *sources]
    path = HERE / CLIENT
    subprocess.run(
        [str(word) for word in [*command, HERE / IMPORTS, "-lpthread", "-s", "-o", path]],
        check=True, env=os.environ | environment(),
    )  # fmt: skip
    return path
