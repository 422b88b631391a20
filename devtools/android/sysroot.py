"""What `zig` needs to compile and link for Android: headers, libraries of names, start files.

sysroot = make(zig, "arm64-v8a", folder)     # the path of a file for ZIG_LIBC

Android's own libraries are in the phone. A linker wants only their names, so the libraries made
here hold the names of `names.txt` and no code. They hold no versions: bionic's names are in LIBC,
LIBC_N or LIBC_O, and its loader accepts a name without a version for each of them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from devtools.android import headers

API = 26
MACHINES = {"arm64-v8a": "aarch64", "x86_64": "x86_64"}
_START_FILES = ("crtbegin_so", "crtend_so", "crtbegin_dynamic", "crtend_android")
_NAMES = Path(__file__).with_name("names.txt")


def names() -> dict[str, list[str]]:
    """Library -> the names that it has since API 26, such as "c" -> ["__errno", ...]."""
    found: dict[str, list[str]] = {}
    library = ""
    for line in _NAMES.read_text().splitlines():
        if line.endswith(":"):
            library = line[:-1]
        elif not line.startswith("#"):
            found.setdefault(library, []).extend(line.split())
    return found


def triple(abi: str) -> str:
    return f"{MACHINES[abi]}-linux-android.{API}"


def _definition(name: str) -> str:
    """Of a function, or of data (a star): the linker treats references to them differently."""
    if not name.startswith("*"):
        return f".text; .globl {name}; .type {name},%function; {name}: ret"
    name = name[1:]
    return f".data; .globl {name}; .type {name},%object; .size {name},8; {name}: .quad 0"


def _library_of_names(zig: Path, abi: str, library: str, folder: Path) -> None:
    source = folder / f"{library}.s"
    source.write_text("\n".join(map(_definition, names()[library])) + "\n")
    obj = source.with_suffix(".o")
    subprocess.run([zig, "cc", "-target", triple(abi), "-c", source, "-o", obj], check=True)
    link = [zig, "ld.lld", "-shared", f"--soname=lib{library}.so"]
    subprocess.run([*link, "-o", folder / f"lib{library}.so", obj], check=True)


def make(zig: Path, abi: str, folder: Path) -> Path:
    """Makes the folder and returns the file that ZIG_LIBC names."""
    include, libraries = folder / "include", folder / "lib"
    headers.write(zig.parent / "lib" / "libc" / "include", MACHINES[abi], include)
    libraries.mkdir(parents=True, exist_ok=True)
    for library in names():
        _library_of_names(zig, abi, library, libraries)
    empty = libraries / "empty.s"
    empty.write_text("")
    for name in _START_FILES:
        obj = libraries / f"{name}.o"
        subprocess.run([zig, "cc", "-target", triple(abi), "-c", empty, "-o", obj], check=True)
    keys = ("include_dir", "sys_include_dir", "crt_dir", "cc_dir")
    paths = dict.fromkeys(keys, libraries) | dict.fromkeys(keys[:2], include)
    unused = dict.fromkeys(("msvc_lib_dir", "kernel32_lib_dir", "darwin_sdk_dir"), "")
    file = folder / "libc.txt"
    file.write_text("".join(f"{key}={path}\n" for key, path in {**paths, **unused}.items()))
    return file
