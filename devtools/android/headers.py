"""Bionic's C headers, derived from musl's, for a build without Google's NDK.

write(zig_include, "aarch64", folder)

musl's headers come with the PyPI package `ziglang`. Bionic and musl agree in most types and
numbers, because both speak to Linux's kernel; EDITS has what differs. Headers that are not in
ALLOWED are left out: their types or numbers may differ from bionic's, and nothing here needs them.
tests/android/test_android_headers.py compares the result with another description of bionic.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

ALLOWED = """
alloca assert ctype dirent dlfcn elf endian errno fcntl features float getopt inttypes iso646
libgen limits link locale malloc math memory nl_types poll pthread sched setjmp signal stdalign
stdarg stdbool stddef stdint stdio stdlib stdnoreturn string strings syscall syslog time uchar
ucontext unistd wchar wctype sys/auxv sys/cdefs sys/file sys/ioctl sys/mman sys/param sys/prctl
sys/resource sys/select sys/sendfile sys/stat sys/statvfs sys/syscall sys/sysinfo sys/sysmacros
sys/time sys/times sys/types sys/ucontext sys/uio sys/user sys/utsname sys/wait
""".split()

# The numbers of `sysconf`. All other names are removed: then their use is a compiler's error.
SYSCONF = {
    "CLK_TCK": 6, "OPEN_MAX": 11, "IOV_MAX": 38, "PAGESIZE": 39, "PAGE_SIZE": 40,
    "NPROCESSORS_CONF": 96, "NPROCESSORS_ONLN": 97, "PHYS_PAGES": 98, "AVPHYS_PAGES": 99,
}  # fmt: skip
# What `fpclassify` returns.
FLOAT_KINDS = {"NAN": 2, "INFINITE": 1, "ZERO": 16, "SUBNORMAL": 8, "NORMAL": 4}


def _replace(text: str, pattern: str, new: str | Callable[[re.Match[str]], str]) -> str:
    """Fails when musl's text has changed, so that no edit is lost in silence."""
    text, count = re.subn(pattern, new, text)
    if count == 0:
        raise SystemExit(f"[dev] musl's headers have changed: nothing matches {pattern!r}")
    return text


def _unistd(text: str) -> str:
    def number(match: re.Match[str]) -> str:
        name = match[1]
        return f"#define _SC_{name} {SYSCONF[name]}\n" if name in SYSCONF else ""

    return _replace(text, r"#define[ \t]+_SC_(\w+)[ \t]+\w+.*\n", number)


def _math(text: str) -> str:
    for name, number in FLOAT_KINDS.items():
        text = _replace(text, rf"(#define FP_{name}[ \t]+)\d+", rf"\g<1>{number}")
    return text


def _types(text: str) -> str:
    text = _replace(
        text, r"struct \{ unsigned (__attr; \} pthread_(?:mutex|cond)attr_t)", r"struct { long \1"
    )
    return _replace(text, r"__bits\[128/sizeof\(long\)\]", "__bits[1]")  # sigset_t


def _signal(text: str) -> str:
    """`sa_flags` comes first, and the mask has 64 bits."""
    body = r"(struct sigaction \{\n)((?:.*\n)*?)(\tint sa_flags;\n)"
    return _replace(text, body, r"\1\3\2")


def _features(text: str) -> str:
    table = "_LIBCPP_PROVIDES_DEFAULT_RUNE_TABLE"  # bionic's is not that of NetBSD
    return f"{text}\n#define __BIONIC__ 1\n#ifndef {table}\n#define {table}\n#endif\n"


def _pthread(text: str) -> str:
    """TVM's runtime calls this one, which bionic alone has."""
    one = "pid_t pthread_gettid_np(pthread_t);"
    return f'{text}\n#ifdef __cplusplus\nextern "C" {one}\n#else\n{one}\n#endif\n'


EDITS: dict[str, Callable[[str], str]] = {
    "bits/alltypes.h": _types,
    "errno.h": lambda text: _replace(text, "__errno_location", "__errno"),
    "fcntl.h": lambda text: _replace(text, r"(#define O_ACCMODE) .*", r"\1 3"),
    "features.h": _features,
    "locale.h": lambda text: _replace(text, r"(LC_ALL_MASK[ \t]+)0x7fffffff", r"\g<1>0x1fbf"),
    "math.h": _math,
    "pthread.h": _pthread,
    "signal.h": _signal,
    "unistd.h": _unistd,
}

# Headers that musl has not, and that libc++ and TVM include by name.
BIONICS_OWN = {
    "android/api-level.h": "/* The compiler defines __ANDROID_API__. */\n",
    "bits/types/mbstate_t.h": "#define __NEED_mbstate_t\n#include <bits/alltypes.h>\n",
}


def write(zig_include: Path, machine: str, folder: Path) -> None:
    """The headers for "aarch64" or "x86_64" in `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    kernel = {"aarch64": "aarch64-linux-any", "x86_64": "x86-linux-any"}[machine]
    for source in ("any-linux-any", kernel):
        shutil.copytree(zig_include / source, folder, dirs_exist_ok=True)
    for source in ("generic-musl", f"{machine}-linux-musl"):
        for path in sorted((zig_include / source).rglob("*.h")):
            name = path.relative_to(zig_include / source)
            if name.parts[0] == "bits" or str(name.with_suffix("")) in ALLOWED:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for name, edit in EDITS.items():
        path = folder / name
        path.write_text(edit(path.read_text()))
    for name, text in BIONICS_OWN.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
