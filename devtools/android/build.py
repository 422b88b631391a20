"""`./dev build android [abi ...]`: libmlc_llm.so and libmlc_llm_jni.so for phones.

The result is build/android/<abi>/lib. The compiler is the one of ANDROID_NDK where that is set,
else Clang of the PyPI package `ziglang` over headers that are derived from musl's (headers.py).
Both libraries need libc.so, libm.so, libdl.so and liblog.so at most, and libc++ is inside.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from devtools.android import sysroot
from devtools.android.linker import linker
from devtools.zig import (
    OPENCL,
    ROOT,
    archivers,
    cmake,
    core_settings,
    headers_of,
    wrapper,
    zig_program,
)

FOLDER = ROOT / "build" / "android"
ABIS = tuple(sysroot.MACHINES)
LIBRARIES = ("libmlc_llm.so", "libmlc_llm_jni.so")
JNI = ROOT / "bindings" / "kotlin" / "core" / "src" / "main" / "cpp"


def _sysroot(zig: Path, abi: str) -> Path:
    """The file for ZIG_LIBC. Made anew when what it is made of has changed."""
    folder = FOLDER / "sysroot" / abi
    hasher = hashlib.sha256(str(zig).encode())
    for name in ("headers.py", "sysroot.py", "names.txt"):
        hasher.update(Path(__file__).with_name(name).read_bytes())
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != hasher.hexdigest():
        sysroot.make(zig, abi, folder)
        stamp.write_text(hasher.hexdigest())
    return folder / "libc.txt"


def environment(zig: Path, abi: str) -> dict[str, str]:
    """What zig reads. Its libc++ is compiled once and kept."""
    cache = str(FOLDER / "zig-cache")
    return {
        "ZIG_LIBC": str(_sysroot(zig, abi)),
        "ZIG_GLOBAL_CACHE_DIR": cache,
        "ZIG_LOCAL_CACHE_DIR": cache,
    }


def zig_settings(zig: Path, abi: str) -> dict[str, str]:
    """CMake's settings for a build by zig."""
    tools, triple = FOLDER / "tools" / abi, sysroot.triple(abi)
    return {
        "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "AndroidByZig.cmake"),
        "MLC_ANDROID_MACHINE": sysroot.MACHINES[abi],
        "MLC_ANDROID_LINKER": str(linker(zig, triple, environment(zig, abi), tools)),
        "MLC_LIBRARY_FLAGS": f"-L{FOLDER / 'sysroot' / abi / 'lib'}",
        "CMAKE_C_COMPILER": str(wrapper(tools / "cc", zig, "cc", "-target", triple)),
        "CMAKE_CXX_COMPILER": str(wrapper(tools / "c++", zig, "c++", "-target", triple)),
        **archivers(tools, zig),
    }


def ndk_settings(ndk: Path, abi: str) -> dict[str, str]:
    """CMake's settings for a build by Google's NDK."""
    toolchain = ndk / "build" / "cmake" / "android.toolchain.cmake"
    if not toolchain.is_file():
        raise SystemExit(f"[dev] ANDROID_NDK: {toolchain} is missing; name the folder of an NDK")
    return {
        "CMAKE_TOOLCHAIN_FILE": str(toolchain),
        "ANDROID_ABI": abi,
        "ANDROID_PLATFORM": f"android-{sysroot.API}",
        "ANDROID_STL": "c++_static",
        "ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES": "ON",
        "MLC_LIBRARY_FLAGS": "-Wl,--icf=all",  # as linker.py does
    }


def jdk_headers(home: Path) -> str:
    """jni.h of a JDK: the same as Android's but for two types of arguments."""
    folder = FOLDER / "headers" / "jni"
    folder.mkdir(parents=True, exist_ok=True)
    for source in (home / "include" / "jni.h", home / "include" / "linux" / "jni_md.h"):
        shutil.copyfile(source, folder / source.name)
    return str(folder)


def has_ndk() -> Path | None:
    named = os.environ.get("ANDROID_NDK") or os.environ.get("ANDROID_NDK_HOME")
    return Path(named) if named else None


def java_home() -> Path:
    javac = shutil.which("javac")
    home = os.environ.get("JAVA_HOME") or (javac and Path(javac).resolve().parents[1])
    if not home:
        raise SystemExit("[dev] jni.h is needed: apt-get install openjdk-17-jdk-headless")
    return Path(home)


def _common(machine: dict[str, str]) -> dict[str, str]:
    """Settings of both libraries."""
    return {
        "CMAKE_BUILD_TYPE": "MinSizeRel",
        "CMAKE_SKIP_RPATH": "ON",
        # Calls inside the library need no table; the C interface says that it is shown.
        "CMAKE_CXX_VISIBILITY_PRESET": "hidden",
        "CMAKE_VISIBILITY_INLINES_HIDDEN": "ON",
        # __FILE__ in an error's text has no path of this machine.
        "CMAKE_CXX_FLAGS_MINSIZEREL": f"-Os -DNDEBUG -fmacro-prefix-map={ROOT}/=",
        # No unloading: the start files of sysroot.py do not run what C++ does then.
        "CMAKE_SHARED_LINKER_FLAGS": "-Wl,-z,max-page-size=16384 -Wl,-z,defs -Wl,-z,nodelete -s "
        f"{machine.pop('MLC_LIBRARY_FLAGS', '')} -llog -lm -ldl",
        **machine,
    }


def _core_settings() -> dict[str, str]:
    opencl = headers_of("opencl", OPENCL, FOLDER / "headers")
    return {
        "MLC_LINKED_PLUGINS": "opencl" if opencl else "",
        **core_settings(opencl),
    }


def settings(abi: str) -> tuple[dict[str, str], str]:
    """CMake's settings of the compiler, and the folder of jni.h (empty: the compiler knows it)."""
    if ndk := has_ndk():
        return _common(ndk_settings(ndk, abi)), ""
    zig = zig_program()
    os.environ.update(environment(zig, abi))
    return _common(zig_settings(zig, abi)), jdk_headers(java_home())


def build_jni(abi: str, folder: Path) -> Path:
    """libmlc_llm_jni.so in the folder."""
    common, jni = settings(abi)
    cmake(JNI, folder, "mlc_llm_jni", common | {"MLC_JNI_INCLUDE_DIR": jni})
    return folder / LIBRARIES[1]


def build(abi: str) -> list[Path]:
    """Makes the libraries of an ABI, stripped, and returns their paths."""
    folder = FOLDER / abi
    common, _ = settings(abi)
    cmake(ROOT, folder / "core", "mlc_llm", common | _core_settings())
    jni = build_jni(abi, folder / "jni")
    libraries = folder / "lib"
    libraries.mkdir(parents=True, exist_ok=True)
    for built in (folder / "core" / "core" / LIBRARIES[0], jni):
        shutil.copyfile(built, libraries / built.name)
    return [libraries / name for name in LIBRARIES]
